r"""Measures Keras' `fit` and `predict` with this project's classifier and with KerasHub's.

  python benchmarks/keras_fit.py --threads=1 --clock=cpu            # L4-H256, batch 32, 128 tokens
  python benchmarks/keras_fit.py --threads=1 --clock=cpu --size=base --batch_size=8 --steps=1

Both are of the same size, with random weights and dropout of 0.1, and get the same random ids
without padding, in float32, and AdamW: this project's by its own optimizer, which also clips the
gradients, KerasHub's by `keras.optimizers.AdamW`. Keras compiles models by XLA where there is a GPU
(`jit_compile="auto"`); programs with `_xla` are compiled anywhere. KerasHub is in pyproject.toml's
group peers.
"""

import importlib.util
from collections.abc import Callable

import numpy as np

from benchmarks.interleaved import StepOptions, TurnsOptions, find_config, print_rates, take_turns
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import option, option_class

_CALLS = ("fit", "predict")
_PROGRAMS = ("ours", "ours_xla", "keras_hub", "keras_hub_xla")
_CLASSES = 2


@option_class
class KerasFitOptions(TurnsOptions, StepOptions):
    """Options of the benchmark."""

    repetitions: int = option(5, "Turns of each program.", minimum=1)


def main(options: KerasFitOptions) -> None:
    config = find_config(options.size, options.vocab_size)
    config.check_sequence_length(options.max_seq_length)
    programs = _PROGRAMS
    if importlib.util.find_spec("keras_hub") is None:
        print("skipping KerasHub: it is not installed (pip install --group peers)")
        programs = _PROGRAMS[:2]
    setting = f"{options.size}, {options.batch_size} × {options.max_seq_length} tokens, float32"
    for call in _CALLS:
        seconds = take_turns(options, programs, options.repetitions, _build, options, config, call)
        print(f"{call}: {setting}, {options.repetitions} turns of {options.steps} steps")
        amounts = [options.batch_size * options.steps] * options.repetitions
        print_rates(seconds, amounts, "sequences")
        options.record(f"Keras {call}", setting, seconds)


def _build(options: KerasFitOptions, config, call: str, name: str) -> Callable[[], None]:
    """Returns a function that trains, or predicts, with one of the programs for a turn."""
    import keras

    from modeling import BertAdamW

    keras.utils.set_random_seed(0)
    if name.startswith("ours"):
        optimizer = BertAdamW(5e-5)
        model, names = _our_classifier(config)
    else:
        optimizer = keras.optimizers.AdamW(5e-5)
        model, names = _keras_hub_classifier(config)
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=True if name.endswith("_xla") else "auto",
    )
    generator = np.random.default_rng(0)
    shape = (options.batch_size * options.steps, options.max_seq_length)
    ids, mask, segments = names
    features = {
        ids: generator.integers(0, config.vocab_size, shape, np.int32),
        mask: np.ones(shape, np.int32),
        segments: np.zeros(shape, np.int32),
    }
    labels = generator.integers(0, _CLASSES, len(features[ids]))

    def turn() -> None:
        if call == "fit":
            model.fit(features, labels, batch_size=options.batch_size, verbose=0)
        else:
            model.predict(features, batch_size=options.batch_size, verbose=0)

    # The first call compiles, the second one is a usual one.
    turn()
    turn()
    return turn


def _our_classifier(config):
    """Returns the model, and its names of ids, mask and segments."""
    from modeling import BertForClassification

    model = BertForClassification(config, classes=_CLASSES)
    return model, ("input_ids", "input_mask", "segment_ids")


def _keras_hub_classifier(config):
    """Returns KerasHub's model of the same size, and its names of ids, mask and segments."""
    try:
        import keras_hub
    except ImportError as error:
        raise UserError(str(error)) from error

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=config.vocab_size,
        num_layers=config.num_hidden_layers,
        num_heads=config.num_attention_heads,
        hidden_dim=config.hidden_size,
        intermediate_dim=config.intermediate_size,
        dropout=config.hidden_dropout_prob,
        max_sequence_length=config.max_position_embeddings,
    )
    model = keras_hub.models.BertTextClassifier(
        backbone, num_classes=_CLASSES, preprocessor=None, dropout=config.hidden_dropout_prob
    )
    return model, ("token_ids", "padding_mask", "segment_ids")


if __name__ == "__main__":
    cli.run(KerasFitOptions, main)
