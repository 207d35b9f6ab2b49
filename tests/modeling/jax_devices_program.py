"""Trains the library's models on JAX, on one virtual device and data-parallel on eight:
`python jax_devices_program.py RESULTS`.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import keras
import numpy as np

from modeling import BertAdamW, BertConfig, BertForClassification, BertForTokenClassification

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


def trained(model_class, labels: np.ndarray, ids: np.ndarray) -> dict[str, np.ndarray]:
    model = model_class(CONFIG, 4, head_dropout=0.0, name="model")
    model.compile(BertAdamW(2e-3, global_clipnorm=0.5))
    weights = np.linspace(0.1, 2.0, len(ids), dtype=np.float32)
    losses = model.fit(
        ids, labels, sample_weight=weights, batch_size=16, epochs=10, shuffle=False, verbose=0
    ).history["loss"]
    found = {variable.path: np.asarray(variable) for variable in model.trainable_variables}
    return found | {"losses": np.array(losses)}


def main() -> None:
    ids = np.random.default_rng(5).integers(1, 40, (32, 8)).astype(np.int32)
    tags = np.where(np.arange(8) <= np.arange(32)[:, None] % 8, ids % 4, -1)
    results = {}
    for name in ("one", "eight"):
        if name == "eight":
            keras.distribution.set_distribution(keras.distribution.DataParallel())
        for model_class, labels in (
            (BertForClassification, ids[:, 0] % 4),
            (BertForTokenClassification, tags),
        ):
            for path, value in trained(model_class, labels, ids).items():
                results[f"{name}|{model_class.__name__}|{path}"] = value
    results["devices"] = len(keras.distribution.list_devices())
    np.savez(sys.argv[1], **results)


if __name__ == "__main__":
    main()
