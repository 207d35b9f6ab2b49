"""Fine-tunes and predicts alike on one device and on two logical CPUs: a process of its own.

  python tests/bert_tf/training/fine_tuning_on_two_cpus.py RESULTS.npz

Called by `test_devices.py`. Not in one process with `mirrored_on_two_devices.py`: the collective
operations of two strategies have the same numbers.
"""

import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent.parent))

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

from bert_tf.tasks.multiple_choice.data import ChoiceExamples
from bert_tf.tasks.sentence_embedding.data import SentenceExamples
from bert_tf.training.devices import set_up
from bert_tf.training.examples import Examples, padded_lengths, training_dataset
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.prediction import Prediction
from bert_tf.training.step import (
    TrainingState,
    TrainingStep,
)
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.fine_tuning import (
    CLASSIFICATION_LOSS,
    MULTIPLE_CHOICE_LOSS,
    BertForClassification,
    BertForMultipleChoice,
)
from modeling.losses import HeadLoss
from modeling.optimizer import WarmupDecay
from modeling.sentence_embedding import BertForSentenceEmbedding, InBatchNegatives
from tests.bert_tf.training.common import (
    LENGTH,
    ONE_LAYER,
    VOCAB,
    Trainer,
    forward_of,
    train,
    weights,
)

# The last batch of an epoch has 5 of 8: the second device gets 1, and 3 that only fill it up.
EXAMPLES, BATCH, STEPS = 21, 8, 6
# The masks of attention depend on the length, to which texts are not cut with XLA.
WITH_LSTM = dataclasses.replace(ONE_LAYER, bilstm_units=4, attention_probs_dropout_prob=0.0)


def main(result_path: str) -> None:
    results = {}
    for name in ("none", "mirrored"):
        strategy = set_up(name, "float32").strategy
        assert strategy.num_replicas_in_sync == (1 if name == "none" else 2)
        # The classifier with XLA on the two, multiple choice without.
        found = fine_tune(strategy, jit_compile=name == "mirrored")
        results |= {f"{name} classes {key}": value for key, value in found.items()}
        results |= {f"{name} {key}": value for key, value in choose(strategy).items()}
        compared = compare(strategy, ONE_LAYER, parts=2 if name == "mirrored" else 1)
        results |= {f"{name} {key}": value for key, value in compared.items()}
        # An LSTM is a loop, whose lists of tensors XLA keeps within a function.
        compared = compare(strategy, WITH_LSTM, jit_compile=name == "mirrored")
        results |= {f"{name} lstm {key}": value for key, value in compared.items()}
    np.savez(result_path, **results)


def trained(
    strategy: tf.distribute.Strategy,
    make_model: Callable,
    make_forward: Callable,
    loss: HeadLoss,
    examples: Examples,
    rate: float,
    lengths: int = 1,
    **options,
) -> tuple:
    """The model after `STEPS` steps, and the loss of each."""
    with strategy.scope():
        model = make_model(ONE_LAYER)
        optimizer, state = AdamWeightDecay(raw_variables(model)), TrainingState()
    training_step = TrainingStep(
        make_forward(model),
        loss,
        optimizer,
        WarmupDecay(rate, 100),
        state,
        strategy,
        BATCH,
        **{"jit_compile": False, "seed": 3, **options},
    )
    trainer = Trainer(
        training_step,
        lambda: strategy.distribute_datasets_from_function(
            lambda context: training_dataset(
                examples, BATCH, 1, 0, padded_lengths(LENGTH, lengths), context
            )
        ),
        state,
        optimizer,
    )
    return model, np.array([report["loss"] for report in train(trainer, STEPS)])


def compare(
    strategy: tf.distribute.Strategy, config: BertConfig, parts: int = 1, jit_compile: bool = False
) -> dict[str, np.ndarray]:
    """Final weights and "loss" [STEPS] of sentence vectors with in-batch negatives, those of both
    devices."""
    rows = make_examples(2 * EXAMPLES)
    examples = SentenceExamples(
        rows.tokens, rows.row_lengths, texts=np.arange(2 * EXAMPLES).reshape(EXAMPLES, 2)
    )
    model, losses = trained(
        strategy,
        lambda _: BertForSentenceEmbedding(config),
        forward_of,
        InBatchNegatives("pairs"),
        examples,
        1e-3,
        gradient_accumulation_steps=parts,
        jit_compile=jit_compile,
    )
    return {
        **{f"pairs {key}": value for key, value in weights(model).items()},
        "pairs loss": losses,
    }


def choose(strategy: tf.distribute.Strategy) -> dict[str, np.ndarray]:
    """Final weights and "loss" [STEPS] of multiple choice, with questions of 1 to 4 choices."""
    counts = np.random.default_rng(1).integers(1, 5, EXAMPLES)
    rows = make_examples(counts.sum())
    examples = ChoiceExamples(
        rows.tokens,
        rows.row_lengths,
        {"label_ids": np.zeros(EXAMPLES, np.int32)},
        num_choices=counts,
    )
    model, losses = trained(
        strategy,
        BertForMultipleChoice,
        forward_of,
        MULTIPLE_CHOICE_LOSS,
        examples,
        1e-2,
    )
    return {
        **{f"choices {key}": value for key, value in weights(model).items()},
        "choices loss": losses,
    }


def fine_tune(strategy: tf.distribute.Strategy, jit_compile: bool) -> dict[str, np.ndarray]:
    """Final weights, "loss" [STEPS], and the prediction of all examples: "logits" and "tokens"."""
    examples = make_examples()
    model, losses = trained(
        strategy,
        lambda config: BertForClassification(config, 3),
        forward_of,
        CLASSIFICATION_LOSS,
        examples,
        1e-2,
        2,
        jit_compile=jit_compile,
    )

    def outputs_of(features):
        outputs = model.encode(features)
        return {
            "logits": model.classifier(outputs["pooled_output"]),
            "tokens": outputs["sequence_output"],
        }

    predict = Prediction(
        outputs_of, 4, padded_lengths(LENGTH, 2), strategy, jit_compile, ("tokens",)
    )
    return {**weights(model), "loss": losses, **predict(examples)}


def make_examples(count: int = EXAMPLES) -> Examples:
    """Of lengths from 3 to `LENGTH`."""
    rng = np.random.default_rng(0)
    row_lengths = rng.integers(3, LENGTH + 1, count)
    tokens = row_lengths.sum()
    return Examples(
        {
            "input_ids": rng.integers(0, VOCAB, tokens, np.int32),
            "segment_ids": rng.integers(0, 2, tokens, np.int32),
        },
        row_lengths,
        {"label_ids": rng.integers(0, 3, count, np.int32)},
    )


if __name__ == "__main__":
    main(sys.argv[1])
