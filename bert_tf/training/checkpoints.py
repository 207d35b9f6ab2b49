"""The checkpoints of a run: saved whole or not at all, found by what is there, restored and
checked.

Input and output: a run directory (docs/architecture.md). While ckpt-N is written there is
ckpt-N_temp/.
"""

import contextlib
import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping

import tensorflow as tf

from bert_common import files, json_files, locks
from bert_common.errors import UserError, in_one_line
from bert_tf.training import run_directory
from bert_tf.training.optimizer import Optimizer
from bert_tf.training.run_directory import EVAL, read_metrics
from bert_tf.training.step import TrainingState
from modeling.checkpoints import tensorflow_files as native
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    BEST_RECORD,
    SUFFIX,
    read_best_record,
)
from modeling.checkpoints.tensorflow_files import (
    CHECKPOINT_NAME,
    UNFINISHED,
    LoraWeights,
    latest_checkpoint,
    saved_steps,
)
from modeling.checkpoints.weights import native_path

# What writers that were killed leave: TensorFlow's (also of earlier versions) and our own.
_LEFT_BEHIND = re.compile(
    rf"{CHECKPOINT_NAME}-\d+{UNFINISHED}|checkpoint\.tmp[0-9a-zA-Z_-]*|\.probe\.\d+"
)
COPIES = ".best."


def variables_of(
    model,
    state: TrainingState,
    optimizer: Optimizer | None = None,
    lora: LoraWeights | None = None,
) -> dict[str, tf.Variable]:
    """What a checkpoint holds, by path: encoder/..., heads/..., lora/..., optimizer/{m,v}/...,
    step, examples.

    Slots have the path of the variable they belong to: `optimizer/m/encoder/pooler/dense/kernel`.
    """
    variables = {
        **native.weight_variables(model, lora),
        "step": state.step,
        "examples": state.examples,
        "loss_scale": state.loss_scale,
        "steps_since_overflow": state.steps_since_overflow,
    }
    if optimizer is not None:
        variables |= {
            f"optimizer/{slot}/{native_path(name)}": variable
            for slot, slots in optimizer.slots().items()
            for name, variable in slots.items()
        }
    return variables


class CheckpointManager:
    """Saves at multiples of the interval, keeps the newest, and survives a full disk and a kill at
    any moment.

    Args:
      variables: path → variable, see `variables_of`.
      keep: how many of the newest stay; 0 keeps all.
      lora: whose merged kernels are among the variables.
    """

    def __init__(
        self,
        variables: Mapping[str, tf.Variable],
        directory: str,
        step: tf.Variable,
        interval: int,
        keep: int,
        lora: LoraWeights | None = None,
    ):
        self.directory = directory
        self._checkpoint = native.checkpoint_of(variables)
        self._variables = {**variables, "save_counter": self._checkpoint.save_counter}
        self._step, self._interval, self._keep, self._lora = step, interval, keep, lora
        self._saved_step: int | None = None

    def restore_or_initialize(self) -> str | None:
        """Restores the newest checkpoint, whole, and returns its prefix; None if there is none.

        Raises `UserError` where it can't be read, does not fit, or holds something that is not
        finite.
        """
        prefix = latest_checkpoint(self.directory)
        if prefix is None or self._saved_step is not None:
            return prefix
        try:
            bundle = native.Bundle(prefix)
            # Damage and another size are found before anything is changed, as far as they show
            # without reading the data.
            for path, variable in self._variables.items():
                found, expected = bundle.shapes.get(path + SUFFIX), tuple(variable.shape)
                if found != expected:
                    there = (
                        "is missing"
                        if found is None
                        else f"has the shape {list(found)}, {list(expected)} is expected"
                    )
                    raise UserError(f"{prefix}: {path} {there}")
            for path, variable in self._variables.items():
                variable.assign(bundle.read_as(path + SUFFIX, variable.dtype.as_numpy_dtype))
        except UserError as error:
            name = os.path.basename(prefix)
            earlier = [f"{CHECKPOINT_NAME}-{step}" for step in saved_steps(self.directory)][:-1]
            raise UserError(
                f"checkpoint {prefix} can't be restored: {str(error).removeprefix(f'{prefix}: ')}; to resume "
                f"from an earlier one ({', '.join(earlier) or 'none'}), move {name}.* out of {self.directory}"
            ) from None
        self._saved_step = int(self._step.numpy())
        return prefix

    def save(self, check_interval: bool = True) -> str | None:
        """Writes `ckpt-<step>` unless it is there already; with `check_interval` only at multiples
        of the interval.

        Returns its prefix; None where nothing was written. Raises `UserError` where it could not be
        written, or there is one of this step or a later one that was not restored; the checkpoints
        that were there still are.
        """
        step = int(self._step.numpy())
        if step == self._saved_step or (check_interval and step % self._interval):
            return None
        prefix = os.path.join(self.directory, f"{CHECKPOINT_NAME}-{step}")
        there = saved_steps(self.directory)
        if there and there[-1] >= step:
            raise UserError(
                f"checkpoint {CHECKPOINT_NAME}-{step} is not saved: {self.directory} holds "
                f"{CHECKPOINT_NAME}-{there[-1]}, which this run has not restored; run the same command again"
            )
        if self._lora:
            self._lora.merge()
        with _saving(prefix):
            _write(self._checkpoint, prefix)
            kept = [*there, step][-self._keep :]
            native.write_state(self.directory, kept)
            for old in sorted({*there} - {*kept}):
                _remove_checkpoint(os.path.join(self.directory, f"{CHECKPOINT_NAME}-{old}"))
        self._saved_step = step
        return prefix


class BestCheckpoint:
    """The best weights of a run, in `best/`, which is a run directory by itself.

    Args:
      metric: what is compared; higher is better.
      describe: writes into a directory what `run_directory.write_description` does.

    Attributes:
      record: {"step", "metric", "metrics": {name: value}} of the best evaluation so far; None
        before the first.
    """

    def __init__(
        self,
        directory: str,
        model,
        state: TrainingState,
        metric: str,
        describe: Callable[[str], None],
        lora: LoraWeights | None = None,
    ):
        self.directory = os.path.join(directory, BEST_DIRECTORY)
        self._metric, self._describe, self._step, self._lora = metric, describe, state.step, lora
        self._checkpoint = native.checkpoint_of(
            {**native.weight_variables(model, lora), "step": state.step}
        )
        self._record_file = os.path.join(self.directory, BEST_RECORD)
        self.record: dict | None = read_best_record(self.directory) or None
        there = saved_steps(self.directory)
        reported = {line["step"] for line in read_metrics(directory) if line["split"] == EVAL}
        if self.record is not None:
            json_files.check_object(self.record, {"metrics": {metric: float}}, self._record_file)
        # Weights whose evaluation was not reported are of a run that was killed before it had
        # recorded them.
        if self.record is None and there and there[-1] in reported:
            raise UserError(
                f"{self._record_file} is missing, {CHECKPOINT_NAME}-{there[-1]} is there: restore it, or move "
                f"{self.directory} away"
            )

    def update(self, metrics: Mapping[str, float]) -> bool:
        """Saves the weights if these metrics are the best so far; of equal ones the first is
        kept."""
        step = int(self._step.numpy())
        # A step that is computed again after an interruption gives the same value and changes
        # nothing.
        if (
            self.record is not None
            and not metrics[self._metric] > self.record["metrics"][self._metric]
        ):
            return False
        files.make_output_directory(self.directory, "output_dir")
        self._describe(self.directory)
        prefix = os.path.join(self.directory, f"{CHECKPOINT_NAME}-{step}")
        if self._lora:
            self._lora.merge()
        with _saving(prefix):
            # Of an evaluation that was interrupted before it was recorded.
            _remove_checkpoint(prefix)
            _write(self._checkpoint, prefix)
            native.write_state(self.directory, [step])
        self.record = {"step": step, "metric": self._metric, "metrics": dict(metrics)}
        json_files.write(self._record_file, self.record)
        for old in saved_steps(self.directory):
            if old != step:
                _remove_checkpoint(os.path.join(self.directory, f"{CHECKPOINT_NAME}-{old}"))
        return True


def remove_leftovers(directory: str) -> None:
    """Removes what a run that was killed has left in its local directory, whose lock is held: half
    a checkpoint, say."""
    if files.is_remote(directory):
        return
    run_directory.check_places(directory)
    for folder in (directory, os.path.join(directory, BEST_DIRECTORY)):
        if os.path.isdir(folder):
            # Refuses where data without an index may be all that is left of a checkpoint.
            latest_checkpoint(folder)
            complete = {f"{CHECKPOINT_NAME}-{step}" for step in saved_steps(folder)}
            for name in os.listdir(folder):
                match = re.fullmatch(
                    rf"({CHECKPOINT_NAME}-\d+)({UNFINISHED}|\.data-\d{{5}}-of-\d{{5}})", name
                )
                if match and match[1] not in complete:
                    _remove_checkpoint(os.path.join(folder, match[1]))
            locks.remove_abandoned(
                folder,
                f"{_LEFT_BEHIND.pattern}|{locks.temporary_names()}|"
                f"{re.escape(COPIES)}[a-z0-9_]{{8}}",
            )


@contextlib.contextmanager
def _saving(prefix: str) -> Iterator[None]:
    """Errors of writing a checkpoint as the user sees them; half of one does not stay."""
    directory, name = os.path.split(prefix)
    try:
        yield
    except (tf.errors.OpError, OSError, UserError) as error:
        steps = saved_steps(directory)
        if f"{CHECKPOINT_NAME}-{steps[-1] if steps else None}" != name:
            _remove_checkpoint(prefix)
        last = (
            f"the last good one is {directory}/{CHECKPOINT_NAME}-{steps[-1]}"
            if steps
            else "there is none yet"
        )
        raise UserError(
            f"checkpoint {name} could not be saved in {directory}: {in_one_line(error)}; {last}; free some "
            "space and run the same command again"
        ) from None


def _write(checkpoint: tf.train.Checkpoint, prefix: str) -> None:
    """Local files get their names when all is written, the index, which makes them a checkpoint,
    last."""
    checkpoint.save_counter.assign_add(1)
    if files.is_remote(prefix):
        # TensorFlow collects them in `ckpt-N_temp/`, too; a rename would be another copy.
        checkpoint.write(prefix)
        return
    folder, (directory, name) = prefix + UNFINISHED, os.path.split(prefix)
    os.makedirs(folder)
    checkpoint.write(os.path.join(folder, name))
    for written in sorted(os.listdir(folder), key=lambda written: written.endswith(".index")):
        os.replace(os.path.join(folder, written), os.path.join(directory, written))
    os.rmdir(folder)


def _remove_checkpoint(prefix: str) -> None:
    """Removes a checkpoint, or what there is of one; the index first, without which it is none.

    Until all is gone there is a directory beside it as while one is written, or data that a kill
    leaves would look as if their index were lost.
    """
    if files.exists(f"{prefix}.index"):
        with contextlib.suppress(OSError):
            files.make_directories(prefix + UNFINISHED)
    pattern = glob.escape(prefix)
    for path in [
        f"{prefix}.index",
        *files.glob_files(f"{pattern}.data-*"),
        *files.glob_files(f"{pattern}{UNFINISHED}*"),
    ]:
        with contextlib.suppress(OSError):
            files.remove_tree(path) if files.is_directory(path) else files.remove(path)
