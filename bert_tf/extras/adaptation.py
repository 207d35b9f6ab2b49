"""From a folder of documents and published weights to an encoder for them, for `adapt.py`: commands
of the project, one after the other.

Input: documents, weights, minutes, and labels if there are any. Output: a directory with the files
of each step, `verdict.json` among them, and the exported model in `model/`.
"""

import contextlib
import functools
import itertools
import math
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bert_common import files, json_files, parallel
from bert_common.errors import UserError, say
from bert_tf.commands import run_command, show_command
from bert_tf.evaluation.significance import Difference, difference, relative_change
from bert_tf.extras.adaptation_plan import AdaptOptions, Plan, Step
from bert_tf.extras.text_loss import TextLossOptions, column, make_windows, show_change
from bert_tf.runs import contents, results
from bert_tf.runs.data_notes import MANY_SUBWORDS, MUCH_UNKNOWN
from bert_tf.training import run_directory
from bert_tf.vocabulary.building import coverage
from data_gen.text.folders import find_documents
from data_gen.text.word_counts import MAX_COUNTED_WORDS, count_words
from modeling.checkpoints.load import Checkpoint, open_checkpoint

_STATE_FILE = "adapt.json"
_GIVEN_FILES = ("general_file", "train_file", "dev_file")
# More passes than this over a small text teach it by heart.
_MAX_PASSES = 40
# An interval over fewer documents says nothing.
_MIN_HELD_OUT = 8
_FEW_WORDS = 100_000
# A change of less is not worth a new model.
_MIN_CHANGE = 0.01


def run(options: AdaptOptions) -> None:
    """Runs the steps that are not done yet, and prints the verdict.

    Raises:
      UserError: the weights can't be adapted, too few documents are held out, a step has failed, or
        the directory is of another adaptation.
    """
    checkpoint = open_checkpoint(options.init_checkpoint)
    if checkpoint.config.causal:
        raise UserError(
            f"--init_checkpoint: {options.init_checkpoint} reads from left to right, and has no "
            "words to hide: train it further with run_pretraining.py"
        )
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    plan = Plan(options, checkpoint)
    if options.dry_run:
        # The first step would refuse a folder without documents.
        find_documents(options.documents_dir, "documents_dir")
        _show(plan, options)
        return
    files.make_output_directory(options.output_dir, "output_dir")
    with run_directory.writing(options.output_dir):
        _adapt(options, plan, checkpoint)


def _adapt(options: AdaptOptions, plan: Plan, checkpoint: Checkpoint) -> None:
    """Runs the steps in a directory that is held.

    Raises:
      UserError: see `run`.
    """
    steps = [*plan.text(), *plan.examples(), *plan.training(), *plan.last()]
    if not files.exists(_state_path(options)):
        for step in steps:
            if step.made and files.exists(step.made):
                raise UserError(
                    f"--output_dir: {step.made} is there, and no {_STATE_FILE} says what it was "
                    "made from: choose another directory"
                )
    state = begin(options)
    numbers = itertools.count(1)
    run_steps(plan.text(), numbers)
    check_unchanged(options, state)
    check_corpus(plan, checkpoint)
    run_steps(plan.examples(), numbers)
    if plan.num_steps is None:
        if state.get("num_train_steps") is None:
            run_steps([plan.speed()], numbers)
            state["num_train_steps"] = _steps_for(options, plan)
            json_files.write(_state_path(options), state)
        plan.num_steps = state["num_train_steps"]
    run_steps(plan.training(), numbers)
    check_unchanged(options, state)
    task = None
    if options.train_file:
        task = _task_scores(os.path.join(options.output_dir, "classifier_before"), plan.result)
    verdict = judge(measured_losses(plan), plan.held_out, task)
    if verdict.is_worth_it:
        run_steps(plan.last(), numbers)
    path = os.path.join(options.output_dir, "verdict.json")
    json_files.write(path, {"worth_it": verdict.is_worth_it, "reasons": verdict.lines})
    say("\n=== Verdict")
    for line in verdict.lines:
        say(f"  {line}")
    if verdict.is_worth_it:
        say(f"worth it: {plan.model} is the result")
    else:
        say("not worth it: stay with the weights that you had; no model was exported")


def run_steps(steps: Iterable[Step], numbers: Iterable[int]) -> None:
    """Runs the steps that are not done.

    Raises:
      UserError: one has failed or was stopped.
    """
    for step, number in zip(steps, numbers, strict=False):
        if step.made and files.exists(step.made):
            say(f"\n=== {number}. {step.title} (done)")
        else:
            say(f"\n=== {number}. {step.title}")
            run_command(step.script, *step.arguments)
            if step.made and not files.exists(step.made):
                raise UserError(f"{step.script} was stopped: give the same command to go on")


def _show(plan: Plan, options: AdaptOptions) -> None:
    """Prints the commands of all steps."""
    steps = [*plan.text(), *plan.examples(), plan.speed(), *plan.training(), *plan.last()]
    if plan.num_steps is not None:
        steps.remove(plan.speed())
    for number, step in enumerate(steps, 1):
        say(f"\n=== {number}. {step.title}\n$ {show_command(step.script, *step.arguments)}")
    if plan.num_steps is None:
        say(f"\nSTEPS: as many as fit into {options.minutes:g} minutes, by the measured speed")
    say("the last steps are taken if the verdict is that it was worth it")


def begin(options: AdaptOptions) -> dict:
    """Returns the state of an adaptation, a new one or that which is resumed.

    Raises:
      UserError: it was begun with other options or inputs.
    """
    state = _state_of(options)
    fields = {"options": dict, "inputs": dict, "num_train_steps": int | None}
    begun = json_files.read_object(_state_path(options), fields)
    if not begun:
        json_files.write(_state_path(options), state)
        return state
    changed = _differences(begun, state)
    if changed:
        raise UserError(
            f"--output_dir: {options.output_dir} was begun with other {', '.join(changed)}: give "
            "the same again, or another directory"
        )
    return begun


def check_unchanged(options: AdaptOptions, state: dict) -> None:
    """Checks that the inputs are those that an adaptation was begun with; else it can't be resumed.

    Args:
      state: that with which it was begun.

    Raises:
      UserError: they have changed.
    """
    changed = _differences(state, _state_of(options))
    if changed:
        # Files made of both contents must never count as made of one of them.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_state_path(options))
        raise UserError(
            f"--output_dir: {', '.join(changed)} changed while {options.output_dir} was made of "
            "them: give another directory"
        )


def _state_path(options: AdaptOptions) -> str:
    return os.path.join(options.output_dir, _STATE_FILE)


def _state_of(options: AdaptOptions) -> dict:
    """Returns the options and the digests of the inputs as they are now."""
    paths, _ = find_documents(options.documents_dir, "documents_dir")
    inputs = {
        "documents_dir": paths,
        "init_checkpoint": contents.weight_files([options.init_checkpoint]),
    }
    for name in _GIVEN_FILES:
        path = getattr(options, name)
        if path:
            inputs[name] = [path]
    digests = {}
    for name, group in inputs.items():
        digests[name] = contents.fresh_digest(contents.statuses(group))
    names = [os.path.relpath(path, options.documents_dir) for path in paths]
    digests["documents_dir"] = results.digest([names, digests["documents_dir"]])
    # The contents of files count, wherever they are; checkpoints are also known by their names.
    values = options.values()
    for name in ("dry_run", "documents_dir", *_GIVEN_FILES):
        del values[name]
    return {"options": values, "inputs": digests}


def _differences(begun: dict, state: dict) -> list[str]:
    """Returns what an adaptation was begun with that is another one now."""
    changed = []
    for name, value in state["options"].items():
        if begun["options"].get(name) != value:
            changed.append(name)
    for name in state["inputs"] | begun["inputs"]:
        if name not in changed and begun["inputs"].get(name) != state["inputs"].get(name):
            changed.append(f"contents of {name}")
    return changed


def check_corpus(plan: Plan, checkpoint: Checkpoint) -> None:
    """Prints how the corpus fits the weights, and whether it is large enough.

    Raises:
      UserError: too few documents are held out, or the old text is none.
    """
    # A blank line between documents.
    num_held_out = files.read_text(plan.held_out).count("\n\n") + 1
    if num_held_out < _MIN_HELD_OUT:
        raise UserError(
            f"{num_held_out} documents are held out, {_MIN_HELD_OUT} are needed for an interval: "
            "more or shorter documents (in text files a blank line ends one), or a larger "
            "--held_out_fraction, in another --output_dir"
        )
    for path in plan.texts:
        # A wrong one would be found after the training.
        settings = TextLossOptions(init_checkpoint=plan.before, input_file=path)
        make_windows(path, [checkpoint.tokenizer], settings)
    vocabulary = checkpoint.tokenizer.vocabulary
    counts = count_words(
        [plan.corpus],
        checkpoint.tokenizer.do_lower_case,
        functools.partial(parallel.ordered_map, num_workers=parallel.default_num_workers()),
        MAX_COUNTED_WORDS,
        strip_accents=vocabulary.strip_accents,
    )
    fit = coverage(vocabulary, counts.words)
    say(
        f"fit of the vocabulary: {fit.subwords_per_word:.2f} subwords per word, "
        f"{fit.unknown_share:.2%} [UNK]"
    )
    if fit.subwords_per_word >= MANY_SUBWORDS or fit.unknown_share > MUCH_UNKNOWN:
        say(
            "warning: the vocabulary has few of the words: weights of this language are a better "
            "start, or --added_words"
        )
    if fit.words < _FEW_WORDS:
        say(f"warning: {fit.words:,} words are little text: expect a small gain")


def _steps_for(options: AdaptOptions, plan: Plan) -> int:
    """Returns as many steps as the time allows, and as the text has something to teach.

    Raises:
      UserError: the speed or the number of examples is not in the files that have it.
    """
    directory = os.path.join(options.output_dir, "speed")
    rate = 0.0
    for line in run_directory.read_metrics(directory):
        if line["split"] == "train":
            rate = line.get("examples_per_second")
    if not isinstance(rate, float) or not 0 < rate < math.inf:
        raise UserError(
            f"{directory} has no speed of training: remove it, and give the same command again"
        )
    statistics = json_files.read_object(
        f"{plan.records}.stats.json", {"counts": {"instances": int}}
    )
    examples = statistics["counts"]["instances"]
    by_time = max(int(60 * options.minutes * rate / options.train_batch_size), 1)
    by_text = max(_MAX_PASSES * examples // options.train_batch_size, 1)
    num_steps = min(by_time, by_text)
    say(
        f"{num_steps:,} steps: {rate:.0f} examples/s for {options.minutes:g} minutes are "
        f"{by_time:,}, {_MAX_PASSES} passes over the text are {by_text:,}"
    )
    return num_steps


class Verdict(NamedTuple):
    """Whether an adaptation was worth it, and why."""

    is_worth_it: bool
    lines: list[str]


class TaskScores(NamedTuple):
    """Accuracy of a classifier before and after, and the difference over its examples."""

    before: float
    after: float
    change: Difference


def _task_scores(before: str, after: str) -> TaskScores:
    """Returns the scores of two runs of the classifier on the development set.

    Raises:
      UserError: they are not of the same texts.
    """
    fields = {"id": int | str, "label": str, "true_label": str}
    scores = []
    for directory in (before, after):
        correct = {}
        path = os.path.join(directory, "eval_predictions.jsonl")
        for row in json_files.read_objects(path, fields):
            correct[row["id"]] = float(row["label"] == row["true_label"])
        scores.append(correct)
    first, second = scores
    if not first or first.keys() != second.keys():
        raise UserError(
            f"the predictions in {before} and {after} are not of the same texts: remove both "
            "directories, and give the same command again"
        )
    means = [sum(correct.values()) / len(correct) for correct in scores]
    return TaskScores(means[0], means[1], difference(second, first))


def measured_losses(plan: Plan) -> list[dict]:
    """Returns the rows of `text_loss.py`.

    Raises:
      UserError: they are not of the weights before and after.
    """
    fields = {
        "checkpoint": str,
        "file": str,
        "document": int,
        "nats": float,
        "shuffled_nats": float,
    }
    rows = json_files.read_objects(plan.losses, fields)
    # File → checkpoint → its documents.
    documents: dict[str, dict[str, list[int]]] = {plan.held_out: {}}
    is_complete = True
    for row in rows:
        of_file = documents.setdefault(row["file"], {})
        of_file.setdefault(row["checkpoint"], []).append(row["document"])
        if not (0 <= row["nats"] < math.inf and 0 <= row["shuffled_nats"] < math.inf):
            is_complete = False
    measured = {plan.before, plan.weights}
    for of_file in documents.values():
        if of_file.keys() != measured or of_file[plan.before] != of_file[plan.weights]:
            is_complete = False
    if not is_complete:
        raise UserError(
            f"{plan.losses} has not the losses of {plan.before} and {plan.weights} on the same "
            "documents: remove it, and give the same command again"
        )
    return rows


def judge(rows: Sequence[dict], held_out: str, task: TaskScores | None) -> Verdict:
    """Returns the verdict.

    It was worth it if held-out documents of the domain are predicted better by more than chance and
    than 1 %, if the adapted weights use the order of the words in them, and if the task, where
    there is one, gains by more than chance.

    Args:
      rows: of `text_loss.py`, for two checkpoints, on held-out documents and maybe on old text.
      held_out: path of the held-out documents.
    """
    before, after = dict.fromkeys(row["checkpoint"] for row in rows)
    domain = [row for row in rows if row["file"] == held_out]
    old = [row for row in rows if row["file"] != held_out]
    gain = _change(domain, before, after)
    order = relative_change(column(domain, after, "nats"), column(domain, after, "shuffled_nats"))
    lines = [f"domain       {show_change(gain)} bits per word in held-out documents"]
    is_worth_it = gain.high is not None and gain.high < -_MIN_CHANGE
    if not is_worth_it:
        lines[0] += ": no gain"
    if order.low is None or order.low < _MIN_CHANGE:
        is_worth_it = False
        lines.append(
            f"order        {show_change(order)} bits when their words are shuffled: little is "
            "learned of these documents but which words are frequent"
        )
    if old:
        lines.append(f"old text     {show_change(_change(old, before, after))} bits per word")
    else:
        lines.append("old text     not measured: --general_file names some")
    if task is not None:
        change = task.change
        text = f"task         accuracy {task.before:.3f} before, {task.after:.3f} after"
        if change.low is not None:
            text += f" ({change.mean:+.3f}, {change.low:+.3f} to {change.high:+.3f})"
        if change.low is None or change.low <= 0:
            is_worth_it = False
            text += ": no gain that this development set can show"
        lines.append(text)
    return Verdict(is_worth_it, lines)


def _change(rows: Sequence[dict], before: str, after: str) -> Difference:
    return relative_change(column(rows, before, "nats"), column(rows, after, "nats"))
