"""Names in text, by their capital letters."""

import re

import pytest

from benchmarks.tag_names import TagNamesOptions, main, tag_names
from bert_common.errors import UserError

STORY = ["Mr. Darcy saw Rose Hill.", "He and Darcy, and I, went on.", "Darcy stopped.", "The rose was red.",
         '"Rose is here," said Hill.', '"Hill! Where?"']


def test_names_are_words_with_capital_letters_inside_sentences():
  tagged = tag_names(STORY)
  assert [word for word, _ in tagged[0]] == ["Mr", ".", "Darcy", "saw", "Rose", "Hill", "."]
  names = [[(word, tag) for word, tag in sentence if tag != "O"] for sentence in tagged]
  # Mr begins a sentence, and is never inside one; Rose is also a flower.
  assert names == [[("Darcy", "B-NAME"), ("Rose", "B-NAME"), ("Hill", "I-NAME")], [("Darcy", "B-NAME")],
                   [("Darcy", "B-NAME")], [], [("Hill", "B-NAME")], [("Hill", "B-NAME")]]


def test_documents_are_spread_over_the_text(tmp_path, capsys):
  options = TagNamesOptions(input_file=str(tmp_path / "text.txt"), output_file=str(tmp_path / "out.conll"), sentences=5,
                            document_sentences=2)
  text = "\n\n".join(f"Number {number} begins.\nIt was Tom.\nIt ends." for number in range(5))
  (tmp_path / "text.txt").write_text(text + "\n\nOne sentence alone.\n")
  main(options)
  assert capsys.readouterr().out == "5 sentences of 3 documents\n"
  written = (tmp_path / "out.conll").read_text()
  assert re.findall(r"Number O\n(\d) O", written) == ["0", "2", "4"]
  assert written.startswith("-DOCSTART- O\n\n") and "Tom B-NAME\n" in written
  (tmp_path / "text.txt").write_text("A line.\n\nAnother.\n")
  with pytest.raises(UserError, match="no document has two sentences"):
    main(options)
