"""Trains the library's models on JAX, on one virtual device, data-parallel on eight, and with the
weights of each layer shared by two of the eight: `python jax_devices_program.py RESULTS`.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import keras
import numpy as np
import tensorflow as tf

from modeling import (
    BertAdamW,
    BertConfig,
    BertEncoder,
    BertForClassification,
    BertForPreTraining,
    BertForTokenClassification,
)

CONFIG = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.3,
)


IDS = np.random.default_rng(5).integers(1, 40, (32, 8)).astype(np.int32)
WEIGHTS = np.linspace(0.1, 2.0, len(IDS), dtype=np.float32)
RECORDS = {
    "input_ids": IDS,
    "masked_lm_positions": np.tile(np.arange(4, dtype=np.int32), (len(IDS), 1)),
    "masked_lm_ids": IDS[:, :4],
    "masked_lm_weights": (np.arange(4) <= np.arange(len(IDS))[:, None] % 5).astype(np.float32),
    "next_sentence_labels": (IDS[:, 0] % 2)[:, None],
}


def model_and_data(name: str) -> tuple:
    if name == "pre-training":
        dataset = tf.data.Dataset.from_tensor_slices(RECORDS).batch(16)
        return BertForPreTraining(CONFIG, name="model"), dataset.map(BertForPreTraining.fit_batch)
    if name == "tags":
        model = BertForTokenClassification(CONFIG, 4, head_dropout=0.0, name="model")
        labels = np.where(np.arange(8) <= np.arange(len(IDS))[:, None] % 8, IDS % 4, -1)
    else:
        model = BertForClassification(CONFIG, 4, head_dropout=0.0, name="model")
        labels = IDS[:, 0] % 4
    return model, tf.data.Dataset.from_tensor_slices((IDS, labels, WEIGHTS)).batch(16)


def trained(name: str) -> dict[str, np.ndarray]:
    model, dataset = model_and_data(name)
    model.compile(BertAdamW(2e-3, global_clipnorm=0.5))
    losses = model.fit(dataset, epochs=10, verbose=0).history["loss"]
    found = {variable.path: np.asarray(variable) for variable in model.trainable_variables}
    query = model.encoder.layers[0].attention.query.kernel
    moments = [
        variable for variable in model.optimizer.variables if "query_kernel" in variable.path
    ]
    shards = [variable.value.addressable_shards[0].data.shape for variable in (query, *moments)]
    return found | {"losses": np.array(losses), "shards": np.array(shards)}


def main() -> None:
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((4, 2), ["batch", "model"], devices)
    results = {"devices": len(devices)}
    for name, distribution in (
        ("one", None),
        ("data-parallel", keras.distribution.DataParallel()),
        (
            "model-parallel",
            keras.distribution.ModelParallel(
                layout_map=BertEncoder.get_layout_map(mesh), batch_dim_name="batch"
            ),
        ),
    ):
        keras.distribution.set_distribution(distribution)
        for task in ("classes", "tags", "pre-training"):
            for path, value in trained(task).items():
                results[f"{name}|{task}|{path}"] = value
    np.savez(sys.argv[1], **results)


if __name__ == "__main__":
    main()
