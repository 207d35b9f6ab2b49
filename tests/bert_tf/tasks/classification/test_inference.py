import numpy as np
import pytest
import tensorflow as tf

from bert_tf.inference.options import InferenceSettings
from bert_tf.tasks.classification.inference import ClassificationInference
from modeling.checkpoints.load import open_checkpoint
from modeling.fine_tuning import BertForClassification
from tests.tiny import write_tiny

TEXTS = ["the array is returned . " * 4, "a list", "sort sort who ? a b the list is returned . a"]
LABELS = ["no", "maybe", "yes"]


def make(folder, **task) -> ClassificationInference:
    checkpoint = write_tiny(
        folder,
        "classification",
        task={
            "kind": "multi_label_classification",
            "task_name": "custom",
            "labels": LABELS,
            "pair": False,
            "max_seq_length": 10,
            **task,
        },
    )
    return ClassificationInference(open_checkpoint(checkpoint), InferenceSettings())


@pytest.mark.parametrize(
    "task",
    [
        {"long_texts": "windows", "window_stride": 3},
        {"long_texts": "head_tail"},
        {"kind": "classification", "long_texts": "windows", "window_stride": 8},
    ],
    ids=str,
)
def test_strings_in_a_graph_give_the_predictions(tmp_path, task):
    inference = make(tmp_path, **task)
    results = inference.predict([inference.check(text) for text in TEXTS])
    served = inference.serve_texts(tf.constant(TEXTS))
    probabilities = [list(result["probabilities"].values()) for result in results]
    np.testing.assert_allclose(served["probabilities"], probabilities, atol=1e-6)
    assert [name.decode() for name in served["labels"].numpy()[0]] == LABELS
    for number, result in enumerate(results):
        if "kind" in task:
            assert (
                result["label"]
                == served["label"].numpy()[number].decode()
                == LABELS[np.argmax(probabilities[number])]
            )
        else:
            assert result["labels"] == [
                name for name, p in result["probabilities"].items() if p >= 0.5
            ]
            assert "label" not in result and "label" not in served


def test_a_text_in_windows_has_the_mean_of_their_logits(tmp_path):
    inference = make(tmp_path, long_texts="windows", window_stride=5)
    vocabulary, tokens = inference.vocabulary, inference.tokenizer.encode(TEXTS[2]).tolist()
    assert len(tokens) == 12
    model: BertForClassification = inference.model
    rows = np.array(
        [[vocabulary.cls_id, *tokens[start : start + 8], vocabulary.sep_id] for start in (0, 4)],
        np.int32,
    )
    expected = tf.sigmoid(tf.reduce_mean(model({"input_ids": rows}), 0)).numpy()
    (result,) = inference.predict([(TEXTS[2],)])
    assert list(result["probabilities"].values()) == pytest.approx(expected.tolist(), abs=1e-6)
    assert inference.truncated == 0
