"""Self-attention as one kernel of cuDNN, for training on GPUs: scores and probabilities never reach memory.

"FlashAttention" (arXiv 2205.14135). TensorFlow has no operation for it, but its XLA has the kernels, as custom calls
which a function that is compiled can make; JAX's `jax.nn.dot_product_attention` makes the same ones. They round
elsewhere than `SelfAttention` does. They would drop by a generator of their own: here no probabilities are dropped.

Input: queries, keys and values [B, N, S, D]; output: [B, N, S, D].
"""

import dataclasses
import json
import math
from typing import Any

from bert_common.errors import UserError
from modeling.config import BertConfig

# What the kernels can do (cuDNN 9), and the first GPUs that have them.
_LARGEST_HEAD, _HEAD_MULTIPLE = 128, 8
COMPUTE_CAPABILITY = (8, 0)
_FORWARD, _BACKWARD = "__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"
_ELEMENT_TYPES = {"bfloat16": "BF16", "float16": "F16"}
# The products of both passes: which axes of [B, N, S, D] they sum over (D is 3, S is 2). B and N stay.
_FORWARD_PRODUCTS = {"bmm1": (3, 3), "bmm2": (3, 2)}
_BACKWARD_PRODUCTS = {"bmm1_grad_gemm1": (2, 2), "bmm1_grad_gemm2": (3, 2), "bmm2_grad_gemm1": (2, 2),
                      "bmm2_grad_gemm2": (3, 3)}


@dataclasses.dataclass(frozen=True)
class AttentionSpan:
  """Who attends to whom, as the kernel takes it: what `attention_bias` is for `SelfAttention`'s own form.

  Attributes:
    lengths: int32 [B], the tokens of each row, which are its first ones.
    causal: position i attends to 0...i only.
  """

  lengths: Any
  causal: bool


def attention_span(input_mask, batch: int, length: int, causal: bool) -> AttentionSpan:
  """The span of rows whose padding, if any, is at their end.

  Args:
    input_mask: [B, S], 1 for tokens and 0 for padding; None where there is no padding.
    batch, length: B and S.
    causal: as in `AttentionSpan`.
  """
  import tensorflow as tf

  if input_mask is None:
    return AttentionSpan(tf.fill([batch], length), causal)
  # A row of padding only must not become 0 / 0.
  return AttentionSpan(tf.maximum(tf.reduce_sum(tf.cast(input_mask, tf.int32), axis=1), 1), causal)


def check_fused_attention(config: BertConfig, dtype: str) -> None:
  """Refuses a model that the kernel is not made for.

  Args:
    config: of the model.
    dtype: Keras dtype policy.

  Raises:
    UserError: dropout of attention probabilities, a size of the heads, or float32.
  """
  rate, size = config.attention_probs_dropout_prob, config.head_size
  if rate:
    raise UserError(f"--fused_attention: it can't drop attention probabilities, and attention_probs_dropout_prob is "
                    f"{rate:g}: add --attention_probs_dropout_prob=0")
  if size > _LARGEST_HEAD or size % _HEAD_MULTIPLE:
    raise UserError(f"--fused_attention: heads of {size} units (hidden_size / num_attention_heads): they must be a "
                    f"multiple of {_HEAD_MULTIPLE} and at most {_LARGEST_HEAD}")
  if dtype == "float32":
    raise UserError("--fused_attention: it computes in 16 bits: add --precision=bfloat16 or float16")


def fused_attention(query, key, value, span: AttentionSpan):
  """softmax(query · keyᵀ / √D) · value for each head, within a function that XLA compiles for a GPU.

  Args:
    query, key, value: bfloat16 or float16 [B, N, S, D], all sizes known.
    span: who attends to whom. What comes out at padding is undefined.

  Returns:
    [B, N, S, D] of the same type.

  Raises:
    UserError: a size is not known while the function is traced.
  """
  import tensorflow as tf

  if None in query.shape:
    raise UserError(f"fused attention needs batches of one known shape, not {tuple(query.shape)}")
  lengths, heads, stored = span.lengths, query.shape[:3], query.dtype

  @tf.custom_gradient
  def attend(query, key, value):
    # The second result is log(sum(exp(scores))) of each position, from which the backward pass computes the
    # probabilities again.
    context, log_sums = _call(_FORWARD, (query, key, value, lengths, lengths), span.causal, _FORWARD_PRODUCTS,
                              [(query.shape, stored), (heads, tf.float32)])

    def gradient(upstream):
      return _call(_BACKWARD, (query, key, value, log_sums, upstream, context, lengths, lengths), span.causal,
                   _BACKWARD_PRODUCTS, [(query.shape, stored)] * 3)

    return context, gradient

  return attend(query, key, value)


def _call(target: str, operands: tuple, causal: bool, products: dict, results: list[tuple]) -> list:
  """Makes the custom call; `results` are shapes and dtypes."""
  import tensorflow as tf
  from tensorflow.compiler.tf2xla.ops import gen_xla_ops

  # XLA gives the last one, the kernel's workspace, the size that it needs.
  shapes, dtypes = zip(*results, ((0,), tf.uint8), strict=True)
  *found, _ = gen_xla_ops.xla_custom_call_v2(
      operands=operands, call_target_name=target, has_side_effect=False, result_dtypes=dtypes, result_shapes=shapes,
      backend_config=json.dumps(_backend_config(operands[0].shape, operands[0].dtype.name, causal, products)))
  return found


def _backend_config(shape, dtype: str, causal: bool, products: dict) -> dict:
  """XLA's GpuBackendConfig for a call on tensors of that shape, [B, N, S, D], as JSON wants it: int64 as strings."""
  batch, heads, length, size = shape
  return {
      "operation_queue_id": "0", "wait_on_operation_queues": [],
      "cudnn_fmha_backend_config": {
          "algorithm": {"algo_id": "0", "math_type": "TENSOR_OP_MATH", "tuning_knobs": {"17": "1", "24": "0"},
                        "is_cudnn_frontend": True, "workspace_size": "0"},
          "fmha_scale": 1.0 / math.sqrt(size), "dropout_rate": 0.0, "is_flash_attention": True,
          "mask_type": "PADDING_CAUSAL" if causal else "PADDING", "max_seg_per_batch": 1,
          # The scores, which are not kept.
          "intermediate_tensor_shape": {
              "element_type": _ELEMENT_TYPES[dtype],
              "dimensions": [str(dimension) for dimension in (batch, heads, length, length)],
              "layout": {"minor_to_major": ["3", "2", "1", "0"]}, "is_dynamic_dimension": [False] * 4},
          **{f"{name}_dot_dimension_numbers": {
              "lhs_contracting_dimensions": [str(left)], "rhs_contracting_dimensions": [str(right)],
              "lhs_batch_dimensions": ["0", "1"], "rhs_batch_dimensions": ["0", "1"]}
             for name, (left, right) in products.items()}}}
