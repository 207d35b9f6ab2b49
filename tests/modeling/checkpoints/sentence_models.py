"""Directories of sentence-transformers with settings of every kind, and their values by that
library.

  python tests/modeling/checkpoints/sentence_models.py FOLDER       writes the directories
  PEER tests/modeling/checkpoints/sentence_models.py FOLDER values  prints the vectors and scores

PEER is an interpreter with sentence-transformers; the second command made `sentence_values.json`
(with sentence-transformers 6.2.0 and torch 2.13.0).
"""

import json
import os
import pathlib
import sys

import numpy as np

TEXTS = ["who is the list?", "The Array is returned.", "lists", "thé ARRAY"]
_PACKAGE = "sentence_transformers.models."
# Name → modules after the encoder, and keys of config_sentence_transformers.json.
VECTORS = {
    "dot": (("Pooling",), {"similarity_fn_name": "dot"}),
    "truncated": (("Pooling", "Normalize"), {"truncate_dim": 5}),
    "dense": (("Pooling", "Dense", "Normalize"), {}),
    "dense_truncated": (("Pooling", "Dense", "Dense"), {"truncate_dim": 4}),
    # A cased tokenizer, and `do_lower_case` in sentence_bert_config.json: accents are kept.
    "lower_cased": (("Pooling",), {}),
}
# Name → keys of the re-ranker's config.json.
SCORES = {
    "sigmoid": {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
    "identity": {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
    "sigmoid_before_4": {
        "sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"
    },
}


def write_all(folder: pathlib.Path) -> None:
    """Writes a directory for each name."""
    from safetensors.numpy import save_file

    from modeling.checkpoints.convert import convert
    from tests.tiny import write_tiny

    for name, (modules, settings) in VECTORS.items():
        path = folder / name
        is_cased = name == "lower_cased"
        encoder = write_tiny(folder / f"{name}_encoder", do_lower_case=not is_cased)
        convert(encoder, "sentence_transformers", str(path))
        if is_cased:
            length = {"max_seq_length": 24, "do_lower_case": True}
            (path / "sentence_bert_config.json").write_text(json.dumps(length))
        rows = [{"idx": 0, "name": "0", "path": "", "type": f"{_PACKAGE}Transformer"}]
        size = 12
        for number, module in enumerate(modules, start=1):
            below = f"{number}_{module}"
            rows.append(
                {"idx": number, "name": str(number), "path": below, "type": _PACKAGE + module}
            )
            if module == "Dense":
                (path / below).mkdir()
                rng = np.random.default_rng(number)
                config = {
                    "in_features": size,
                    "out_features": size - 3,
                    "bias": True,
                    "activation_function": "torch.nn.modules.activation.Tanh",
                }
                (path / below / "config.json").write_text(json.dumps(config))
                weights = {
                    "linear.weight": rng.normal(0, 0.4, (size - 3, size)).astype(np.float32),
                    "linear.bias": rng.normal(0, 0.4, size - 3).astype(np.float32),
                }
                save_file(weights, path / below / "model.safetensors")
                size -= 3
        (path / "modules.json").write_text(json.dumps(rows))
        file = path / "config_sentence_transformers.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    ranker = write_tiny(folder / "ranker", "regression")
    for name, settings in SCORES.items():
        convert(ranker, "huggingface", str(folder / name))
        file = folder / name / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def print_values(folder: pathlib.Path) -> None:
    """Prints the values of the library, in JSON."""
    import sentence_transformers

    values = {}
    for name in VECTORS:
        model = sentence_transformers.SentenceTransformer(str(folder / name), device="cpu")
        values[name] = [[round(float(x), 7) for x in row] for row in model.encode(TEXTS)]
    for name in SCORES:
        model = sentence_transformers.CrossEncoder(str(folder / name), device="cpu")
        pairs = [[TEXTS[0], text] for text in TEXTS]
        values[name] = [round(float(x), 7) for x in model.predict(pairs)]
    print(json.dumps(values))


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    directory = pathlib.Path(sys.argv[1])
    if len(sys.argv) > 2:
        print_values(directory)
    else:
        directory.mkdir(parents=True, exist_ok=True)
        write_all(directory)
