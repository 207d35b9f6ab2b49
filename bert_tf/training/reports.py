"""Reports of a run: lines for the user, the progress bar, `metrics.jsonl`; and its observers, as
Keras' callbacks: `OBSERVERS` in `bert_tf/runs/options.py` names them, TensorBoard among them.

One `Reports` for each run directory and process; in processes that are not the chief it writes
nothing.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping

from bert_common import files
from bert_common.errors import UserError, in_one_line
from bert_common.plugins import Plugins
from bert_common.progress import Progress
from bert_tf.training.run_directory import EVAL, TRAIN, read_metrics, rounded
from modeling.checkpoints.companion_files import METRICS_FILE

# The first of these metrics that a task has stands in the progress bar beside the loss, under this
# label.
_SHOWN = {
    "masked_lm_accuracy": "accuracy",
    "next_token_accuracy": "accuracy",
    "micro_f1": "micro_f1",
    "accuracy": "accuracy",
    "mean_absolute_error": "mean_absolute_error",
}


class Observer:
    """Follows a run, `bert_tf/runs/trainer.py:Run`; a subclass has a method for each event that it
    does not ignore.

    Any error is a warning, after which the run continues without the observer.

      begin(run)                              the model stands: restored or initialised, nothing is
      trained yet report(step, metrics)                   metrics of the training, by name
      evaluation(step, metrics)               metrics of an evaluation while training
      picture(step, name, draw, description)  of an evaluation; `draw` makes it: () → uint8 [height,
      width, 4], RGBA table(step, name, header, make)         texts of an evaluation; `make` has the
      rows: () → lists of texts end(run, error)                         `run.outcome` has what the
      run came to; `error` ended it early, or is None
    """


class Observers:
    """The observers of a run, those that work.

    Args:
      names: of `table`; none in processes that write nothing.
    """

    def __init__(self, table: Plugins, names: tuple[str, ...]):
        self._running: dict[str, Observer] = {name: table.load(name)() for name in names}

    def notify(self, event: str, *values) -> None:
        """Calls a method of all of them that have it."""
        for name, observer in list(self._running.items()):
            try:
                getattr(observer, event, lambda *ignored: None)(*values)
            except Exception as error:
                del self._running[name]
                print(
                    f"warning: {name} is left out from here on, the run continues: {in_one_line(error)}",
                    file=sys.stderr,
                    flush=True,
                )

    @contextlib.contextmanager
    def following(self, run) -> Iterator[None]:
        """Has them follow the block, which is the run."""
        self.notify("begin", run)
        try:
            yield
        except BaseException as error:
            self.notify("end", run, error)
            raise
        self.notify("end", run, None)


class Reports:
    """Takes reports of training and evaluation.

    Args:
      step: the step that the run resumes at; reports of later steps, made before an interruption,
        are dropped.

    Attributes:
      evaluated: step → metrics of the evaluations that this or an earlier process has reported.
    """

    def __init__(
        self,
        directory: str,
        is_chief: bool,
        step: int,
        log: Callable[[str], None],
        observers: Observers | None = None,
    ):
        self.directory, self._is_chief, self._log, self._observers = (
            directory,
            is_chief,
            log,
            observers,
        )
        self._metrics_file = os.path.join(directory, METRICS_FILE)
        self.evaluated: dict[int, Mapping[str, float]] = {}
        if is_chief:
            kept = [line for line in read_metrics(directory) if line["step"] <= step]
            with files.atomic_write(self._metrics_file) as file:
                file.writelines(json.dumps(line) + "\n" for line in kept)
            self.evaluated |= {line["step"]: line for line in kept if line["split"] == EVAL}
        self._progress: Progress | None = None

    def log(self, line: str) -> None:
        """Prints a line of its own, also while there is a progress bar."""
        if self._progress is not None:
            self._progress.write(line)
        else:
            self._log(line)

    def training(
        self, step: int, steps: int, metrics: Mapping[str, float], compiled: bool = False
    ) -> None:
        """The report of an inner loop of `steps` steps that ended at `step`; that of a `compiled`
        one has no speed."""
        self._write(TRAIN, step, metrics)
        shown = {"loss": f"{metrics['loss']:.4f}"}
        shown |= next(
            ({label: f"{metrics[name]:.3f}"} for name, label in _SHOWN.items() if name in metrics),
            {},
        )
        if compiled:
            self._progress.restart_clock(steps)
        else:
            shown |= {
                "examples_per_s": f"{metrics['examples_per_second']:.1f}",
                "tokens_per_s": f"{metrics['tokens_per_second']:.0f}",
            }
            if "tflops_per_second" in metrics:
                share = f" ({metrics['peak_share']:.0%} of peak)" if "peak_share" in metrics else ""
                shown["tflops"] = f"{metrics['tflops_per_second']:.3g}{share}"
        self._progress.advance(0 if compiled else steps, **shown)

    def evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """The report of an evaluation that is written, unless an earlier process has made it with
        the same results."""
        line = rounded(metrics)
        reported = {name: self.evaluated.get(step, {}).get(name) for name in line}
        # As texts, in which what is not a number is like itself.
        if str(reported) != str(line):
            self._write(EVAL, step, metrics)
        self.evaluated[step] = line
        if self._progress is not None:
            shown = ", ".join(f"{name} {value:.4f}" for name, value in sorted(metrics.items()))
            self.log(f"step {step}: evaluation: {shown}")

    @contextlib.contextmanager
    def progress(self, what: str, steps: int, step: int) -> Iterator[None]:
        """A progress bar from `step` to `steps` while the block runs; none where nothing is left to
        do."""
        if step < steps:
            self._progress = Progress(what, steps, "step", initial=step)
        try:
            yield
        finally:
            if self._progress is not None:
                self._progress.close()
                self._progress = None

    def _write(self, split: str, step: int, metrics: Mapping[str, float]) -> None:
        if not self._is_chief:
            return
        try:
            with files.open_file(self._metrics_file, "a") as file:
                file.write(json.dumps({"step": step, "split": split, **rounded(metrics)}) + "\n")
        except OSError as error:
            raise UserError(f"can't write {self._metrics_file}: {error.strerror}") from None
        if self._observers is not None:
            self._observers.notify("evaluation" if split == EVAL else "report", step, metrics)


def duration(seconds: float) -> str:
    """Seconds in words: "40 s", "12 min", "3.5 h", "2.1 days"."""
    for size, unit, digits in ((86400, "days", 1), (3600, "h", 1), (60, "min", 0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{digits}f} {unit}"
    return f"{seconds:.0f} s"
