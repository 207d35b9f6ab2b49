"""Self-attention as one kernel of cuDNN, for training on GPUs: scores and probabilities never reach
memory ("FlashAttention", arXiv 2205.14135).

TensorFlow has no operation for the kernels, but its XLA has them as custom calls. A compiled
function can make these calls by a module of StableHLO; `jax.nn.dot_product_attention` makes the
same ones. Their rounding differs from `SelfAttention`'s. They would draw dropout from a
generator of their own, so no probabilities are dropped here. Sequences of packed rows are given to
them by their starts, and attend to themselves only.

Input: queries, keys and values [B, S, N, D]; output: the same. The kernels read and write that
order.
"""

import json
import math
from typing import Any, NamedTuple

import keras

from bert_common.errors import UserError
from modeling.config import BertConfig

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# Limits of the kernels (cuDNN 9), and the first GPUs that have them.
_LARGEST_HEAD = 128
_HEAD_MULTIPLE = 8
COMPUTE_CAPABILITY = (8, 0)
# The first that take several sequences in a row; cuDNN must be 9.6 or newer.
PACKED_COMPUTE_CAPABILITY = (9, 0)
# Where the kernel was measured to be faster than plain attention: an H200 gains 28 % with 512
# tokens, and nothing with 128.
MEASURED_COMPUTE_CAPABILITY = (9, 0)
MEASURED_LENGTH = 512
_FORWARD = "__cudnn$fmhaSoftmax"
_BACKWARD = "__cudnn$fmhaSoftmaxBackward"
# Types as in StableHLO.
_TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "int32": "i32", "uint8": "ui8"}
# The products of both passes: contracting axes of the left and of the right factor, and the axis of
# the left factor's heads, which is 2 for a tensor [B, S, N, D] and 1 for scores [B, N, S, S]. The
# right factor is always a tensor.
_PRODUCTS = {
    _FORWARD: {"bmm1": (3, 3, 2), "bmm2": (3, 1, 1)},
    _BACKWARD: {
        "bmm1_grad_gemm1": (2, 1, 1),
        "bmm1_grad_gemm2": (3, 1, 1),
        "bmm2_grad_gemm1": (2, 1, 1),
        "bmm2_grad_gemm2": (3, 3, 2),
    },
}
# Layout of a result [B, N, S, D], from the fastest axis to the slowest: it lies in memory as
# [B, S, N, D].
_BY_POSITION = (3, 1, 2, 0)


class _Result(NamedTuple):
    """A result of a kernel: its shape, dtype and layout, from the fastest axis to the slowest."""

    shape: tuple[int, ...]
    dtype: Any
    layout: tuple[int, ...]


def why_not_fused(config: BertConfig, dtype: str) -> str | None:
    """Returns why the kernel does not support a model or a Keras dtype policy; None if it does."""
    rate = config.attention_probs_dropout_prob
    size = config.head_size
    if rate:
        return (
            f"it can't drop attention probabilities, and attention_probs_dropout_prob is {rate:g}: "
            "add --attention_probs_dropout_prob=0"
        )
    if size > _LARGEST_HEAD or size % _HEAD_MULTIPLE:
        return (
            f"heads of {size} units (hidden_size / num_attention_heads): they must be a multiple "
            f"of {_HEAD_MULTIPLE} and at most {_LARGEST_HEAD}"
        )
    if dtype == "float32":
        return "it computes in 16 bits: add --precision=bfloat16 or float16"
    return None


def fused_attention(query, key, value, span):
    """Computes softmax(query · keyᵀ / √D) · value for each head; XLA must compile it for a GPU.

    Args:
      query, key, value: bfloat16 or float16 [B, S, N, D].
      span: an `AttentionSpan`.

    Returns:
      The context, of the same shape and dtype; values at padding are undefined.

    Raises:
      UserError: a size is not known while the function is traced, or the kernel can't number the
        units of a batch of packed rows.
    """
    if None in query.shape:
        raise UserError(
            f"fused attention needs batches of one known shape, not {tuple(query.shape)}"
        )
    batch, length, heads, size = query.shape
    spans: tuple = (span.lengths, span.lengths)
    # Sequences of the batch that the kernel has room for.
    num_sequences = batch
    if span.starts is not None:
        if batch * length * heads * size >= 2**31:
            raise UserError(
                f"fused attention of packed rows takes batches of less than 2^31 units, not of "
                f"{batch} x {length} x {heads * size}: take a smaller batch"
            )
        num_sequences = batch * span.lengths.shape[1]
        starts = span.starts * (heads * size)
        spans = (*spans, starts, starts)
    by_position = _Result((batch, heads, length, size), query.dtype, _BY_POSITION)
    # log(sum(exp(scores))) of each position: the backward pass computes the probabilities again
    # from it.
    log_sum = _Result((num_sequences, heads, length), tf.float32, (2, 1, 0))

    @tf.custom_gradient
    def attend(query, key, value):
        operands = (query, key, value, *spans)
        context, log_sums = _call(_FORWARD, operands, span.causal, [by_position, log_sum])
        context = tf.transpose(context, (0, 2, 1, 3))

        def gradient(upstream):
            operands = (query, key, value, log_sums, upstream, context, *spans)
            gradients = _call(_BACKWARD, operands, span.causal, [by_position] * 3)
            return [tf.transpose(tensor, (0, 2, 1, 3)) for tensor in gradients]

        return context, gradient

    return attend(query, key, value)


def _call(target: str, operands: tuple, causal: bool, results: list[_Result]) -> list:
    """Makes the custom call of a kernel."""
    operand_types = []
    operand_layouts = []
    for operand in operands:
        operand_types.append(_type(operand.shape, operand.dtype))
        operand_layouts.append(_layout(range(len(operand.shape) - 1, -1, -1)))
    result_types = []
    result_layouts = []
    # The last result is the kernel's workspace; XLA gives it the size that it needs.
    for result in (*results, _Result((0,), tf.uint8, (0,))):
        result_types.append(_type(result.shape, result.dtype))
        result_layouts.append(_layout(result.layout))
    names = [f"%a{number}" for number in range(len(operands))]
    parameters = [f"{name}: {kind}" for name, kind in zip(names, operand_types, strict=True)]
    # Lengths, which are a matrix for packed rows, follow the floats.
    spans = [operand for operand in operands if operand.dtype == tf.int32]
    sequences_per_row = 1 if len(spans) == 2 else spans[0].shape[1]
    config = json.dumps(_backend_config(target, operands[0], causal, sequences_per_row))
    returned_types = ", ".join(result_types[: len(results)])
    returned = ", ".join(f"%0#{number}" for number in range(len(results)))
    operand_list = ", ".join(operand_types)
    result_list = ", ".join(result_types)
    module = f"""module @attention {{
    func.func public @main({", ".join(parameters)}) -> ({returned_types}) {{
      %0:{len(result_types)} = stablehlo.custom_call @{target}({", ".join(names)}) {{
        backend_config = {json.dumps(config)}, api_version = 2 : i32,
        operand_layouts = [{", ".join(operand_layouts)}],
        result_layouts = [{", ".join(result_layouts)}]}} : ({operand_list}) -> ({result_list})
      return {returned} : {returned_types}
    }}
  }}"""
    return gen_xla_ops.xla_call_module(
        args=list(operands),
        version=9,
        module=module,
        Sout=[list(result.shape) for result in results],
        Tout=[result.dtype for result in results],
        platforms=["CUDA"],
        function_list=[],
        disabled_checks=[],
        has_token_input_output=False,
    )


def _type(shape, dtype) -> str:
    """Returns a tensor type of StableHLO, e.g. "tensor<2x8xbf16>"."""
    sizes = "".join(f"{size}x" for size in shape)
    return f"tensor<{sizes}{_TYPES[dtype.name]}>"


def _layout(axes) -> str:
    """Returns axes, from the fastest to the slowest, as StableHLO has them."""
    axes = list(axes)
    return f"dense<{axes}> : tensor<{len(axes)}xindex>"


def _backend_config(target: str, query, causal: bool, sequences_per_row: int) -> dict:
    """Returns XLA's GpuBackendConfig of a call, with int64 as strings, as in protobuf's JSON."""
    batch, length, heads, size = query.shape
    scores_shape = [str(batch), str(heads), str(length), str(length)]
    config = {
        "algorithm": {
            "algo_id": "0",
            "math_type": "TENSOR_OP_MATH",
            "tuning_knobs": {"17": "1", "24": "0"},
            "is_cudnn_frontend": True,
            "workspace_size": "0",
        },
        "fmha_scale": 1.0 / math.sqrt(size),
        "dropout_rate": 0.0,
        "is_flash_attention": True,
        "mask_type": "PADDING_CAUSAL" if causal else "PADDING",
        "max_seg_per_batch": sequences_per_row,
        # The scores, which are not kept.
        "intermediate_tensor_shape": {
            "element_type": _TYPES[query.dtype.name].upper(),
            "dimensions": scores_shape,
            "layout": {"minor_to_major": ["3", "2", "1", "0"]},
            "is_dynamic_dimension": [False] * 4,
        },
    }
    for name, (left_axis, right_axis, left_heads) in _PRODUCTS[target].items():
        config[f"{name}_dot_dimension_numbers"] = {
            "lhs_contracting_dimensions": [str(left_axis)],
            "rhs_contracting_dimensions": [str(right_axis)],
            "lhs_batch_dimensions": ["0", str(left_heads)],
            "rhs_batch_dimensions": ["0", "2"],
        }
    return {
        "operation_queue_id": "0",
        "wait_on_operation_queues": [],
        "cudnn_fmha_backend_config": config,
    }
