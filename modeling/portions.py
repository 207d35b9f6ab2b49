"""Sums over rows of which only a portion is in memory at a time, with gradients.

Input: rows and a function that gives sums of some of them; output: the sums of all. For logits of a whole vocabulary at
every position, which are larger than everything else in the model together.
"""

from collections.abc import Callable


def sums_in_portions(sums: Callable, num_sums: int, x, others: tuple, parameters: tuple, size: int, count,
                     with_gradients: bool) -> tuple:
  """Adds up the sums of portions; needs Keras' TensorFlow backend.

  Args:
    sums: (x [size, H], others [size] …, parameters …) → tuple of `num_sums` float32 scalars.
    x: float [M * size, H].
    others: [M * size] each, without gradients.
    parameters: float tensors.
    size: rows of a portion.
    count: int32 [], at most M: how many portions are computed. The rows after them add nothing to any sum.
    with_gradients: for the gradients of the first sum with respect to `x` and the parameters (of the other sums there
      are none). They are computed with each portion, of which nothing has to be kept or computed again; the cost is
      that of the sums and their gradients without portions. Without it TensorFlow would keep all portions.

  Returns:
    the sums of all portions.
  """
  import tensorflow as tf

  # XLA must know the sizes, where they are known while the graph is made.
  width, most = x.shape[-1], (x.shape[0] or tf.shape(x)[0]) // size
  stacked = [tf.reshape(values, [most, size]) for values in others]

  def run(x, parameters, differentiate: bool) -> tuple:
    """The sums; and their gradients, or nothing."""
    def add(number, totals, gradients):
      rows, arguments = stacked_x[number], [values[number] for values in stacked]
      with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([rows, *parameters] if differentiate else [])
        found = sums(rows, *arguments, *parameters)
      if differentiate:
        of_rows, *of_parameters = tape.gradient(found[0], [rows, *parameters])
        gradients = (gradients[0].write(number, of_rows), *map(tf.add, gradients[1:], of_parameters))
      return number + 1, tuple(map(tf.add, totals, found)), gradients

    stacked_x = tf.reshape(x, [most, size, width])
    nothing = tuple(tf.constant(0.0) for _ in range(num_sums))
    empty = (tf.TensorArray(x.dtype, most, element_shape=[size if isinstance(size, int) else None, width]),
             *map(tf.zeros_like, parameters)) if differentiate else ()
    _, totals, gradients = tf.while_loop(lambda number, *_: number < count, add, (tf.constant(0), nothing, empty),
                                         parallel_iterations=1)
    return totals, (tf.reshape(gradients[0].stack(), tf.shape(x)), *gradients[1:]) if differentiate else ()

  if not with_gradients:
    return run(x, parameters, differentiate=False)[0]

  @tf.custom_gradient
  def call(x, *parameters):
    totals, gradients = run(x, parameters, differentiate=True)
    return totals, lambda *upstream: [one * tf.cast(upstream[0], one.dtype) for one in gradients]

  return call(x, *parameters)
