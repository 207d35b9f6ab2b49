"""Names in text, by their capital letters, and the comparison of contexts as a whole on a few sentences."""

import re

import pytest

from benchmarks.document_context import DocumentContextOptions, main, tag_names, write_tagged
from bert_tf.common.errors import UserError
from tests.tiny import write_tiny

STORY = ["Mr. Darcy saw Rose Hill.", "He and Darcy, and I, went on.", "Darcy stopped.", "The rose was red.",
         '"Rose is here," said Hill.', '"Hill! Where?"']


def test_names_are_words_with_capital_letters_inside_sentences():
  tagged = tag_names(STORY)
  assert [word for word, _ in tagged[0]] == ["Mr", ".", "Darcy", "saw", "Rose", "Hill", "."]
  names = [[(word, tag) for word, tag in sentence if tag != "O"] for sentence in tagged]
  # Mr begins a sentence, and is never inside one; Rose is also a flower.
  assert names == [[("Darcy", "B-NAME"), ("Rose", "B-NAME"), ("Hill", "I-NAME")], [("Darcy", "B-NAME")],
                   [("Darcy", "B-NAME")], [], [("Hill", "B-NAME")], [("Hill", "B-NAME")]]


def test_documents_are_spread_over_the_text(tmp_path):
  text = "\n\n".join(f"Number {number} begins.\nIt was Tom.\nIt ends." for number in range(5))
  (tmp_path / "text.txt").write_text(text + "\n\nOne sentence alone.\n")
  assert write_tagged(str(tmp_path / "out.conll"), str(tmp_path / "text.txt"), "train_file", 5, 2) == 5
  written = (tmp_path / "out.conll").read_text()
  assert re.findall(r"Number O\n(\d) O", written) == ["0", "2", "4"]
  assert written.startswith("-DOCSTART- O\n\n") and "Tom B-NAME\n" in written
  (tmp_path / "text.txt").write_text("A line.\n\nAnother.\n")
  with pytest.raises(UserError, match="no document has two sentences"):
    write_tagged(str(tmp_path / "out.conll"), str(tmp_path / "text.txt"), "train_file", 5, 2)


def test_all_contexts_are_compared(tmp_path, capsys):
  for name in ("train", "dev"):
    (tmp_path / f"{name}.txt").write_text("\n\n".join(
        f"The {word} is A List.\nIt is The {word}." for word in ("array", "list", "mask", "text")) + "\n")
  (tmp_path / "model").mkdir()
  write_tiny(tmp_path / "model")
  options = DocumentContextOptions(
      **{f"{name}_file": str(tmp_path / f"{name}.txt") for name in ("train", "dev")}, max_seq_length=24,
      train_batch_size=4, num_train_epochs=1.0, init_checkpoint=str(tmp_path / "model"),
      output_dir=str(tmp_path / "out"))
  main(options)
  printed = capsys.readouterr().out
  found = re.findall(r"^(sentence|document|vote) +f1 ([0-9.]+)(?:  gain (-?[0-9.]+))?$", printed, re.MULTILINE)
  assert [context for context, *_ in found] == ["sentence", "document", "vote"]
  assert float(found[1][1]) - float(found[0][1]) == pytest.approx(float(found[1][2]), abs=2e-4)
  # What is finished is not run again.
  main(options)
  assert re.findall(r"^seed 1, .*$", capsys.readouterr().out, re.MULTILINE) == re.findall(
      r"^seed 1, .*$", printed, re.MULTILINE)
  with pytest.raises(UserError, match="has runs with other settings .num_train_epochs: 1.0 → 2.0"):
    main(options.replace(num_train_epochs=2.0))


def test_a_cased_model_is_refused(tmp_path):
  (tmp_path / "model").mkdir()
  write_tiny(tmp_path / "model", do_lower_case=False)
  with pytest.raises(UserError, match="is cased, and would see the capital letters"):
    main(DocumentContextOptions(train_file="train.txt", dev_file="dev.txt", init_checkpoint=str(tmp_path / "model"),
                                output_dir=str(tmp_path / "out")))
