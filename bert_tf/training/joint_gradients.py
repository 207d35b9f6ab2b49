"""Gradients of a loss that compares the examples of a batch, for a batch in parts.

Input: a batch on several replicas, or one in micro-batches. Output: gradients and sums for
`TrainingStep`, exactly the gradients of the whole batch. There are three stages: the model's
outputs for all parts, which are small; the loss of all outputs and its gradient for each of them;
the gradients of the weights, given the gradients of the outputs. Micro-batches keep nothing of the
first stage and compute it again in the third, with the same dropout (gradient caching, arXiv
2101.06983).
"""

from collections.abc import Callable

import tensorflow as tf

from bert_tf.training.batches import stack_parts, sum_of_parts, take_part
from bert_tf.training.devices import graph_function
from modeling.dropout import stream_of_key
from modeling.losses import InBatchLoss

# Name of the outputs' gradients among the features of a micro-batch.
_UPSTREAM = "output_gradients"
# Types of the operations of a loop.
_LOOPS = ("While", "StatelessWhile")


class JointGradients:
    """Gradients and sums of a batch; called as `TrainingStep._compute_gradients`.

    Args:
      forward: features, dropout stream → outputs float32 [b, ...].
      loss: of the outputs of the whole batch.
      variables: those that are trained.
      parts: micro-batches of a replica's share.
      jit_compile: compile the functions with XLA.
    """

    def __init__(
        self,
        forward: Callable,
        loss: InBatchLoss,
        variables: list,
        *,
        replicas: int,
        parts: int,
        jit_compile: bool,
    ):
        self._forward = forward
        self._loss = loss
        self._variables = variables
        self._replicas = replicas
        self._parts = parts
        self._is_compiled = jit_compile
        self._outputs = graph_function(self._compute_outputs, jit_compile)
        self._outputs_in_parts = graph_function(self._compute_outputs_in_parts, jit_compile)
        self._output_gradients = graph_function(self._compute_output_gradients, jit_compile)
        self._weight_gradients = graph_function(self._compute_weight_gradients, jit_compile)

    def __call__(
        self,
        features: dict,
        counts: dict,
        key: tf.Tensor,
        first_example: tf.Tensor,
        scale: tf.Tensor,
    ) -> tuple[list, dict]:
        """Returns this replica's share of the gradients and sums; for the replica context."""
        compared = self._loss.features_to_gather(features)
        # A share in one piece keeps its activations: the forward pass need not be repeated.
        if self._parts == 1 and self._can_keep_activations(features, key, first_example):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._variables)
                outputs = self._outputs(features, key, first_example)
            upstream, sums = self._compare_with_all(outputs, compared, counts, scale)
            gradients = tape.gradient(
                outputs, self._variables, upstream, tf.UnconnectedGradients.ZERO
            )
        else:
            outputs = self._outputs_in_parts(features, key, first_example)
            upstream, sums = self._compare_with_all(outputs, compared, counts, scale)
            gradients = self._weight_gradients(features, upstream, key, first_example)
        return [gradient / scale for gradient in gradients], sums

    def _can_keep_activations(self, *arguments) -> bool:
        """Whether another function than the one of the outputs can compute the gradients.

        Loops such as an LSTM keep lists of tensors, and two functions compiled by XLA can't share a
        list.
        """
        if not self._is_compiled:
            return True
        operations = self._outputs.get_concrete_function(*arguments).graph.get_operations()
        return not any(operation.type in _LOOPS for operation in operations)

    def _compute_outputs(
        self, features: dict, key: tf.Tensor, first_example: tf.Tensor
    ) -> tf.Tensor:
        return self._forward(features, stream_of_key(key, first_example))

    def _compute_outputs_in_parts(
        self, features: dict, key: tf.Tensor, first_example: tf.Tensor
    ) -> tf.Tensor:
        """Returns the outputs [b, ...], computed micro-batch by micro-batch."""
        stacked, rows = stack_parts(features, self._parts)

        def part_outputs(part):
            values = take_part(stacked, part)
            return self._compute_outputs(
                values, key, first_example + tf.cast(part, tf.int64) * rows
            )

        outputs = tf.map_fn(
            part_outputs,
            tf.range(self._parts),
            # Two micro-batches at once would need twice the memory.
            parallel_iterations=1,
            fn_output_signature=tf.float32,
        )
        shape = tf.concat([[self._parts * rows], tf.shape(outputs)[2:]], axis=0)
        return tf.reshape(outputs, shape)

    def _compare_with_all(
        self, outputs: tf.Tensor, compared: dict, counts: dict, scale: tf.Tensor
    ) -> tuple[tf.Tensor, dict]:
        """Returns the gradient for this replica's outputs, [b, ...], and its share of the sums."""
        rows = outputs.shape[0]
        first_row = 0
        if self._replicas > 1:
            replica = tf.distribute.get_replica_context()
            first_row = replica.replica_id_in_sync_group * rows
            local_values = [outputs, *compared.values()]
            # The identity has the replica's device, which the gathering needs to know.
            gathered = replica.all_gather([tf.identity(value) for value in local_values], axis=0)
            # The gathering forgets the sizes, which the losses read.
            global_values = []
            for local_value, value in zip(local_values, gathered, strict=True):
                shape = [self._replicas * rows, *local_value.shape[1:]]
                global_values.append(tf.ensure_shape(value, shape))
            outputs = global_values[0]
            compared = dict(zip(compared, global_values[1:], strict=True))
        gradient, sums = self._output_gradients(outputs, compared, counts, scale)
        # A slice from a row that differs between replicas would have no known size, as a TPU needs.
        return tf.gather(gradient, first_row + tf.range(rows)), sums

    def _compute_output_gradients(
        self, outputs: tf.Tensor, compared: dict, counts: dict, scale: tf.Tensor
    ) -> tuple[tf.Tensor, dict]:
        """Returns the loss's gradient for the outputs of the global batch, and its sums.

        Every replica computes the same sums. They are divided by the replicas, as the step adds
        them up.
        """
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            sums = self._loss.sums(outputs, compared)
            loss = self._loss.total(sums, counts) * scale
        shares = {name: value / self._replicas for name, value in sums.items()}
        return tape.gradient(loss, outputs), shares

    def _compute_weight_gradients(
        self, features: dict, upstream: tf.Tensor, key: tf.Tensor, first_example: tf.Tensor
    ) -> list:
        """Returns the gradients of the weights, given the gradients of the outputs [b, ...]."""
        stacked, rows = stack_parts({**features, _UPSTREAM: upstream}, self._parts)

        def part_gradients(part) -> list:
            values = take_part(stacked, part)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._variables)
                outputs = self._compute_outputs(
                    values, key, first_example + tf.cast(part, tf.int64) * rows
                )
            # The chain rule: gradients of the loss for the outputs flow into the model.
            gradients = tape.gradient(
                outputs, self._variables, values[_UPSTREAM], tf.UnconnectedGradients.ZERO
            )
            return [tf.convert_to_tensor(gradient) for gradient in gradients]

        return sum_of_parts(part_gradients, self._parts)
