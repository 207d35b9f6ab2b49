"""A BERT as an ONNX graph, written from its weights.

Input: weights by their original names, configuration, head. Output: a model of standard operations
(opset 17), in the order and form that the optimizer of onnxruntime recognizes as BERT's: it fuses
them into Attention, SkipLayerNormalization, EmbedLayerNormalization and Gelu. Nothing is traced, so
the graph contains only the operations below.

Letters: B rows, S tokens of the longest, H hidden units, N heads of D units, V entries of the
vocabulary, C classes, K choices.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bert_tf.extras.token_id_formats import INPUTS
from modeling.attention import FORBIDDEN
from modeling.checkpoints.load import dense_layers
from modeling.checkpoints.sentence_vectors import DenseLayer, SentenceVectors
from modeling.checkpoints.weights import HEADS, POOLER, WORD_EMBEDDINGS
from modeling.config import BertConfig
from modeling.fine_tuning import MISSING

# LayerNormalization exists from opset 17 on; fewer runtimes support later ones.
_OPSET = 17
_IR_VERSION = 8
_DENSE_OPERATIONS = {"Tanh": "Tanh", "ReLU": "Relu"}
# Names of the axes whose sizes depend on the request.
BATCH = "batch_size"
CHOICES = "num_choices"
LENGTH = "sequence_length"


class Output(NamedTuple):
    """An output of the graph: name of the tensor that computes it, and its shape."""

    tensor: str
    shape: list[int | str]


class Graph:
    """A graph under construction: `graph("Add", x, y)` adds a node and returns the name of its
    output.

    Args:
      weights: original name → array.
      dtype: type of the weights and of the activations, float32 or float16.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], dtype: type):
        self.weights = weights
        self.dtype = np.dtype(dtype)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def __call__(
        self, operation: str, *inputs: str | float | Sequence[int] | np.ndarray, **attributes
    ) -> str:
        """Adds a node, and returns the name of its output.

        Args:
          inputs: names; numbers become constants in `dtype`, lists of integers int64 constants, and
            arrays constants of their own type.
        """
        arguments = []
        for value in inputs:
            arguments.append(value if isinstance(value, str) else self._constant(value))
        name = f"{operation}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, arguments, [name], name, **attributes))
        return name

    def _constant(self, value: float | Sequence[int] | np.ndarray) -> str:
        """Adds a constant; equal constants share one name."""
        if isinstance(value, list):
            value = np.array(value, np.int64)
        elif not isinstance(value, np.ndarray):
            value = np.array(value, self.dtype)
        # A name made of the content is the same in every export.
        digest = hashlib.sha256(value.tobytes()).hexdigest()[:12]
        shape = "x".join(str(size) for size in value.shape)
        name = f"constant_{value.dtype}_{shape}_{digest}"
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, name: str, change: Callable[[np.ndarray], np.ndarray] | None = None) -> str:
        """Adds a weight, or `change` of it; tied weights are stored once."""
        value = self.weights[name]
        if change is not None:
            name = f"{name}/{change.__name__}"
            value = change(value)
        if name not in self.constants:
            array = np.ascontiguousarray(value, self.dtype)
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def cast(self, x: str, dtype) -> str:
        """Casts x to another type."""
        return self("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def size(self, x: str, axis: int) -> str:
        """Returns the size of an axis of x, int64 []."""
        return self("Gather", self("Shape", x), np.array(axis, np.int64), axis=0)

    def dense(self, x: str, path: str) -> str:
        """Computes x · kernel + bias."""
        product = self("MatMul", x, self.weight(f"{path}/kernel"))
        return self("Add", product, self.weight(f"{path}/bias"))

    def linear(self, x: str, prefix: str) -> str:
        """Applies a head of one matrix, which the original stores transposed."""
        product = self("MatMul", x, self.weight(f"{prefix}output_weights", np.transpose))
        return self("Add", product, self.weight(f"{prefix}output_bias"))

    def layer_norm(self, x: str, path: str, epsilon: float) -> str:
        """Normalizes x; runtimes compute the statistics in float32, whatever `dtype` is."""
        gamma = self.weight(f"{path}/gamma")
        beta = self.weight(f"{path}/beta")
        return self("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)


def bert_model(
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    head: str | None,
    dtype: type,
    vectors: SentenceVectors | None = None,
) -> onnx.ModelProto:
    """Builds the ONNX model of a BERT with one of `HEADS`, or of the encoder alone.

    Inputs are int64 [B, S] by the names in `INPUTS`, for multiple choice [B, K, S]. Outputs are
    float32 whatever `dtype` is:

    - the encoder: last_hidden_state [B, S, H], sentence_embedding [B, H] and, if it has a pooler,
      pooler_output [B, H]
    - classification: logits [B, C]
    - multiple_choice: logits [B, K], very low where a choice has no token
    - question_answering: start_logits, end_logits [B, S]
    - token_classification: logits [B, S, C]
    - masked_lm: logits [B, S, V]

    Args:
      weights: original name → array, `weights.weight_values(model)`.
      head: key of `HEADS` or None.
      dtype: np.float32, or np.float16 for GPUs.
      vectors: pooling of the encoder's sentence_embedding; None for the mean.
    """
    graph = Graph(weights, dtype)
    # The encoder reads rows: choices are merged into the batch axis.
    rows = list(INPUTS)
    input_shape: list[int | str] = [BATCH, LENGTH]
    if head == "multiple_choice":
        input_shape = [BATCH, CHOICES, LENGTH]
        for number, name in enumerate(INPUTS):
            length = graph("Unsqueeze", graph.size(name, 2), [0])
            shape = graph("Concat", [-1], length, axis=0)
            rows[number] = graph("Reshape", name, shape)
    input_ids, mask, segment_ids = rows
    x = _encoder(graph, config, input_ids, mask, segment_ids)
    if head is None:
        if vectors is None:
            vectors = SentenceVectors()
        outputs = _features(
            graph, config, x, mask, vectors, dense_layers(vectors, config.hidden_size)
        )
    else:
        outputs = _head(graph, config, head, x, mask)
    input_infos = []
    for name in INPUTS:
        info = helper.make_tensor_value_info(name, onnx.TensorProto.INT64, input_shape)
        input_infos.append(info)
    output_infos = []
    # The final cast gives outputs their names; it is the identity in a float32 model.
    for name, output in outputs.items():
        node = helper.make_node("Cast", [output.tensor], [name], name, to=onnx.TensorProto.FLOAT)
        graph.nodes.append(node)
        info = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, output.shape)
        output_infos.append(info)
    return helper.make_model(
        helper.make_graph(
            graph.nodes, "bert", input_infos, output_infos, list(graph.constants.values())
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="bert-tf",
    )


def _encoder(graph: Graph, config: BertConfig, input_ids: str, mask: str, segment_ids: str) -> str:
    """Computes the last layer's output, [B, S, H]."""
    # The bias is 0 where attention is allowed and `FORBIDDEN` elsewhere, [B, 1, 1, S]; in a
    # left-to-right model [B, 1, S, S].
    allowed = graph.cast(graph("Unsqueeze", graph("Unsqueeze", mask, [1]), [2]), graph.dtype)
    if config.causal:
        positions = _positions(graph, input_ids)
        is_before = graph("LessOrEqual", positions, graph("Unsqueeze", positions, [1]))  # [S, S]
        allowed = graph("Mul", allowed, graph.cast(is_before, graph.dtype))
    bias = graph("Mul", graph("Sub", 1.0, allowed), FORBIDDEN)
    x = _embeddings(graph, config, input_ids, segment_ids)
    for layer in range(config.num_hidden_layers):
        x = _layer(graph, config, f"bert/encoder/layer_{layer}", x, bias)
    return x


def _embeddings(graph: Graph, config: BertConfig, input_ids: str, segment_ids: str) -> str:
    """Sums the three embeddings and normalizes them, [B, S, H]."""
    path = "bert/embeddings"
    word_table = graph.weight(f"{path}/word_embeddings")
    # A gather from the table, as one-hot products would cost V times as much.
    words = graph("Gather", word_table, input_ids, axis=0)
    segment_table = graph.weight(f"{path}/token_type_embeddings")
    if config.type_vocab_size == 1:
        # Tokenizers number the second text of a pair 1, for which there is no row.
        segment_ids = graph("Mul", segment_ids, np.array(0, np.int64))
    segments = graph("Gather", segment_table, segment_ids, axis=0)
    # onnxruntime's optimizer recognizes positions in this form only: a slice of a constant row.
    all_positions = np.arange(config.max_position_embeddings, dtype=np.int64)[None]
    length = graph("Unsqueeze", graph.size(input_ids, 1), [0])
    position_ids = graph("Slice", all_positions, [0], length, [1], [1])
    position_table = graph.weight(f"{path}/position_embeddings")
    positions = graph("Gather", position_table, position_ids, axis=0)
    total = graph("Add", graph("Add", words, segments), positions)
    return graph.layer_norm(total, f"{path}/LayerNorm", config.layer_norm_epsilon)


def _layer(graph: Graph, config: BertConfig, path: str, x: str, bias: str) -> str:
    """Applies one Transformer layer, [B, S, H] → [B, S, H]."""
    query = _split_heads(graph, config, x, f"{path}/attention/self/query", [0, 2, 1, 3])
    # The key is transposed for the product with the query: [B, N, D, S].
    key = _split_heads(graph, config, x, f"{path}/attention/self/key", [0, 2, 3, 1])
    value = _split_heads(graph, config, x, f"{path}/attention/self/value", [0, 2, 1, 3])
    scores = graph("Div", graph("MatMul", query, key), math.sqrt(config.head_size))  # [B, N, S, S]
    probabilities = graph("Softmax", graph("Add", scores, bias), axis=-1)
    # The fused Attention needs the softmax over scores plus bias in exactly this order.
    context = graph("Transpose", graph("MatMul", probabilities, value), perm=[0, 2, 1, 3])
    merged = graph("Reshape", context, [0, 0, config.hidden_size])
    attended = graph.dense(merged, f"{path}/attention/output/dense")
    # Layers are normalized after the residual sum, as in the paper.
    epsilon = config.layer_norm_epsilon
    x = graph.layer_norm(graph("Add", attended, x), f"{path}/attention/output/LayerNorm", epsilon)
    inner = _activation(graph, config.hidden_act, graph.dense(x, f"{path}/intermediate/dense"))
    output = graph.dense(inner, f"{path}/output/dense")
    return graph.layer_norm(graph("Add", output, x), f"{path}/output/LayerNorm", epsilon)


def _split_heads(graph: Graph, config: BertConfig, x: str, path: str, axes: list[int]) -> str:
    """Projects x and reorders the axes B, S, N, D of the result."""
    shape = [0, 0, config.num_attention_heads, config.head_size]
    return graph("Transpose", graph("Reshape", graph.dense(x, path), shape), perm=axes)


def _positions(graph: Graph, input_ids: str) -> str:
    """Returns 0 … S-1, int64 [S]."""
    return graph("Range", np.array(0, np.int64), graph.size(input_ids, 1), np.array(1, np.int64))


def _activation(graph: Graph, name: str, x: str) -> str:
    """Applies `hidden_act` of the configuration, see `BertConfig`."""
    if name == "gelu_erf":
        erf = graph("Erf", graph("Div", x, math.sqrt(2)))
        return graph("Mul", graph("Mul", x, graph("Add", erf, 1.0)), 0.5)
    if name in ("gelu", "gelu_new"):
        # The tanh form, which the optimizer fuses to FastGelu.
        cubic = graph("Mul", graph("Pow", x, 3.0), 0.044715)
        inner = graph("Mul", graph("Add", x, cubic), math.sqrt(2 / math.pi))
        return graph("Mul", graph("Mul", x, 0.5), graph("Add", graph("Tanh", inner), 1.0))
    if name == "linear":
        return x
    return graph({"relu": "Relu", "tanh": "Tanh"}[name], x)


def _first_token(graph: Graph, x: str) -> str:
    """Returns the hidden state of [CLS], [B, H]."""
    return graph("Gather", x, np.array(0, np.int64), axis=1)


def _pool(graph: Graph, config: BertConfig, x: str, mask: str) -> str:
    """Pools the first token, in a left-to-right model the last one, [B, H]."""
    if config.causal:
        # Padding has position 0 here, so the maximum is the last token.
        positions = graph("Mul", mask, _positions(graph, mask))
        last = graph("ReduceMax", positions, axes=[1], keepdims=0)  # [B]
        token = graph("GatherND", x, graph("Unsqueeze", last, [1]), batch_dims=1)
    else:
        token = _first_token(graph, x)
    return graph("Tanh", graph.dense(token, "bert/pooler/dense"))


def _features(
    graph: Graph,
    config: BertConfig,
    x: str,
    mask: str,
    vectors: SentenceVectors,
    dense: Sequence[DenseLayer],
) -> dict[str, Output]:
    """Returns the encoder's outputs by name; a text's vector is over all its tokens."""
    if vectors.pooling == "cls":
        vector = _first_token(graph, x)
    elif vectors.pooling == "mean":
        weights = graph("Unsqueeze", graph.cast(mask, graph.dtype), [2])  # [B, S, 1]
        total = graph("ReduceSum", graph("Mul", x, weights), [1], keepdims=0)
        # The bound of 1 keeps a row without tokens from dividing by 0.
        count = graph("Max", graph("ReduceSum", weights, [1], keepdims=0), 1.0)
        vector = graph("Div", total, count)
    elif vectors.pooling == "max":
        # Padding gets the smallest number, which never is the maximum.
        is_token = graph.cast(graph("Unsqueeze", mask, [2]), bool)
        tokens = graph("Where", is_token, x, float(np.finfo(graph.dtype).min))
        vector = graph("ReduceMax", tokens, axes=[1], keepdims=0)
    else:
        raise ValueError(f"the pooling {vectors.pooling!r} has no operations in ONNX")
    size = config.hidden_size
    for layer in dense:
        product = graph("MatMul", vector, layer.kernel.astype(graph.dtype))
        vector = graph("Add", product, layer.bias.astype(graph.dtype))
        if layer.activation != "Identity":
            vector = graph(_DENSE_OPERATIONS[layer.activation], vector)
        size = layer.kernel.shape[1]
    if vectors.normalize:
        # float16 can't represent 1e-12, the smallest length to divide by.
        vector = graph.cast(vector, np.float32)
        length = graph("ReduceL2", vector, axes=[1], keepdims=1)
        vector = graph("Div", vector, graph("Max", length, np.array(1e-12, np.float32)))
    if vectors.truncate_dim:
        size = min(size, vectors.truncate_dim)
        vector = graph("Slice", vector, [0], [size], [1], [1])
    hidden_size = config.hidden_size
    outputs = {
        "last_hidden_state": Output(x, [BATCH, LENGTH, hidden_size]),
        "sentence_embedding": Output(vector, [BATCH, size]),
    }
    if POOLER[0].original in graph.weights:
        pooled = _pool(graph, config, x, mask)
        outputs["pooler_output"] = Output(pooled, [BATCH, hidden_size])
    return outputs


def _head(graph: Graph, config: BertConfig, head: str, x: str, mask: str) -> dict[str, Output]:
    """Returns the outputs of one of `HEADS` by name."""
    prefix = HEADS[head].original
    num_classes = len(graph.weights[HEADS[head].signature_name])
    if head == "classification":
        logits = graph.linear(_pool(graph, config, x, mask), prefix)
        return {"logits": Output(logits, [BATCH, num_classes])}
    if head == "multiple_choice":
        scores = graph.linear(_pool(graph, config, x, mask), prefix)  # [B * K, 1]
        has_token = graph("ReduceMax", "attention_mask", axes=[2], keepdims=0)  # [B, K]
        scores = graph.cast(graph("Reshape", scores, graph("Shape", has_token)), np.float32)
        # float16 can't represent the logit of a missing choice either, hence the cast above.
        missing = np.array(MISSING, np.float32)
        logits = graph("Where", graph.cast(has_token, bool), scores, missing)
        return {"logits": Output(logits, [BATCH, CHOICES])}
    if head == "question_answering":
        both = graph.linear(x, prefix)
        start = graph("Gather", both, np.array(0, np.int64), axis=-1)
        end = graph("Gather", both, np.array(1, np.int64), axis=-1)
        return {
            "start_logits": Output(start, [BATCH, LENGTH]),
            "end_logits": Output(end, [BATCH, LENGTH]),
        }
    # This head is the same matrix for every token.
    if head == "token_classification":
        return {"logits": Output(graph.linear(x, prefix), [BATCH, LENGTH, num_classes])}
    logits = _masked_lm_logits(graph, config, prefix, x, mask)
    return {"logits": Output(logits, [BATCH, LENGTH, config.vocab_size])}


def _masked_lm_logits(graph: Graph, config: BertConfig, prefix: str, x: str, mask: str) -> str:
    """Applies the masked-LM head to every token, [B, S, V]."""
    x = _activation(graph, config.hidden_act, graph.dense(x, f"{prefix}transform/dense"))
    x = graph.layer_norm(x, f"{prefix}transform/LayerNorm", config.layer_norm_epsilon)
    # Gemm takes the embedding table as it is: a transposed copy would be stored in the file again.
    flat = graph(
        "Gemm",
        graph("Reshape", x, [-1, config.hidden_size]),
        graph.weight(WORD_EMBEDDINGS.original),
        graph.weight(f"{prefix}output_bias"),
        transB=1,
    )
    shape = graph("Concat", graph("Shape", mask), [config.vocab_size], axis=0)
    return graph("Reshape", flat, shape)
