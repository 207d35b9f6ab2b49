"""What quantization costs, measured on the development set of a run."""

import json
import os
import shutil

import numpy as np
import pytest

from bert_common import json_files
from bert_tf.extras import token_id_formats
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.runs import provenance
from tests.refusals import assert_refused
from tests.tiny import write_tiny

FIXTURES = "tests/fixtures/run_directories"


@pytest.fixture
def run(project, tmp_path, monkeypatch):
    """A run of an earlier version, in the directory in which its flags name its files."""

    def at(task):
        shutil.copytree(project / FIXTURES / task, tmp_path / task)
        monkeypatch.chdir(tmp_path / task)
        return "run"

    return at


def quantized(**options):
    options = {
        "init_checkpoint": "run",
        "export_dir": "out",
        "format": "onnx",
        "quantize": "int8",
        **options,
    }
    return export(ExportOptions(**options))


def test_a_classifier(run):
    run("classification")
    done = quantized()
    loss = done.score_loss
    recorded = json.load(open("run/best/best.json"))["metrics"]
    assert (
        loss.model == pytest.approx(recorded[loss.metric], abs=1e-6)
        and loss.source == "dev.csv, in batches of 32"
    )
    assert 0 < loss.export <= 1 and loss.share <= 0.01 and loss.describe() in done.describe()


@pytest.mark.parametrize("export_format", ["onnx", "litert"])
def test_questions_by_the_metric_of_the_run(run, export_format):
    run("question_answering")
    loss = quantized(format=export_format, max_score_loss=1.0, quantize="float16").score_loss
    recorded = json.load(open("run/eval_results.json"))
    assert loss.metric in recorded and loss.model == pytest.approx(recorded[loss.metric], abs=1e-3)
    assert loss.export == pytest.approx(loss.model, abs=1e-3)


def test_a_loss_beyond_the_limit_leaves_nothing(run, monkeypatch):
    run("classification")

    # A model whose rounding has gone wrong.
    monkeypatch.setattr(
        token_id_formats, "as_task_outputs", lambda head, outputs: {"logits": -outputs["logits"]}
    )
    assert_refused(
        quantized,
        "--quantize=int8 costs more than --max_score_loss=0.01 allows, and nothing was written: ",
        " of dev.csv, in batches of 32: ",
        "of the export ",
    )
    assert_refused(lambda: quantized(max_score_loss=0.0), "--max_score_loss=0 allows")
    assert not os.path.exists("out")
    assert quantized(max_score_loss=1.0).score_loss.share > 0.01


def test_another_development_set(run):
    run("classification")
    lines = open("dev.csv").read().splitlines()
    with open("half.csv", "w") as file:
        file.write("\n".join(lines[: len(lines) // 2]) + "\n")
    assert quantized(dev_file="half.csv", max_score_loss=1.0).score_loss.source.startswith(
        "half.csv, "
    )


def test_without_a_development_set_it_is_said(run):
    run("classification")
    os.rename("dev.csv", "gone.csv")
    done = quantized()
    assert done.score_loss is None and any(
        note.startswith("what --quantize=int8 costs was not measured: ") and "dev.csv" in note
        for note in done.notes
    )
    assert_refused(lambda: quantized(export_dir="other", max_score_loss=0.5), "dev.csv")
    done = quantized(export_dir="features", task="features")
    assert done.score_loss is None and any(
        "it is no run directory of this task" in note for note in done.notes
    )
    assert np.isfinite(done.max_difference)


def test_a_development_set_that_the_run_did_not_have_is_not_taken_for_it(run):
    run("classification")
    provenance.write("run", provenance.fingerprints({"dev": ["dev.csv"]}, {}), {})
    with open("dev.csv", "a") as file:
        file.write("\n")
    assert any(
        "dev.csv is not the development set that the run of run had: give one by --dev_file" in note
        for note in quantized().notes
    )


TAGS = {
    "kind": "token_classification",
    "labels": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "max_seq_length": 16,
    "label_scheme": "iob2",
}


@pytest.mark.parametrize(
    "head, task, flags, lines",
    [
        (
            "token_classification",
            TAGS,
            {},
            ["the O", "array B-X", "is O", "", "who B-Y", "lists O", ""],
        ),
        (
            "multiple_choice",
            {"kind": "multiple_choice", "max_seq_length": 16},
            {
                "task_name": "custom",
                "question_column": "q",
                "choices_columns": ["a", "b"],
                "label_column": "right",
                "file_format": "tsv",
            },
            ["q\ta\tb\tright", "the list\tis\twho\t0", "a array\tb\tis returned\t1"],
        ),
        (
            None,
            {"kind": "sentence_embedding", "pooling": "max", "max_seq_length": 16},
            {"task_name": "pairs"},
            ["sentence1\tsentence2", "the list\tis returned", "a array\twho ?", "b\tsorted list"],
        ),
    ],
)
def test_tags_choices_and_vectors(tmp_path, head, task, flags, lines):
    path = write_tiny(tmp_path / "in", *([head] if head else []), task=task)
    dev = tmp_path / ("dev.tsv" if flags else "dev.txt")
    dev.write_text("\n".join(lines) + "\n")
    json_files.write(
        os.path.join(path, "flags.json"),
        {"flags": {**flags, "dev_file": str(dev), "do_train": True}},
    )
    loss = quantized(
        init_checkpoint=path,
        export_dir=str(tmp_path / "out"),
        quantize="float16",
        max_score_loss=1.0,
    ).score_loss
    assert loss.export == pytest.approx(loss.model) and loss.source.startswith(f"{dev}, ")
