"""The numbers of a report, read from the files that a run leaves in its directory.

`read` is the one function that makes them: the page shows them, and so do other readers of a run.
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
from bert_tf.training import run_directory
from data_gen.labeled import tag_schemes
from modeling.checkpoints.companion_files import INPUTS_FILE, RUN_ID, SELECTION_FILE, TASK_FILE

# Written by the tasks: predictions for the development set with the right answers.
CLASSIFICATION_FILE = "eval_predictions.jsonl"
TAGS_FILE = "dev_predictions.txt"
ANSWERS_FILE = "answers.jsonl"
SAMPLES_FILE = "eval_samples.jsonl"
RESULTS_FILE = "eval_results.json"
_MOST_ERRORS = 20
_NUM_BINS = 10
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
    numbers.curves = curves(run_directory.read_metrics(directory))
    _add_selection(numbers, json_files.read_object(os.path.join(directory, SELECTION_FILE)))
    if not _has_results_of_this_run(directory):
        return numbers
    _add_results(numbers, json_files.read_object(os.path.join(directory, RESULTS_FILE)))
    for file_name, add in (
        (CLASSIFICATION_FILE, _add_classes),
        (ANSWERS_FILE, _add_answers),
        (SAMPLES_FILE, _add_samples),
    ):
        path = os.path.join(directory, file_name)
        if files.exists(path):
            add(numbers, json_files.read_objects(path, {}))
    path = os.path.join(directory, TAGS_FILE)
    if files.exists(path):
        _add_tags(numbers, files.read_text(path))
    return numbers


def _facts(directory: str) -> dict[str, str]:
    task = json_files.read_object(os.path.join(directory, TASK_FILE))
    facts = {"task": str(task.get("kind", "pre-training")).replace("_", " ")}
    flags = run_directory.read_flags(directory)
    facts["start"] = str(flags.get("init_checkpoint") or "random weights")
    starts = run_directory.read_starts(directory)
    if starts:
        facts["command"] = starts[-1]["command"]
        facts["devices"] = str(starts[-1].get("devices", ""))
        facts["begun"] = str(starts[-1].get("time", ""))
    return facts


def _has_results_of_this_run(directory: str) -> bool:
    """Whether the results in a directory have the id of its run; earlier versions have none."""
    inputs = json_files.read_object(os.path.join(directory, INPUTS_FILE))
    run_id = inputs.get(RUN_ID)
    noted = inputs.get("results") or {}
    return not run_id or any(result.get(RUN_ID) == run_id for result in noted.values())


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
    """Returns metric → split → [(step, value)] of the metrics that have a chart."""
    found: dict[str, dict[str, list]] = {}
    for report in reports:
        for metric, value in report.items():
            is_number = isinstance(value, int | float) and metric != "step"
            if is_number and charts.find(metric).group is not None:
                points = found.setdefault(metric, {}).setdefault(report["split"], [])
                points.append((report["step"], float(value)))
    return found


def _add_classes(numbers: Numbers, rows: list[dict]) -> None:
    """Adds what predictions of classes or scores with their true labels show."""
    rows = [row for row in rows if "true_label" in row or "true_score" in row]
    if not rows:
        return
    if "score" in rows[0]:
        scores = np.array([row["score"] for row in rows])
        true_scores = np.array([row["true_score"] for row in rows])
        numbers.scores.append(intervals.correlation("pearson", scores, true_scores))
        order = np.argsort(-np.abs(scores - true_scores), kind="stable")[:_MOST_ERRORS]
        errors = [(rows[i]["id"], _text(rows[i]), true_scores[i], scores[i]) for i in order]
        numbers.tables.append(
            Table("Largest errors", ("row", "text", "true score", "score"), errors)
        )
        return
    if isinstance(rows[0]["true_label"], list):
        exact = [sorted(row["true_label"]) == sorted(row["labels"]) for row in rows]
        numbers.scores.append(intervals.share("subset_accuracy", sum(exact), len(exact)))
        return
    names = list(rows[0]["probabilities"])
    true = np.array([names.index(row["true_label"]) for row in rows])
    predicted = np.array([names.index(row["label"]) for row in rows])
    probabilities = np.array([row["probabilities"][row["label"]] for row in rows])
    is_right = true == predicted
    matrix = confusion_matrix(predicted, true, len(names))
    most_frequent = matrix.sum(axis=1).max() / len(rows)
    numbers.scores.append(
        intervals.share("accuracy", int(is_right.sum()), len(rows), float(most_frequent))
    )
    numbers.scores.append(intervals.macro_f1(matrix))
    numbers.confusion = Confusion(names, matrix)
    numbers.reliability = reliability(probabilities, is_right)
    errors = []
    for index in np.argsort(-probabilities, kind="stable"):
        if not is_right[index] and len(errors) < _MOST_ERRORS:
            row = rows[index]
            errors.append(
                (row["id"], _text(row), row["true_label"], row["label"], probabilities[index])
            )
    header = ("row", "text", "true", "predicted", "probability")
    numbers.tables.append(Table("Most confident errors", header, errors))


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
    sentences = [block.split("\n") for block in text.strip("\n").split("\n\n") if block]
    rows = [line.rsplit(" ", 2) for sentence in sentences for line in sentence]
    if not rows or any(len(row) != 3 for row in rows):
        # Without true tags there is nothing to compare.
        return
    true, predicted = [row[1] for row in rows], [row[2] for row in rows]
    is_right = [a == b for a, b in zip(true, predicted, strict=True)]
    most_frequent = collections.Counter(true).most_common(1)[0][1] / len(true)
    numbers.scores.append(intervals.share("accuracy", sum(is_right), len(is_right), most_frequent))
    lengths = np.array([len(sentence) for sentence in sentences])
    tag_names = sorted({*true, *predicted})
    parsed = tag_schemes.parse_names(tag_names)
    if parsed is None:
        _add_tag_confusions(numbers, true, predicted)
        return
    chunks = []
    for tags in (true, predicted):
        ids = np.array([tag_names.index(tag) for tag in tags])
        chunks.append(tag_schemes.find_chunks(ids, parsed, lengths))
    counts = conlleval.count_chunks(chunks[0], chunks[1], sum(is_right))
    numbers.scores.insert(0, _chunk_score(chunks, lengths))
    types = []
    for name in sorted({*counts.gold, *counts.guessed}):
        precision, recall, f1 = counts.of_type(name)
        types.append((name, precision / 100, recall / 100, f1 / 100, counts.gold[name]))
    header = ("type", "precision", "recall", "F1", "chunks")
    numbers.tables.append(Table("Types", header, types))
    matrix, names = conlleval.type_confusion(*chunks)
    numbers.confusion = Confusion(names, matrix)


def _chunk_score(chunks: list, lengths: np.ndarray) -> Score:
    """Returns F1 of chunks with an interval over sentences."""
    ends = np.cumsum(lengths)
    spans = []
    for side in chunks:
        spans.append({tuple(span) for span in _spans(side)})
    counts = np.zeros((3, len(lengths)), np.int64)
    for row, part in enumerate((spans[0] & spans[1], spans[1], spans[0])):
        for first, _, _ in part:
            counts[row, np.searchsorted(ends, first, side="right")] += 1
    return intervals.f1_of_counts(*counts)


def _spans(chunks) -> list[tuple[int, int, str]]:
    return [(first, end, chunks.type_names[kind]) for first, end, kind in chunks.spans().tolist()]


def _add_tag_confusions(numbers: Numbers, true: list[str], predicted: list[str]) -> None:
    pairs = collections.Counter(zip(true, predicted, strict=True))
    rows = [(*pair, count) for pair, count in pairs.most_common() if pair[0] != pair[1]]
    header = ("true", "predicted", "words")
    numbers.tables.append(Table("Most frequent confusions", header, rows[:_MOST_ERRORS]))


def _add_answers(numbers: Numbers, rows: list[dict]) -> None:
    """Adds what answers to questions show, if the right ones are known."""
    rows = [row for row in rows if "f1" in row]
    if not rows:
        return
    exact = [row["exact"] for row in rows]
    f1 = [row["f1"] for row in rows]
    unanswerable = [not row["answerable"] for row in rows]
    baseline = sum(unanswerable) / len(rows)
    numbers.scores.append(intervals.share("exact", sum(exact), len(exact), baseline))
    numbers.scores.append(intervals.mean("f1", f1, baseline))
    by_word = [_question_word(row["question"]) for row in rows]
    by_length = [_length_group(len(row["question"].split())) for row in rows]
    for title, groups in (("By question word", by_word), ("By words of the question", by_length)):
        numbers.tables.append(_grouped(title, groups, rows))
    if "null_odds" in rows[0]:
        numbers.lines["Scores by threshold of “no answer”"] = _threshold_curve(rows)
    errors = sorted((row for row in rows if not row["exact"]), key=lambda row: -row["probability"])
    numbers.tables.append(
        Table(
            "Most confident errors",
            ("question", "text", "right answer", "answer", "probability"),
            [
                (row["id"], row["question"], row["right"], row["text"], row["probability"])
                for row in errors[:_MOST_ERRORS]
            ],
        )
    )


def _question_word(question: str) -> str:
    words = question.lower().split()
    for word in _QUESTION_WORDS:
        if word in words:
            return word
    return "other"


def _length_group(num_words: int) -> str:
    for longest in _LENGTHS:
        if num_words <= longest:
            return f"up to {longest}"
    return f"over {_LENGTHS[-1]}"


def _grouped(title: str, groups: list[str], rows: list[dict]) -> Table:
    members: dict[str, list[dict]] = {}
    for group, row in zip(groups, rows, strict=True):
        members.setdefault(group, []).append(row)
    lines = []
    for group, part in sorted(members.items()):
        exact = float(np.mean([row["exact"] for row in part]))
        f1 = float(np.mean([row["f1"] for row in part]))
        lines.append((group, exact, f1, len(part)))
    return Table(title, ("group", "exact", "F1", "questions"), lines)


def _threshold_curve(rows: list[dict]) -> dict[str, list]:
    """Returns exact match and F1 if questions with null odds above a threshold get no answer."""
    odds = np.array([row["null_odds"] for row in rows])
    is_answerable = np.array([row["answerable"] for row in rows])
    curve: dict[str, list] = {"exact": [], "F1": []}
    for threshold in np.quantile(odds, np.linspace(0, 1, 41)):
        is_answered = odds <= threshold
        for name, key in (("exact", "span_exact"), ("F1", "span_f1")):
            values = np.array([row[key] for row in rows], float)
            scores = np.where(is_answered, values, ~is_answerable)
            curve[name].append((float(threshold), float(scores.mean())))
    return curve


def _add_samples(numbers: Numbers, rows: list[dict]) -> None:
    """Adds filled masks of pre-training."""
    header = ("text", "true", "predicted", "probability")
    samples = [tuple(row[name] for name in header) for row in rows]
    numbers.tables.append(Table("Filled masks", header, samples))
