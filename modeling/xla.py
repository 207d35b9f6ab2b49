"""XLA: the scope of functions with `jit_compile=True`, and compiled element-wise functions.

Input: functions of tensors; output: the same functions in a form that XLA compiles well. The other
modules ask `is_jit_compiled` which of two equivalent forms to build.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator

import keras

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# A context variable: another thread may trace another function at the same time.
_IS_JIT_COMPILED = contextvars.ContextVar("is_jit_compiled", default=False)


def is_jit_compiled() -> bool:
    """Returns whether the function being traced is within a `jit_compile_scope`."""
    return _IS_JIT_COMPILED.get()


@contextlib.contextmanager
def jit_compile_scope(jit_compile: bool = True) -> Iterator[None]:
    """Marks the tracing of a function that is compiled with `jit_compile=True`.

    Within the scope some layers and losses choose a form with less memory traffic under XLA. It
    computes the same function, with the same gradients up to rounding. Functions that are not
    compiled run faster in the usual form.

    Args:
      jit_compile: false leaves the scope, as for a part that is not compiled.
    """
    token = _IS_JIT_COMPILED.set(jit_compile)
    try:
        yield
    finally:
        _IS_JIT_COMPILED.reset(token)


def optimization_barrier(*tensors) -> list:
    """Returns the tensors unchanged; XLA neither merges nor moves operations across them."""
    return gen_xla_ops.xla_optimization_barrier(input=list(tensors))


def compile_elementwise(function: Callable, slope: Callable | None = None) -> Callable:
    """Compiles an element-wise function and its gradient to one pass over memory each.

    TensorFlow runs `0.5 x (1 + tanh(...))` as eight operations that each read and write the whole
    tensor; on a CPU that takes as long as the matrix products beside it. XLA makes one loop of
    them. Only such functions are compiled: matrix products stay with oneDNN, which is faster at
    them, and a step needs no compilation of the whole model. The gradient recomputes the function
    from its arguments, which costs less than keeping intermediate tensors. Under another backend
    than TensorFlow the function is returned as it is.

    Args:
      function: pure function of float tensors, of operations that XLA compiles.
      slope: its derivative, if it has one argument; None for automatic differentiation.
    """
    if keras.backend.backend() != "tensorflow":
        return function
    # Autograph is off: the functions have no Python control flow, and tracing is faster.
    forward = tf.function(function, jit_compile=True, autograph=False)

    @tf.function(jit_compile=True, autograph=False)
    def backward(arguments, upstream):
        if slope is not None:
            # The derivative is computed in float32, and rounded once, with the upstream gradient.
            derivative = slope(tf.cast(arguments[0], tf.float32))
            return [tf.cast(tf.cast(upstream, tf.float32) * derivative, upstream.dtype)]
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments)
        return tape.gradient(result, arguments, output_gradients=upstream)

    @tf.custom_gradient
    def call(*arguments):
        def gradient(upstream):
            return backward(arguments, upstream)

        return forward(*arguments), gradient

    return call
