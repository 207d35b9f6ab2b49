"""Metrics of a run: `metrics.jsonl`, the progress bar and lines for the user.

Input: metrics of training steps and evaluations. Output: files of the run directory, and events for
the run's callbacks (`bert_tf/training/callbacks.py`).
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping

from bert_common import files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.training.callbacks import CallbackList
from bert_tf.training.run_directory import EVAL, TRAIN, read_metrics, rounded
from modeling.checkpoints.companion_files import METRICS_FILE

# Metric → label in the progress bar. Only the first one that a task has is shown beside the loss.
_BAR_LABELS = {
    "masked_lm_accuracy": "accuracy",
    "next_token_accuracy": "accuracy",
    "micro_f1": "micro_f1",
    "accuracy": "accuracy",
    "mean_absolute_error": "mean_absolute_error",
}


class MetricsLogger:
    """Records metrics of training and evaluation.

    There is one for each process of a run; only the chief's writes files.

    Args:
      directory: the run directory.
      step: the step that the run resumes at; lines of later steps, written before an interruption,
        are dropped.
      log: prints a line for the user.
      callbacks: get the metrics that are written.

    Attributes:
      evaluated: step → metrics of the evaluations that this or an earlier process has recorded.
    """

    def __init__(
        self,
        directory: str,
        is_chief: bool,
        step: int,
        log: Callable[[str], None],
        callbacks: CallbackList | None = None,
    ):
        self.directory = directory
        self.evaluated: dict[int, Mapping[str, float]] = {}
        self._is_chief = is_chief
        self._log = log
        self._callbacks = callbacks
        self._metrics_file = os.path.join(directory, METRICS_FILE)
        self._progress: Progress | None = None
        if is_chief:
            self._drop_lines_after(step)

    def log(self, line: str) -> None:
        """Prints a line, also while there is a progress bar."""
        if self._progress is not None:
            self._progress.write(line)
        else:
            self._log(line)

    def training(
        self, step: int, steps: int, metrics: Mapping[str, float], compiled: bool = False
    ) -> None:
        """Records an inner loop of `steps` steps that ended at `step`.

        Args:
          compiled: the loop included tracing and compilation, so its speed is not shown.
        """
        # The file comes first: a callback that fails must not cost the record.
        self._write(TRAIN, step, metrics)
        if self._callbacks is not None and self._is_chief:
            self._callbacks.on_report(step, metrics)
        bar_values = {"loss": f"{metrics['loss']:.4f}"}
        for name, label in _BAR_LABELS.items():
            if name in metrics:
                bar_values[label] = f"{metrics[name]:.3f}"
                break
        # The time of compiling would spoil the estimate of the time that is left.
        if compiled:
            self._progress.restart_clock(steps)
            self._progress.advance(0, **bar_values)
            return
        bar_values["examples_per_s"] = f"{metrics['examples_per_second']:.1f}"
        bar_values["tokens_per_s"] = f"{metrics['tokens_per_second']:.0f}"
        if "tflops_per_second" in metrics:
            bar_values["tflops"] = f"{metrics['tflops_per_second']:.3g}"
        if "peak_share" in metrics:
            bar_values["tflops"] += f" ({metrics['peak_share']:.0%} of peak)"
        self._progress.advance(steps, **bar_values)

    def evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Records an evaluation, unless an earlier process has recorded the same results."""
        line = rounded(metrics)
        recorded = self.evaluated.get(step, {})
        # NaN is unequal to itself, so the values are compared as texts.
        is_new = any(str(recorded.get(name)) != str(value) for name, value in line.items())
        if is_new:
            self._write(EVAL, step, metrics)
            if self._callbacks is not None and self._is_chief:
                self._callbacks.on_evaluation(step, metrics)
        self.evaluated[step] = line
        if self._progress is not None:
            values = [f"{name} {value:.4f}" for name, value in sorted(metrics.items())]
            self.log(f"step {step}: evaluation: {', '.join(values)}")

    @contextlib.contextmanager
    def progress(self, title: str, steps: int, step: int) -> Iterator[None]:
        """Shows a progress bar from `step` to `steps` while the block runs.

        There is none if nothing is left to do.
        """
        if step < steps:
            self._progress = Progress(title, steps, "step", initial=step)
        try:
            yield
        finally:
            if self._progress is not None:
                self._progress.close()
                self._progress = None

    def _drop_lines_after(self, step: int) -> None:
        # Steps after the last checkpoint are trained again, and reported again.
        lines = [line for line in read_metrics(self.directory) if line["step"] <= step]
        with files.atomic_write(self._metrics_file) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        for line in lines:
            if line["split"] == EVAL:
                self.evaluated[line["step"]] = line

    def _write(self, split: str, step: int, metrics: Mapping[str, float]) -> None:
        if not self._is_chief:
            return
        # Opened for every line, so that a kill loses at most the line that is being written.
        line = {"step": step, "split": split, **rounded(metrics)}
        try:
            with files.open_file(self._metrics_file, "a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise UserError(f"can't write {self._metrics_file}: {error.strerror}") from None


def duration(seconds: float) -> str:
    """Returns seconds in words: "40 s", "12 min", "3.5 h", "2.1 days"."""
    for size, unit, digits in ((86400, "days", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
