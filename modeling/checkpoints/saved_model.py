"""Weights in SavedModels, `DIR/variables`: encoders of TF-Hub, of the Model Garden, of
transformers' TensorFlow classes, of this project's `--api=tfhub`, and models that users fine-tuned
with Keras 2 around one.

The keys there are numbers, so that the names of the variables, which the object graph has, tell the
weights. Vocabulary and casing are in the SavedModel, too: `DIR/assets/vocab.txt`, and a variable
`do_lower_case`.

Input: `TensorBundle`. Output: `CheckpointReader`.
"""

import dataclasses
import os
import re

import numpy as np

from bert_common import files
from modeling.checkpoints.companion_files import SUFFIX, VOCAB_FILE
from modeling.checkpoints.huggingface import TransformersFile, read_tensors
from modeling.checkpoints.model_garden import OBJECT_GRAPH, ObjectGraph, read_model_garden
from modeling.checkpoints.reader import CheckpointReader, RenamedFile
from modeling.checkpoints.tensorflow_files import TensorBundle, saved_model_of
from modeling.checkpoints.variable_names import read_named_variables

_CASING = re.compile(r"(^|/)do_lower_case" + re.escape(SUFFIX) + "$")
# Names of variables of transformers' TensorFlow classes have this in front of a layer's number.
_TRANSFORMERS_LAYER = "/layer_._"


def read_saved_model(bundle: TensorBundle) -> CheckpointReader | None:
    """Returns the weights of the encoder in a SavedModel; None without one."""
    folder = saved_model_of(bundle.prefix)
    if folder is None or OBJECT_GRAPH not in bundle.shapes:
        return None
    # The Model Garden's heads have no names of their own, only places in the graph.
    weights = read_model_garden(bundle)
    if weights is None:
        file = RenamedFile(bundle, _names(bundle))
        if any(_TRANSFORMERS_LAYER in name for name in file.shapes):
            weights = read_tensors(folder, TransformersFile(file))
        else:
            weights = read_named_variables(file, file.shapes)
    if weights is None:
        return None
    do_lower_case = None
    for key in bundle.shapes:
        if _CASING.search(key):
            do_lower_case = bool(np.asarray(bundle.raw(key)))
    vocab_file = os.path.join(folder, "assets", VOCAB_FILE)
    return dataclasses.replace(
        weights,
        description=f"{folder} (SavedModel)",
        vocab_file=vocab_file if files.exists(vocab_file) else None,
        do_lower_case=do_lower_case,
    )


def _names(bundle: TensorBundle) -> dict[str, str]:
    """Returns name → key of the variables; counters, which have no axes, are left out."""
    keys: dict[str, str] = {}
    for key, name in ObjectGraph(bundle).names.items():
        if bundle.shapes[key]:
            # Two variables may have the same name, such as the kernels of two layers `dense`.
            while name in keys:
                name = f"another/{name}"
            keys[name] = key
    return keys
