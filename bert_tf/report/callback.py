"""The report as a callback of a run (`--report_to`)."""

import time

from bert_tf.report import numbers, page
from bert_tf.training.callbacks import Callback, RunEnd, RunStart
from bert_tf.training.metrics import duration


class Report(Callback):
    """Writes `report.html` when a run has ended, or was stopped."""

    def on_run_begin(self, start: RunStart) -> None:
        self._start = start
        self._begun = time.monotonic()

    def on_run_end(self, end: RunEnd) -> None:
        start = self._start
        content = numbers.read(start.directory)
        content.notes = list(start.notes)
        content.facts["time"] = duration(time.monotonic() - self._begun)
        if end.error is not None:
            content.facts["ended"] = type(end.error).__name__
        start.log(f"report       {page.write(start.directory, content)}")
