import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest

from bert_tf.extras.onnx_graph import bert_model
from modeling.checkpoints.weights import weight_values
from modeling.encoder import BertEncoder
from modeling.fine_tuning import BertForClassification
from tests.tiny import CONFIG

IDS = np.array([[2, 7, 9, 3], [2, 8, 3, 0]])
FEED = {
    "input_ids": IDS,
    "attention_mask": (IDS > 0).astype(np.int64),
    "token_type_ids": np.array([[0, 0, 1, 1]] * 2),
}
ACTIVATIONS = ("gelu", "gelu_erf", "relu", "tanh", "linear")


def encoder(**changes):
    model = BertEncoder(
        dataclasses.replace(CONFIG, initializer_range=0.5, layer_norm_epsilon=1e-5, **changes)
    )
    for number, variable in enumerate(model.weights):
        # Biases and LayerNorms, which start as 0 and 1, are distinguished.
        variable.assign_add(np.random.default_rng(number).normal(0, 0.2, variable.shape))
    return model


def run(model, feed=FEED):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return dict(
        zip([one.name for one in session.get_outputs()], session.run(None, feed), strict=True)
    )


def reference(model):
    return model(FEED["input_ids"], FEED["attention_mask"], FEED["token_type_ids"])


@pytest.mark.parametrize(
    "changes", [{"hidden_act": name} for name in ACTIVATIONS] + [{"causal": True}]
)
def test_the_encoder(changes):
    model = encoder(**changes)
    found = run(bert_model(weight_values(model), model.config, None, np.float32))
    expected = reference(model)
    np.testing.assert_allclose(found["pooler_output"], expected["pooled_output"], atol=1e-5)
    is_token = FEED["attention_mask"] > 0
    np.testing.assert_allclose(
        found["last_hidden_state"][is_token],
        expected["sequence_output"].numpy()[is_token],
        atol=1e-5,
    )
    np.testing.assert_allclose(
        found["sentence_embedding"][1], found["last_hidden_state"][1, :3].mean(0), atol=1e-5
    )


def test_segments_that_a_client_sends_stay():
    """Zeros too: a title and an abstract with [SEP] between them may be one segment."""
    model = encoder()
    ids = np.array([[2, 7, 3, 9, 8, 3], [2, 8, 9, 3, 0, 0], [2, 7, 3, 9, 8, 3]])
    sent = {
        "input_ids": ids,
        "attention_mask": (ids > 0).astype(np.int64),
        "token_type_ids": np.array([[0] * 6, [0] * 6, [0, 0, 0, 1, 1, 1]]),
    }
    graph = bert_model(weight_values(model), model.config, None, np.float32)
    expected = model(ids, sent["attention_mask"], sent["token_type_ids"])["pooled_output"]
    np.testing.assert_allclose(run(graph, sent)["pooler_output"], expected, atol=1e-5)


def test_with_one_segment_all_tokens_are_in_it():
    model = encoder(type_vocab_size=1)
    graph = bert_model(weight_values(model), model.config, None, np.float32)
    expected = model(FEED["input_ids"], FEED["attention_mask"])["pooled_output"]
    np.testing.assert_allclose(run(graph)["pooler_output"], expected, atol=1e-5)
    np.testing.assert_allclose(reference(model)["pooled_output"], expected, atol=1e-6)


def test_half_precision_keeps_ids_and_outputs_as_they_are():
    model = encoder()
    half = bert_model(weight_values(model), model.config, None, np.float16)
    assert {one.data_type for one in half.graph.initializer} == {
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.INT64,
    }
    found = run(half)
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found["pooler_output"], reference(model)["pooled_output"], atol=0.02)


@pytest.mark.parametrize("act, gelu", [("gelu", "FastGelu"), ("gelu_erf", "BiasGelu")])
def test_the_optimizer_of_onnxruntime_knows_every_part(act, gelu, tmp_path):
    from onnxruntime.transformers.optimizer import optimize_model

    model = BertForClassification(dataclasses.replace(CONFIG, hidden_act=act, vocab_size=60), 3)
    made = bert_model(weight_values(model), model.config, "classification", np.float32)
    onnx.save(made, tmp_path / "model.onnx")
    optimized = optimize_model(str(tmp_path / "model.onnx"), model_type="bert", opt_level=0)
    fused = {
        name: count for name, count in optimized.get_fused_operator_statistics().items() if count
    }
    layers = CONFIG.num_hidden_layers
    assert fused == {
        "EmbedLayerNormalization": 1,
        "Attention": layers,
        "SkipLayerNormalization": 2 * layers,
        gelu: layers,
    }
    np.testing.assert_allclose(
        run(optimized.model)["logits"],
        model(
            {
                "input_ids": IDS,
                "input_mask": FEED["attention_mask"],
                "segment_ids": FEED["token_type_ids"],
            }
        ),
        atol=1e-5,
    )
