"""What `fit` and `evaluate` need beside Keras' own code: losses that are reported exactly for
batches and devices of any number, and refusals of what several devices would do otherwise than one.

Input: the losses of a batch on one replica; output: their means over all batches and replicas.
"""

import contextlib
import threading
from collections.abc import Iterable, Sequence

import keras
import numpy as np
from keras import ops

from bert_common.errors import UserError
from modeling.losses import WeightedMean
from modeling.optimizer import AppliedRule
from modeling.replicas import num_replicas, sum_over_replicas

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


class TotalLoss(keras.metrics.Metric):
    """The reported loss: a sum of means, each times a factor.

    Args:
      factors: one for each mean.
    """

    def __init__(self, factors: Sequence[float]):
        super().__init__(name="loss")
        self.factors = tuple(factors)
        shape = (len(self.factors),)
        self.sums = self.add_variable(shape, "zeros", "float32", name="sums")
        self.counts = self.add_variable(shape, "zeros", "float32", name="counts")

    def update_state(self, sums: Sequence, counts: Sequence):
        """Adds what a batch adds to each mean, float32 [] each."""
        self.sums.assign_add(ops.stack(sums))
        self.counts.assign_add(ops.stack(counts))

    def result(self):
        means = ops.divide_no_nan(self.sums, self.counts)
        return ops.sum(means * ops.convert_to_tensor(self.factors, means.dtype))


class LossReport:
    """The means of the losses of a model that is compiled.

    Keras weights the loss of a batch by the number of its rows. But a `WeightedMean` was divided by
    the weights of the rows: here it is weighted by these. What else is part of the loss (Keras' own
    losses, `add_loss`) is weighted by rows.

    It is no Keras object, so that `.keras` files do not hold it.

    Args:
      compile_loss: Keras' losses of the model, built; None if it has none.
    """

    def __init__(self, compile_loss):
        parts = []
        # Keras has means of several losses only.
        keras_means: list = []
        if compile_loss is not None:
            parts = compile_loss._flat_losses
            keras_means = compile_loss.metrics or [None] * len(parts)
        self._factors = []
        self._means = []
        self._replaced = {}
        for part, keras_mean in zip(parts, keras_means, strict=True):
            if not isinstance(part.loss, WeightedMean):
                continue
            self._factors.append(1.0 if part.loss_weights is None else part.loss_weights)
            mean = None
            if keras_mean is not None:
                mean = keras.metrics.Mean(keras_mean.name, "float32")
                self._replaced[id(keras_mean)] = mean
            self._means.append(mean)
        others = [part.loss for part in parts if not isinstance(part.loss, WeightedMean)]
        self._has_other_losses = bool(others)
        # The sum over a batch is no mean, whatever the replicas' numbers of rows are.
        self._is_mean = all(getattr(loss, "reduction", None) != "sum" for loss in others)
        self.total = TotalLoss([*self._factors, 1.0])

    def replace(self, metrics: list, loss_tracker) -> list:
        """Returns the metrics of a model with these means in place of Keras'."""
        replaced = {**self._replaced, id(loss_tracker): self.total}
        return [replaced.get(id(metric), metric) for metric in metrics]

    def update(self, loss, recorded: list, rows, has_added_losses: bool):
        """Adds the loss of a batch.

        Args:
          loss: float32 [], as Keras computed it on this replica.
          recorded: its `WeightedMean`s, see `losses.recorded_means`.
          rows: int [], the rows of the replica.
          has_added_losses: whether it has losses of `add_loss`.

        Returns:
          the loss whose gradients, summed over the replicas, equal the gradients of one device.
        """
        sums = []
        counts = []
        weighted = 0.0
        for (value, loss_sum, count), factor, mean in zip(
            recorded, self._factors, self._means, strict=True
        ):
            weighted += factor * value
            sums.append(loss_sum)
            counts.append(count)
            if mean is not None:
                mean.update_state(ops.divide_no_nan(loss_sum, count), count)
        rest = ops.zeros((), "float32")
        if self._has_other_losses or has_added_losses:
            rest = ops.cast(loss, "float32") - weighted
        rows = ops.cast(rows, rest.dtype)
        # Keras has divided the rest by the replicas.
        self.total.update_state([*sums, rest * num_replicas() * rows], [*counts, rows])
        if num_replicas() == 1:
            return loss
        if self._is_mean:
            # The mean of the replicas' means would give the rows of a small part more weight.
            rest *= rows * num_replicas() / ops.maximum(sum_over_replicas(rows), 1.0)
        return weighted + rest


class AddedLosses(threading.local):
    """The losses that a layer has added on one replica, as Keras uses a layer's list of them.

    Replicas are threads that take turns, so that in one list each would find those of another.
    """

    def __init__(self):
        self._values: list = []

    def extend(self, losses: Iterable):
        self._values.extend(losses)

    def clear(self):
        self._values.clear()

    def __getitem__(self, index):
        return self._values[index]


class UntunedInputs:
    """The strategy of a model without one, whose datasets end as soon as their last batch is read.

    TensorFlow tunes a dataset in a thread that sleeps twice as long after every look at it, up to
    a minute. The end of an iterator wakes it by a signal that comes before the flag it looks at,
    so that it often sleeps on, and `fit`, `evaluate` and `predict` would wait for it.

    Args:
      strategy: TensorFlow's default strategy.
    """

    def __init__(self, strategy):
        self._strategy = strategy

    def __getattr__(self, name: str):
        return getattr(self._strategy, name)

    def experimental_distribute_dataset(self, dataset, options=None):
        """Returns the dataset without tuning, unless it asks for it."""
        if dataset.options().autotune.enabled is None:
            input_options = tf.data.Options()
            input_options.autotune.enabled = False
            dataset = dataset.with_options(input_options)
        return self._strategy.experimental_distribute_dataset(dataset, options)


def shapes_of(dataset, strategy):
    """Returns tensors, or their specifications, with the shapes and types of a dataset's batches.

    Args:
      dataset: a `tf.data.Dataset`, which is not read; or one that `strategy` has distributed.
    """
    if isinstance(dataset, tf.data.Dataset):
        return dataset.element_spec
    batch = next(iter(dataset))
    return keras.tree.map_structure(
        lambda value: strategy.experimental_local_results(value)[0], batch
    )


def labels_in_memory(labels):
    """Returns labels of pandas or of another library, and numbers or texts in lists, tuples and
    ranges, as arrays; what has no values in memory, such as None, as it is."""
    first = labels
    while isinstance(first, (list, tuple, range)) and len(first):
        first = first[0]
    if first is not labels and np.ndim(first) == 0:
        # Rows of several lengths are no array: Keras refuses them.
        with contextlib.suppress(ValueError):
            labels = np.array(labels)
    return keras.tree.map_structure(_as_array, labels)


def _as_array(labels):
    """Returns one output's labels, see `labels_in_memory`."""
    if not hasattr(labels, "__array__"):
        return labels
    values = ops.convert_to_numpy(labels)
    # A column of objects may hold numbers, and None for a missing one; bfloat16 is of kind "V".
    if values.dtype.kind in "OV" and str not in set(map(type, values.flat)):
        with contextlib.suppress(TypeError, ValueError):
            return values.astype("float64")
    return values


def devices_of(model: keras.Model) -> int:
    """Returns the number of devices that a model is trained on; 1 on Keras' other backends."""
    strategy = getattr(model, "distribute_strategy", None)
    return 1 if strategy is None else strategy.num_replicas_in_sync


def check_compilation(model: keras.Model) -> None:
    """Raises `UserError` for arguments of `compile` that fail on several devices."""
    if devices_of(model) == 1:
        return
    if model.jit_compile:
        raise UserError(
            "jit_compile=True: XLA does not compile the steps of several devices (a variable would "
            'be on another device): leave it out, or give "auto"'
        )
    if model.steps_per_execution > 1:
        raise UserError(
            f"steps_per_execution={model.steps_per_execution}: several steps of several devices "
            "can't be one call of TensorFlow: leave it out"
        )


def check_optimizer(model: keras.Model) -> None:
    """Raises `UserError` if an optimizer would not do the same on several devices as on one."""
    if devices_of(model) == 1:
        return
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    for name in ("clipnorm", "global_clipnorm", "clipvalue"):
        value = getattr(optimizer, name, None)
        if value and not isinstance(optimizer, AppliedRule):
            raise UserError(
                f"{name}={value}: {type(optimizer).__name__} clips the gradients of each device "
                "before their sum: use BertAdamW or BertLamb, which clip the sum, or no clipping"
            )
    if getattr(optimizer, "gradient_accumulation_steps", None):
        raise UserError(
            "gradient_accumulation_steps: Keras can't accumulate gradients on several devices: use "
            "larger batches, or the run scripts, which can"
        )
    if optimizer.use_ema and optimizer.ema_overwrite_frequency:
        raise UserError(
            f"ema_overwrite_frequency={optimizer.ema_overwrite_frequency}: Keras can't replace "
            "weights by their means on several devices: leave it out, and the end of fit does"
        )


def check_compiled(model: keras.Model, compile_loss) -> None:
    """Raises `UserError` for losses and metrics that can't be added up over several devices.

    Args:
      compile_loss: Keras' losses of the model, built; None if it has none.
    """
    check_compilation(model)
    if devices_of(model) == 1:
        return
    for part in [] if compile_loss is None else compile_loss._flat_losses:
        reduction = getattr(part.loss, "reduction", None)
        if reduction == "mean_with_sample_weight" and not isinstance(part.loss, WeightedMean):
            raise UserError(
                f"the loss {part.loss.name!r} divides by the weights of each device (its reduction "
                "is mean_with_sample_weight): use the default loss of the model, or "
                "sum_over_batch_size"
            )
    for metric in model.metrics:
        for variable in metric.variables:
            if variable.aggregation != "sum":
                raise UserError(
                    f"the metric {variable.path.split('/')[0]!r} can't be summed over devices: a "
                    f"variable of it has the aggregation {variable.aggregation!r}, not "
                    '"sum", the default of add_variable'
                )
