"""Records of a start in the run's directory: checks before, lock, inputs, bad rows of the data."""

import contextlib
import os
from collections.abc import Callable
from typing import Any

from bert_common import files, json_files
from bert_tf.runs.options import TrainingOptions
from bert_tf.runs.task import Task
from bert_tf.training import run_directory
from bert_tf.training.devices import Devices

# File in the run directory with the bad rows of the data, one JSON object per line.
LEFT_OUT_FILE = "left_out.jsonl"


class RunRecord:
    """What a start keeps in its directory, apart from weights, metrics and results.

    The chief of a cluster writes it. The runs of a sweep share one.

    Args:
      options: of the start; the files that they name have not been read yet.
    """

    def __init__(self, options: TrainingOptions):
        from bert_tf.runs import contents

        self._facts = contents.InputFacts.of(options)

    def prepare(self, options: TrainingOptions) -> None:
        """Raises `UserError` for an unusable --output_dir, and makes it unless it is a dry run."""
        from bert_common import outputs

        outputs.check_run_directory(options.output_dir, "output_dir")
        if not options.dry_run:
            # A dry run leaves no trace, not even an empty directory.
            files.make_output_directory(options.output_dir, "output_dir")

    def writing(self, directory: str) -> contextlib.AbstractContextManager:
        """Locks the directory for this process."""
        return run_directory.writing(directory)

    def callbacks(self, options: TrainingOptions) -> tuple[str, ...]:
        """Returns the names of the callbacks that follow a run."""
        return ("model_card", *options.report_to)

    def check(self, task: Task, log: Callable[[str], None]) -> tuple[dict[str, Any], int]:
        """Returns the record of a run's inputs and its number in checkpoints.

        See `provenance.record_of_start` and `provenance.run_number`.

        Raises `UserError` for unusable files in its directory, and if it would resume with other
        inputs. It comes before any file is replaced: a run that is refused leaves the directory as
        it was.
        """
        from bert_tf.runs import provenance

        directory = task.options.output_dir
        run_directory.check_layout(directory)
        run_directory.read_metrics(directory)
        run_directory.check_same_model(directory, task.config, task.description)
        inputs = provenance.record_of_start(task.options, task.inputs(), log)
        return inputs, provenance.run_number(inputs["made_from"])

    def check_inputs(self, contents: bool = True) -> None:
        """Raises `UserError` if a file has changed since the start, see `InputFacts.check`."""
        self._facts.check(contents)

    def write_inputs(self, directory: str, inputs: dict[str, Any]) -> None:
        """Writes the record that `check` has returned."""
        from bert_tf.runs import provenance

        provenance.write(directory, **inputs)

    def note_start(self, directory: str, devices: Devices) -> None:
        """Notes in `flags.json` when, where and by which command a run starts."""
        run_directory.note_start(directory, str(devices))

    def write_left_out(self, task: Task) -> None:
        """Writes the bad rows of the data that are not used."""
        if task.left_out:
            path = os.path.join(task.options.output_dir, LEFT_OUT_FILE)
            with files.atomic_write(path) as file:
                file.writelines(json_files.line_of(value) for value in task.left_out)

    def note_results(self, task: Task, kind: str, devices: Devices) -> None:
        """Notes the files that results are of, see `provenance.note_results`."""
        from bert_tf.runs import provenance

        if devices.is_chief:
            provenance.note_results(task.options.output_dir, kind, task.inputs())

    def describe_results(self, options: TrainingOptions) -> str:
        """Returns what a run writes that does not train."""
        return f"{options.output_dir}: results"


class NoRecord(RunRecord):
    """The record of a start that leaves no files, such as an answer to a single question."""

    def __init__(self, options: TrainingOptions):
        pass

    def prepare(self, options: TrainingOptions) -> None:
        pass

    def writing(self, directory: str) -> contextlib.AbstractContextManager:
        return contextlib.nullcontext()

    def callbacks(self, options: TrainingOptions) -> tuple[str, ...]:
        return ()

    def check(self, task: Task, log: Callable[[str], None]) -> tuple[dict[str, Any], int]:
        return {}, 0

    def check_inputs(self, contents: bool = True) -> None:
        pass

    def write_inputs(self, directory: str, inputs: dict[str, Any]) -> None:
        pass

    def note_start(self, directory: str, devices: Devices) -> None:
        pass

    def write_left_out(self, task: Task) -> None:
        pass

    def note_results(self, task: Task, kind: str, devices: Devices) -> None:
        pass

    def describe_results(self, options: TrainingOptions) -> str:
        return "nothing, answers are printed"
