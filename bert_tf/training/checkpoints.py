"""The checkpoints of a run: saved whole or not at all, restored and checked.

Input and output: a run directory (docs/architecture.md). Checkpoints are found by their files.
While ckpt-N is written there is ckpt-N_temp/.
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
    RUN_ID,
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

# Files that killed writers leave: TensorFlow's (also files of earlier versions) and our own.
_LEFT_BEHIND = re.compile(
    rf"{CHECKPOINT_NAME}-\d+{UNFINISHED}|checkpoint\.tmp[0-9a-zA-Z_-]*|\.probe\.\d+"
)
# Files of a checkpoint that may be incomplete; group 1 is its name.
_PARTS = re.compile(rf"({CHECKPOINT_NAME}-\d+)({UNFINISHED}|\.data-\d{{5}}-of-\d{{5}})")
# Beginning of the paths of the optimizer's slots.
_SLOTS = "optimizer/"
# Paths of the number and the id of the run.
_RUN = ("run", RUN_ID)
# Beginning of the names of directories in which the best weights of a sweep are copied.
COPIES = ".best."


def variables_of(
    model,
    state: TrainingState,
    optimizer: Optimizer | None = None,
    lora: LoraWeights | None = None,
) -> dict[str, tf.Variable]:
    """Returns path → variable of a checkpoint.

    Paths are encoder/..., heads/..., lora/..., optimizer/{m,v}/... of AdamW or
    optimizer/{lamb_m,lamb_v}/... of LAMB, run, step, examples, loss_scale and
    steps_since_overflow. Slots have the path of the variable they belong to:
    `optimizer/m/encoder/pooler/dense/kernel`.
    """
    variables = {
        **native.weight_variables(model, lora),
        "step": state.step,
        "examples": state.examples,
        "loss_scale": state.loss_scale,
        "steps_since_overflow": state.steps_since_overflow,
    }
    # Runs of earlier versions have no id, and no number before that.
    for path, variable in zip(_RUN, (state.run, state.run_id), strict=True):
        if int(variable.numpy()):
            variables[path] = variable
    if optimizer is not None:
        for slot, slot_variables in optimizer.slots().items():
            for name, variable in slot_variables.items():
                variables[f"{_SLOTS}{slot}/{native_path(name)}"] = variable
    return variables


class CheckpointManager:
    """Saves at multiples of an interval and keeps the newest checkpoints.

    It survives a full disk and a kill at any moment.

    Args:
      variables: path → variable, see `variables_of`.
      step: the variable that counts the steps.
      save_checkpoints_steps: number of steps between checkpoints.
      keep_checkpoint_max: number of newest checkpoints that stay; 0 keeps all.
      lora: the LoRA weights whose merged kernels are among the variables.
    """

    def __init__(
        self,
        variables: Mapping[str, tf.Variable],
        directory: str,
        step: tf.Variable,
        save_checkpoints_steps: int,
        keep_checkpoint_max: int,
        lora: LoraWeights | None = None,
    ):
        self.directory = directory
        self._checkpoint = native.checkpoint_of(variables)
        self._variables = {**variables, "save_counter": self._checkpoint.save_counter}
        self._step = step
        self._save_checkpoints_steps = save_checkpoints_steps
        self._keep_checkpoint_max = keep_checkpoint_max
        self._lora = lora
        # The step of the newest checkpoint that this process has restored or written.
        self._saved_step: int | None = None

    def restore_or_initialize(self) -> str | None:
        """Restores the newest checkpoint, whole, and returns its prefix; None if there is none.

        Raises `UserError` if it can't be read, does not fit, or has values that are not finite.
        """
        prefix = latest_checkpoint(self.directory)
        if prefix is None or self._saved_step is not None:
            return prefix
        try:
            self._restore(prefix)
        except UserError as error:
            name = os.path.basename(prefix)
            problem = str(error).removeprefix(f"{prefix}: ")
            earlier = [f"{CHECKPOINT_NAME}-{step}" for step in saved_steps(self.directory)[:-1]]
            raise UserError(
                f"checkpoint {prefix} can't be restored: {problem}; to resume from an earlier one "
                f"({', '.join(earlier) or 'none'}), move {name}.* out of {self.directory}"
            ) from None
        self._saved_step = int(self._step.numpy())
        return prefix

    def _restore(self, prefix: str) -> None:
        bundle = native.TensorBundle(prefix)
        # Damage and another size are found before any variable changes, as far as they show without
        # reading the data.
        restored = dict(self._variables)
        for path in _RUN:
            run = restored.pop(path, None)
            # Checkpoints of earlier versions have none.
            if run is not None and path + SUFFIX in bundle.shapes:
                saved_run = int(bundle.read_as(path + SUFFIX, run.dtype.as_numpy_dtype))
                if saved_run and int(run.numpy()) not in (0, saved_run):
                    raise UserError(
                        f"{prefix}: it belongs to another run, with other training data, start "
                        "weights or teachers, or begun at another time"
                    )
        for path, variable in restored.items():
            shape = bundle.shapes.get(path + SUFFIX)
            expected = tuple(variable.shape)
            if shape is None:
                problem = f"{prefix}: {path} is missing"
                slots = {key.split("/")[1] for key in bundle.shapes if key.startswith(_SLOTS)}
                if path.startswith(_SLOTS) and slots and path.split("/")[1] not in slots:
                    problem += f": it holds slots of another --optimizer, {min(slots)}"
                raise UserError(problem)
            if shape != expected:
                raise UserError(
                    f"{prefix}: {path} has the shape {list(shape)}, {list(expected)} is expected"
                )
        for path, variable in restored.items():
            variable.assign(bundle.read_as(path + SUFFIX, variable.dtype.as_numpy_dtype))

    def save(self, check_interval: bool = True) -> str | None:
        """Writes `ckpt-<step>` unless it exists and returns its prefix; None if nothing is written.

        Raises `UserError` if it could not be written, or if the directory has a checkpoint of this
        step or a later one that this run has not restored. Existing checkpoints survive an error.

        Args:
          check_interval: whether to save at multiples of the interval only.
        """
        step = int(self._step.numpy())
        if step == self._saved_step:
            return None
        if check_interval and step % self._save_checkpoints_steps:
            return None
        prefix = os.path.join(self.directory, f"{CHECKPOINT_NAME}-{step}")
        existing_steps = saved_steps(self.directory)
        if existing_steps and existing_steps[-1] >= step:
            raise UserError(
                f"checkpoint {CHECKPOINT_NAME}-{step} is not saved: {self.directory} holds "
                f"{CHECKPOINT_NAME}-{existing_steps[-1]}, which this run has not restored; "
                "run the same command again"
            )
        if self._lora:
            # Checkpoints hold the merged kernels, which are not up to date while LoRA trains.
            self._lora.merge()
        with _saving(prefix):
            _write(self._checkpoint, prefix)
            # A slice from -0 has all steps, so that 0 keeps all.
            kept_steps = [*existing_steps, step][-self._keep_checkpoint_max :]
            # The state file first: it must never name a checkpoint that is gone.
            native.write_state(self.directory, kept_steps)
            for old_step in existing_steps:
                if old_step not in kept_steps:
                    old_name = f"{CHECKPOINT_NAME}-{old_step}"
                    _remove_checkpoint(os.path.join(self.directory, old_name))
        self._saved_step = step
        return prefix


class BestCheckpoint:
    """The best weights of a run, in `best/`, which is a run directory by itself.

    Args:
      metric: the metric that is compared; higher is better.
      describe: writes the files of `run_directory.write_description` into a directory.

    Attributes:
      record: {"step", "metric", "metrics": {name: value}, "run_id"} of the best evaluation so far;
        None before the first.
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
        self._metric = metric
        self._describe = describe
        self._state = state
        self._lora = lora
        variables = {**native.weight_variables(model, lora), "step": state.step}
        if state.id:
            variables[RUN_ID] = state.run_id
        self._checkpoint = native.checkpoint_of(variables)
        self._record_file = os.path.join(self.directory, BEST_RECORD)
        self.record: dict | None = read_best_record(self.directory) or None
        if self.record is not None:
            json_files.check_object(self.record, {"metrics": {metric: float}}, self._record_file)
            return
        # Weights without a record whose evaluation was not reported come from a run that was killed
        # before it had recorded them; they may be replaced.
        reported_steps = [line["step"] for line in read_metrics(directory) if line["split"] == EVAL]
        steps = saved_steps(self.directory)
        if steps and steps[-1] in reported_steps:
            raise UserError(
                f"{self._record_file} is missing, {CHECKPOINT_NAME}-{steps[-1]} is there: restore "
                f"it, or move {self.directory} away"
            )

    def update(self, metrics: Mapping[str, float]) -> bool:
        """Saves the weights and returns True if these metrics are the best so far.

        Equal metrics keep the earlier weights, so a step that is computed again after an
        interruption changes nothing.
        """
        step = self._state.step_number
        if self.record is not None:
            best = self.record["metrics"][self._metric]
            # Written so that NaN is never better.
            if not metrics[self._metric] > best:
                return False
        files.make_output_directory(self.directory, "output_dir")
        self._describe(self.directory)
        prefix = os.path.join(self.directory, f"{CHECKPOINT_NAME}-{step}")
        if self._lora:
            self._lora.merge()
        with _saving(prefix):
            # An evaluation that was interrupted before its record was written may have left one.
            _remove_checkpoint(prefix)
            _write(self._checkpoint, prefix)
            native.write_state(self.directory, [step])
        self.record = {"step": step, "metric": self._metric, "metrics": dict(metrics)}
        if self._state.id:
            self.record[RUN_ID] = self._state.id
        json_files.write(self._record_file, self.record)
        # The record names the new weights before the old ones go: a kill leaves a valid pair.
        for old_step in saved_steps(self.directory):
            if old_step != step:
                _remove_checkpoint(os.path.join(self.directory, f"{CHECKPOINT_NAME}-{old_step}"))
        return True


def remove_leftovers(directory: str) -> None:
    """Removes the files that a killed run has left in its local directory, e.g. half a checkpoint.

    The caller holds the directory's lock.
    """
    if files.is_remote(directory):
        return
    run_directory.check_layout(directory)
    for folder in (directory, os.path.join(directory, BEST_DIRECTORY)):
        if not os.path.isdir(folder):
            continue
        # This refuses data without an index, which may be all that is left of a checkpoint.
        latest_checkpoint(folder)
        complete = [f"{CHECKPOINT_NAME}-{step}" for step in saved_steps(folder)]
        for file_name in os.listdir(folder):
            match = _PARTS.fullmatch(file_name)
            if match and match[1] not in complete:
                _remove_checkpoint(os.path.join(folder, match[1]))
        locks.remove_abandoned(
            folder,
            f"{_LEFT_BEHIND.pattern}|{locks.temporary_names()}|{re.escape(COPIES)}[a-z0-9_]{{8}}",
        )


@contextlib.contextmanager
def _saving(prefix: str) -> Iterator[None]:
    """Turns errors of writing a checkpoint into `UserError`s, and removes half a checkpoint."""
    directory, name = os.path.split(prefix)
    try:
        yield
    except (tf.errors.OpError, OSError, UserError) as error:
        # In a directory that is not this run's any more there is nothing to tidy up.
        locks.check_held()
        steps = saved_steps(directory)
        last = f"{CHECKPOINT_NAME}-{steps[-1]}" if steps else None
        # The error may have come after the checkpoint was complete.
        if last != name:
            _remove_checkpoint(prefix)
        remaining = f"the last good one is {directory}/{last}" if last else "there is none yet"
        raise UserError(
            f"checkpoint {name} could not be saved in {directory}: {in_one_line(error)}; "
            f"{remaining}; free some space and run the same command again"
        ) from None


def _write(checkpoint: tf.train.Checkpoint, prefix: str) -> None:
    """Writes a checkpoint; local files get their names when all are complete.

    The index comes last, as it makes the others a checkpoint.
    """
    locks.check_held()
    checkpoint.save_counter.assign_add(1)
    if files.is_remote(prefix):
        # TensorFlow collects remote files in `ckpt-N_temp/`, too; renaming would copy them again.
        checkpoint.write(prefix)
        return
    folder = prefix + UNFINISHED
    directory, name = os.path.split(prefix)
    os.makedirs(folder)
    checkpoint.write(os.path.join(folder, name))
    # Writing takes its time.
    locks.check_held()
    for file_name in sorted(os.listdir(folder), key=lambda name: name.endswith(".index")):
        os.replace(os.path.join(folder, file_name), os.path.join(directory, file_name))
    os.rmdir(folder)


def _remove_checkpoint(prefix: str) -> None:
    """Removes a checkpoint, or its remaining files; the index first, without which it is none.

    Until all files are gone there is a directory beside them as while one is written. Otherwise
    data that a kill leaves would look as if their index were lost.
    """
    locks.check_held()
    if files.exists(f"{prefix}.index"):
        with contextlib.suppress(OSError):
            files.make_directories(prefix + UNFINISHED)
    pattern = glob.escape(prefix)
    paths = [f"{prefix}.index", *files.glob_files(f"{pattern}.data-*")]
    paths += files.glob_files(f"{pattern}{UNFINISHED}*")
    for path in paths:
        with contextlib.suppress(OSError):
            if files.is_directory(path):
                files.remove_tree(path)
            else:
                files.remove(path)
