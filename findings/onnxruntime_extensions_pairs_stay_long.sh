#!/usr/bin/env bash
# `max_length` of the BertTokenizer of onnxruntime-extensions shortens single texts only: pairs keep all their tokens.
#
# Guess before the run: with max_length=8 a pair has 8 ids, taken from the longer text first; by its documentation
# the operator does what `encode_plus` of transformers does, and has the attribute `truncation_strategy_name`.
# Seen: onnxruntime-extensions 0.15.2 with onnxruntime 1.32.0. Of one text 8 ids are left; of a pair all 17, with
# each of the strategies longest_first, only_first, only_second and longest_from_back, and no error. A model with
# 8 positions then fails, or reads positions that were never trained. The cause is in the source: the function that
# computes a pair never calls the truncation, which exists for two of the four strategies.
# tokenizers 0.23.3 gives 8 ids for the same pair. This project truncates pairs before the special tokens are added,
# and in the graph of a SavedModel too (modeling/preprocessing).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnxruntime-extensions==0.15.2 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 tokenizers==0.23.3
cat > "$folder/program.py" <<'PYTHON'
import sys

import numpy as np
import onnxruntime
import onnxruntime_extensions
from onnx import TensorProto, helper
from tokenizers import BertWordPieceTokenizer

path = f"{sys.argv[1]}/vocab.txt"
FIRST, SECOND = "it rains again and the old dog sleeps a lot", "no it does not"
words = sorted({*FIRST.split(), *SECOND.split()})
vocabulary = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n"
with open(path, "w") as file:
    file.write(vocabulary)


def count(texts: list[str], strategy: str) -> int:
    """Returns the number of ids, at most 8 of them."""
    outputs = ["input_ids", "token_type_ids", "attention_mask", "offset_mapping"]
    domain = "ai.onnx.contrib"
    attributes = {"vocab_file": vocabulary, "max_length": 8, "truncation_strategy_name": strategy}
    node = helper.make_node("BertTokenizer", ["text"], outputs, domain=domain, **attributes)
    text = helper.make_tensor_value_info("text", TensorProto.STRING, [None])
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [None])
    graph = helper.make_graph([node], "tokenizer", [text], [ids])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return len(session.run(["input_ids"], {"text": np.array(texts, object)})[0])


strategies = ["longest_first", "only_first", "only_second", "longest_from_back"]
pairs = [count([FIRST, SECOND], strategy) for strategy in strategies]
reference = BertWordPieceTokenizer(path)
reference.enable_truncation(8)
print(
    f"onnxruntime-extensions {onnxruntime_extensions.__version__}, max_length 8: a text",
    f"{count([FIRST], 'longest_first')} ids, a pair {pairs};",
    f"tokenizers {len(reference.encode(FIRST, SECOND).ids)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxruntime-extensions 0.15.2, max_length 8: a text 8 ids, a pair [17, 17, 17, 17]; tokenizers 8"
