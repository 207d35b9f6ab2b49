"""Gradients of a loss that compares the examples of a batch with each other, for a batch in parts.

Input: a batch on several replicas, or one that is cut into micro-batches. Output: what
`TrainingStep` needs of it, exactly as if the batch were one. In three stages: the model's outputs
of all parts, which are small; the loss of all of them, and its gradient for each output; the
gradients of the weights for these. Micro-batches keep nothing of the first stage and compute it
again in the third, with the same dropout (gradient caching, arXiv 2101.06983).
"""

from collections.abc import Callable

import tensorflow as tf

from bert_tf.training.batches import stack_parts, sum_of_parts
from modeling.dropout import stream_of_key

# The gradients of the outputs, among the features.
_UPSTREAM = "output_gradients"


class JointGradients:
    """Gradients and sums of a batch, see `TrainingStep._compute_gradients`.

    Args:
      objective: with `outputs`.
      loss: (sums, counts) → float32 [].
      variables: that are trained.
      parts: micro-batches.
      compiled: arguments of `tf.function`.
    """

    def __init__(
        self,
        objective,
        loss: Callable[[dict, dict], tf.Tensor],
        variables: list,
        replicas: int,
        parts: int,
        compiled: dict,
    ):
        self._objective, self._loss, self._variables = objective, loss, variables
        self._replicas, self._parts = replicas, parts
        self._outputs = tf.function(self._outputs_of, **compiled)
        self._outputs_of_all = tf.function(self._outputs_of_parts, **compiled)
        self._gradients_of_outputs = tf.function(self._compare, **compiled)
        self._gradients_of_weights = tf.function(self._backward, **compiled)

    def __call__(
        self,
        features: dict,
        counts: dict,
        key: tf.Tensor,
        first_example: tf.Tensor,
        scale: tf.Tensor,
    ) -> tuple[list, dict]:
        """This replica's share of the gradients and sums of the global batch; called in the
        replica's context."""
        compared = {
            name: features[name] for name in self._objective.compared_features if name in features
        }
        if self._parts == 1:
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._variables)
                outputs = self._outputs(features, key, first_example)
            upstream, sums = self._compared(outputs, compared, counts, scale)
            gradients = tape.gradient(
                outputs, self._variables, upstream, tf.UnconnectedGradients.ZERO
            )
        else:
            outputs = self._outputs_of_all(features, key, first_example)
            upstream, sums = self._compared(outputs, compared, counts, scale)
            gradients = self._gradients_of_weights(features, upstream, key, first_example)
        return [tf.convert_to_tensor(gradient) / scale for gradient in gradients], sums

    def _outputs_of(self, features: dict, key: tf.Tensor, first_example: tf.Tensor) -> tf.Tensor:
        return self._objective.outputs(features, stream_of_key(key, first_example))

    def _outputs_of_parts(
        self, features: dict, key: tf.Tensor, first_example: tf.Tensor
    ) -> tf.Tensor:
        """The same, micro-batch by micro-batch: [b, ...]."""
        stacked, rows = stack_parts(features, self._parts)
        outputs = tf.map_fn(
            lambda part: self._outputs_of(
                {name: value[part] for name, value in stacked.items()},
                key,
                first_example + tf.cast(part, tf.int64) * rows,
            ),
            tf.range(self._parts),
            parallel_iterations=1,
            fn_output_signature=tf.float32,
        )
        return tf.reshape(outputs, tf.concat([[self._parts * rows], tf.shape(outputs)[2:]], axis=0))

    def _compared(
        self, outputs: tf.Tensor, compared: dict, counts: dict, scale: tf.Tensor
    ) -> tuple[tf.Tensor, dict]:
        """The gradient for this replica's outputs, [b, ...], and its share of the sums of the
        global batch."""
        rows = outputs.shape[0]
        own = 0
        if self._replicas > 1:
            replica = tf.distribute.get_replica_context()
            own = replica.replica_id_in_sync_group * rows
            own_values = [outputs, *compared.values()]
            # The identity has the replica's device, which the gathering needs to know. It forgets
            # the sizes.
            gathered = [
                tf.ensure_shape(every, [self._replicas * rows, *own_value.shape[1:]])
                for own_value, every in zip(
                    own_values,
                    replica.all_gather([tf.identity(value) for value in own_values], axis=0),
                    strict=True,
                )
            ]
            outputs, compared = gathered[0], dict(zip(compared, gathered[1:], strict=True))
        gradient, sums = self._gradients_of_outputs(outputs, compared, counts, scale)
        return gradient[own : own + rows], sums

    def _compare(
        self, outputs: tf.Tensor, compared: dict, counts: dict, scale: tf.Tensor
    ) -> tuple[tf.Tensor, dict]:
        """The gradient of the loss for the outputs of the global batch; its sums, each divided by
        the replicas."""
        with tf.GradientTape() as tape:
            tape.watch(outputs)
            sums = self._objective.sums_of_outputs(outputs, compared)
            loss = self._loss(sums, counts) * scale
        return tape.gradient(loss, outputs), {
            name: value / self._replicas for name, value in sums.items()
        }

    def _backward(
        self, features: dict, upstream: tf.Tensor, key: tf.Tensor, first_example: tf.Tensor
    ) -> list:
        """The gradients of the weights for those of the outputs [b, ...], micro-batch by
        micro-batch."""
        stacked, rows = stack_parts({**features, _UPSTREAM: upstream}, self._parts)

        def of_part(part) -> list:
            values = {name: value[part] for name, value in stacked.items()}
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(self._variables)
                outputs = self._outputs_of(
                    values, key, first_example + tf.cast(part, tf.int64) * rows
                )
            gradients = tape.gradient(
                outputs, self._variables, values[_UPSTREAM], tf.UnconnectedGradients.ZERO
            )
            return [tf.convert_to_tensor(gradient) for gradient in gradients]

        return sum_of_parts(of_part, self._parts)
