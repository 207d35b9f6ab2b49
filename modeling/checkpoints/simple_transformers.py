"""`model_args.json` of simpletransformers beside weights in Hugging Face's format: what the outputs
of a classifier mean, and how long its texts were.

Input: the checkpoint in a directory. Output: the checkpoint with the names of the classes, the kind
of problem and the maximum length, where its other files do not say them.
"""

import dataclasses
import os
import re

from bert_common import json_files
from data_gen.tokenization.settings import Applied, Rule, check_keys
from modeling.checkpoints.reader import CheckpointReader
from modeling.config import BertConfig, label_names, with_label_names

_FILE = "model_args.json"
# The file has a hundred keys, nearly all about training.
_KEYS: dict[str, Rule] = {
    "labels_list": Applied(list | None),
    "labels_map": Applied(dict[str, int] | None),
    "max_seq_length": Applied(int | None, smallest=1),
    "model_class": Applied(str | None),
    "sliding_window": Applied(bool | None),
}


def with_simple_transformers(checkpoint: CheckpointReader, directory: str) -> CheckpointReader:
    """Adds what simpletransformers says in the directory of the weights; nothing without its file.

    Raises:
      UserError: the file is damaged, or a key has a value of another type.
    """
    path = os.path.join(directory, _FILE)
    found = json_files.read_object(path)
    config = checkpoint.config
    # Other programs may have a file of this name.
    if config is None or "model_class" not in found:
        return checkpoint
    values = {key: value for key, value in found.items() if key in _KEYS}
    check_keys(values, _KEYS, path, "simpletransformers")
    notes = checkpoint.notes
    if values.get("sliding_window"):
        notes = (
            *notes,
            f"{path}: sliding_window: of texts that are too long one part is read here, where "
            "simpletransformers takes the most frequent class of several",
        )
    max_length = values.get("max_seq_length")
    # The library gives its own to the tokenizer, whose limit is that of the positions.
    if max_length is None:
        max_length = checkpoint.max_length
    return dataclasses.replace(
        checkpoint,
        config=_with_classes(config, values, checkpoint.classes("classification")),
        max_length=max_length,
        notes=notes,
    )


def _with_classes(config: BertConfig, values: dict, num_classes: int | None) -> BertConfig:
    """Returns the configuration with the names and kind of a classifier's outputs."""
    if num_classes is None or num_classes == 1:
        return config
    problem_type = config.extra.get("problem_type")
    if values["model_class"] == "MultiLabelClassificationModel":
        problem_type = "multi_label_classification"
    names = label_names(config)
    # The library writes the names of the classes into its own file only.
    if all(re.fullmatch(r"LABEL_\d+", name) for name in names):
        numbers: dict[str, int] = values.get("labels_map") or {}
        found = sorted(numbers, key=lambda name: numbers[name]) or values.get("labels_list") or []
        if len(found) == num_classes:
            names = [str(name) for name in found]
    if not names:
        names = [f"LABEL_{number}" for number in range(num_classes)]
    return with_label_names(config, names, problem_type)
