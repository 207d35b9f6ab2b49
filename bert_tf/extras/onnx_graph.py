"""A BERT as an ONNX graph, written from its weights.

Input: weights by their original names, configuration, head. Output: a model of standard operations
(opset 17), in the order and form that the optimizer of onnxruntime knows as BERT's: it makes
Attention, SkipLayerNormalization, EmbedLayerNormalization and Gelu of them. Nothing is traced, so
nothing is in the graph that is not below.

Letters: B rows, S tokens of the longest, H hidden units, N heads of D units, V entries of the
vocabulary, K choices.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bert_tf.extras.token_id_formats import INPUTS
from modeling.attention import FORBIDDEN
from modeling.checkpoints.companion_files import SentenceVectors
from modeling.checkpoints.weights import HEADS, POOLER, WORD_EMBEDDINGS
from modeling.config import BertConfig
from modeling.fine_tuning import MISSING

# LayerNormalization came with 17; what came later is known to fewer runtimes.
_OPSET, _IR_VERSION = 17, 8
BATCH, CHOICES, LENGTH = "batch_size", "num_choices", "sequence_length"


class Graph:
    """A graph in the making: `graph("Add", x, y)` adds a node and returns the name of what it
    computes.

    Args:
      weights: original name → array.
      dtype: that weights are kept in and sums are taken in, float32 or float16.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], dtype: type):
        self.weights, self.dtype = weights, np.dtype(dtype)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def __call__(
        self, operation: str, *inputs: str | float | Sequence[int] | np.ndarray, **attributes
    ) -> str:
        """Adds a node, and returns the name of its output.

        Args:
          inputs: names; numbers are constants in `dtype`, lists of whole numbers and arrays
            constants as they are.
        """
        number, arguments = len(self.nodes), []
        for one in inputs:
            if not isinstance(one, str):
                if not isinstance(one, np.ndarray):
                    one = np.array(one, np.int64 if isinstance(one, list) else self.dtype)
                digest = hashlib.sha256(one.tobytes()).hexdigest()[:12]
                name = f"constant_{one.dtype}_{'x'.join(map(str, one.shape))}_{digest}"
                self.constants.setdefault(name, numpy_helper.from_array(one, name))
                one = name
            arguments.append(one)
        name = f"{operation}_{number}"
        self.nodes.append(helper.make_node(operation, arguments, [name], name, **attributes))
        return name

    def weight(self, name: str, change: Callable[[np.ndarray], np.ndarray] | None = None) -> str:
        """A weight, or something made of it under a name of its own: weights that are tied are
        there once."""
        key = name if change is None else f"{name}/{change.__name__}"
        if key not in self.constants:
            value = self.weights[name]
            self.constants[key] = numpy_helper.from_array(
                np.ascontiguousarray(value if change is None else change(value), self.dtype), key
            )
        return key

    def cast(self, x: str, dtype) -> str:
        """x as another type."""
        return self("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def size(self, x: str, axis: int) -> str:
        """The size of an axis of x, int64 []."""
        return self("Gather", self("Shape", x), np.array(axis, np.int64), axis=0)

    def dense(self, x: str, path: str) -> str:
        """x · kernel + bias."""
        return self(
            "Add", self("MatMul", x, self.weight(f"{path}/kernel")), self.weight(f"{path}/bias")
        )

    def linear(self, x: str, prefix: str) -> str:
        """A head of one matrix, which the original has transposed."""
        return self(
            "Add",
            self("MatMul", x, self.weight(f"{prefix}output_weights", np.transpose)),
            self.weight(f"{prefix}output_bias"),
        )

    def layer_norm(self, x: str, path: str, epsilon: float) -> str:
        """Statistics are taken in float32, whatever `dtype` is."""
        return self(
            "LayerNormalization",
            x,
            self.weight(f"{path}/gamma"),
            self.weight(f"{path}/beta"),
            axis=-1,
            epsilon=epsilon,
        )


def bert_model(
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    head: str | None,
    dtype: type,
    vectors: SentenceVectors | None = None,
    sep_id: int | None = None,
    inputs: Sequence[str] = tuple(INPUTS),
) -> onnx.ModelProto:
    """A BERT with one of `HEADS`, or the encoder alone.

    Inputs are int64 [B, S] by the names in `INPUTS`, for multiple choice [B, K, S]. Outputs,
    float32 whatever `dtype` is:

      the encoder         last_hidden_state [B, S, H], sentence_embedding [B, H] and, where there
      are its weights,
                          pooler_output [B, H]
      classification      logits [B, C]
      multiple_choice     logits [B, K], very low where a choice has no token
      question_answering  start_logits, end_logits [B, S]
      token_classification  logits [B, S, C]
      masked_lm           logits [B, S, V]

    Args:
      weights: original name → array, `weights.weight_values(model)`.
      head: key of `HEADS` or None.
      dtype: np.float32, or np.float16 for GPUs.
      vectors: how those of a text become one, for the encoder alone; None for their mean.
      sep_id: of [SEP], after which the second text of a row begins whose segment ids are missing or
        all 0, as many a client sends them; None to take them as they are.
      inputs: those of `INPUTS` that there are; token_type_ids may be missing.
    """
    graph = Graph(weights, dtype)
    is_choice = head == "multiple_choice"
    rows = (
        [
            graph(
                "Reshape",
                name,
                graph("Concat", [-1], graph("Unsqueeze", graph.size(name, 2), [0]), axis=0),
            )
            for name in inputs
        ]
        if is_choice
        else [*inputs]
    )
    if sep_id is not None:
        # 1 after the first [SEP], in rows without segment ids of their own.
        one = np.array(1, np.int64)
        is_sep = graph.cast(graph("Equal", rows[0], np.array(sep_id, np.int64)), np.int64)
        found = graph("Mul", graph("Min", graph("CumSum", is_sep, one, exclusive=1), one), rows[1])
        rows[2:] = [
            graph(
                "Where",
                graph.cast(graph("ReduceMax", given, axes=[1], keepdims=1), bool),
                given,
                found,
            )
            for given in rows[2:]
        ] or [found]
    x = _encoder(graph, config, *rows)
    outputs = (
        _head(graph, config, head, x, rows[1])
        if head
        else _features(graph, config, x, rows[1], vectors or SentenceVectors())
    )
    for name, (value, _) in outputs.items():
        graph.nodes.append(
            helper.make_node("Cast", [value], [name], name, to=onnx.TensorProto.FLOAT)
        )
    shape = [BATCH, CHOICES, LENGTH] if is_choice else [BATCH, LENGTH]
    sizes = {
        "H": config.hidden_size,
        "V": config.vocab_size,
        "B": BATCH,
        "S": LENGTH,
        "K": CHOICES,
        "C": len(weights[HEADS[head].signature_name]) if head else 0,
    }
    made = helper.make_graph(
        graph.nodes,
        "bert",
        [helper.make_tensor_value_info(name, onnx.TensorProto.INT64, shape) for name in inputs],
        [
            helper.make_tensor_value_info(
                name, onnx.TensorProto.FLOAT, [sizes[axis] for axis in axes]
            )
            for name, (_, axes) in outputs.items()
        ],
        [*graph.constants.values()],
    )
    return helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="bert-tf",
    )


def _encoder(graph: Graph, config: BertConfig, input_ids: str, mask: str, segment_ids: str) -> str:
    """The last layer's output, [B, S, H]."""
    # 0 where attention is allowed and `FORBIDDEN` where not, [B, 1, 1, S]; of a left-to-right model
    # [B, 1, S, S].
    allowed = graph.cast(graph("Unsqueeze", graph("Unsqueeze", mask, [1]), [2]), graph.dtype)
    if config.causal:
        positions = _positions(graph, input_ids)
        before = graph("LessOrEqual", positions, graph("Unsqueeze", positions, [1]))  # [S, S]
        allowed = graph("Mul", allowed, graph.cast(before, graph.dtype))
    bias = graph("Mul", graph("Sub", 1.0, allowed), FORBIDDEN)
    path = "bert/embeddings"
    words, segments = (
        graph("Gather", graph.weight(f"{path}/{table}"), ids, axis=0)
        for table, ids in (("word_embeddings", input_ids), ("token_type_embeddings", segment_ids))
    )
    length = graph("Unsqueeze", graph.size(input_ids, 1), [0])
    # A row of numbers that is cut, which the optimizer knows.
    places = graph(
        "Slice",
        np.arange(config.max_position_embeddings, dtype=np.int64)[None],
        [0],
        length,
        [1],
        [1],
    )
    positions = graph("Gather", graph.weight(f"{path}/position_embeddings"), places, axis=0)
    total = graph("Add", graph("Add", words, segments), positions)
    x = graph.layer_norm(total, f"{path}/LayerNorm", config.layer_norm_epsilon)
    heads = [0, 0, config.num_attention_heads, config.head_size]
    for layer in range(config.num_hidden_layers):
        path = f"bert/encoder/layer_{layer}"
        # The heads side by side.
        query, key, value = (
            graph(
                "Transpose",
                graph("Reshape", graph.dense(x, f"{path}/attention/self/{name}"), heads),
                perm=axes,
            )
            for name, axes in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scores = graph(
            "Div", graph("MatMul", query, key), math.sqrt(config.head_size)
        )  # [B, N, S, S]
        probabilities = graph("Softmax", graph("Add", scores, bias), axis=-1)
        context = graph("Transpose", graph("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        attended = graph.dense(
            graph("Reshape", context, [0, 0, config.hidden_size]), f"{path}/attention/output/dense"
        )
        x = graph.layer_norm(
            graph("Add", attended, x),
            f"{path}/attention/output/LayerNorm",
            config.layer_norm_epsilon,
        )
        inner = _activation(graph, config.hidden_act, graph.dense(x, f"{path}/intermediate/dense"))
        x = graph.layer_norm(
            graph("Add", graph.dense(inner, f"{path}/output/dense"), x),
            f"{path}/output/LayerNorm",
            config.layer_norm_epsilon,
        )
    return x


def _positions(graph: Graph, input_ids: str) -> str:
    """0...S-1, int64 [S]."""
    return graph("Range", np.array(0, np.int64), graph.size(input_ids, 1), np.array(1, np.int64))


def _activation(graph: Graph, name: str, x: str) -> str:
    """`hidden_act` of the configuration, see `BertConfig`."""
    if name == "gelu_erf":
        erf = graph("Erf", graph("Div", x, math.sqrt(2)))
        return graph("Mul", graph("Mul", x, graph("Add", erf, 1.0)), 0.5)
    if name in ("gelu", "gelu_new"):
        cubic = graph("Mul", graph("Pow", x, 3.0), 0.044715)
        inner = graph("Mul", graph("Add", x, cubic), math.sqrt(2 / math.pi))
        return graph("Mul", graph("Mul", x, 0.5), graph("Add", graph("Tanh", inner), 1.0))
    return {
        "relu": lambda: graph("Relu", x),
        "tanh": lambda: graph("Tanh", x),
        "linear": lambda: x,
    }[name]()


def _pool(graph: Graph, config: BertConfig, x: str, mask: str) -> str:
    """[B, H], of the first token; of a left-to-right model of the last one."""
    if config.causal:
        last = graph(
            "ReduceMax", graph("Mul", mask, _positions(graph, mask)), axes=[1], keepdims=0
        )  # [B]
        token = graph("GatherND", x, graph("Unsqueeze", last, [1]), batch_dims=1)
    else:
        token = graph("Gather", x, np.array(0, np.int64), axis=1)
    return graph("Tanh", graph.dense(token, "bert/pooler/dense"))


def _features(
    graph: Graph, config: BertConfig, x: str, mask: str, vectors: SentenceVectors
) -> dict[str, tuple]:
    """Those of the encoder alone: name → value, a letter for each axis. A text's vector is over all
    its tokens."""
    if vectors.pooling == "cls":
        vector = graph("Gather", x, np.array(0, np.int64), axis=1)
    elif vectors.pooling == "mean":
        weights = graph("Unsqueeze", graph.cast(mask, graph.dtype), [2])  # [B, S, 1]
        count = graph("Max", graph("ReduceSum", weights, [1], keepdims=0), 1.0)
        vector = graph("Div", graph("ReduceSum", graph("Mul", x, weights), [1], keepdims=0), count)
    else:
        tokens = graph(
            "Where",
            graph.cast(graph("Unsqueeze", mask, [2]), bool),
            x,
            float(np.finfo(graph.dtype).min),
        )
        vector = graph("ReduceMax", tokens, axes=[1], keepdims=0)
    if vectors.normalize:
        vector = graph.cast(vector, np.float32)
        length = graph("ReduceL2", vector, axes=[1], keepdims=1)
        vector = graph("Div", vector, graph("Max", length, np.array(1e-12, np.float32)))
    pooled = (
        {"pooler_output": (_pool(graph, config, x, mask), "BH")}
        if POOLER[0].original in graph.weights
        else {}
    )
    return {"last_hidden_state": (x, "BSH"), "sentence_embedding": (vector, "BH"), **pooled}


def _head(graph: Graph, config: BertConfig, head: str, x: str, mask: str) -> dict[str, tuple]:
    """The same of one of `HEADS`."""
    prefix = HEADS[head].original
    if head == "classification":
        return {"logits": (graph.linear(_pool(graph, config, x, mask), prefix), "BC")}
    if head == "multiple_choice":
        scores = graph.linear(_pool(graph, config, x, mask), prefix)  # [B * K, 1]
        is_there = graph("ReduceMax", "attention_mask", axes=[2], keepdims=0)  # [B, K]
        logits = graph.cast(graph("Reshape", scores, graph("Shape", is_there)), np.float32)
        return {
            "logits": (
                graph("Where", graph.cast(is_there, bool), logits, np.array(MISSING, np.float32)),
                "BK",
            )
        }
    if head == "question_answering":
        both = graph.linear(x, prefix)
        return {
            name: (graph("Gather", both, np.array(number, np.int64), axis=-1), "BS")
            for number, name in enumerate(("start_logits", "end_logits"))
        }
    if head == "token_classification":
        return {"logits": (graph.linear(x, prefix), "BSC")}
    # Of masked_lm.
    x = _activation(graph, config.hidden_act, graph.dense(x, f"{prefix}transform/dense"))
    x = graph.layer_norm(x, f"{prefix}transform/LayerNorm", config.layer_norm_epsilon)
    # A product that takes the table of the embeddings as it is: a transposed one would be in the
    # file again.
    flat = graph(
        "Gemm",
        graph("Reshape", x, [-1, config.hidden_size]),
        graph.weight(WORD_EMBEDDINGS.original),
        graph.weight(f"{prefix}output_bias"),
        transB=1,
    )
    return {
        "logits": (
            graph(
                "Reshape", flat, graph("Concat", graph("Shape", mask), [config.vocab_size], axis=0)
            ),
            "BSV",
        )
    }
