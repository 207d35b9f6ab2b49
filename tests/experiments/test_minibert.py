"""The second opinion: the paper's pre-training in NumPy beside the original's and the project's."""

import json
import re

import numpy as np
import pytest

from experiments import minibert
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from tests.bert_tf.training.test_packed import NO_DROPOUT, both, loss_and_gradients
from tests.golden.values import assert_close
from tests.modeling.common import arrays
from tests.page_commands import blocks


def _float64(variables: dict) -> dict[str, np.ndarray]:
    return {name: np.float64(value) for name, value in variables.items()}


@pytest.mark.golden
def test_twenty_steps_of_the_original(golden):
    """Two of its rows are padded, and predictions beyond those of a row have a weight of 0."""
    folder = golden / "optimizer"
    expected = json.loads((folder / "pretrain_steps.json").read_text())
    config = BertConfig.from_file(str(folder / "bert_config.json"))
    model = BertForPreTraining(config)
    load_weights(model, read_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt")))
    weights = _float64(raw_variables(model))
    batches = arrays(folder / "pretrain_batches.npz")
    schedule = [expected[name] for name in ("init_lr", "num_train_steps", "num_warmup_steps")]
    assert np.any(batches["masked_lm_weights"] == 0) and np.any(batches["input_mask"] == 0)
    slots: dict = {}
    for step, report in enumerate(expected["steps"]):
        batch = {name: values[step] for name, values in batches.items()}
        heads = config.num_attention_heads
        losses, gradients = minibert.losses_and_gradients(weights, batch, heads)
        rate = minibert.learning_rate(step, *schedule)
        norm = minibert.adamw(weights, slots, gradients, rate)
        # The original's numbers are float32, and it adds 1e-5 to the number of predictions.
        assert sum(losses) == pytest.approx(report["total_loss"], rel=1e-6)
        assert rate == pytest.approx(report["learning_rate"], rel=1e-6, abs=1e-9)
        assert norm == pytest.approx(report["global_grad_norm"], rel=1e-5)
    assert_close(weights, folder / "pretrain_final_weights.npz", 2e-5)


def _features(name: str, folder) -> dict[str, np.ndarray]:
    """Returns padded rows, or rows of several sequences, with a prediction of weight 0."""
    unpacked, packed = both("odd", folder)
    features = {
        key: value.numpy() for key, value in (packed if name == "packed" else unpacked).items()
    }
    features["masked_lm_weights"][0, 0] = 0
    return features


@pytest.mark.parametrize("name", ["padded", "packed"])
def test_losses_and_gradients_are_the_projects(name, tmp_path):
    features = _features(name, tmp_path)
    model = BertForPreTraining(NO_DROPOUT)
    variables = raw_variables(model)
    expected, expected_gradients, _ = loss_and_gradients(model, features)
    if name == "packed":
        features["input_mask"] = features["sequence_ids"]
    losses, gradients = minibert.losses_and_gradients(
        _float64(variables), features, NO_DROPOUT.num_attention_heads
    )
    assert sum(losses) == pytest.approx(expected, rel=1e-6)
    for variable, gradient in zip(variables, expected_gradients, strict=True):
        difference = np.linalg.norm(gradients[variable] - gradient)
        # The gradient of a key's bias is rounding: the softmax does not see it.
        assert difference <= 1e-5 * np.linalg.norm(gradient) + 1e-7, variable


def test_gradients_are_finite_differences(tmp_path):
    features = _features("packed", tmp_path)
    features["input_mask"] = features["sequence_ids"]
    random = np.random.default_rng(5)
    weights = {}
    for name, value in raw_variables(BertForPreTraining(NO_DROPOUT)).items():
        weights[name] = value.numpy() + random.normal(0, 0.1, value.shape)
    heads = NO_DROPOUT.num_attention_heads
    _, gradients = minibert.losses_and_gradients(weights, features, heads)
    for name, weight in weights.items():
        direction = random.normal(size=weight.shape)
        start = weight.copy()
        losses = []
        for sign in (1, -1):
            weight[...] = start + sign * 1e-5 * direction
            losses.append(sum(minibert.losses_and_gradients(weights, features, heads)[0]))
        weight[...] = start
        slope = (losses[0] - losses[1]) / 2e-5
        assert np.sum(gradients[name] * direction) == pytest.approx(slope, rel=1e-5, abs=1e-8), name


def test_the_program_of_the_page_prints_what_it_says(project, capsys):
    (program,) = [content for _, content in blocks("docs/minibert.md")]
    exec(compile(program, "docs/minibert.md", "exec"), {})
    printed = capsys.readouterr().out
    page = (project / "docs/minibert.md").read_text("utf-8")
    for line in printed.splitlines():
        step, losses = line.split(": ")
        expected = next(other for other in page.splitlines() if other.startswith(f"{step}: "))
        for loss, other in zip(_numbers(losses), _numbers(expected.split(": ")[1]), strict=True):
            assert loss == pytest.approx(other, abs=0.05)
    assert len(printed.splitlines()) == 5


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_it_is_short_and_needs_numpy_only(project):
    text = (project / "experiments/minibert.py").read_text("utf-8")
    assert len(text.splitlines()) <= 250
    assert [line for line in text.splitlines() if "import" in line.split()] == [
        "import numpy as np"
    ]
