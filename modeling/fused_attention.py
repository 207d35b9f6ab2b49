"""Self-attention as one kernel of cuDNN, for training on GPUs: scores and probabilities never reach
memory.

"FlashAttention" (arXiv 2205.14135). TensorFlow has no operation for it, but its XLA has the
kernels, as custom calls which a function that is compiled can make, here by a module of StableHLO;
JAX's `jax.nn.dot_product_attention` makes the same ones. They round elsewhere than `SelfAttention`
does. They would drop by a generator of their own: here no probabilities are dropped.

Input: queries, keys and values [B, S, N, D]; output: the same. The kernels read and write that
order.
"""

import json
import math

import keras

from bert_common.errors import UserError
from modeling.config import BertConfig

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# What the kernels can do (cuDNN 9), and the first GPUs that have them.
_LARGEST_HEAD, _HEAD_MULTIPLE = 128, 8
COMPUTE_CAPABILITY = (8, 0)
_FORWARD, _BACKWARD = "__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"
# Types as in StableHLO.
_TYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "int32": "i32", "uint8": "ui8"}
# The products of both passes: axes that are summed over, of the left factor and of the right one,
# and whether the left one is a tensor [B, S, N, D], which has its heads at axis 2, or the scores
# [B, N, S, S]. The right one always is.
_PRODUCTS = {
    _FORWARD: {"bmm1": (3, 3, True), "bmm2": (3, 1, False)},
    _BACKWARD: {
        "bmm1_grad_gemm1": (2, 1, False),
        "bmm1_grad_gemm2": (3, 1, False),
        "bmm2_grad_gemm1": (2, 1, False),
        "bmm2_grad_gemm2": (3, 3, True),
    },
}
# From the fastest axis to the slowest, of a result [B, N, S, D]: it lies in memory as [B, S, N, D].
_BY_POSITION = (3, 1, 2, 0)


def check_fused_attention(config: BertConfig, dtype: str) -> None:
    """Raises `UserError` for a model that the kernel is not made for, or another Keras dtype
    policy."""
    rate, size = config.attention_probs_dropout_prob, config.head_size
    if rate:
        raise UserError(
            f"--fused_attention: it can't drop attention probabilities, and attention_probs_dropout_prob is "
            f"{rate:g}: add --attention_probs_dropout_prob=0"
        )
    if size > _LARGEST_HEAD or size % _HEAD_MULTIPLE:
        raise UserError(
            f"--fused_attention: heads of {size} units (hidden_size / num_attention_heads): they must be a "
            f"multiple of {_HEAD_MULTIPLE} and at most {_LARGEST_HEAD}"
        )
    if dtype == "float32":
        raise UserError(
            "--fused_attention: it computes in 16 bits: add --precision=bfloat16 or float16"
        )


def fused_attention(query, key, value, span):
    """softmax(query · keyᵀ / √D) · value for each head, within a function that XLA compiles for a
    GPU.

    All are bfloat16 or float16 [B, S, N, D], and `span` is an `AttentionSpan`; what comes out at
    padding is undefined. Raises `UserError` where a size is not known while the function is traced.
    """
    if None in query.shape:
        raise UserError(
            f"fused attention needs batches of one known shape, not {tuple(query.shape)}"
        )
    lengths, (batch, length, heads, size), stored = span.lengths, query.shape, query.dtype
    result = (batch, heads, length, size), stored, _BY_POSITION

    @tf.custom_gradient
    def attend(query, key, value):
        # The second result is log(sum(exp(scores))) of each position, from which the backward pass
        # computes the probabilities again.
        context, log_sums = _call(
            _FORWARD,
            (query, key, value, lengths, lengths),
            span.causal,
            [result, ((batch, heads, length), tf.float32, (2, 1, 0))],
        )
        context = tf.transpose(context, (0, 2, 1, 3))

        def gradient(upstream):
            found = _call(
                _BACKWARD,
                (query, key, value, log_sums, upstream, context, lengths, lengths),
                span.causal,
                [result] * 3,
            )
            return [tf.transpose(one, (0, 2, 1, 3)) for one in found]

        return context, gradient

    return attend(query, key, value)


def _call(target: str, operands: tuple, causal: bool, results: list[tuple]) -> list:
    """Makes the custom call; `results` are shapes, dtypes and orders in memory as above."""

    def tensor(shape, dtype) -> str:
        return f"tensor<{'x'.join(map(str, (*shape, _TYPES[dtype.name])))}>"

    def layouts(orders) -> str:
        return ", ".join(
            f"dense<[{', '.join(map(str, order))}]> : tensor<{len(order)}xindex>"
            for order in orders
        )

    # XLA gives the last one, the kernel's workspace, the size that it needs.
    made = [*results, ((0,), tf.uint8, (0,))]
    types, all_types = (
        [tensor(one.shape, one.dtype) for one in operands],
        [tensor(*one[:2]) for one in made],
    )
    names, returned = [f"%a{number}" for number in range(len(types))], ", ".join(all_types[:-1])
    batch, length, heads, size = operands[0].shape
    # XLA's GpuBackendConfig, as JSON wants it: int64 as strings.
    config = {
        "operation_queue_id": "0",
        "wait_on_operation_queues": [],
        "cudnn_fmha_backend_config": {
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
            "max_seg_per_batch": 1,
            # The scores, which are not kept.
            "intermediate_tensor_shape": {
                "element_type": _TYPES[operands[0].dtype.name].upper(),
                "dimensions": [str(dimension) for dimension in (batch, heads, length, length)],
                "layout": {"minor_to_major": ["3", "2", "1", "0"]},
                "is_dynamic_dimension": [False] * 4,
            },
            **{
                f"{name}_dot_dimension_numbers": {
                    "lhs_contracting_dimensions": [str(left)],
                    "rhs_contracting_dimensions": [str(right)],
                    "lhs_batch_dimensions": ["0", "2" if by_position else "1"],
                    "rhs_batch_dimensions": ["0", "2"],
                }
                for name, (left, right, by_position) in _PRODUCTS[target].items()
            },
        },
    }
    module = f"""module @attention {{
    func.func public @main({", ".join(map(": ".join, zip(names, types, strict=True)))}) -> ({returned}) {{
      %0:{len(made)} = stablehlo.custom_call @{target}({", ".join(names)}) {{
        backend_config = {json.dumps(json.dumps(config))}, api_version = 2 : i32,
        operand_layouts = [{layouts(tuple(reversed(range(len(one.shape)))) for one in operands)}],
        result_layouts = [{layouts(order for *_, order in made)}]}} : ({", ".join(types)}) -> ({", ".join(all_types)})
      return {", ".join(f"%0#{number}" for number in range(len(results)))} : {returned}
    }}
  }}"""
    return gen_xla_ops.xla_call_module(
        args=list(operands),
        version=9,
        module=module,
        Sout=[list(shape) for shape, *_ in results],
        Tout=[dtype for _, dtype, _ in results],
        platforms=["CUDA"],
        function_list=[],
        disabled_checks=[],
        has_token_input_output=False,
    )
