"""TensorBoard: metrics of a run, tables and pictures of its report, its row on the page HParams.

The row has the options beside the best scores.
"""

import functools
import glob
import os
import re
import time
from collections.abc import Mapping, Sequence

import tensorflow as tf

from bert_common import files, locks
from bert_common.errors import visible, without_secrets
from bert_common.options import as_flag, declared_options
from bert_tf import charts
from bert_tf.report import numbers, rasters
from bert_tf.report.numbers import Numbers, Table
from bert_tf.report.pictures import escape
from bert_tf.training.callbacks import Callback, RunEnd, RunStart
from bert_tf.training.run_directory import EVAL, TRAIN
from data_gen.pretraining.records import masked_crc, record_header
from modeling.checkpoints.companion_files import BEST_DIRECTORY, read_best_record

# A fixed name lets a file that is written again replace the older one.
_FILE = "events.out.tfevents.hparams"
# End of the names of the files with tables and pictures, which every start writes again.
_PREDICTIONS = ".predictions"
# Characters that Markdown would obey.
_MARKDOWN = re.compile(r"[\\`*_\[\]|]")
# Options that every row has, so that runs can be compared by them.
_ALWAYS = {"learning_rate", "train_batch_size", "num_train_epochs", "num_train_steps", "seed"}


class TensorBoard(Callback):
    """Writes the reports of a run.

    The row of a run that trains is written when it begins and, with its scores, when it has ended.
    """

    def on_run_begin(self, start: RunStart) -> None:
        options = start.options
        self._directory = start.directory
        self._begun = time.time()
        self._writers = {}
        self._is_training = start.is_training
        # Options that differ from their defaults, or that the user gave, make runs comparable.
        self._values = {}
        for option in declared_options(type(options)):
            value = getattr(options, option.name)
            if value is None or not option.affects_result:
                continue
            is_given = option.name in _ALWAYS or option.name in options.given
            if is_given or value != option.default:
                self._values[option.name] = value
        if self._is_training:
            write_session(self._directory, self._values, self._begun)
            self._mark_restart(start.step)

    def _mark_restart(self, step: int) -> None:
        """Tells TensorBoard to forget the steps after the checkpoint that a run resumes from.

        They are computed and written again. Before the first checkpoint these are all steps.
        """
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = Event(wall_time=self._begun, step=step + 1)
        start.session_log.status = SessionLog.START
        for split in (TRAIN, EVAL):
            directory = os.path.join(self._directory, split)
            if files.is_directory(directory):
                # TensorBoard reads files in the order of their names, which begin with the time in
                # seconds: this one comes before those that are written from now on.
                name = f"events.out.tfevents.{int(self._begun)}.!start"
                # The first such event of a directory is the start of a run and forgets nothing.
                _write_events(os.path.join(directory, name), [start, start])

    def _show(self, split: str, step: int, metrics: Mapping[str, float]) -> None:
        with self._writing(split, step):
            for name, value in metrics.items():
                tag = charts.tag(name)
                if tag is not None:
                    tf.summary.scalar(tag, value, description=charts.find(name).description)

    on_report = functools.partialmethod(_show, TRAIN)
    on_evaluation = functools.partialmethod(_show, EVAL)

    def _writing(self, split: str, step: int):
        """Returns a context in which `tf.summary` writes to a directory of the run."""
        if split not in self._writers:
            locks.check_held()
            self._writers[split] = tf.summary.create_file_writer(
                os.path.join(self._directory, split)
            )
        return self._writers[split].as_default(step)

    def on_run_end(self, end: RunEnd) -> None:
        content = numbers.read(self._directory)
        # A run without an evaluation has nothing to show, and no directory for it.
        if content.tables or content.confusion is not None:
            self._replace_predictions(end.step, content)
        if not self._is_training or end.error is not None:
            return
        metrics = end.metrics
        if not metrics:
            # The best weights may come from an earlier start.
            best = read_best_record(os.path.join(self._directory, BEST_DIRECTORY))
            if best:
                metrics = best["metrics"]
        write_session(self._directory, self._values, self._begun, time.time(), metrics)

    def _replace_predictions(self, step: int, content: Numbers) -> None:
        """Writes what predictions show, in place of what an earlier start has written."""
        locks.check_held()
        directory = os.path.join(self._directory, EVAL)
        for path in files.glob_files(f"{glob.escape(directory)}/*{_PREDICTIONS}"):
            files.remove(path)
        writer = tf.summary.create_file_writer(directory, filename_suffix=_PREDICTIONS)
        with writer.as_default(step):
            show_predictions(content)


def show_predictions(content: Numbers) -> None:
    """Writes what predictions show, as the report does: tables as texts, pictures as rasters."""
    for table in content.tables:
        if table.rows:
            tf.summary.text(_tag(table.title), markdown(table))
    if content.confusion is not None:
        names = ", ".join(visible(name) for name in content.confusion.names)
        tf.summary.image(
            "predictions/confusion_matrix",
            rasters.confusion(content.confusion.matrix)[None],
            description=f"True classes in rows, predicted ones in columns: {names}",
        )
    if content.reliability:
        tf.summary.image(
            "predictions/reliability",
            rasters.reliability(content.reliability)[None],
            description="Accuracy by predicted probability; on the diagonal probabilities are true",
        )


def _tag(title: str) -> str:
    return f"predictions/{title.lower().replace(' ', '_')}"


def markdown(table: Table) -> str:
    """Returns a table as TensorBoard's page Text shows it; cells are texts without markup."""
    rows = [table.header, ["---"] * len(table.header), *table.rows]
    lines = []
    for row in rows:
        lines.append(f"| {' | '.join(_cell(value) for value in row)} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return _MARKDOWN.sub(r"\\\g<0>", escape(value))


def write_session(
    directory: str,
    values: Mapping[str, object],
    begun: float,
    ended: float | None = None,
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Writes the row of a run into its directory, in place of an earlier one.

    Args:
      values: name → value of the options.
      begun, ended: seconds since the epoch; `ended` is None while the run trains.
      metrics: those that have a chart become scalars `best/<name>`. TensorBoard itself finds the
        metrics that runs report while they train, in the directories below.
    """
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams import api as hp
    from tensorboard.plugins.hparams import api_pb2, summary
    from tensorboard.plugins.scalar import summary_v2

    row = {}
    for option, value in values.items():
        # Values are texts, numbers, true or false.
        row[option] = as_flag(without_secrets(value))
    name = os.path.basename(os.path.abspath(directory))
    messages = [hp.hparams_pb(row, trial_id=name, start_time_secs=begun)]
    if ended is not None:
        messages.append(summary.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=ended))
    for name, value in ({} if metrics is None else metrics).items():
        if charts.tag(name) is not None:
            description = "Of the weights that the run ends with."
            messages.append(summary_v2.scalar_pb(f"best/{name}", value, description))
    events = []
    for message in messages:
        event = Event(wall_time=time.time())
        # The message has another class with the same fields.
        event.summary.ParseFromString(message.SerializeToString())
        events.append(event)
    _write_events(os.path.join(directory, _FILE), events)


def _write_events(path: str, events: Sequence) -> None:
    """Writes a file of events, which begins with its version."""
    from tensorboard.compat.proto.event_pb2 import Event

    version = Event(wall_time=events[0].wall_time, file_version="brain.Event:2")
    with files.atomic_write(path, "wb") as file:
        for event in (version, *events):
            data = event.SerializeToString()
            file.write(record_header(len(data)) + data + masked_crc(data))
