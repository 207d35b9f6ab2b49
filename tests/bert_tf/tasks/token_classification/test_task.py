import json
import pathlib
import shutil

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.evaluation import conlleval
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks.token_classification.feature_based import run
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.task import TokenClassificationTask
from bert_tf.training.run_directory import read_metrics
from tests.bert_tf.tasks.token_classification.toy_names import (
    make_documents,
    write_conll,
    write_model,
)
from tests.oracles.conlleval import count_chunks, read_rows
from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("names")
    write_model(folder)
    write_conll(folder / "eng.train", make_documents(150, 1), iob1=True)
    write_conll(folder / "eng.testa", make_documents(20, 2), iob1=True)
    write_conll(folder / "eng.testb", make_documents(20, 3))
    return folder


def options(
    folder: pathlib.Path, output_dir: pathlib.Path, **changes
) -> TokenClassificationOptions:
    return TokenClassificationOptions(
        **{
            **dict(
                data_dir=str(folder),
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
                max_seq_length=40,
                train_batch_size=8,
                learning_rate=0.002,
                num_train_epochs=6,
                seed=1,
            ),
            **changes,
        }
    )


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory) -> pathlib.Path:
    """The directory of a finished run on files in the layout of CoNLL-2003."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert (
        run(
            options(
                folder,
                directory,
                do_train=True,
                do_eval=True,
                do_predict=True,
                save_checkpoints_steps=20,
                keep_checkpoint_max=0,
            )
        )
        == 0
    )
    return directory


def test_it_learns_and_tells_the_official_scores(trained):
    results = json_files.read(str(trained / "eval_results.json"))
    assert {
        "eval_f1",
        "eval_precision",
        "eval_recall",
        "eval_surface_f1",
        "eval_accuracy",
        "eval_loss",
        "global_step",
    } == set(results)
    assert results["eval_f1"] > 0.95
    best = json_files.read(str(trained / "best" / "best.json"))
    assert best["metrics"]["f1"] == results["eval_f1"]
    gold, found, both = count_chunks(read_rows((trained / "dev_predictions.txt").read_text()))
    assert (
        conlleval.scores(both.total(), found.total(), gold.total())[2] / 100 == results["eval_f1"]
    )
    assert (
        f"{gold.total()} phrases; found: {found.total()}"
        in (trained / "eval_report.txt").read_text()
    )
    assert json_files.read(str(trained / "test_results.json"))["f1"] > 0.9
    assert [line["split"] for line in read_metrics(str(trained))].count("eval") == 6


def test_predictions_are_the_words_of_the_file_with_right_tags_in_iob2(folder, trained):
    expected = [
        tuple(line.split()[::3])
        for line in (folder / "eng.testb").read_text().splitlines()
        if line and not line.startswith("-DOCSTART-")
    ]
    rows = [
        tuple(line.split(" "))
        for line in (trained / "test_predictions.txt").read_text().splitlines()
        if line
    ]
    assert [row[:2] for row in rows] == expected
    dev = (trained / "dev_predictions.txt").read_text()
    assert " B-PER " in dev and dev.count("\n\n") == dev.count(". O O\n")


def test_texts_become_entities_with_offsets(trained):
    predictor = Predictor.from_checkpoint(str(trained))
    text = "we saw  Bob Smith (then Rome)."
    tokens = ["we", "saw", "bob", "smith", "\x00", "."]
    (result, empty, long, words) = predictor([text, " ", "in oslo. " * 30, {"tokens": tokens}])
    assert [(one["text"], one["label"]) for one in result["entities"]] == [
        ("Bob Smith", "PER"),
        ("Rome", "LOC"),
    ]
    assert all(
        text[one["start"] : one["end"]] == one["text"] and 0 < one["score"] <= 1
        for one in result["entities"]
    )
    assert empty == {"entities": []}
    assert [one["start"] for one in long["entities"]] == [3 + 9 * number for number in range(30)]
    assert words["tags"][2:4] == ["B-PER", "I-PER"] and len(words["tags"]) == 6
    assert [words["entities"][0][name] for name in ("start", "end", "text")] == [2, 4, "bob smith"]
    with pytest.raises(UserError, match='input 0: "tokens" must be a list of words'):
        predictor([{"tokens": "ann"}])


def test_document_context_tells_what_a_sentence_alone_can_not(folder, trained, tmp_path):
    """Half of the names can only be recognized by the document's first sentence."""
    scores = {}
    for context, length in (("sentence", 40), ("vote", 24)):
        directory = tmp_path / context
        run(
            options(
                folder,
                directory,
                init_checkpoint=str(trained),
                do_eval=True,
                context=context,
                max_seq_length=length,
            )
        )
        scores[context] = json_files.read(str(directory / "eval_results.json"))["eval_f1"]
    assert scores["sentence"] < 0.85
    assert scores["vote"] > 0.95


def made(path: pathlib.Path) -> pathlib.Path:
    path.mkdir()
    return path


def notes_of(folder, output_dir, **changes) -> str:
    return "\n".join(TokenClassificationTask(options(folder, output_dir, **changes)).notes)


def test_what_the_user_should_know_is_said(folder, tmp_path):
    bare, odd = tmp_path / "bare.conll", tmp_path / "odd.conll"
    write_conll(bare, make_documents(3, 7), borders=False)
    odd.write_text(
        "ann X X B-ORG\n\x00 X X O\n" + "s" * 50 + " X X O\n. X X O\n" + ". X X O\n" * 40
    )
    notes = notes_of(
        folder,
        tmp_path / "a",
        dev_file=str(bare),
        test_file=str(odd),
        do_train=True,
        do_predict=True,
    )
    assert "eng.train: the tags are in IOB1, converted to IOB2" in notes
    assert "note: " in notes and f"{bare} has no borders of documents" in notes
    assert "the vocabulary is uncased" in notes
    assert (
        f"{odd}:1: the label B-ORG is not among those of the training data; 1 words have such labels"
        in notes
    )
    assert f"{odd}: 1 words are nothing to the tokenizer" in notes
    assert f"{odd}: 1 sentences are longer than --max_seq_length" in notes
    assert "WARNING: " in notes_of(
        folder, tmp_path / "b", dev_file=str(bare), do_train=True, context="document"
    )


def test_labels_that_only_the_checkpoint_has_are_kept(folder, trained, tmp_path):
    places = tmp_path / "places.conll"
    places.write_text("rome B-LOC\n. O\n")
    changes = dict(
        train_file=str(places), data_dir=None, init_checkpoint=str(trained), do_train=True
    )
    task = TokenClassificationTask(options(folder, tmp_path / "a", **changes))
    assert task.data.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert task.head_mismatch is None
    assert any(
        "labels that the training data does not have, they are kept: B-PER, I-PER" in one
        for one in task.notes
    )
    other = TokenClassificationTask(
        options(folder, tmp_path / "a", do_train=True, label_scheme="iobes")
    )
    assert other.data.labels == (
        "O",
        *(f"{letter}-{kind}" for kind in ("LOC", "PER") for letter in "BIES"),
    )
    # Without a training the labels are the model's.
    with pytest.raises(UserError, match="--label_scheme=iobes: .* iob2"):
        TokenClassificationTask(
            options(folder, tmp_path / "a", init_checkpoint=str(trained), label_scheme="iobes")
        )
    places.write_text("rome B-ORG\n. O\n")
    task = TokenClassificationTask(options(folder, tmp_path / "b", **changes))
    assert task.head_mismatch == "that of the checkpoint has 5 labels, this task has 3"


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [([*"DNVAX"], "auto"), (["B-X", "O", "I-X", "B-Y", "I-Y"], "plain")],
    ids=["", "chunks"],
)
def test_plain_tags(tmp_path, tags, scheme):
    """Every word has a tag; there is nothing to score but accuracy, whatever tags look like."""
    model = write_tiny(
        made(tmp_path / "model"),
        "token_classification",
        task={"kind": "token_classification", "labels": tags},
    )
    path = tmp_path / "plain.conll"
    path.write_text(f"the {tags[0]}\narray {tags[1]}\n\nis {tags[2]}\n")
    assert (
        run(
            TokenClassificationOptions(
                test_file=str(path),
                dev_file=str(path),
                init_checkpoint=model,
                output_dir=str(tmp_path / "run"),
                do_eval=True,
                do_predict=True,
                max_seq_length=16,
                tag_scheme=scheme,
            )
        )
        == 0
    )
    rows = (tmp_path / "run" / "test_predictions.txt").read_text().split("\n")
    assert [row.rsplit(" ", 1)[0] for row in rows] == [
        f"the {tags[0]}",
        f"array {tags[1]}",
        "",
        f"is {tags[2]}",
        "",
        "",
    ]
    right = sum(row.split()[1] == row.split()[2] for row in rows if row)
    results = json_files.read(str(tmp_path / "run" / "eval_results.json"))
    assert {"eval_accuracy", "eval_loss", "global_step"} == set(results) - {"degenerate"}
    assert results["eval_accuracy"] == pytest.approx(right / 3)
    if scheme == "auto":
        (result,) = Predictor.from_checkpoint(model)(["the lists."])
        assert [word["text"] for word in result["words"]] == ["the", "lists", "."]
        assert {word["tag"] for word in result["words"]} <= set(tags)


def test_texts_with_offsets_come_back_with_offsets(folder, trained, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(
        json.dumps({"text": "In Rome: Ann Smith."}) + "\n" + json.dumps({"text": "Oslo"}) + "\n"
    )
    run(
        options(
            folder,
            tmp_path / "a",
            init_checkpoint=str(trained),
            test_file=str(path),
            do_predict=True,
        )
    )
    lines = [
        json.loads(line)
        for line in (tmp_path / "a" / "test_predictions.jsonl").read_text().splitlines()
    ]
    assert lines == [
        {"text": "In Rome: Ann Smith.", "entities": [[3, 7, "LOC"], [9, 18, "PER"]]},
        {"text": "Oslo", "entities": [[0, 4, "LOC"]]},
    ]
    assert (tmp_path / "a" / "test_predictions.txt").read_text().splitlines()[1] == "Rome B-LOC"


def test_types_of_two_words_are_one_column(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"text": "the array", "entities": [[0, 9, "data structure"]]}))
    assert (
        run(
            TokenClassificationOptions(
                dev_file=str(path),
                init_checkpoint=write_tiny(
                    made(tmp_path / "model"),
                    "token_classification",
                    task={
                        "kind": "token_classification",
                        "labels": ["O", "B-data structure", "I-data structure", "B-X", "I-X"],
                    },
                ),
                output_dir=str(tmp_path / "run"),
                do_eval=True,
                max_seq_length=16,
            )
        )
        == 0
    )
    gold, *_ = count_chunks(read_rows((tmp_path / "run/dev_predictions.txt").read_text()))
    assert gold == {"data_structure": 1}


def test_a_student_learns_the_tags_of_its_teacher(folder, trained, tmp_path):
    """From its outputs alone; of another vocabulary or other tags it is none."""
    student = options(
        folder,
        tmp_path / "student",
        do_train=True,
        do_eval=True,
        teacher_checkpoint=(str(trained),),
        distillation_weight=1.0,
        num_train_epochs=3,
    )
    assert run(student) == 0
    assert json_files.read(str(tmp_path / "student" / "eval_results.json"))["eval_f1"] > 0.8
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = json_files.read(str(other / "best" / "bert_config.json"))
    config["id2label"] = {number: f"other {name}" for number, name in config["id2label"].items()}
    json_files.write(str(other / "best" / "bert_config.json"), config)
    with pytest.raises(
        UserError, match="is for the labels .*, this task has O, .*: take a teacher"
    ):
        run(student.replace(output_dir=str(tmp_path / "new"), teacher_checkpoint=(str(other),)))
    with pytest.raises(UserError, match="--teacher_checkpoint is for fine-tuning"):
        run(student.replace(output_dir=str(tmp_path / "new"), feature_based=True))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "nothing to do"),
        ({"do_train": True, "data_dir": None}, "--do_train needs --train_file or --data_dir"),
        ({"do_train": True, "data_dir": "."}, "--data_dir: . has no eng.train or train.txt"),
        ({"do_train": True, "max_seq_length": 65}, "max_position_embeddings is 64"),
        ({"do_train": True, "label_names": ("O", "O")}, "--label_names=O,O: a name is there twice"),
        ({"do_eval": True}, "holds no trained model: give --do_train"),
        (
            {"do_train": True, "tag_scheme": "iob2"},
            r"eng.train: .* line \d+: I-\w+ after .* is wrong in IOB2",
        ),
    ],
)
def test_what_does_not_fit_is_refused(folder, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        run(options(folder, tmp_path / "run", **changes))


def test_files_that_the_model_is_not_for(folder, trained, tmp_path):
    unlabeled, plain = tmp_path / "words.conll", tmp_path / "plain.conll"
    unlabeled.write_text("ann\nsaw\n")
    plain.write_text("ann N\n")
    model = dict(init_checkpoint=str(trained), do_eval=True, data_dir=None)
    with pytest.raises(UserError, match="--dev_file: .* has no labels"):
        run(options(folder, tmp_path / "a", dev_file=str(unlabeled), **model))
    with pytest.raises(UserError, match="its tags are plain, unlike those that the model knows"):
        run(options(folder, tmp_path / "a", dev_file=str(plain), **model))
