import dataclasses
import glob
import json
import math
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common import locks
from bert_tf.runs import run as driver
from bert_tf.tasks.pretraining.task import run
from bert_tf.training import run_directory
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.pretraining.schema import Schema
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import read_checkpoint
from modeling.costs import training_flops
from tests.bert_tf.tasks.pretraining.conftest import make_options
from tests.bert_tf.training.common import (
    LENGTH,
    ONE_LAYER,
    PREDICTIONS,
    TINY,
    VOCAB,
    instances,
    write_records,
)
from tests.refusals import assert_refused
from tests.tiny import TOKENS, write_tiny

METRICS = {
    "loss",
    "masked_lm_accuracy",
    "masked_lm_accuracy_at_mask",
    "masked_lm_loss",
    "masked_lm_perplexity",
    "next_sentence_accuracy",
    "next_sentence_loss",
}
BASELINES = {f"masked_lm_baseline_{name}" for name in ("at_mask", "copying", "most_frequent")}


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert (
        run(
            make_options(
                data,
                directory,
                do_eval=True,
                do_lower_case=True,
                eval_steps=4,
                iterations_per_loop=2,
                profile_steps=(2, 4),
            )
        )
        == 0
    )
    return directory


def test_the_files_of_a_run(trained, data):
    assert set(os.listdir(trained)) >= {
        "README.md",
        "bert_config.json",
        "checkpoint",
        "ckpt-4.data-00000-of-00001",
        "ckpt-4.index",
        "ckpt-6.data-00000-of-00001",
        "ckpt-6.index",
        "eval",
        "eval_results.json",
        "eval_results.txt",
        "eval_samples.jsonl",
        "events.out.tfevents.hparams",
        "flags.json",
        "inputs.json",
        "metrics.jsonl",
        "report.html",
        "tokenizer_config.json",
        "train",
        "vocab.txt",
    }
    report = (trained / "report.html").read_text()
    assert "Filled masks" in report and "masked_lm_accuracy" in report
    assert (trained / "vocab.txt").read_bytes() == (data / "vocab.txt").read_bytes()
    assert json.loads((trained / "flags.json").read_text())["flags"]["learning_rate"] == 0.01
    source = read_checkpoint(str(trained))
    assert source.vocab_sha256 == Vocabulary.from_file(str(data / "vocab.txt")).fingerprint
    assert (source.config, source.vocab_file, source.do_lower_case) == (
        ONE_LAYER,
        str(trained / "vocab.txt"),
        True,
    )
    assert glob.glob(f"{trained}/train/plugins/profile/*/*.xplane.pb")


def test_the_results_of_the_evaluation(trained):
    lines = (trained / "eval_results.txt").read_text().splitlines()
    results = dict(line.split(" = ") for line in lines)
    assert list(results) == sorted({*METRICS, *BASELINES, "global_step"})
    assert results["global_step"] == "6"
    as_json = json.loads((trained / "eval_results.json").read_text())
    # Six steps teach it nothing, which only the JSON file says.
    assert as_json.pop("degenerate").startswith("DEGENERATE: masked-LM accuracy at [MASK] is ")
    assert {name: str(value) for name, value in as_json.items()} == results
    assert as_json["loss"] == pytest.approx(
        as_json["masked_lm_loss"] + as_json["next_sentence_loss"]
    )
    assert as_json["masked_lm_perplexity"] == pytest.approx(np.exp(as_json["masked_lm_loss"]))
    evaluations = [
        line for line in run_directory.read_metrics(str(trained)) if line["split"] == "eval"
    ]
    for name in METRICS:
        assert evaluations[-1][name] == pytest.approx(as_json[name], rel=1e-6)


def test_the_reports_of_a_run(trained):
    lines = run_directory.read_metrics(str(trained))
    assert [(line["split"], line["step"]) for line in lines] == [
        ("train", 2),
        ("train", 4),
        ("eval", 4),
        ("train", 6),
        ("eval", 6),
    ]
    rates = [line["learning_rate"] for line in lines if line["split"] == "train"]
    assert rates == pytest.approx([0.005, 0.01 * (1 - 3 / 6), 0.01 * (1 - 5 / 6)], rel=1e-6)
    for line in lines:
        reported = {*METRICS, "step", "split"}
        if line["split"] == "train":
            reported |= {
                "learning_rate",
                "gradient_norm",
                "examples_per_second",
                "tokens_per_second",
                "steps_per_second",
                "input_wait_share",
            }
            assert 0 <= line["input_wait_share"] <= 1
            # The first loop is mostly compiling.
            if line["step"] > 2:
                reported |= {"tflops_per_second", "peak_share"}
                assert line["tflops_per_second"] == pytest.approx(
                    training_flops(ONE_LAYER, LENGTH, PREDICTIONS)
                    * line["examples_per_second"]
                    / 1e12,
                    rel=1e-6,
                )
                assert 0 < line["peak_share"] < 1
            assert line["tokens_per_second"] == pytest.approx(
                LENGTH * line["examples_per_second"], rel=1e-6
            )
        assert set(line) == reported


def test_tensorboard_shows_scalars(trained):
    values = {
        split: {
            value.tag: value
            for path in glob.glob(f"{trained}/{split}/events*")
            for event in tf.compat.v1.train.summary_iterator(path)
            for value in event.summary.value
        }
        for split in ("train", "eval")
    }
    tags = {split: set(found) for split, found in values.items()}
    metrics = {f"{'loss' if 'loss' in name else 'quality'}/{name}" for name in METRICS}
    assert tags["eval"] >= {*metrics, "predictions/filled_masks"}
    assert tags["train"] - {tag for tag in tags["train"] if tag.startswith("profile")} == {
        *metrics,
        "optimizer/learning_rate",
        "optimizer/gradient_norm",
        "speed/examples_per_second",
        "speed/tokens_per_second",
        "speed/tflops_per_second",
        "speed/peak_share",
        "speed/input_wait_share",
    }


def test_a_finished_run_says_so_and_evaluates_again(trained, options, capsys):
    results = (trained / "eval_results.txt").read_text()
    checkpoint = (trained / "checkpoint").read_bytes()
    assert (
        run(dataclasses.replace(options, output_dir=str(trained), do_eval=True, learning_rate=0.02))
        == 0
    )
    output = capsys.readouterr().out
    assert (
        "training is finished" in output
        and "step 6 of 6" in output
        and "raise --num_train_steps" in output
    )
    assert "learning_rate: 0.01 → 0.02" in output
    assert (trained / "eval_results.txt").read_text() == results
    assert (trained / "checkpoint").read_bytes() == checkpoint


@pytest.mark.parametrize("suffix", ["", "/ckpt-6"])
def test_weights_of_a_run_are_evaluated_elsewhere_at_step_0(trained, options, capsys, suffix):
    options = dataclasses.replace(
        options,
        init_checkpoint=f"{trained}{suffix}",
        bert_config_file=None,
        do_train=False,
        do_eval=True,
    )
    # The run may still be training.
    with locks.directory_lock(str(trained), "busy"):
        assert run(options) == 0
    found = json.loads((pathlib.Path(options.output_dir) / "eval_results.json").read_text())
    expected = json.loads((trained / "eval_results.json").read_text())
    assert found.pop("degenerate") == expected.pop("degenerate")
    assert found == pytest.approx({**expected, "global_step": 0}, rel=1e-6)
    assert f"loaded 30 tensors from {trained}/ckpt-6" in capsys.readouterr().out


def test_the_perplexity_of_a_model_that_has_only_a_masked_lm_head(options, tmp_path):
    records = write_records(tmp_path / "records", 8, vocab_size=len(TOKENS))
    (tmp_path / "model").mkdir()
    model = write_tiny(tmp_path / "model", "masked_lm", output_format="huggingface")
    options = dataclasses.replace(
        options,
        init_checkpoint=model,
        bert_config_file=None,
        input_file=records,
        eval_file=None,
        do_train=False,
        do_eval=True,
    )
    assert_refused(lambda: run(options), "not a trained model for this task")
    assert run(dataclasses.replace(options, next_sentence_prediction=False)) == 0
    results = json.loads((pathlib.Path(options.output_dir) / "eval_results.json").read_text())
    assert results["masked_lm_perplexity"] == pytest.approx(np.exp(results["loss"]))


@pytest.mark.parametrize("by", ["flag", "records"])
def test_training_goes_on_from_other_weights_at_step_0_without_next_sentences(
    trained, options, capsys, tmp_path, by
):
    if by == "flag":
        changes = {"next_sentence_prediction": False}
    else:
        records = [
            write_records(tmp_path / str(count), count, changes=without_pairs(count))
            for count in (29, 11)
        ]
        changes = {"input_file": records[0], "eval_file": records[1]}
        mixed = dataclasses.replace(options, input_file=records[0], do_eval=True)
        assert_refused(
            lambda: run(mixed),
            f"dev.tfrecord has pairs of segments, and {records[0]} has none",
            "--next_sentence_prediction=false",
        )
    options = dataclasses.replace(
        options,
        init_checkpoint=str(trained),
        num_train_steps=1,
        learning_rate=1e-9,
        num_warmup_steps=0,
        do_eval=True,
        **changes,
    )
    assert run(options) == 0
    reader = tf.train.load_checkpoint(options.output_dir)
    assert reader.get_tensor("step/.ATTRIBUTES/VARIABLE_VALUE") == 1
    key = "encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE"
    np.testing.assert_allclose(
        reader.get_tensor(key), tf.train.load_checkpoint(str(trained)).get_tensor(key), atol=1e-6
    )
    results = json.loads((pathlib.Path(options.output_dir) / "eval_results.json").read_text())
    assert set(results) == {
        "global_step",
        "loss",
        "masked_lm_accuracy",
        "masked_lm_accuracy_at_mask",
        "masked_lm_loss",
        "masked_lm_perplexity",
        "degenerate",
        *BASELINES,
    }
    output = capsys.readouterr().out
    assert "1 steps of 4 examples = 64 tokens = 0.14 epochs" in output
    assert "float32, XLA off" in output and "parameters" in output
    assert ("the records have no pairs of segments" in output) == (by == "records")
    directory = pathlib.Path(options.output_dir)
    flags = json.loads((directory / "flags.json").read_text())["flags"]
    assert flags["next_sentence_prediction"] is False
    assert "without a next-sentence task" in (directory / "README.md").read_text()


def without_pairs(count: int) -> dict[str, np.ndarray]:
    """Features of records that are single segments, in place of those of pairs."""
    return {
        "segment_ids": np.zeros((count, LENGTH), int),
        "next_sentence_labels": np.zeros((count, 1), int),
    }


def test_xla_is_not_used_where_a_run_is_too_short_for_it(options, monkeypatch, capsys):
    """As on a GPU: nothing else of one is here."""
    devices = driver.set_up_devices(options)
    monkeypatch.setattr(
        driver,
        "set_up_devices",
        lambda *arguments: dataclasses.replace(devices, jit_compile=True, compiles_by_work=True),
    )
    assert run(dataclasses.replace(options, num_train_steps=1, num_warmup_steps=0)) == 0
    assert (
        "XLA off (saves about 0 s of all steps, compiling takes about " in capsys.readouterr().out
    )


def test_a_left_to_right_model(data, options, tmp_path, capsys):
    """Trained and evaluated without next sentences; and it stays left-to-right wherever it goes."""
    config = tmp_path / "bert_config.json"
    dataclasses.replace(ONE_LAYER, causal=True).to_file(str(config))
    options = dataclasses.replace(
        options,
        bert_config_file=str(config),
        do_eval=True,
        num_train_steps=2,
        next_sentence_prediction=False,
    )
    assert run(options) == 0
    assert "left-to-right: every position predicts the next token" in capsys.readouterr().out
    results = json.loads((pathlib.Path(options.output_dir) / "eval_results.json").read_text())
    metrics = {"loss", "next_token_loss", "next_token_accuracy", "next_token_perplexity"}
    assert set(results) == {"global_step", *metrics}
    assert all(metrics < set(line) for line in run_directory.read_metrics(options.output_dir))
    assert read_checkpoint(options.output_dir).config.causal
    other = options.replace(bert_config_file=f"{data}/bert_config.json")
    assert_refused(lambda: run(other), "is_decoder is True there and None here")
    assert_refused(
        lambda: run(
            other.replace(output_dir=str(tmp_path / "other"), init_checkpoint=options.output_dir)
        ),
        "describes a bidirectional model, but",
        "is left-to-right",
    )


@pytest.mark.parametrize("kind", ["ids", "length", "checksum"])
def test_a_record_that_is_wrong_in_the_middle_is_named_while_running(
    refused, trained, tmp_path, kind
):
    good, bad = tmp_path / "good", tmp_path / "bad"
    write_records(good, 6)
    if kind == "checksum":
        content = bytearray(good.read_bytes())
        content[-30] ^= 1
        bad.write_bytes(content)
        number = 6
    else:
        # Only the first record of a file is looked at beforehand.
        write_records(bad, 5, **({"vocab_size": 4000} if kind == "ids" else {"length": 18}))
        bad.write_bytes(good.read_bytes() + bad.read_bytes())
        number = 7
    message = {
        "ids": f"but vocab_size is {VOCAB}",
        "length": "max_seq_length=18",
        "checksum": "damaged",
    }[kind]
    changes = {
        "do_train": False,
        "do_eval": True,
        "init_checkpoint": str(trained),
        "eval_file": str(bad),
    }
    if kind == "checksum":
        changes = {"input_file": str(bad)}
    refused(str(bad), f"record {number}", message, **changes)


def test_a_loss_that_is_not_finite_keeps_what_was_saved(options, refused):
    # The rate of step 1 is 0; that of step 2 spoils the weights.
    refused(
        "not finite at step 3", learning_rate=1e30, save_checkpoints_steps=1, iterations_per_loop=1
    )
    assert tf.train.latest_checkpoint(options.output_dir) == f"{options.output_dir}/ckpt-2"
    assert [line["step"] for line in run_directory.read_metrics(options.output_dir)] == [1, 2]


def test_another_configuration_than_that_of_the_directory_or_the_checkpoint(
    refused, trained, tmp_path
):
    path = tmp_path / "bert_config.json"
    TINY.to_file(str(path))
    refused(
        str(trained),
        "num_hidden_layers is 1 there and 2 here",
        bert_config_file=str(path),
        output_dir=str(trained),
    )
    refused(
        "layer_1",
        "bert_config.json that belongs to the checkpoint",
        bert_config_file=str(path),
        init_checkpoint=str(trained),
    )
    wider = dataclasses.replace(ONE_LAYER, intermediate_size=32)
    wider.to_file(str(path))
    refused(
        "is [16, 24] and would be [16, 32]",
        bert_config_file=str(path),
        init_checkpoint=str(trained),
    )


def test_a_disk_that_fills_while_training(options, refused, monkeypatch):
    write = tf.train.Checkpoint.write

    def failing(self, file_prefix, *args, **kwargs):
        if not file_prefix.endswith("ckpt-4"):
            return write(self, file_prefix, *args, **kwargs)
        pathlib.Path(f"{file_prefix}.data-00000-of-00001").write_bytes(b"half")
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.train.Checkpoint, "write", failing)
    refused("ckpt-4 could not be saved", "No space left on device", "ckpt-2")
    assert sorted(glob.glob(f"{options.output_dir}/ckpt-*")) == [
        f"{options.output_dir}/ckpt-2.{part}" for part in ("data-00000-of-00001", "index")
    ]
    assert tf.train.latest_checkpoint(options.output_dir) == f"{options.output_dir}/ckpt-2"


def test_records_that_are_exchanged_while_they_train_are_found_at_the_next_checkpoint(
    options, refused, monkeypatch, tmp_path
):
    path = tmp_path / "records"
    write_records(path, 20)
    write_records(tmp_path / "other", 20, 100)
    status = path.stat()
    os.utime(tmp_path / "other", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (tmp_path / "other").stat().st_size == status.st_size
    write = tf.train.Checkpoint.write

    def write_and_exchange(self, file_prefix, *args, **kwargs):
        result = write(self, file_prefix, *args, **kwargs)
        if file_prefix.endswith("ckpt-2"):
            (tmp_path / "other").rename(path)
        return result

    monkeypatch.setattr(tf.train.Checkpoint, "write", write_and_exchange)
    refused(f"--input_file: {path} has changed while it was read", input_file=str(path))
    assert tf.train.latest_checkpoint(options.output_dir) == f"{options.output_dir}/ckpt-2"


def test_a_stale_configuration_without_checkpoints_is_not_used(options, trained, tmp_path):
    """A first attempt may have left one in the output directory."""
    os.makedirs(options.output_dir)
    TINY.to_file(os.path.join(options.output_dir, "bert_config.json"))
    shutil.copy(trained / "vocab.txt", tmp_path)
    assert (
        run(
            dataclasses.replace(
                options,
                bert_config_file=None,
                init_checkpoint=str(trained),
                do_train=False,
                do_eval=True,
            )
        )
        == 0
    )


def test_the_accuracy_at_other_rates_is_that_of_an_evaluation_there(data, trained, tmp_path):
    features = instances(11, 29)
    schema = Schema(LENGTH, 0)
    records = tmp_path / "without_masks.tfrecord"
    records.write_bytes(
        RecordWriter(schema, VOCAB).encode({name: features[name] for name in schema.features})
    )

    def evaluate(name: str, share: float, **changes) -> dict:
        options = make_options(
            data,
            tmp_path / name,
            do_train=False,
            do_eval=True,
            init_checkpoint=str(trained),
            vocab_file=f"{data}/vocab.txt",
            input_file=str(records),
            eval_file=str(records),
            masked_lm_prob=(share,),
            max_predictions_per_seq=math.ceil(LENGTH * share),
            **changes,
        )
        assert run(options) == 0
        return json.loads((tmp_path / name / "eval_results.json").read_text())

    results = evaluate("both", 0.15, eval_masked_lm_prob=(0.15, 0.9))
    assert results["masked_lm_accuracy_at_rate_0.15"] == results["masked_lm_accuracy"]
    alone = evaluate("alone", 0.9)
    assert results["masked_lm_accuracy_at_rate_0.9"] == alone["masked_lm_accuracy"]
