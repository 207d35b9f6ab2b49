"""Counting words: the tokenizer's words, whatever the portions, in bounded memory."""

import collections
import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from bert_tf.vocabulary import building
from data_gen.tokenization.wordpiece import basic_tokenize


def _count(path, **arguments):
  arguments = {"do_lower_case": True, "ordered_map": map, "max_words": 1000, **arguments}
  return building.count_words([str(path)], **arguments)


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_words_are_those_of_the_tokenizer(tmp_path, do_lower_case):
  lines = ["The Café's naïve dog, the DOG!", "東京 and 𝔘nicode\u200b words\x1cjoin", "", "A\u3000b\u2028c Σίσυφος"]
  (tmp_path / "text").write_text("\n".join(lines))
  expected = collections.Counter(word for line in lines for word in basic_tokenize(line, do_lower_case))
  assert _count(tmp_path / "text", do_lower_case=do_lower_case).words == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_text(tmp_path_factory, lines):
  path = tmp_path_factory.mktemp("text") / "text"
  path.write_bytes("\n".join(lines).encode())
  assert _count(path).words == collections.Counter(word for line in lines for word in basic_tokenize(line))


def test_portions_do_not_matter(tmp_path, monkeypatch):
  (tmp_path / "text").write_text("".join(f"word{number % 17} and\n" for number in range(200)))
  whole = _count(tmp_path / "text")
  monkeypatch.setattr(building, "_PORTION_BYTES", 50)
  steps = []
  assert _count(tmp_path / "text", progress=steps.append) == whole
  assert sum(steps) == whole.num_bytes == (tmp_path / "text").stat().st_size


@pytest.mark.parametrize("size", [0, 1, 49, 50, 51, 400])
def test_portions_of_plain_text_are_those_of_gzipped_text(tmp_path, monkeypatch, size):
  monkeypatch.setattr(building, "_PORTION_BYTES", 50)
  data = b"\n".join(b"word" * (number % 5) for number in range(100))[:size]
  (tmp_path / "text").write_bytes(data)
  (tmp_path / "text.gz").write_bytes(gzip.compress(data))
  plain, gzipped = (list(building._portions([str(tmp_path / name)], [name])) for name in ("text", "text.gz"))
  assert [data[portion.offset:portion.offset + portion.stored] for portion in plain] == [
      portion.data for portion in gzipped]
  assert [portion.offset for portion in plain] == [portion.offset for portion in gzipped]
  assert sum(portion.stored for portion in plain) == size


def test_gzip(tmp_path):
  (tmp_path / "text").write_bytes(gzip.compress(b"one two one\n"))
  assert _count(tmp_path / "text").words == {"one": 2, "two": 1}
  (tmp_path / "text").write_bytes(gzip.compress(b"one two one\n")[:-4])
  with pytest.raises(UserError, match="damaged or cut off"):
    _count(tmp_path / "text")


def test_held_out_lines_are_counted_apart(tmp_path, monkeypatch):
  monkeypatch.setattr(building, "_PORTION_BYTES", 1000)
  lines = [f"w{number}" for number in range(2000)]
  (tmp_path / "text").write_text("\n".join(lines))
  counts = _count(tmp_path / "text", max_words=10_000, held_out_fraction=0.1)
  assert not counts.words.keys() & counts.held_out.keys()
  assert counts.words + counts.held_out == collections.Counter(lines)
  assert 120 <= counts.held_out.total() <= 220


def test_rare_words_are_dropped_when_the_room_is_used_up(tmp_path, monkeypatch):
  monkeypatch.setattr(building, "_PORTION_BYTES", 100)
  (tmp_path / "text").write_text("".join(f"common{number % 5} rare{number}\n" for number in range(500)))
  counts = _count(tmp_path / "text", max_words=40)
  assert all(counts.words[f"common{number}"] == 100 for number in range(5))
  assert len(counts.words) <= 40
  assert counts.pruned_words == counts.pruned_occurrences == 500 - (len(counts.words) - 5)


def test_not_utf8_names_the_byte(tmp_path, monkeypatch):
  monkeypatch.setattr(building, "_PORTION_BYTES", 4)
  (tmp_path / "text").write_bytes(b"first line\ncaf\xe9\n")
  with pytest.raises(UserError, match=r"text: not UTF-8 at byte 14 \(0xe9\).*--on_bad_utf8"):
    _count(tmp_path / "text")
  # The replacement character is deleted, as the tokenizer does.
  assert _count(tmp_path / "text", on_bad_utf8="replace").words == {"first": 1, "line": 1, "caf": 1}
