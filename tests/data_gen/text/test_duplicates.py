import numpy as np
import pytest

from data_gen.options import CorpusOptions
from data_gen.text.corpus_preparation import prepare_corpus, report
from data_gen.text.corpus_readers import ReadingNotes
from data_gen.text.duplicates import DocumentPart, DuplicateFilter, HashTable

FIRST = "It rains.\nWe wait."
TEXT = f"{FIRST}\n\nIt snows.\n\n{FIRST} \n\nWe wait.\nIt is late.\n"


@pytest.mark.parametrize(
    ("remove", "expected", "line"),
    [
        (False, TEXT.replace(" \n", "\n"), "warning: exact duplicates: 1 documents and 1 para"),
        (True, f"{FIRST}\n\nIt snows.\n\nIt is late.\n", "1 paragraphs of others, left out"),
    ],
)
def test_duplicates_are_counted_and_removed(tmp_path, remove, expected, line):
    source = tmp_path / "in.txt"
    source.write_text(TEXT)
    options = CorpusOptions(
        input_file=str(source),
        output_file=str(tmp_path / "out.txt"),
        num_workers=1,
        remove_duplicates=remove,
        document_separator="blank_line",
        hard_wrapped="false",
    )
    written, notes = prepare_corpus([str(source)], options)
    assert (tmp_path / "out.txt").read_text() == expected
    assert (notes.duplicate_documents, notes.duplicate_paragraphs) == (1, 1)
    assert line in report(1, written, notes)


def test_other_texts_are_never_taken_for_known():
    """Also in a table that is much too small, which forgets the oldest texts."""
    notes = ReadingNotes()
    duplicates = DuplicateFilter(True, notes, HashTable(most_buckets=2))
    parts = [DocumentPart(number, False, [f"Text {number}."]) for number in range(1000)]
    assert list(duplicates.apply(parts)) == parts and not notes.duplicate_documents
    assert list(duplicates.apply(parts[-1:])) == [] and notes.duplicate_documents == 1


def test_a_growing_table_forgets_nothing():
    generator = np.random.default_rng(1)
    digests = np.unique(generator.integers(0, 2**64, 100_000, np.uint64)).tolist()
    table = HashTable()
    assert not any(map(table.add, digests)) and all(map(table.add, digests))
