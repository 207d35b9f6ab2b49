"""What users do on another engine than TensorFlow: `KERAS_BACKEND=jax python engine_program.py
FOLDER GOLDEN`.

FOLDER is what `test_engines.py` has made on TensorFlow; results go there, and it compares them.
"""

import json
import math
import pathlib
import sys
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

import modeling
from bert_common.errors import UserError
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from bert_tf.training.devices import set_up
from modeling import (
    BertAdamW,
    BertEncoder,
    BertForClassification,
    BertForQuestionAnswering,
    BertLamb,
    BertPreprocessor,
    WarmupLinearDecay,
    freeze_layers,
)
from modeling.checkpoints.convert import FORMATS
from modeling.dropout import drop
from tests.modeling.devices_program import HEADS, OPTIMIZERS


def outputs_of(model, features: dict) -> dict[str, np.ndarray]:
    """float32 by name, whatever the model returns."""
    outputs = model(features)
    outputs = outputs if isinstance(outputs, dict) else {"logits": outputs}
    return {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}


def updated(optimizer_class) -> dict[str, np.ndarray]:
    """Weights after three steps of an optimizer."""
    rng = np.random.default_rng(3)
    weights = {
        "kernel": rng.normal(size=(4, 3)),
        "second_kernel": rng.normal(size=(3, 2)),
        "bias": np.zeros(2),
        "gamma": np.ones(4),
        "last_kernel": rng.normal(size=(2, 5)),
    }
    variables = [
        keras.Variable(value, dtype="float32", name=name) for name, value in weights.items()
    ]
    optimizer = optimizer_class(WarmupLinearDecay(0.1, steps=10, warmup_steps=2), weight_decay=0.1)
    for _ in range(3):
        gradients = [rng.normal(size=value.shape) for value in weights.values()]
        gradients = [keras.ops.convert_to_tensor(value, "float32") for value in gradients]
        optimizer.apply(gradients, variables)
    return {variable.name: keras.ops.convert_to_numpy(variable) for variable in variables}


def fitted(head: str, initial: Sequence[np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """Losses, metrics and outputs of a model that `fit` trains.

    Args:
      head: one of `HEADS`.
      initial: weights to begin with; None for those of the seed, which each engine draws in its own
        way.
    """
    model, x, y, weights = HEADS[head]()
    if initial is not None:
        model.set_weights(initial)
    optimizer = "BertLamb" if head in ("answers", "pre-training") else "BertAdamW"
    model.compile(OPTIMIZERS[optimizer]())
    # Of 27 rows the last batch has 5.
    found = model.fit(
        x, y, sample_weight=weights, batch_size=11, epochs=3, shuffle=False, verbose=0
    ).history
    outputs = tf.nest.flatten(model.predict(x, verbose=0))
    if head == "answers":
        # The gradient of the head's bias is rounding, which LAMB makes as large as any, and moves
        # all scores alike.
        outputs = [scores - scores.mean(axis=-1, keepdims=True) for scores in outputs]
    return found | {f"output_{number}": value for number, value in enumerate(outputs)}


def mapped(path: pathlib.Path) -> dict[str, np.ndarray]:
    """What a dataset yields that maps `fit_batch` of the model after which the file is named."""
    with np.load(path) as file:
        dataset = tf.data.Dataset.from_tensors(dict(file))
    parts = tf.nest.flatten(next(iter(dataset.map(getattr(modeling, path.stem).fit_batch))))
    return {str(number): part.numpy() for number, part in enumerate(parts)}


def loss_of_no_class(model, features: dict) -> float:
    """The loss of labels that no class has, which a dataset hides; NaN for an error."""
    wrong = np.full(len(features["input_ids"]), 9)
    try:
        return model.evaluate(tf.data.Dataset.from_tensors((features, wrong)), verbose=0)[0]
    except IndexError:
        return math.nan


def refusal(function, *arguments) -> str:
    try:
        function(*arguments)
    except UserError as error:
        return str(error)
    return "not refused"


def main() -> None:
    folder, golden = map(pathlib.Path, sys.argv[1:])
    with np.load(folder / "features.npz") as file:
        features = dict(file)
    labels = np.arange(len(features["input_ids"])) % 3

    results = {"keras": outputs_of(keras.models.load_model(folder / "model.keras"), features)}
    for name in FORMATS:
        results[name] = outputs_of(BertEncoder.from_checkpoint(folder / name), features)
        if name != "sentence_transformers":
            results[f"{name} with head"] = outputs_of(
                BertForClassification.from_checkpoint(folder / name), features
            )
    model = BertForClassification.from_checkpoint(folder / "native", dtype="mixed_bfloat16")
    results["mixed"] = outputs_of(model, features)
    with np.load(golden / "hf/question_answering/inputs_outputs.npz") as file:
        ids = {name: file[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    start, end = BertForQuestionAnswering.from_checkpoint(golden / "hf/question_answering")(ids)
    results["golden"] = {
        "start_logits": keras.ops.convert_to_numpy(start),
        "end_logits": keras.ops.convert_to_numpy(end),
    }
    results["golden, original"] = outputs_of(
        BertEncoder.from_checkpoint(golden / "tf1_checkpoint"), features
    )

    for head in HEADS:
        with np.load(folder / f"initial_{head}.npz") as file:
            results[head] = fitted(head, list(file.values()))
    for optimizer_class in (BertAdamW, BertLamb):
        results[optimizer_class.__name__] = updated(optimizer_class)
    for path in folder.glob("BertFor*.npz"):
        results[path.stem] = mapped(path)

    model = BertForClassification.from_checkpoint(folder / "native", dtype="float32")
    model.encoder.enable_lora(rank=2)
    keras.utils.set_random_seed(1)
    model.compile(BertAdamW(0.01, use_ema=True, ema_momentum=0.5))
    losses = [model.evaluate(features, labels, verbose=0, return_dict=True)["loss"]]
    # What a first call leaves must be what a second one can begin with.
    for epochs in (5, 10):
        model.fit(features, labels, epochs=epochs, verbose=0)
    losses.append(model.evaluate(features, labels, verbose=0, return_dict=True)["loss"])
    losses.append(loss_of_no_class(model, features))
    model.save(folder / "trained.keras")
    model.save_checkpoint(str(folder / "trained"), "huggingface")
    results["trained"] = outputs_of(model, features)
    model = BertForClassification.from_checkpoint(folder / "native", dtype="float32")
    model.compile(BertAdamW(0.01))
    without_labels = refusal(model.fit, features)
    model.fit(features, labels, verbose=0)
    freeze_layers(model, 1)
    model.save(folder / "frozen.keras")
    frozen = keras.models.load_model(folder / "frozen.keras")
    losses += frozen.fit(features, labels, verbose=0).history["loss"]

    answers = {}
    for name, inputs in json.loads((folder / "inputs.json").read_text()).items():
        answers[name] = Predictor.from_checkpoint(folder / name)(inputs)
    words = (folder / "classification/vocab.txt").read_text().split()
    texts = BertPreprocessor(words, max_seq_length=8)
    facts = {
        "backend": keras.backend.backend(),
        "losses": losses,
        "answers": answers,
        "without labels": without_labels,
        "ids": np.asarray(texts(["w1 w2", "w3"])["input_ids"]).tolist(),
        "refused": [
            refusal(texts, keras.Input((), dtype="string")),
            refusal(drop, np.ones((2, 2)), 0.1, 0, None),
            refusal(
                export,
                ExportOptions(init_checkpoint=str(folder / "classification"), export_dir="x"),
            ),
            refusal(set_up),
        ],
    }
    np.savez(
        folder / "results.npz",
        **{
            f"{one}|{name}": value
            for one, found in results.items()
            for name, value in found.items()
        },
    )
    (folder / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
