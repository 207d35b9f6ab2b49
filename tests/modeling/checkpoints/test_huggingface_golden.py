import numpy as np
import pytest
import tensorflow as tf

from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.losses import softmax_cross_entropy
from modeling.pretraining import BertForPreTraining
from tests.modeling.checkpoints.common import head_outputs, load_into
from tests.modeling.common import arrays

POOLER = ["bert/pooler/dense/kernel", "bert/pooler/dense/bias"]


def assert_outputs(outputs, expected, extra=()):
    """All layers and what else is named."""
    names = [
        "embedding_output",
        *(name for name in expected if name.startswith("encoder_layer_")),
        *extra,
    ]
    assert len(names) > 2
    for name in names:
        np.testing.assert_allclose(outputs[name], expected[name], atol=2e-5, rtol=0, err_msg=name)


def mean_loss(logits, labels):
    """Cross-entropy over the labels that are not -100."""
    logits, labels = np.reshape(logits, (-1, logits.shape[-1])), np.reshape(labels, -1)
    kept = labels != -100
    losses, _ = softmax_cross_entropy(
        tf.constant(logits[kept]), tf.constant(labels[kept], tf.int32)
    )
    return float(np.mean(losses))


def encode(model, values):
    return model.encoder(values["input_ids"], values["attention_mask"], values["token_type_ids"])


@pytest.mark.golden
@pytest.mark.parametrize("folder", ["pretraining", "pretraining_legacy_names"])
def test_pretraining(full_golden, folder):
    source = read_checkpoint(str(full_golden / "hf" / folder))
    assert source.config.hidden_act == "gelu_erf"
    model = BertForPreTraining(source.config)
    report = load_weights(model, source)
    assert (report.newly_initialized, report.unused) == ([], [])
    expected = arrays(full_golden / "hf/pretraining/inputs_outputs.npz")
    batch, length = expected["input_ids"].shape
    outputs = model(
        {
            "input_ids": expected["input_ids"],
            "input_mask": expected["attention_mask"],
            "segment_ids": expected["token_type_ids"],
            "masked_lm_positions": np.broadcast_to(
                np.arange(length, dtype=np.int32), (batch, length)
            ),
        }
    )
    assert_outputs(outputs, expected, ["pooled_output"])
    np.testing.assert_allclose(
        outputs["masked_lm_logits"][:2], expected["prediction_logits_first2"], atol=2e-5, rtol=0
    )
    np.testing.assert_allclose(
        outputs["next_sentence_logits"], expected["seq_relationship_logits"], atol=2e-5, rtol=0
    )
    loss = mean_loss(outputs["masked_lm_logits"], expected["labels"]) + mean_loss(
        outputs["next_sentence_logits"], expected["next_sentence_label"]
    )
    assert loss == pytest.approx(float(expected["loss"]), abs=1e-5)


@pytest.mark.golden
@pytest.mark.parametrize(
    "head, is_pooled, config",
    [
        (
            "sequence_classification",
            True,
            {"hidden_act": "gelu", "extra": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}},
        ),
        ("question_answering", False, {}),
        ("token_classification", False, {"layer_norm_epsilon": 1e-5, "hidden_act": "relu"}),
    ],
    ids=str,
)
def test_heads(golden, request, head, is_pooled, config):
    """Only the first has a pooler; the last has another epsilon."""
    whole = golden if head == "question_answering" else request.getfixturevalue("full_golden")
    folder = whole / "hf" / head
    model, report = load_into(folder, head.removeprefix("sequence_"))
    assert (report.newly_initialized, report.unused) == ([] if is_pooled else POOLER, [])
    assert (
        is_pooled
        or "newly initialized, not in the checkpoint: bert/pooler/dense/kernel" in report.describe()
    )
    for name, value in config.items():
        assert (
            model.config.extra["id2label"] if name == "extra" else getattr(model.config, name)
        ) == value
    expected = arrays(folder / "inputs_outputs.npz")
    outputs = encode(model, expected)
    assert_outputs(outputs, expected, ["pooled_output"] if is_pooled else ())
    names = (
        {"logits": "labels"}
        if head != "question_answering"
        else {"start_logits": "start_positions", "end_logits": "end_positions"}
    )
    logits = dict(zip(names, head_outputs(model, outputs), strict=True))
    for name, value in logits.items():
        np.testing.assert_allclose(value, expected[name], atol=2e-5, rtol=0, err_msg=name)
    losses = [mean_loss(value, expected[names[name]]) for name, value in logits.items()]
    assert np.mean(losses) == pytest.approx(float(expected["loss"]), abs=1e-5)
