"""Which position may attend to which, as a number added to the attention scores.

Comes before `modeling/attention.py`.
"""

from keras import ops

# What the original adds to a forbidden score. Its exponential is 0 in float32. Where everything is forbidden (a row
# of padding only) it cancels in the softmax, and the row attends everywhere instead of becoming NaN.
FORBIDDEN = -10000.0


def attention_bias(input_mask=None, *, sequence_length: int | None = None, causal: bool = False, sequence_ids=None):
  """The additive mask of self-attention.

  Args:
    input_mask: [B, S], 1 for tokens and 0 for padding, int or float; None where there is no padding. Padding is
      never attended to; what padding itself attends to is of no consequence.
    sequence_length: S, needed for `causal`.
    causal: position i attends to 0...i only (the left-to-right model of section 5.1 of the paper).
    sequence_ids: int [B, S], which of several packed sequences a position belongs to; positions attend
      within their own sequence only.

  Returns:
    float32, 0 where attention is allowed and `FORBIDDEN` where not, of a shape that broadcasts to [B, N, S, S]
    (axis 2 attends, axis 3 is attended to); None where everything is allowed.
  """
  allowed = None
  if input_mask is not None:
    allowed = ops.cast(input_mask, "bool")[:, None, None, :]  # [B, 1, 1, S]
  if causal:
    positions = ops.arange(sequence_length)
    allowed = _both(allowed, (positions[None, :] <= positions[:, None])[None, None])  # [1, 1, S, S]
  if sequence_ids is not None:
    allowed = _both(allowed, sequence_ids[:, None, :, None] == sequence_ids[:, None, None, :])  # [B, 1, S, S]
  return None if allowed is None else ops.where(allowed, 0.0, FORBIDDEN)


def _both(a, b):
  return b if a is None else ops.logical_and(a, b)
