"""The numbers of a report, read from the files that a run leaves in its directory.

`read` makes them: the page and TensorBoard show them. `plot.py` draws the same `curves` and the
same `selection`; `compare` shows the same `final_evaluation`.
"""

import collections
import dataclasses
import math
import os
from collections.abc import Iterable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_tf import charts
from bert_tf.evaluation import conlleval
from bert_tf.evaluation.classification import confusion_matrix
from bert_tf.report import intervals
from bert_tf.report.intervals import Score
from bert_tf.report.own_results import note_of_results
from bert_tf.training import run_directory
from data_gen.labeled import tag_schemes
from data_gen.labeled.tag_schemes import Chunks
from modeling.checkpoints.companion_files import (
    EVAL_RESULTS,
    RESULT_FILE,
    SAMPLES_FILE,
    SELECTION_FILE,
    TASK_FILE,
)

# Written by the tasks: predictions for the development set with the right answers.
CLASSIFICATION_FILE = "eval_predictions.jsonl"
TAGS_FILE = "dev_predictions.txt"
ANSWERS_FILE = "answers.jsonl"
# Fields of a run in selection.json, beside its main metric.
_RUN_FIELDS = {
    "learning_rate": float,
    "train_batch_size": int,
    "num_train_epochs": float,
    "seed": int,
    "degenerate": bool | None,
    "others": dict[str, float | str | None] | None,
}
_MOST_ERRORS = 20
_NUM_BINS = 10
# The interval of macro F1 takes time with the square of the number of classes.
_MOST_CLASSES = 50
_QUESTION_WORDS = ("who", "what", "when", "where", "why", "which", "how")
# Words of a question: up to so many, for the groups by length.
_LENGTHS = (5, 10, 15, 20)


@dataclasses.dataclass(frozen=True)
class Confusion:
    """Matrix int [C, C] of true classes in rows and predicted ones in columns, and their names."""

    names: list[str]
    matrix: np.ndarray


@dataclasses.dataclass(frozen=True)
class Table:
    """A table: its title, the names of its columns, its rows."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple]


@dataclasses.dataclass(frozen=True)
class Bin:
    """Examples whose predicted probability is similar.

    Attributes:
      probability: mean probability of the predicted class.
      accuracy: share of them that are right.
      count: number of them.
    """

    probability: float
    accuracy: float
    count: int


@dataclasses.dataclass
class Numbers:
    """All that a report shows.

    Attributes:
      name: the run's directory, without its parents.
      facts: name → text: task, model, start weights, command, devices, time.
      notes: lines on the data, which the run prints and keeps in no file.
      curves: metric → split ("train", "eval") → [(step, value)].
      scores: with intervals.
      warning: why the run has learned nothing; "" if it has.
      confusion, reliability: of classes or types of chunks; None and empty for other tasks.
      lines: title → name of a line → points (x, y), e.g. scores by threshold.
      tables: of types, groups of questions, errors, filled masks.
    """

    name: str
    facts: dict[str, str]
    notes: list[str] = dataclasses.field(default_factory=list)
    curves: dict[str, dict[str, list]] = dataclasses.field(default_factory=dict)
    scores: list[Score] = dataclasses.field(default_factory=list)
    warning: str = ""
    confusion: Confusion | None = None
    reliability: list[Bin] = dataclasses.field(default_factory=list)
    lines: dict[str, dict[str, list]] = dataclasses.field(default_factory=dict)
    tables: list[Table] = dataclasses.field(default_factory=list)


def read(directory: str) -> Numbers:
    """Returns the numbers of a run; parts whose files are not there are empty.

    Raises:
      UserError: a file is damaged.
    """
    numbers = Numbers(os.path.basename(os.path.abspath(directory)), _facts(directory))
    for metric, splits in curves(run_directory.read_metrics(directory)).items():
        if charts.find(metric).group is not None:
            numbers.curves[metric] = splits
    _add_selection(numbers, selection(directory))
    _add_results(numbers, final_evaluation(directory))
    for file_name, add in (
        (CLASSIFICATION_FILE, _add_classes),
        (ANSWERS_FILE, _add_answers),
        (SAMPLES_FILE, _add_samples),
    ):
        path = os.path.join(directory, file_name)
        if files.exists(path) and note_of_results(directory, file_name) is not None:
            add(numbers, json_files.read_objects(path, {}))
    path = os.path.join(directory, TAGS_FILE)
    if files.exists(path) and note_of_results(directory, TAGS_FILE) is not None:
        _add_tags(numbers, files.read_text(path))
    return numbers


def _facts(directory: str) -> dict[str, str]:
    task = json_files.read_object(os.path.join(directory, TASK_FILE))
    facts = {"task": str(task.get("kind", "pre-training")).replace("_", " ")}
    flags = run_directory.read_flags(directory)
    start = flags.get("init_checkpoint")
    facts["start"] = "random weights" if start is None else str(start)
    starts = run_directory.read_starts(directory)
    if starts:
        facts["command"] = starts[-1]["command"]
        facts["devices"] = str(starts[-1].get("devices", ""))
        facts["begun"] = str(starts[-1].get("time", ""))
    return facts


def final_evaluation(directory: str) -> dict:
    """Returns the metrics of the evaluation at the end of a run, of its best weights; empty if
    there was none, or if the file is of another run."""
    if note_of_results(directory, EVAL_RESULTS) is None:
        return {}
    return json_files.read_object(os.path.join(directory, EVAL_RESULTS))


def last_evaluation(directory: str) -> dict:
    """Returns the metrics of the final evaluation, else of the last one while training; empty if a
    run was never evaluated."""
    results = final_evaluation(directory)
    if results:
        return results
    # A run of a sweep without --do_eval has its scores in this file only.
    path = os.path.join(directory, RESULT_FILE)
    metrics = json_files.read_object(path, {"metrics": dict | None}).get("metrics")
    if metrics:
        return metrics
    # Steps increase.
    for line in reversed(run_directory.read_metrics(directory)):
        if line.pop("split") == "eval":
            return line
    return {}


def selection(directory: str) -> dict:
    """Returns the runs of a sweep, as `selection.json` has them; empty if the run is none.

    Raises:
      UserError: a field is missing or of another type.
    """
    path = os.path.join(directory, SELECTION_FILE)
    content = json_files.read_object(path, {"main_metric": str})
    if content:
        fields = {**_RUN_FIELDS, "metrics": {content["main_metric"]: float | None}}
        json_files.check_object(content, {"best": fields, "runs": [fields]}, path)
    return content


def _add_results(numbers: Numbers, results: dict) -> None:
    """Adds the metrics of the last evaluation."""
    numbers.warning = results.pop("degenerate", "")
    if results:
        rows = sorted(results.items())
        numbers.tables.append(Table("Last evaluation", ("metric", "value"), rows))


def _add_selection(numbers: Numbers, selection: dict) -> None:
    """Adds the runs of a sweep, the best first."""
    metric = selection.get("main_metric")
    if metric is None:
        return
    rows = []
    for run in selection["runs"]:
        score = run["metrics"].get(metric)
        setting = (run["learning_rate"], run["train_batch_size"], run["num_train_epochs"])
        rows.append((run["directory"], *setting, run["seed"], score))
    rows.sort(key=lambda row: -math.inf if row[-1] is None else row[-1], reverse=True)
    header = ("run", "learning rate", "batch", "epochs", "seed", metric)
    numbers.tables.append(Table("Runs", header, rows))


def curves(reports: Iterable[Mapping]) -> dict[str, dict[str, list]]:
    """Returns metric → split → [(step, value)] of the lines of `metrics.jsonl`."""
    by_metric: dict[str, dict[str, list]] = {}
    for report in reports:
        for metric, value in report.items():
            if isinstance(value, int | float) and metric != "step":
                points = by_metric.setdefault(metric, {}).setdefault(report["split"], [])
                points.append((report["step"], float(value)))
    return by_metric


def _add_classes(numbers: Numbers, rows: list[dict]) -> None:
    """Adds what predictions show, by the kind of their true labels."""
    if rows and "true_score" in rows[0]:
        _add_scores(numbers, rows)
    elif rows and "true_labels" in rows[0]:
        num_right = 0
        for row in rows:
            num_right += sorted(row["true_labels"]) == sorted(row["labels"])
        numbers.scores.append(intervals.share("subset_accuracy", num_right, len(rows)))
    elif rows and "true_label" in rows[0]:
        _add_labels(numbers, rows)


def _add_scores(numbers: Numbers, rows: list[dict]) -> None:
    scores = _column(rows, "score")
    true_scores = _column(rows, "true_score")
    numbers.scores.append(intervals.correlation("pearson", scores, true_scores))
    errors = []
    for index in np.argsort(-np.abs(scores - true_scores), kind="stable")[:_MOST_ERRORS]:
        row = rows[index]
        errors.append((row["id"], _text(row), row["true_score"], row["score"]))
    header = ("row", "text", "true score", "score")
    numbers.tables.append(Table("Largest errors", header, errors))


def _add_labels(numbers: Numbers, rows: list[dict]) -> None:
    true_labels = _column(rows, "true_label")
    labels = _column(rows, "label")
    # Lines of many classes have the most probable ones only.
    names, classes = np.unique(np.concatenate([true_labels, labels]), return_inverse=True)
    true, predicted = np.split(classes, 2)
    is_right = true == predicted
    matrix = confusion_matrix(predicted, true, len(names))
    most_frequent = int(matrix.sum(axis=1).max())
    numbers.scores.append(
        intervals.share("accuracy", int(is_right.sum()), len(rows), most_frequent / len(rows))
    )
    if len(names) <= _MOST_CLASSES:
        numbers.scores.append(intervals.macro_f1(matrix))
    numbers.confusion = Confusion(names.tolist(), matrix)
    probabilities = np.zeros(len(rows))
    for index, row in enumerate(rows):
        probabilities[index] = row["probabilities"][row["label"]]
    numbers.reliability = reliability(probabilities, is_right)
    errors = []
    for index in np.argsort(np.where(is_right, 1, -probabilities), kind="stable")[:_MOST_ERRORS]:
        if not is_right[index]:
            row = rows[index]
            probability = float(probabilities[index])
            errors.append((row["id"], _text(row), row["true_label"], row["label"], probability))
    header = ("row", "text", "true", "predicted", "probability")
    numbers.tables.append(Table("Most confident errors", header, errors))


def _column(rows: list[dict], name: str) -> np.ndarray:
    """Returns the values of a field in all rows."""
    return np.array([row[name] for row in rows])


def reliability(probabilities: np.ndarray, is_right: np.ndarray) -> list[Bin]:
    """Returns ten bins of equal width, without the empty ones, of predicted probabilities [E]."""
    numbers_of_bins = np.minimum((probabilities * _NUM_BINS).astype(int), _NUM_BINS - 1)
    bins = []
    for number in np.unique(numbers_of_bins):
        inside = numbers_of_bins == number
        bins.append(
            Bin(
                float(probabilities[inside].mean()),
                float(is_right[inside].mean()),
                int(inside.sum()),
            )
        )
    return bins


def _text(row: Mapping) -> str:
    """Returns the texts of an example, as its line of predictions has them."""
    parts = []
    for name in ("text_a", "text_b", "context", "question"):
        if row.get(name):
            parts.append(str(row[name]))
    return " / ".join(parts)


def _add_tags(numbers: Numbers, text: str) -> None:
    """Adds what columns of word, true tag and predicted tag show."""
    lengths = []
    tags: list[list[str]] = []
    for sentence in text.strip("\n").split("\n\n"):
        lines = sentence.split("\n")
        lengths.append(len(lines))
        for line in lines:
            tags.append(line.rsplit(" ", 2)[1:])
    # The file may have no true tags to compare with.
    if any(len(pair) != 2 for pair in tags):
        return
    names, classes = np.unique(np.array(tags), return_inverse=True)
    true, predicted = classes.reshape(-1, 2).T
    num_right = int((true == predicted).sum())
    most_frequent = int(np.bincount(true).max())
    accuracy = intervals.share("accuracy", num_right, len(true), most_frequent / len(true))
    parsed = tag_schemes.parse_names(names.tolist())
    if parsed is None:
        numbers.scores.append(accuracy)
        pairs = collections.Counter(tuple(pair) for pair in tags if pair[0] != pair[1])
        rows = [(*pair, count) for pair, count in pairs.most_common(_MOST_ERRORS)]
        header = ("true", "predicted", "words")
        numbers.tables.append(Table("Most frequent confusions", header, rows))
        return
    gold = tag_schemes.find_chunks(true, parsed, np.array(lengths))
    guess = tag_schemes.find_chunks(predicted, parsed, np.array(lengths))
    numbers.scores += [_chunk_score(gold, guess, np.cumsum(lengths)), accuracy]
    counts = conlleval.count_chunks(gold, guess, num_right)
    types = []
    for name in sorted({*counts.gold, *counts.guessed}):
        precision, recall, f1 = counts.of_type(name)
        types.append((name, precision / 100, recall / 100, f1 / 100, counts.gold[name]))
    header = ("type", "precision", "recall", "F1", "chunks")
    numbers.tables.append(Table("Types", header, types))
    matrix, type_names = conlleval.type_confusion(gold, guess)
    numbers.confusion = Confusion(type_names, matrix)


def _chunk_score(gold: Chunks, guess: Chunks, ends: np.ndarray) -> Score:
    """Returns F1 of chunks with an interval over sentences, which end before the words `ends`."""
    counts = np.zeros((3, len(ends)), np.int64)
    gold_spans = conlleval.named_spans(gold)
    guess_spans = conlleval.named_spans(guess)
    for row, spans in enumerate((gold_spans & guess_spans, guess_spans, gold_spans)):
        for first, _, _ in spans:
            counts[row, np.searchsorted(ends, first, side="right")] += 1
    return intervals.f1_of_counts(*counts)


def _add_answers(numbers: Numbers, rows: list[dict]) -> None:
    """Adds what answers to questions show, if the right ones are known."""
    # In version 1.1 a question without a right answer is not scored.
    rows = [row for row in rows if "f1" in row]
    if not rows:
        return
    exact = _column(rows, "exact")
    f1 = _column(rows, "f1")
    # Always "no answer" is right where there is none.
    baseline = 1 - float(_column(rows, "answerable").mean())
    numbers.scores.append(intervals.share("exact", int(exact.sum()), len(rows), baseline))
    numbers.scores.append(intervals.mean("f1", f1, baseline))
    by_word: dict[str, list[int]] = {}
    by_length: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        words = row["question"].lower().split()
        by_word.setdefault(_question_word(words), []).append(index)
        by_length.setdefault(_length_group(len(words)), []).append(index)
    for title, groups in (("By question word", by_word), ("By words of the question", by_length)):
        table = Table(title, ("group", "exact", "F1", "questions"), [])
        for group, indices in sorted(groups.items()):
            means = (float(exact[indices].mean()), float(f1[indices].mean()))
            table.rows.append((group, *means, len(indices)))
        numbers.tables.append(table)
    if "null_odds" in rows[0]:
        numbers.lines["Scores by threshold of “no answer”"] = _threshold_curve(rows)
    errors = []
    for index in np.argsort(-_column(rows, "probability"), kind="stable"):
        row = rows[index]
        if not row["exact"] and len(errors) < _MOST_ERRORS:
            texts = (row["question"], row["right"], row["text"])
            errors.append((row["id"], *texts, row["probability"]))
    header = ("question", "text", "right answer", "answer", "probability")
    numbers.tables.append(Table("Most confident errors", header, errors))


def _question_word(words: list[str]) -> str:
    for word in _QUESTION_WORDS:
        if word in words:
            return word
    return "other"


def _length_group(num_words: int) -> str:
    for longest in _LENGTHS:
        if num_words <= longest:
            return f"up to {longest}"
    return f"over {_LENGTHS[-1]}"


def _threshold_curve(rows: list[dict]) -> dict[str, list]:
    """Returns exact match and F1 if questions with null odds above a threshold get no answer."""
    odds = _column(rows, "null_odds")
    # Giving no answer is right if there is none.
    without_answer = 1 - _column(rows, "answerable")
    curve: dict[str, list] = {"exact": [], "F1": []}
    for threshold in np.quantile(odds, np.linspace(0, 1, 41)):
        for name, field in (("exact", "span_exact"), ("F1", "span_f1")):
            scores = np.where(odds <= threshold, _column(rows, field), without_answer)
            curve[name].append((float(threshold), float(scores.mean())))
    return curve


def _add_samples(numbers: Numbers, rows: list[dict]) -> None:
    """Adds filled masks of pre-training."""
    header = ("text", "true", "predicted", "probability")
    table = Table("Filled masks", header, [])
    for row in rows:
        table.rows.append((row["text"], row["true"], row["predicted"], row["probability"]))
    numbers.tables.append(table)
