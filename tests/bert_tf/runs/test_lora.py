import dataclasses

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from bert_tf.runs import run as driver
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.tasks.classification import toy_task
from tests.processes import best_record, curve, tensors

LAYERS = ("encoder/layer_0/attention/self/query", "encoder/layer_0/output/dense")
LORA = dict(lora_rank=2, lora_alpha=4.0, lora_layers=("query", "output_dense"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    toy_task.write_model(folder)
    toy_task.write_csv(folder / "train.csv", 40, 1)
    toy_task.write_csv(folder / "dev.csv", 16, 2)
    return folder


def classifier(folder, output_dir, **changes) -> ClassificationOptions:
    return toy_task.own_task(
        folder,
        output_dir,
        **{
            **dict(
                test_file=None,
                learning_rate=0.01,
                num_train_epochs=4,
                do_train=True,
                do_eval=True,
                save_checkpoints_steps=5,
                keep_checkpoint_max=0,
                iterations_per_loop=5,
            ),
            **LORA,
            **changes,
        },
    )


class Killed(ClassificationTask):
    """Is killed when it should evaluate its third epoch."""

    def evaluate(self, run):
        if run.step == 15:
            raise KeyboardInterrupt
        return super().evaluate(run)


class Best(ClassificationTask):
    """Was best after its second epoch."""

    def evaluate(self, run):
        evaluation = super().evaluate(run)
        return dataclasses.replace(
            evaluation, metrics=evaluation.metrics | {"accuracy": 1.0 - abs(run.step - 10) / 100}
        )


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    """The directory of a run whose best weights are not the last."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert driver.run(Best, classifier(folder, directory)) == 0
    return directory


def test_checkpoints_hold_merged_kernels_and_beside_them_what_trains(trained):
    first, last = (tensors(f"{trained}/ckpt-{step}") for step in (5, 20))
    matrices = {f"lora/{layer}/lora_kernel_{which}" for layer in LAYERS for which in "ab"}
    trained_ones = {*matrices, "heads/classifier/output_weights", "heads/classifier/output_bias"}
    for slot in ("m", "v"):
        prefix = f"optimizer/{slot}/"
        assert {
            path(name)[len(prefix) :] for name in first if name.startswith(prefix)
        } == trained_ones
    assert {path(name) for name in first if name.startswith("lora/")} == {
        *matrices,
        *(f"lora/{layer}/kernel" for layer in LAYERS),
    }
    changed = {
        path(name)
        for name in first
        if name.startswith(("encoder/", "heads/", "lora/"))
        and not np.array_equal(first[name], last[name])
    }
    assert changed == {*trained_ones, *(f"encoder/{layer}/kernel" for layer in LAYERS)}
    for found in (first, last, tensors(trained / "best")):
        found = {path(name): value for name, value in found.items()}
        for layer in LAYERS:
            a, b = (found[f"lora/{layer}/lora_kernel_{which}"] for which in "ab")
            assert a.shape[1] == b.shape[0] == 2 and np.abs(b).max() > 1e-4
            merged = found[f"lora/{layer}/kernel"] + 4.0 / 2 * a @ b
            np.testing.assert_allclose(found[f"encoder/{layer}/kernel"], merged, atol=1e-6)


def path(name: str) -> str:
    return name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")


def test_a_run_that_was_killed_ends_with_the_same_weights(folder, trained, tmp_path):
    """Also one that has to take its best weights from the disk, adapters included."""
    options = classifier(folder, tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        driver.run(type("KilledBest", (Killed, Best), {}), options)
    assert driver.run(Best, options) == 0
    expected, found = tensors(trained), tensors(tmp_path / "run")
    assert expected.keys() == found.keys() and any(
        name.startswith("optimizer/v/lora/") for name in found
    )
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert json_files.read(str(trained / "best/best.json"))["step"] == 10
    assert best_record(tmp_path / "run") == best_record(trained)
    results = [json_files.read(f"{one}/eval_results.json") for one in (trained, tmp_path / "run")]
    for name in ("eval_loss", "eval_macro_f1", "global_step"):
        assert results[0][name] == results[1][name]
    evaluations = [
        [line for line in curve(one) if line["split"] == "eval"]
        for one in (trained, tmp_path / "run")
    ]
    assert evaluations[0] == evaluations[1]


def test_programs_that_know_nothing_of_it_read_merged_weights(folder, trained, tmp_path):
    """The run evaluated the model unmerged; what reads its directory computes the same."""
    expected = json_files.read(str(trained / "eval_results.json"))
    options = classifier(
        folder,
        tmp_path / "again",
        init_checkpoint=str(trained),
        bert_config_file=None,
        do_train=False,
        lora_rank=0,
        lora_alpha=None,
        lora_layers=("query", "value"),
    )
    assert driver.run(ClassificationTask, options) == 0
    found = json_files.read(str(tmp_path / "again" / "eval_results.json"))
    assert found["eval_loss"] == pytest.approx(expected["eval_loss"], abs=1e-6)
    assert found["eval_macro_f1"] == expected["eval_macro_f1"]
    source = read_checkpoint(str(trained))
    assert not any("lora" in name for name in source.tensors)
    (answer,) = Predictor.from_checkpoint(str(trained))(["the film was good"])
    assert answer["probabilities"].keys() == {"no", "yes"}
    convert(str(trained), "original", str(tmp_path / "converted"))
    converted = read_checkpoint(str(tmp_path / "converted"))
    assert converted.tensors == source.tensors
    for name in source.tensors:
        np.testing.assert_array_equal(converted.read(name), source.read(name), err_msg=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            dict(lora_rank=4),
            "holds a run with --lora_rank=2, --lora_rank=4 is given: resume it as it was begun",
        ),
        (
            dict(lora_rank=0, lora_alpha=None, lora_layers=("query", "value")),
            "--lora_rank=2, --lora_rank=0 is given",
        ),
        (
            dict(lora_layers=("all",)),
            "--lora_layers=query,output_dense, --lora_layers=all is given",
        ),
        (dict(freeze_layers=1), "--freeze_layers=0, --freeze_layers=1 is given"),
    ],
)
def test_a_run_is_resumed_as_it_was_begun(folder, trained, changes, message):
    with pytest.raises(UserError, match=message):
        driver.run(Best, classifier(folder, trained, **changes))
