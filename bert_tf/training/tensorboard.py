"""TensorBoard: metrics of a run, and a row of the page HParams, options beside
the best scores."""

import functools
import os
import time
from collections.abc import Mapping

import tensorflow as tf

from bert_common import files
from bert_common.options import declared_options
from bert_tf import charts
from bert_tf.training.callbacks import Callback
from bert_tf.training.run_directory import EVAL, TRAIN
from data_gen.pretraining.records import masked_crc, record_header
from modeling.checkpoints.companion_files import BEST_DIRECTORY, read_best_record

# A name of its own lets a file that is written again replace the older one.
_FILE = "events.out.tfevents.hparams"
_ALWAYS = {"learning_rate", "train_batch_size", "num_train_epochs", "num_train_steps", "seed"}


class TensorBoard(Callback):
    """Writes what is reported; and the row of a run that trains: when it begins and, with its
    scores, when it has ended."""

    def on_run_begin(self, trainer) -> None:
        options = trainer.task.options
        self._directory, self._begun = options.output_dir, time.time()
        self._writers = {}
        self._is_training = options.do_train and not trainer.is_finished()
        self._values = {
            one.name: value
            for one in declared_options(type(options))
            if one.declaration.affects_result
            and (value := getattr(options, one.name)) is not None
            and (one.name in _ALWAYS or one.name in options.given or value != one.default)
        }
        if self._is_training:
            write_session(self._directory, self._values, self._begun)

    def _show(self, split: str, step: int, metrics: Mapping[str, float]) -> None:
        with self._writing(split, step):
            for name, value in metrics.items():
                if (tag := charts.tag(name)) is not None:
                    tf.summary.scalar(tag, value, description=charts.find(name).description)

    on_report = functools.partialmethod(_show, TRAIN)
    on_evaluation = functools.partialmethod(_show, EVAL)

    def _writing(self, split: str, step: int):
        """Has the block write to a directory of the run; it is on the disk where the block ends."""
        if split not in self._writers:
            self._writers[split] = tf.summary.create_file_writer(
                os.path.join(self._directory, split)
            )
        return self._writers[split].as_default(step)

    def on_run_end(self, trainer, error: BaseException | None) -> None:
        if self._is_training and error is None:
            evaluation = trainer.evaluation
            # The best weights may be of an earlier start.
            best = read_best_record(os.path.join(self._directory, BEST_DIRECTORY)) or {
                "metrics": {}
            }
            write_session(
                self._directory,
                self._values,
                self._begun,
                time.time(),
                best["metrics"] if evaluation is None else evaluation.metrics,
            )


def write_session(
    directory: str,
    values: Mapping[str, object],
    begun: float,
    ended: float | None = None,
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Writes the row of a run into its directory, in place of an earlier one.

    Of the metrics those that have a chart become scalars `best/<name>`; those that runs report
    while they train, in the directories below, are found anyway. `ended` is None while it runs.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams import api as hp
    from tensorboard.plugins.hparams import api_pb2, summary
    from tensorboard.plugins.scalar import summary_v2

    row = {name: shown(value) for name, value in values.items()}
    messages = [
        hp.hparams_pb(
            row, trial_id=os.path.basename(os.path.abspath(directory)), start_time_secs=begun
        )
    ]
    if ended is not None:
        messages.append(summary.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=ended))
    messages += [
        summary_v2.scalar_pb(f"best/{name}", value, "Of the weights that the run ends with.")
        for name, value in (metrics or {}).items()
        if charts.tag(name) is not None
    ]
    now = time.time()
    events = [
        Event(wall_time=now, file_version="brain.Event:2"),
        *(Event(wall_time=now) for _ in messages),
    ]
    for event, message in zip(events[1:], messages, strict=True):
        event.summary.ParseFromString(message.SerializeToString())
    with files.atomic_write(os.path.join(directory, _FILE), "wb") as file:
        for event in events:
            data = event.SerializeToString()
            file.write(record_header(len(data)) + data + masked_crc(data))


def shown(value: object) -> object:
    """A value as the page shows it well: it writes numbers with five digits, 4 as 4.0000, so whole
    ones become texts."""
    if (
        isinstance(value, bool)
        or isinstance(value, float)
        and (not value.is_integer() or not value)
    ):
        return value
    return (
        ",".join(map(str, value))
        if isinstance(value, tuple)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
