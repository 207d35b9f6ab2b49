"""The official GLUE files: which tasks there are, where their files are found and how they are
read; and XNLI's.

    task = find_task("MRPC")
    train = read_split(task, "glue", "train")     # glue/MRPC/train.tsv or glue/train.tsv

Input: the folder of the official download, or of one of its tasks. Output: `LabelledTexts`, for
`pair_features.py`.

What the files are like, and what is made of it: quotation marks are literal; texts may be empty;
columns are found by the header, so that MNLI's 12 columns (train), 16 (dev) and 10 (test) and every
later edition of the data work; a file without its header is read by the official order of its
columns, as CoLA's training and development sets always are. Two dozen rows of QQP's training set,
and two of its development set, are cut up by line breaks inside questions: such rows are left out
and counted.
"""

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import unknown_choice
from data_gen.labelled.rows import BadRows
from data_gen.labelled.tables import LabelledTexts, read_named_columns, read_table, shown

# More misfits than this share of the rows are no slips of the pen.
_MOST_SKIPPED = 0.01
_ID_COLUMNS = ("index", "id")


class Columns(NamedTuple):
    """Names of the columns of a file: the text or the first of a pair, the second, the class or
    score."""

    text_a: str
    text_b: str | None = None
    label: str | None = None


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """A task of GLUE.

    Attributes:
      folder: what the official download calls its folder.
      labels: names of the classes, in the order of their numbers, which is the original's; none for
        regression.
      headers: split → names of all columns, in the official order. The file of a split is called
        `<split>.tsv`.
      has_misfits: rows with a wrong number of fields are known in the official training and
        development files.
    """

    name: str
    folder: str
    labels: tuple[str, ...]
    columns: Columns
    headers: Mapping[str, tuple[str, ...]]
    regression: bool = False
    has_misfits: bool = False
    other_folders: tuple[str, ...] = ()


def _headers(**headers: str) -> dict[str, tuple[str, ...]]:
    """Split → columns; where no "dev" is given and there is a "test", it has those of "train"."""
    if "test" in headers:
        headers = {"train": headers["train"], "dev": headers["train"], "test": headers["test"]}
    return {split: tuple(header.split(",")) for split, header in headers.items()}


_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")
_SENTENCES = Columns("sentence1", "sentence2", "label")
_MNLI_TEST = (
    "index,promptID,pairID,genre,sentence1_binary_parse,sentence2_binary_parse,sentence1_parse,"
    "sentence2_parse,sentence1,sentence2"
)
_MNLI_TRAIN = f"{_MNLI_TEST},label1,gold_label"
_MNLI_DEV = f"{_MNLI_TEST},label1,label2,label3,label4,label5,gold_label"
_STS_B_TEST = "index,genre,filename,year,old_index,source1,source2,sentence1,sentence2"

GLUE_TASKS: dict[str, GlueTask] = {
    task.name: task
    for task in (
        GlueTask(
            "cola",
            "CoLA",
            _BINARY,
            Columns("sentence", None, "label"),
            # The names of a header that the official training and development files lack.
            _headers(train="source,label,original_label,sentence", test="index,sentence"),
        ),
        GlueTask(
            "sst-2",
            "SST-2",
            _BINARY,
            Columns("sentence", None, "label"),
            _headers(train="sentence,label", test="index,sentence"),
        ),
        GlueTask(
            "mrpc",
            "MRPC",
            _BINARY,
            Columns("#1 String", "#2 String", "Quality"),
            _headers(
                train="Quality,#1 ID,#2 ID,#1 String,#2 String",
                test="index,#1 ID,#2 ID,#1 String,#2 String",
            ),
        ),
        GlueTask(
            "sts-b",
            "STS-B",
            (),
            Columns("sentence1", "sentence2", "score"),
            _headers(train=f"{_STS_B_TEST},score", test=_STS_B_TEST),
            regression=True,
        ),
        GlueTask(
            "qqp",
            "QQP",
            _BINARY,
            Columns("question1", "question2", "is_duplicate"),
            _headers(
                train="id,qid1,qid2,question1,question2,is_duplicate", test="id,question1,question2"
            ),
            has_misfits=True,
        ),
        GlueTask(
            "mnli",
            "MNLI",
            _NLI,
            Columns("sentence1", "sentence2", "gold_label"),
            _headers(
                train=_MNLI_TRAIN,
                dev_matched=_MNLI_DEV,
                dev_mismatched=_MNLI_DEV,
                test_matched=_MNLI_TEST,
                test_mismatched=_MNLI_TEST,
            ),
        ),
        GlueTask(
            "qnli",
            "QNLI",
            _ENTAILMENT,
            Columns("question", "sentence", "label"),
            _headers(train="index,question,sentence,label", test="index,question,sentence"),
        ),
        GlueTask(
            "rte",
            "RTE",
            _ENTAILMENT,
            _SENTENCES,
            _headers(train="index,sentence1,sentence2,label", test="index,sentence1,sentence2"),
        ),
        GlueTask(
            "wnli",
            "WNLI",
            _BINARY,
            _SENTENCES,
            _headers(train="index,sentence1,sentence2,label", test="index,sentence1,sentence2"),
        ),
        # The diagnostic set: answered by a model trained on MNLI.
        GlueTask(
            "ax",
            "AX",
            _NLI,
            Columns("sentence1", "sentence2"),
            _headers(diagnostic="index,sentence1,sentence2"),
            other_folders=("diagnostic",),
        ),
    )
}


def find_task(name: str, others: Sequence[str] = ()) -> GlueTask:
    """The task of that name; case, hyphens and underscores do not count ("SST-2", "sst_2" and
    "sst2" are one).

    Raises `UserError` where there is none, with the nearest of these and of `others`, tasks that
    are none of GLUE's.
    """
    wanted = re.sub("[-_ ]", "", name.lower())
    for task in GLUE_TASKS.values():
        if task.name.replace("-", "") == wanted:
            return task
    raise unknown_choice("task_name", name, (*GLUE_TASKS, *others), 0.5)


def dev_splits(task: GlueTask) -> tuple[str, ...]:
    """The labelled splits to evaluate on: two for MNLI, none for the diagnostic set."""
    return tuple(split for split in task.headers if split.startswith("dev"))


def test_splits(task: GlueTask) -> tuple[str, ...]:
    """The splits without labels, to predict: two for MNLI."""
    return tuple(split for split in task.headers if not split.startswith(("train", "dev")))


def read_split(
    task: GlueTask,
    data_dir: str,
    split: str,
    path: str | None = None,
    skip_bad_rows: bool | None = None,
) -> LabelledTexts:
    """Reads one split of a task.

    Args:
      split: "train", "dev", "test"; for MNLI "dev_matched", "dev_mismatched", "test_matched",
        "test_mismatched" instead of the last two; for the diagnostic set "diagnostic" only.
      path: another file of the same columns; None for the official one.

    Raises:
      UserError: the task has no such split, its file is not there, or it names file and line: no
        examples, neither the official header nor as many columns, a row with another number of
        fields than the first, not UTF-8, an unknown label, a score that is no finite number.
    """
    if split not in task.headers:
        raise UserError(f"{task.name} has no split {split!r}: it has {', '.join(task.headers)}")
    path = path or find_path(task, data_dir, split)
    if path is None:
        raise UserError(
            f"--data_dir: {data_dir} holds neither {task.folder}/{split}.tsv nor {split}.tsv"
        )
    labelled = split not in test_splits(task)
    columns = task.columns if labelled else task.columns._replace(label=None)
    needed = [name for name in columns if name is not None]
    found: list[str] = []
    bad = BadRows(path, skip_bad_rows)

    def locate(first_row: list[str]) -> tuple[list[int], bool]:
        header, official = [name.strip() for name in first_row], list(task.headers[split])
        is_there = set(needed) <= set(header)
        if not is_there and (len(header) != len(official) or set(header) & set(official)):
            raise UserError(
                f"{path}:1: this is neither the header of {task.name} nor a row of it: the columns "
                f"{', '.join(map(shown, needed))} are expected, or {len(official)} columns without a header; "
                f"found {len(header)}: {', '.join(map(shown, header[: len(official)]))}"
            )
        header = header if is_there else official
        found[:] = needed + [name for name in _ID_COLUMNS if name in header][:1]
        return [header.index(name) for name in found], is_there

    table = read_table(bad, "data_dir", "tsv", locate, allow_longer=not labelled)
    bad.skip = (
        bad.skip
        or task.has_misfits
        and labelled
        and len(bad.faults) <= _MOST_SKIPPED * len(table.lines)
    )
    by_name = dict(zip(found, table.columns, strict=True))
    text_a, text_b = by_name[task.columns.text_a], by_name.get(task.columns.text_b or "")
    labels = None
    if labelled:
        values = by_name[task.columns.label or ""]
        labels = (
            table.scores(values)
            if task.regression
            else table.label_numbers(table.label_sets(values), task.labels)
        )
    ids = next((by_name[name] for name in _ID_COLUMNS if name in by_name), None) or table.numbers()
    return table.resolve(LabelledTexts(path, ids, text_a, text_b, labels, task.labels))


def find_path(task: GlueTask, data_dir: str, split: str) -> str | None:
    """The official file of a split, in the task's folder or directly below `data_dir`; None where
    it is not there."""
    data_dir = data_dir if files.is_remote(data_dir) else os.path.expanduser(data_dir)
    # The task's own folder first: it can't be another task's.
    return next(
        filter(
            files.exists,
            (
                os.path.join(data_dir, folder, f"{split}.tsv")
                for folder in (task.folder, *task.other_folders, "")
            ),
        ),
        None,
    )


# XNLI (arXiv 1809.05053): natural language inference in 15 languages, the original's fourth task.
# Its folder has the contents of XNLI-MT-1.0.zip and XNLI-1.0.zip, with or without their own
# folders: training sets translated by a machine, a file for each language, and development and test
# sets translated by people, all languages in one file.
XNLI = "xnli"
XNLI_LABELS = ("contradiction", "entailment", "neutral")
# The only one that the original reads.
XNLI_LANGUAGE = "zh"
# What the training files call the first class.
_OTHER_NAMES = {"contradictory": "contradiction"}


def read_xnli(
    data_dir: str,
    split: str,
    languages: Sequence[str],
    labels: Sequence[str],
    skip_bad_rows: bool | None = None,
) -> dict[str, LabelledTexts]:
    """The examples of languages.

    Args:
      split: "train", "dev" or "test"; all have labels.
      languages: codes such as "zh", for training one; ("all",) for all that the file of the other
        splits has.

    Returns:
      language → its examples, in the order of `languages`.

    Raises:
      UserError: a file, a column or a language is not there; or, with file and line, a row with
        another number of fields, bytes that are not UTF-8, an unknown label.
    """
    name, folders = f"xnli.{split}.tsv", ("", "XNLI-1.0")
    columns: tuple[str, ...] = ("sentence1", "sentence2", "gold_label", "language")
    if split == "train":
        name, folders = (
            f"multinli.train.{languages[0]}.tsv",
            ("multinli", os.path.join("XNLI-MT-1.0", "multinli")),
        )
        columns = ("premise", "hypo", "label")
    paths = [
        os.path.join(
            data_dir if files.is_remote(data_dir) else os.path.expanduser(data_dir), folder, name
        )
        for folder in folders
    ]
    path = next(filter(files.exists, paths), None)
    if path is None:
        raise UserError(f"--data_dir: {name} of XNLI is not there: looked for {', '.join(paths)}")
    table = read_named_columns(
        path, "data_dir", [(name, "data_dir") for name in columns], "tsv", skip_bad_rows
    )
    premises, hypotheses, names, *codes = table.columns
    numbers = table.label_numbers(
        table.label_sets([_OTHER_NAMES.get(label, label) for label in names]), labels
    )
    texts = table.resolve(
        LabelledTexts(
            path,
            codes[0] if codes else table.numbers(),
            premises,
            hypotheses,
            numbers,
            tuple(labels),
        )
    )
    if split == "train":
        return {languages[0]: texts}
    there = list(dict.fromkeys(texts.ids))
    found = {}
    for language in there if tuple(languages) == ("all",) else languages:
        rows = np.flatnonzero([code == language for code in texts.ids])
        if not len(rows):
            raise UserError(
                f"{texts.path} has no examples in {language!r}: the languages are {', '.join(there)}"
            )
        found[language] = dataclasses.replace(
            texts.take(rows), ids=list(map(str, range(len(rows))))
        )
    return found
