"""What the vocabulary file may look like, and what the user is told when it does not."""

import os
import stat

import pytest

from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary

TOKENS = [*SPECIAL_TOKENS, "the", "##s", "é"]


def write(tmp_path, data):
  path = tmp_path / "vocab.txt"
  path.write_bytes(data if isinstance(data, bytes) else data.encode())
  return str(path)


def lines(*tokens, end="\n"):
  return "".join(token + end for token in tokens)


def refusal(tmp_path, data):
  path = write(tmp_path, data)
  with pytest.raises(UserError) as error:
    Vocabulary.from_file(path)
  message = str(error.value)
  assert "\n" not in message
  return message.replace(path, "vocab.txt")


def test_ids_and_tokens(tmp_path):
  path = write(tmp_path, lines(*TOKENS))
  vocabulary = Vocabulary.from_file(path)
  assert vocabulary.tokens == TOKENS
  assert vocabulary.size == len(vocabulary) == 8
  assert vocabulary.path == path
  assert vocabulary.notes == []
  assert (vocabulary.pad_id, vocabulary.unk_id, vocabulary.cls_id, vocabulary.sep_id, vocabulary.mask_id) == (
    0, 1, 2, 3, 4)
  assert [vocabulary.id_of(token) for token in TOKENS] == list(range(8))
  assert [vocabulary.token_of(id) for id in range(8)] == TOKENS
  assert "the" in vocabulary and "The" not in vocabulary


def test_unknown_token_and_id_name_themselves(tmp_path):
  vocabulary = Vocabulary.from_file(write(tmp_path, lines(*TOKENS)))
  with pytest.raises(KeyError, match="nowhere"):
    vocabulary.id_of("nowhere")
  for id in (-1, 8):
    with pytest.raises(IndexError, match=f"{id} is not an id.*0 to 7"):
      vocabulary.token_of(id)


@pytest.mark.parametrize(("data", "note"), [
  (b"\xef\xbb\xbf" + lines(*TOKENS).encode(), "vocab.txt:1: byte order mark ignored"),
  (lines(*TOKENS, end="\r\n"), "vocab.txt: 8 of 8 lines have Windows line ends (CR LF); the CR is ignored"),
  (lines(*TOKENS) + "\n", "vocab.txt:9: 1 blank line at the end ignored"),
  (lines(*TOKENS) + " \n\t\n", "vocab.txt:9: 2 blank lines at the end ignored"),
  (lines(*TOKENS).replace("the", "the \t"), "vocab.txt:6: white space around the token ignored"),
  (lines(*TOKENS).replace("the", " the").replace("##s", "##s\u3000"),
   "vocab.txt:6: white space around the token ignored (and on 1 other line)"),
])
def test_harmless_is_accepted_and_named(tmp_path, data, note):
  path = write(tmp_path, data)
  vocabulary = Vocabulary.from_file(path)
  assert vocabulary.tokens == TOKENS
  assert [text.replace(path, "vocab.txt") for text in vocabulary.notes] == [note]


def test_no_newline_at_the_end_is_normal(tmp_path):
  vocabulary = Vocabulary.from_file(write(tmp_path, lines(*TOKENS).rstrip("\n")))
  assert vocabulary.tokens == TOKENS
  assert vocabulary.notes == []


def test_several_harmless_things_at_once(tmp_path):
  data = b"\xef\xbb\xbf" + (lines(*TOKENS, end="\r\n") + "\r\n").encode()
  vocabulary = Vocabulary.from_file(write(tmp_path, data))
  assert vocabulary.tokens == TOKENS
  assert len(vocabulary.notes) == 3


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c"])
def test_only_newline_ends_a_line(tmp_path, separator):
  """The multilingual vocabularies have such tokens; str.splitlines() would shift every id behind them."""
  vocabulary = Vocabulary.from_file(write(tmp_path, lines(*SPECIAL_TOKENS, separator, "the")))
  assert vocabulary.id_of("the") == 6
  assert vocabulary.id_of(separator) == 5


def test_white_space_inside_a_token_is_named(tmp_path):
  vocabulary = Vocabulary.from_file(write(tmp_path, lines(*SPECIAL_TOKENS, "New York")))
  assert vocabulary.id_of("New York") == 5
  assert vocabulary.notes[0].endswith("vocab.txt:6: white space inside the token, which can therefore never match")


def test_padding_token_that_is_not_the_first_is_named(tmp_path):
  vocabulary = Vocabulary.from_file(write(tmp_path, lines("a", *SPECIAL_TOKENS)))
  assert vocabulary.pad_id == 1
  assert vocabulary.notes[0].endswith("vocab.txt:2: [PAD] has id 1; other programs pad with id 0")


@pytest.mark.parametrize(("data", "message"), [
  (lines(*TOKENS, "the"), "vocab.txt:9: 'the' is already line 6:"),
  (lines(*TOKENS, "the "), "vocab.txt:9: 'the' is already line 6:"),
  (lines("[PAD]", "", *TOKENS[1:]), "vocab.txt:2: blank line between tokens:"),
  (lines("[PAD]", " \t", *TOKENS[1:]), "vocab.txt:2: blank line between tokens:"),
  (lines("[PAD]", "", *TOKENS[1:], end="\r\n"), "vocab.txt:2: blank line between tokens:"),
  (lines("[PAD]", "[UNK]", "[SEP]", "the"), "vocab.txt has no [CLS], [MASK] among its 4 tokens:"),
  (lines(*map(str.lower, TOKENS)), "vocab.txt has no [PAD], [UNK], [CLS], [SEP], [MASK] among its 8 tokens:"),
  (b"", "vocab.txt is empty:"),
  (b"\xef\xbb\xbf\r\n\n", "vocab.txt is empty:"),
  (lines(*TOKENS, end="\r"), "vocab.txt:1: the lines end with a bare CR:"),
  (lines(*TOKENS).encode("latin-1"), "vocab.txt:8: byte 1 of the line (0xe9) is not UTF-8:"),
  (lines(*TOKENS, "abc").encode() + b"ab\xff\n", "vocab.txt:10: byte 3 of the line (0xff) is not UTF-8:"),
  (lines(*TOKENS).encode("utf-16"), "vocab.txt:1: byte 1 of the line (0xff) is not UTF-8 (it looks like UTF-16):"),
])
def test_refused_with_file_and_line(tmp_path, data, message):
  assert refusal(tmp_path, data).startswith(message)


def test_file_that_can_not_be_read(tmp_path):
  with pytest.raises(UserError, match="is a directory.*vocab.txt"):
    Vocabulary.from_file(str(tmp_path))
  with pytest.raises(UserError, match="No such file"):
    Vocabulary.from_file(str(tmp_path / "absent.txt"))
  path = write(tmp_path, lines(*TOKENS))
  os.chmod(path, 0)
  if not os.access(path, os.R_OK):  # root reads everything
    with pytest.raises(UserError, match="Permission denied"):
      Vocabulary.from_file(path)
  os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)


def test_tokens_without_a_file_are_checked_too():
  with pytest.raises(UserError, match="vocabulary entry 7: 'a' is already line 6"):
    Vocabulary([*SPECIAL_TOKENS, "a", "a"])
  with pytest.raises(UserError, match="vocabulary entry 6: empty token"):
    Vocabulary([*SPECIAL_TOKENS, ""])
  with pytest.raises(UserError, match=r"the vocabulary has no \[MASK\]"):
    Vocabulary(SPECIAL_TOKENS[:4])


def test_released_vocabularies(golden):
  for name, size in (("uncased", 30522), ("cased", 28996)):
    vocabulary = Vocabulary.from_file(str(golden / "bert" / f"{name}_vocab.txt"))
    assert vocabulary.size == size
    assert vocabulary.notes == []
    assert vocabulary.id_of("[CLS]") == vocabulary.cls_id == 101
