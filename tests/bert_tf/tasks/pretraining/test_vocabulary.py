"""Records, weights and flags must have one vocabulary and one casing, whatever meets whatever."""

import dataclasses
import json
import shutil

import pytest

from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.task import PretrainingTask
from bert_tf.tasks.pretraining.vocabulary import find_vocabulary, read_notes
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.load import read_checkpoint
from modeling.config import BertConfig
from tests.refusals import assert_refused
from tests.tiny import write_tiny

WORDS = ["a", "the", "sort", "##ed", "##s", "list", ".", ",", "is", "array", "##y", "here"]
RIGHT = [*SPECIAL_TOKENS, "[unused0]", "[unused1]", *WORDS]
WRONG = [*SPECIAL_TOKENS, "[unused0]", "[unused1]", *reversed(WORDS)]
# Words in place of entries that are free.
OWN = [*SPECIAL_TOKENS, "mine", "yours", *WORDS]
CONFIG = BertConfig(
    vocab_size=len(RIGHT),
    hidden_size=12,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=20,
    max_position_embeddings=24,
    type_vocab_size=2,
)
TEXT = (
    "the sorted lists is here .\nthe arrays , a sort , is here .\na list is the arrayy .\n\n" * 20
)


def write_vocabulary(path, tokens) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{token}\n" for token in tokens))
    return str(path)


def make_records(folder, name, vocab_file, lower=True, shards="") -> str:
    (folder / "corpus.txt").write_text(TEXT)
    generate(
        PretrainingDataOptions(
            input_file=str(folder / "corpus.txt"),
            output_file=f"{folder / name}{shards}",
            vocab_file=vocab_file,
            do_lower_case=lower,
            max_seq_length=16,
            max_predictions_per_seq=3,
            dupe_factor=2,
            num_workers=1,
        )
    )
    return str(folder / name)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Vocabularies, records of two of them, and a checkpoint of one."""
    folder = tmp_path_factory.mktemp("vocabularies")
    for name, tokens in (("right", RIGHT), ("wrong", WRONG), ("own", OWN)):
        make_records(folder, f"{name}.tfrecord", write_vocabulary(folder / f"{name}.txt", tokens))
    make_records(folder, "cased.tfrecord", str(folder / "right.txt"), lower=False)
    make_records(folder, "many", str(folder / "right.txt"), shards="@3")
    foreign = folder / "foreign"
    foreign.mkdir()
    shutil.copy(folder / "right.tfrecord", foreign / "records")
    weights = folder / "weights"
    weights.mkdir()
    write_tiny(weights, "masked_lm", config=CONFIG, vocabulary=False)
    shutil.copy(folder / "right.txt", weights / "vocab.txt")
    CONFIG.to_file(str(folder / "bert_config.json"))
    return folder


def options(data, **changes) -> PretrainingOptions:
    return PretrainingOptions(**{"input_file": "", "output_dir": str(data / "none"), **changes})


def find(data, *paths, weights=None, **changes):
    files = [str(data / path) for path in paths]
    return find_vocabulary(options(data, **changes), CONFIG, weights, {"input_file": files})


def refused(data, *paths, says, **changes) -> None:
    assert_refused(lambda: find(data, *paths, **changes), *says)


def test_the_vocabulary_of_the_records_is_found_where_they_were_made(data):
    found = find(data, "right.tfrecord")
    assert found.vocabulary.path == str(data / "right.txt") and found.do_lower_case is True
    assert found.fingerprint == Vocabulary(RIGHT).fingerprint
    assert found.notes == ()


def test_a_vocabulary_that_is_gone_leaves_its_fingerprint(data, tmp_path):
    make_records(tmp_path, "records", write_vocabulary(tmp_path / "gone.txt", RIGHT))
    (tmp_path / "gone.txt").unlink()
    found = find(tmp_path, "records")
    assert found.vocabulary is None and found.fingerprint == Vocabulary(RIGHT).fingerprint
    (note,) = found.notes
    assert "gone.txt" in note and "is not there any more" in note and "--vocab_file" in note
    weights = read_checkpoint(str(data / "weights"))
    assert find(tmp_path, "records", weights=weights).vocabulary.path == weights.vocab_file
    other = dataclasses.replace(weights, vocab_file=str(data / "wrong.txt"))
    refused(
        tmp_path,
        "records",
        weights=other,
        says=(
            "--input_file",
            "gone.txt",
            "another vocabulary than the weights",
            f"--vocab_file={data}/wrong.txt",
        ),
    )
    by_fingerprint = dataclasses.replace(
        weights, vocab_file=None, vocab_sha256=Vocabulary(WRONG).fingerprint
    )
    refused(
        tmp_path,
        "records",
        weights=by_fingerprint,
        says=("gone.txt", "another vocabulary than the weights"),
    )


def test_another_vocabulary_on_the_command_line(data):
    assert (
        find(data, "right.tfrecord", vocab_file=str(data / "right.txt")).vocabulary.tokens == RIGHT
    )
    refused(
        data,
        "right.tfrecord",
        vocab_file=str(data / "wrong.txt"),
        says=(
            "--vocab_file",
            "wrong.txt",
            "--input_file",
            "right.tfrecord",
            "right.txt",
            "make the records again",
        ),
    )


def test_weights_of_another_vocabulary(data):
    weights = read_checkpoint(str(data / "weights"))
    assert find(data, "right.tfrecord", weights=weights).vocabulary.path == weights.vocab_file
    refused(
        data,
        "wrong.tfrecord",
        weights=weights,
        says=(
            "--input_file",
            "wrong.tfrecord",
            "wrong.txt",
            f"{data}/weights/vocab.txt",
            "12 of 19 entries differ",
        ),
    )
    found = find(data, "own.tfrecord", weights=weights)
    assert found.vocabulary.tokens == OWN and "2 [unused] entries" in found.notes[0]
    # Where the weights' vocabulary is unknown the records' one is reported, and the run continues.
    assert (
        find(
            data, "wrong.tfrecord", weights=dataclasses.replace(weights, vocab_file=None)
        ).vocabulary.tokens
        == WRONG
    )


def test_records_of_different_vocabularies(data):
    refused(
        data,
        "right.tfrecord",
        "wrong.tfrecord",
        says=("right.tfrecord", "wrong.tfrecord", "different vocabularies"),
    )
    refused(
        data,
        "right.tfrecord",
        "wrong.tfrecord",
        vocab_file=str(data / "right.txt"),
        says=("wrong.tfrecord",),
    )


def test_casings_that_contradict_each_other(data):
    weights = read_checkpoint(str(data / "weights"))
    assert weights.do_lower_case is True
    says = ("cased.tfrecord of cased text", "is of lower-cased text")
    for changes in ({"weights": weights}, {"do_lower_case": True}):
        refused(data, "cased.tfrecord", says=says, **changes)
    refused(data, "cased.tfrecord", "right.tfrecord", says=says)
    assert find(data, "cased.tfrecord").do_lower_case is False


def test_shards_and_lists_are_found_in_the_statistics_of_the_first_file(data, tmp_path):
    paths = [f"{data}/many-{number:05d}-of-00003" for number in range(3)]
    (note,) = read_notes("input_file", paths)
    assert note.paths == tuple(paths) and note.fingerprint == Vocabulary(RIGHT).fingerprint
    stats = tmp_path / "first.stats.json"
    stats.write_text(
        json.dumps({"vocab_sha256": "abc", "shards": [{"file": "first"}, {"file": "second"}]})
    )
    facts = [
        (one.paths, one.fingerprint)
        for one in read_notes(
            "input_file", [str(tmp_path / name) for name in ("first", "second", "third")]
        )
    ]
    assert facts == [
        ((f"{tmp_path}/first", f"{tmp_path}/second"), "abc"),
        ((f"{tmp_path}/third",), None),
    ]
    # Of another kind.
    stats.write_text(json.dumps({"vocab_sha256": 3, "shards": "none"}))
    assert read_notes("input_file", [str(tmp_path / "first")])[0].fingerprint is None


def test_records_of_other_programs_are_read_with_a_warning(data):
    (note,) = find(data, "foreign/records", vocab_file=str(data / "right.txt")).notes
    assert (
        note.startswith("warning: nothing beside --input_file: ") and "check --vocab_file" in note
    )
    assert find(data, "foreign/records").notes == ()


def test_a_run_does_not_begin_with_another_vocabulary(data, tmp_path):
    given = options(
        data,
        input_file=f"{data}/wrong.tfrecord",
        output_dir=str(tmp_path / "run"),
        do_train=True,
        init_checkpoint=str(data / "weights"),
        max_seq_length=16,
        max_predictions_per_seq=3,
    )
    with pytest.raises(UserError, match="12 of 19 entries differ"):
        PretrainingTask(given)
    with pytest.raises(UserError, match="--eval_file: .*wrong.tfrecord"):
        PretrainingTask(
            given.replace(
                input_file=f"{data}/right.tfrecord",
                eval_file=f"{data}/wrong.tfrecord",
                vocab_file=str(data / "right.txt"),
            )
        )
    task = PretrainingTask(given.replace(input_file=f"{data}/right.tfrecord"))
    assert task.vocab_sha256 == Vocabulary(RIGHT).fingerprint and task.mask_id == 4
