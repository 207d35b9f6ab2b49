"""Trains and evaluates the models with Keras' `fit` on DEVICES logical CPUs:
`python devices_program.py DEVICES STEPS RESULTS [CASE...]`.

A case's losses, metrics and weights go to RESULTS (.npz); `test_devices.py` compares one device
with several after 30 steps. One process has one strategy: a second one would share the first one's
collective operations.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from modeling import (
    BertAdamW,
    BertConfig,
    BertForCausalLm,
    BertForClassification,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BertLamb,
)

CONFIG = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=12,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.3,
    # XLA compiles GELU, once for each shape and device.
    hidden_act="relu",
)
# On two devices a batch has 14 and 13 rows, on eight 4 4 4 4 4 4 3 0.
ROWS, LENGTH = 27, 8
BATCH = ROWS
# Other sizes of the batches of an evaluation, whose result must not depend on it: in a training, and
# where nothing is trained.
SIZES = (7,)
ALL_SIZES = (1, 4, 7)
RNG = np.random.default_rng(5)
IDS = RNG.integers(1, CONFIG.vocab_size, (ROWS, LENGTH)).astype(np.int32)
CLASSES = (IDS[:, 0] % 3).astype(np.int32)
# The first 8 rows are rare classes with large weights: every replica has another sum. The two rows
# of one replica of eight weigh nothing.
WEIGHTS = np.where(np.arange(ROWS) < 8, 5.0, RNG.uniform(0.2, 1.5, ROWS)).astype(np.float32)
WEIGHTS[10:12] = 0.0
TAGS = np.where(np.arange(LENGTH) <= np.arange(ROWS)[:, None] % LENGTH, IDS % 4, -1)
TAGS[12:14] = -1
RECORDS = {
    "input_ids": IDS,
    "masked_lm_positions": np.tile(np.arange(4, dtype=np.int32), (ROWS, 1)),
    "masked_lm_ids": IDS[:, :4],
    "masked_lm_weights": (np.arange(4) <= np.arange(ROWS)[:, None] % 5).astype(np.float32),
    "next_sentence_labels": (IDS[:, 0] % 2)[:, None].astype(np.int32),
}
MULTI_LABEL = dataclasses.replace(CONFIG, extra={"problem_type": "multi_label_classification"})


def records(model_class) -> tuple:
    """Inputs, labels and weights of `fit_batch` as arrays."""
    return tf.nest.map_structure(np.asarray, model_class.fit_batch(RECORDS))


# Head → (model, inputs, labels, weights).
HEADS: dict[str, Callable[[], tuple]] = {
    "classes": lambda: (BertForClassification(CONFIG, 3, head_dropout=0.0), IDS, CLASSES, WEIGHTS),
    "score": lambda: (
        BertForClassification(CONFIG, 1, head_dropout=0.0),
        IDS,
        (IDS[:, 0] / 20.0).astype(np.float32),
        WEIGHTS,
    ),
    "labels": lambda: (
        BertForClassification(MULTI_LABEL, 4, head_dropout=0.0),
        IDS,
        (IDS[:, :4] % 2).astype(np.int32),
        WEIGHTS,
    ),
    "tags": lambda: (
        BertForTokenClassification(CONFIG, 4, head_dropout=0.0),
        IDS,
        TAGS,
        WEIGHTS,
    ),
    "answers": lambda: (
        BertForQuestionAnswering(CONFIG),
        IDS,
        (IDS.argmax(axis=1), IDS.argmin(axis=1)),
        (WEIGHTS, WEIGHTS),
    ),
    "choices": lambda: (
        BertForMultipleChoice(CONFIG, head_dropout=0.0),
        {"input_ids": np.stack([IDS, np.roll(IDS, 1, 0), np.roll(IDS, 2, 0)], axis=1)},
        CLASSES,
        WEIGHTS,
    ),
    "pre-training": lambda: (BertForPreTraining(CONFIG), *records(BertForPreTraining)),
    "left-to-right": lambda: (
        BertForCausalLm(dataclasses.replace(CONFIG, causal=True)),
        *records(BertForCausalLm),
    ),
}
OPTIMIZERS: dict[str, Callable] = {
    "SGD": lambda: keras.optimizers.SGD(0.05),
    # For squared errors, which fall to a twentieth at the rate above.
    "slow SGD": lambda: keras.optimizers.SGD(0.002),
    "BertAdamW": lambda: BertAdamW(2e-3, global_clipnorm=0.5),
    "BertLamb": lambda: BertLamb(1e-2, global_clipnorm=0.5),
    "AdamW": lambda: keras.optimizers.AdamW(2e-3),
}


def with_added_loss() -> tuple:
    model, *data = HEADS["labels"]()
    pool = model.encoder.pool

    def pool_and_add(x):
        pooled = pool(x)
        model.add_loss(0.5 * keras.ops.mean(keras.ops.square(pooled)))
        return pooled

    model.encoder.pool = pool_and_add
    return model, *data


def with_frozen_encoder() -> tuple:
    model, *data = HEADS["tags"]()
    model.encoder.trainable = False
    return model, *data


DROPOUT = dataclasses.replace(CONFIG, hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.3)


def with_dropout() -> tuple:
    return BertForClassification(DROPOUT, 3, head_dropout=0.3), *HEADS["classes"]()[1:]


def with_missing_choices() -> tuple:
    _, x, _, weights = HEADS["choices"]()
    x["num_choices"] = np.arange(1, ROWS + 1, dtype=np.int32) % 3 + 1
    model = BertForMultipleChoice(DROPOUT, head_dropout=0.3)
    return model, x, np.zeros(ROWS, np.int32), weights


def in_dataset(x, y, weights, batch: int) -> tf.data.Dataset:
    given = (x, y) if weights is None else (x, y, weights)
    return tf.data.Dataset.from_tensor_slices(given).batch(batch)


def evaluated(make: Callable[[], tuple]) -> dict:
    """What evaluations in batches of several sizes report."""
    keras.utils.set_random_seed(1)
    model, *data = make()
    model.compile()
    results = {}
    for size in (BATCH, *ALL_SIZES):
        found = model.evaluate(in_dataset(*data, size), verbose=0, return_dict=True)
        results |= {f"evaluate {size}|{name}": value for name, value in found.items()}
    return results


def trained(
    make: Callable[[], tuple],
    optimizer: str = "SGD",
    *,
    steps: int,
    batch: int = BATCH,
    rows: int = ROWS,
    weights: bool = True,
    class_weight: dict | None = None,
    sizes: tuple[int, ...] = (),
    **compiled,
) -> dict:
    """What a training reports, and its weights before and after."""
    steps_of_epoch = -(-rows // batch)
    epochs = -(-steps // steps_of_epoch)
    keras.utils.set_random_seed(1)
    model, x, y, sample_weight = make()
    x, y, sample_weight = tf.nest.map_structure(lambda value: value[:rows], (x, y, sample_weight))
    if not weights:
        sample_weight = None
    model.compile(OPTIMIZERS[optimizer](), **compiled)
    results = {f"start|{name_of(v)}": v.numpy() for v in model.trainable_variables}
    dataset = in_dataset(x, y, sample_weight, batch)
    for size in (batch, *sizes):
        one_size = dataset if size == batch else dataset.unbatch().batch(size)
        found = model.evaluate(one_size, verbose=0, return_dict=True)
        results |= {f"evaluate {size}|{name}": value for name, value in found.items()}
    if class_weight is None:
        # A report of Keras is one of several passes: an iterator over several devices takes longer
        # to make than a step.
        passes = 10 if epochs % 10 == 0 else 1
        history = model.fit(
            dataset.repeat(),
            epochs=epochs // passes,
            steps_per_epoch=passes * steps_of_epoch,
            verbose=0,
        ).history
    else:
        history = model.fit(
            x,
            y,
            batch_size=batch,
            class_weight=class_weight,
            shuffle=False,
            epochs=epochs,
            verbose=0,
        ).history
    results |= {f"fit|{name}": np.array(values) for name, values in history.items()}
    found = model.evaluate(dataset, verbose=0, return_dict=True)
    results |= {f"after|{name}": value for name, value in found.items()}
    outputs = tf.nest.flatten(model.predict(x, batch_size=batch, verbose=0))
    results |= {f"predict|{index}": value for index, value in enumerate(outputs[-2:])}
    return results | {f"end|{name_of(v)}": v.numpy() for v in model.trainable_variables}


def generated() -> dict:
    """What a training on a generator, which gives each of its batches once, reports."""
    keras.utils.set_random_seed(1)
    model, *data = with_dropout()
    model.compile(OPTIMIZERS["BertAdamW"]())
    batches = (batch for batch in in_dataset(*data, 7).as_numpy_iterator())
    history = model.fit(batches, verbose=0).history
    results = {f"fit|{name}": np.array(values) for name, values in history.items()}
    return results | {"fit|iterations": model.optimizer.iterations.numpy()}


def overflowing() -> dict:
    """What is left after a step in float16 whose last row's gradient overflows."""
    _, x, y, weights = HEADS["classes"]()
    model = BertForClassification(CONFIG, 3, head_dropout=0.0, dtype="mixed_float16")
    before = [variable.numpy() for variable in model.trainable_variables]
    inner = OPTIMIZERS["BertAdamW"]()
    model.compile(keras.optimizers.LossScaleOptimizer(inner, initial_scale=2.0**20))
    weights = np.where(np.arange(ROWS) < ROWS - 1, weights, 3e5).astype(np.float32)
    model.fit(x, y, sample_weight=weights, batch_size=BATCH, verbose=0)
    after = [variable.numpy() for variable in model.trainable_variables]
    return {
        "fit|changed": sum(map(np.array_equal, before, after)) < len(before),
        "fit|scale": model.optimizer.dynamic_scale.numpy(),
    }


def name_of(variable: keras.Variable) -> str:
    """The path in its model, whose own name has a number where a process has made several."""
    return variable.path.partition("/")[2]


def cases(steps: int) -> dict[str, Callable[[], dict]]:
    """Every row of the table: head and optimizer, then what else may differ."""
    train = functools.partial(trained, steps=steps)
    rows = {}
    for head, make in HEADS.items():
        rows[f"{head}, evaluation"] = functools.partial(evaluated, make)
        for optimizer in ("SGD", "BertAdamW", "BertLamb", "AdamW"):
            sizes = SIZES if optimizer == "SGD" else ()
            name = "slow SGD" if (head, optimizer) == ("score", "SGD") else optimizer
            rows[f"{head}, {optimizer}"] = functools.partial(train, make, name, sizes=sizes)
    classes, answers = HEADS["classes"], HEADS["answers"]
    ours = {"loss": "auto"}
    own = {"loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True)}
    return rows | {
        "last batch": lambda: train(classes, batch=16),
        "no weights": lambda: train(classes, weights=False, **ours),
        "fewer rows than devices": lambda: train(classes, rows=3, batch=3),
        "class_weight": lambda: train(
            classes, weights=False, class_weight={0: 1.0, 1: 7.0, 2: 0.5}
        ),
        "loss_weights": lambda: train(answers, loss_weights=[2.0, 0.1]),
        "dropout": lambda: train(with_dropout),
        "missing choices": lambda: trained(with_missing_choices, steps=2),
        "generator": generated,
        "overflow": overflowing,
        "add_loss, SGD": lambda: train(with_added_loss, sizes=SIZES),
        "jit_compile": lambda: train(classes, jit_compile=False),
        "head only": lambda: train(with_frozen_encoder, "BertAdamW", sizes=SIZES),
        "own loss": lambda: train(classes, **own),
        "own loss, no weights": lambda: train(classes, weights=False, **own),
    }


def results_of(name: str, steps: int) -> dict:
    """The results of a case by "<case>|<kind>|<name>"."""
    return {f"{name}|{key}": value for key, value in cases(steps)[name]().items()}


def main() -> None:
    devices, steps, path, *names = sys.argv[1:]
    count = int(devices)
    cpus = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)
    strategy = tf.distribute.get_strategy()
    if count > 1:
        strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])
    results = {}
    with strategy.scope():
        for name in names or cases(int(steps)):
            results |= results_of(name, int(steps))
            # After each case, as all of them take long.
            np.savez(path, **results)


if __name__ == "__main__":
    main()
