import os
import random
import re

import numpy as np
import pytest

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.evaluation.significance import Difference, relative_change
from bert_tf.extras.adaptation import (
    TaskScores,
    begin,
    check_unchanged,
    judge,
    measured_losses,
    run,
    run_steps,
)
from bert_tf.extras.adaptation_plan import AdaptOptions, Plan, Step
from bert_tf.training import run_directory
from modeling.checkpoints.load import open_checkpoint
from tests.page_commands import PROJECT, run_script
from tests.tiny import write_tiny

SCRIPT = str(PROJECT / "adapt.py")


def losses(domain: float, old: float, shuffled: float) -> list[dict]:
    """The rows of text_loss.py with these relative changes, and what shuffling costs."""
    rng = np.random.default_rng(3)
    rows = []
    for file, change in (("held_out.txt", domain), ("old.txt", old)):
        for document, nats in enumerate(rng.uniform(90, 110, 40)):
            for name, value in (("before", nats), ("after", nats * (1 + change) + rng.normal())):
                row = {"file": file, "checkpoint": name, "document": document, "nats": value}
                rows.append(row | {"shuffled_nats": value * (1 + shuffled) + rng.normal()})
    return rows


@pytest.mark.parametrize(
    "domain, shuffled, task, is_worth_it, reason",
    [
        (-0.1, 0.3, None, True, "domain       -10"),
        (-0.001, 0.3, None, False, "no gain"),
        (0.05, 0.3, None, False, "no gain"),
        (-0.1, 0.0, None, False, "which words are frequent"),
        (-0.1, 0.3, Difference(0.03, 0.01, 0.05), True, r"\+0.030, \+0.010 to \+0.050"),
        (-0.1, 0.3, Difference(0.01, -0.01, 0.03), False, "no gain that this development set"),
        (-0.1, 0.3, Difference(0.0), False, "no gain that this development set"),
    ],
)
def test_the_verdict(domain, shuffled, task, is_worth_it, reason):
    scores = None if task is None else TaskScores(0.8, 0.8 + task.mean, task)
    verdict = judge(losses(domain, 0.02, shuffled), "held_out.txt", scores)
    assert verdict.is_worth_it == is_worth_it and re.search(reason, "\n".join(verdict.lines))
    assert "old text     +2." in "\n".join(verdict.lines)


def test_an_interval_over_documents():
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        before = rng.uniform(50, 150, 30)
        change = relative_change(before, before * (0.9 + rng.normal(0, 0.05, 30)))
        inside += change.low < -0.1 < change.high
    assert 0.88 <= inside / 200 <= 0.99
    assert relative_change(np.array([2.0]), np.array([1.0])) == Difference(-0.5)


@pytest.mark.processes
def test_shuffled_text_is_not_worth_it(tmp_path):
    words = "the old house stood near a river and nobody had seen its owner for many years".split()
    rng = random.Random(1)
    documents = ["\n".join(" ".join(rng.choices(words, k=30)) for _ in range(4)) for _ in range(60)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in/words.txt").write_text("\n\n".join(documents))
    (tmp_path / "old.txt").write_text("He went to the old house.\n\nNobody was there.\n")
    arguments = [
        f"--documents_dir={tmp_path}/in",
        f"--init_checkpoint={PROJECT}/samples/tiny_books",
        f"--output_dir={tmp_path}/out",
        "--num_train_steps=40",
        "--learning_rate=1e-3",
        "--max_seq_length=32",
        "--held_out_fraction=0.3",
        f"--general_file={tmp_path}/old.txt",
    ]
    # A step that fails ends it; the same command resumes.
    records = tmp_path / "out/corpus.tfrecord"
    records.mkdir(parents=True)
    with pytest.raises(AssertionError):
        run_script(SCRIPT, arguments)
    records.rmdir()
    corpus = (tmp_path / "out/corpus.txt").stat()
    printed = run_script(SCRIPT, arguments)
    assert printed.count("(done)") == 2 and "$ python run_pretraining.py \\\n" in printed
    assert (tmp_path / "out/corpus.txt").stat() == corpus
    # It predicts held-out text better, which is no language all the same.
    assert re.search(r"domain +-\d\d\.\d % \(-", printed)
    assert "which words are frequent" in printed and "\nnot worth it: " in printed
    assert json_files.read(str(tmp_path / "out/verdict.json"))["worth_it"] is False
    assert not (tmp_path / "out/model").exists()
    options = dict(argument.removeprefix("--").split("=") for argument in arguments)
    options |= {"num_train_steps": 40, "learning_rate": 1e-3, "max_seq_length": 32}
    options["held_out_fraction"] = 0.3
    with pytest.raises(UserError, match="was begun with other minutes, seed: give the same again"):
        run(AdaptOptions(**options, minutes=3.0, seed=4))
    # Documents of the same size and time, and a file that is given no more.
    words_file = tmp_path / "in/words.txt"
    times = words_file.stat()
    words_file.write_text(words_file.read_text()[::-1])
    os.utime(words_file, ns=(times.st_atime_ns, times.st_mtime_ns))
    del options["general_file"]
    with pytest.raises(UserError, match="contents of documents_dir, contents of general_file: "):
        run(AdaptOptions(**options))
    with run_directory.writing(options["output_dir"]):
        with pytest.raises(UserError, match="another run is writing there: wait for it"):
            run(AdaptOptions(**options))
        # A resumed adaptation writes what it has read.
        json_files.write(str(tmp_path / "out/adapt.json"), {"options": {}, "inputs": []})
    with pytest.raises(UserError, match=r"adapt.json: 'inputs' is \[\], an object is expected"):
        run(AdaptOptions(**options))
    (tmp_path / "out/losses.jsonl").write_text("")
    with pytest.raises(UserError, match="losses.jsonl has not the losses of .*: remove it"):
        measured_losses(Plan(AdaptOptions(**options), open_checkpoint(options["init_checkpoint"])))
    (tmp_path / "out/adapt.json").unlink()
    with pytest.raises(UserError, match=r"documents\.jsonl is there, and no adapt\.json says"):
        run(AdaptOptions(**options))


def write_lines(path, rows: list[dict]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(map(json_files.line_of, rows)))


@pytest.fixture
def adapted(tmp_path) -> AdaptOptions:
    """An adaptation that lacks nothing but the verdict."""
    before = write_tiny(tmp_path / "tiny", "masked_lm")
    options = AdaptOptions(
        documents_dir=str(tmp_path / "in"),
        init_checkpoint=before,
        output_dir=str(tmp_path / "out"),
        general_file=str(tmp_path / "old.txt"),
        train_file=str(tmp_path / "old.txt"),
        dev_file=str(tmp_path / "old.txt"),
        max_seq_length=16,
        minutes=1e-6,
    )
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    for name in ("in/a.txt", "old.txt", "out/held_out.txt", "out/corpus.txt"):
        (tmp_path / name).write_text("the list\n\n" * 9)
    begin(options)
    out = tmp_path / "out"
    names = (str(out / "held_out.txt"), before, str(out / "weights"))
    rows = []
    for checkpoint in names[1:]:
        row = {"file": names[0], "checkpoint": checkpoint, "nats": 2.0, "shuffled_nats": 2.0}
        rows += [{**row, "document": number} for number in range(2)]
    write_lines(out / "losses.jsonl", rows)
    speed = {"step": 12, "split": "train", "examples_per_second": 9.5}
    write_lines(out / "speed/metrics.jsonl", [speed])
    guesses = [{"id": number, "label": "x", "true_label": "x"} for number in range(2)]
    for name in ("classifier_before", "classifier"):
        write_lines(out / name / "eval_predictions.jsonl", guesses)
    json_files.write(str(out / "corpus.tfrecord.stats.json"), {"counts": {"instances": 8}})
    for name in ("documents.jsonl", "speed/ckpt-12.index", "weights/ckpt-1.index"):
        write_lines(out / name, [])
    return options


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("held_out.txt", "list", "\udcff", "held_out.txt is not UTF-8"),
        ("losses.jsonl", '"nats": 2.0', '"nats": NaN', "has not the losses of .*: remove it"),
        ("losses.jsonl", '"document": 1', '"document": 2', "on the same documents: remove it"),
        ("losses.jsonl", '"document"', '"page"', "losses.jsonl:1: there is no 'document'"),
        ("speed/metrics.jsonl", "train", "eval", "speed has no speed of training: remove it"),
        ("speed/metrics.jsonl", "9.5", "-1", "speed has no speed of training: remove it"),
        ("speed/metrics.jsonl", "9.5", "null", "speed has no speed of training: remove it"),
        ("corpus.tfrecord.stats.json", "8", "[]", r"'counts.instances' is \[\], a whole number"),
        ("classifier/eval_predictions.jsonl", '"id": 1', '"id": 7', "not of the same texts"),
        ("classifier/eval_predictions.jsonl", '"id"', '"number"', "jsonl:1: there is no 'id'"),
    ],
)
def test_what_a_step_has_left_is_damaged(adapted, name, old, new, message):
    path = os.path.join(adapted.output_dir, name)
    text = files.read_text(path)
    assert old in text
    with open(path, "w", errors="surrogateescape") as file:
        file.write(text.replace(old, new, 1))
    with pytest.raises(UserError, match=message):
        run(adapted)
    with open(path, "w") as file:
        file.write(text)
    run(adapted)
    verdict = json_files.read(os.path.join(adapted.output_dir, "verdict.json"))
    assert verdict["worth_it"] is False


def test_inputs_that_change_while_steps_read_them(adapted):
    state = begin(adapted)
    check_unchanged(adapted, state)
    with open(adapted.general_file, "a") as file:
        file.write("another\n")
    with pytest.raises(
        UserError, match="contents of general_file.* changed while .*: give another"
    ):
        check_unchanged(adapted, state)
    with pytest.raises(UserError, match=r"is there, and no adapt\.json says"):
        run(adapted)


def test_the_plan(tmp_path):
    """Weights without a masked-LM head get one on the frozen encoder; nothing is written."""
    write_tiny(tmp_path / "tiny")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("the list\n")
    arguments = [
        f"--documents_dir={tmp_path}/in",
        f"--init_checkpoint={tmp_path}/tiny",
        f"--output_dir={tmp_path}/out",
        "--max_seq_length=24",
        "--added_words=5",
        "--embeddings",
        "--dry_run",
    ]
    printed = run_script(SCRIPT, arguments)
    assert not (tmp_path / "out").exists()
    steps = [part.split("\n$ ")[1] for part in printed.split("\n=== ")[1:]]
    assert [step.split(" \\\n")[0].removeprefix("python ") for step in steps] == [
        "data_gen/read_folder.py",
        "data_gen/prepare_corpus.py",
        "-m bert_tf.extras.add_words",
        "data_gen/create_pretraining_data.py",
        "run_pretraining.py",
        "run_pretraining.py",
        "run_pretraining.py",
        "-m bert_tf.extras.text_loss",
        "run_sentence_embedding.py",
        "export_model.py",
    ]
    assert "--freeze_embeddings" in steps[5] and "--freeze_layers=3" in steps[5]
    assert f"--init_checkpoint={tmp_path}/out/head" in steps[6] and "freeze" not in steps[6]
    assert f"--vocab_file={tmp_path}/out/start/vocab.txt" in steps[3]
    # New words alone cost less than their pieces: the gain must be the training's.
    write_tiny(tmp_path / "masked", "masked_lm")
    arguments[1] = f"--init_checkpoint={tmp_path}/masked"
    masked = run_script(SCRIPT, arguments)
    assert f"--init_checkpoint={tmp_path}/out/start,{tmp_path}/out/weights" in masked
    # A stopped one has left work that nothing but the flag goes on with.
    assert "--resume" in steps[3]
    (tmp_path / "in/a.txt").unlink()
    options = AdaptOptions(
        documents_dir=f"{tmp_path}/in",
        init_checkpoint=f"{tmp_path}/tiny",
        output_dir=f"{tmp_path}/out",
        max_seq_length=24,
        dry_run=True,
    )
    with pytest.raises(UserError, match="--documents_dir: .* has no document"):
        run(options)
    (tmp_path / "link").symlink_to("in")
    for documents, output in (("in", "in"), ("in", "in/out"), ("link", "in/out")):
        with pytest.raises(UserError, match="whose files are read: choose one outside"):
            AdaptOptions(
                documents_dir=f"{tmp_path}/{documents}",
                init_checkpoint="b",
                output_dir=f"{tmp_path}/{output}",
            ).check()
    with pytest.raises(UserError, match="--output_dir: a,b has a comma, which separates names"):
        AdaptOptions(documents_dir="a", init_checkpoint="b", output_dir="a,b").check()
    with pytest.raises(UserError, match="one of them is the result"):
        AdaptOptions(
            documents_dir="a",
            init_checkpoint="b",
            output_dir="c",
            train_file="d",
            dev_file="e",
            embeddings=True,
        ).check()


def test_steps_that_were_stopped_or_are_wrong_end_it(tmp_path):
    """A run that was stopped has saved and ends well; wrong labels are found before a training."""
    (tmp_path / "a.txt").write_text("the list\n")
    arguments = (f"--input_dir={tmp_path}", f"--output_file={tmp_path}/out/documents.jsonl")
    step = Step("", "data_gen/read_folder.py", arguments, f"{tmp_path}/ckpt-9.index")
    with pytest.raises(UserError, match="read_folder.py was stopped: give the same command"):
        run_steps([step], [1])
    checkpoint = open_checkpoint(f"{PROJECT}/samples/tiny_books")
    options = AdaptOptions(
        documents_dir="a",
        init_checkpoint="b",
        output_dir="out",
        train_file="c",
        dev_file="d",
        num_train_steps=9,
    )
    steps = Plan(options, checkpoint).training()
    assert steps[0].title == "A classifier of the labeled texts, before"
    assert steps[1].made == "out/weights/ckpt-9.index"
    # A printed command names no file that ends with the process.
    path = write_tiny(tmp_path / "tiny", "masked_lm", output_format="huggingface")
    (tmp_path / "tiny/vocab.txt").unlink()
    steps = Plan(options, open_checkpoint(path)).examples()
    assert [step.script for step in steps] == [
        "convert_checkpoint.py",
        "data_gen/create_pretraining_data.py",
    ]
    assert steps[0].made == "out/start" and "--output=out/start" in steps[0].arguments
    assert "--vocab_file=out/start/vocab.txt" in steps[1].arguments
