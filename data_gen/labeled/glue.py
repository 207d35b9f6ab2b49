"""The official GLUE files: the tasks, where their files are, and how to read them; and XNLI's.

    task = find_task("MRPC")
    train = read_split(task, "glue", "train")     # glue/MRPC/train.tsv or glue/train.tsv

Input: the folder of the official download, or of one of its tasks. Output: `LabeledTexts`, for
`pair_features.py`.

The files may also come from the Hugging Face hub, with its names of files, columns and classes.

Quotation marks are literal, and texts may be empty. Columns are found by the header, so that MNLI's
12 columns (train), 16 (dev) and 10 (test) work, as does every later edition of the data. A file
without a header is read in the official order of its columns; CoLA's training and development sets
never have one. Line breaks inside questions cut up two dozen rows of QQP's training set, and two of
its development set: such rows are left out and counted.
"""

import dataclasses
import functools
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import unknown_choice
from data_gen.labeled.labeled_texts import LabeledTexts
from data_gen.labeled.named_columns import read_named_columns, read_table
from data_gen.labeled.row_formats import OBJECT_FORMATS, format_of
from data_gen.labeled.rows import Skip, SourceFile, quoted
from data_gen.labeled.table import Layout, Table

# A larger fraction of misfits than this means a damaged file, not the known slips of the download.
_MAX_SKIPPED = 0.01
_ID_COLUMNS = ("index", "id", "idx")


class Columns(NamedTuple):
    """Names of the columns of a file: first text, second text if there is one, class or score."""

    text_a: str
    text_b: str | None = None
    label: str | None = None


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """A task of GLUE.

    Attributes:
      folder: name of its folder in the official download.
      labels: names of the classes in the original's order, which numbers them; none for regression.
      headers: split → names of all columns, in the official order. The file of a split is called
        `<split>.tsv`.
      class_names: names of numbered classes in Hugging Face's data sets, after which published
        heads are named.
      has_misfits: some rows of the official training and development files have a wrong number of
        fields.
      other_folders: further names of its folder.
      hub_columns: names of the columns on the Hugging Face hub, where they differ.
      hub_labels: names of the classes by their numbers there, where they differ from 0, 1, …
    """

    name: str
    folder: str
    labels: tuple[str, ...]
    columns: Columns
    headers: Mapping[str, tuple[str, ...]]
    regression: bool = False
    has_misfits: bool = False
    other_folders: tuple[str, ...] = ()
    hub_columns: Columns | None = None
    hub_labels: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()


def _headers(**headers: str) -> dict[str, tuple[str, ...]]:
    """Returns split → columns; "dev", if not given beside "test", has the columns of "train"."""
    if "test" in headers:
        headers = {"train": headers["train"], "dev": headers["train"], "test": headers["test"]}
    return {split: tuple(header.split(",")) for split, header in headers.items()}


_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")
_HUB_NLI = ("entailment", "neutral", "contradiction")
_HUB_NLI_COLUMNS = Columns("premise", "hypothesis", "label")
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
            # The official training and development files lack this header.
            _headers(train="source,label,original_label,sentence", test="index,sentence"),
            class_names=("unacceptable", "acceptable"),
        ),
        GlueTask(
            "sst-2",
            "SST-2",
            _BINARY,
            Columns("sentence", None, "label"),
            _headers(train="sentence,label", test="index,sentence"),
            class_names=("negative", "positive"),
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
            hub_columns=_SENTENCES,
            class_names=("not_equivalent", "equivalent"),
        ),
        GlueTask(
            "sts-b",
            "STS-B",
            (),
            Columns("sentence1", "sentence2", "score"),
            _headers(train=f"{_STS_B_TEST},score", test=_STS_B_TEST),
            regression=True,
            hub_columns=_SENTENCES,
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
            hub_columns=Columns("question1", "question2", "label"),
            class_names=("not_duplicate", "duplicate"),
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
            hub_columns=_HUB_NLI_COLUMNS,
            hub_labels=_HUB_NLI,
        ),
        GlueTask(
            "qnli",
            "QNLI",
            _ENTAILMENT,
            Columns("question", "sentence", "label"),
            _headers(train="index,question,sentence,label", test="index,question,sentence"),
            hub_labels=_ENTAILMENT,
        ),
        GlueTask(
            "rte",
            "RTE",
            _ENTAILMENT,
            _SENTENCES,
            _headers(train="index,sentence1,sentence2,label", test="index,sentence1,sentence2"),
            hub_labels=_ENTAILMENT,
        ),
        GlueTask(
            "wnli",
            "WNLI",
            _BINARY,
            _SENTENCES,
            _headers(train="index,sentence1,sentence2,label", test="index,sentence1,sentence2"),
            class_names=("not_entailment", "entailment"),
        ),
        # The diagnostic set is predicted by a model that was trained on MNLI.
        GlueTask(
            "ax",
            "AX",
            _NLI,
            Columns("sentence1", "sentence2"),
            _headers(diagnostic="index,sentence1,sentence2"),
            other_folders=("diagnostic",),
            hub_columns=_HUB_NLI_COLUMNS,
        ),
    )
}


def find_task(name: str, others: Sequence[str] = ()) -> GlueTask:
    """Returns the task with a name; case, hyphens and underscores are ignored ("SST-2", "sst_2" and
    "sst2" are equal).

    Args:
      others: names of tasks outside GLUE, for the suggestion in the error.

    Raises:
      UserError: there is no such task; names the nearest one.
    """
    # The original spells the tasks "MRPC", "CoLA" and so on, other tools "mrpc" or "sst2".
    plain_name = re.sub("[-_ ]", "", name.lower())
    for task in GLUE_TASKS.values():
        if task.name.replace("-", "") == plain_name:
            return task
    raise unknown_choice("task_name", name, (*GLUE_TASKS, *others), 0.5)


def dev_splits(task: GlueTask) -> tuple[str, ...]:
    """Returns the labeled splits to evaluate on: two for MNLI, none for the diagnostic set."""
    return tuple(split for split in task.headers if split.startswith("dev"))


def test_splits(task: GlueTask) -> tuple[str, ...]:
    """Returns the splits without labels, to predict: two for MNLI."""
    return tuple(split for split in task.headers if not split.startswith(("train", "dev")))


def _read_labels(table: Table, values: list, task: GlueTask) -> np.ndarray:
    """Returns class numbers, or scores, of the label column.

    Files of the hub have numbers where the official ones have names.
    """
    if task.regression:
        return table.scores(values)
    names_of_numbers = {str(number): name for number, name in enumerate(task.hub_labels)}
    label_sets = []
    for names in table.label_sets(values):
        # A name that is no number of the hub stays, so official files and files of the hub mix.
        label_sets.append([names_of_numbers.get(name, name) for name in names])
    return table.label_numbers(label_sets, task.labels)


def read_split(
    task: GlueTask,
    data_dir: str,
    split: str,
    path: str | None = None,
    skip_bad_rows: Skip = None,
) -> LabeledTexts:
    """Reads one split of a task.

    Args:
      split: "train", "dev", "test"; for MNLI "dev_matched", "dev_mismatched", "test_matched",
        "test_mismatched" instead of the last two; for the diagnostic set "diagnostic" only.
      path: another file with the same columns; None for the official one.

    Raises:
      UserError: the task has no such split, its file is missing, or, with file and line: no
        examples, neither the official header nor as many columns, a row with another number of
        fields than the first, not UTF-8, an unknown label, a score that is not a finite number.
    """
    if split not in task.headers:
        raise UserError(f"{task.name} has no split {split!r}: it has {', '.join(task.headers)}")
    path = path or find_path(task, data_dir, split)
    if path is None:
        raise UserError(
            f"--data_dir: {data_dir} holds neither {task.folder}/{split}.tsv nor {split}.tsv"
        )
    is_labeled = split not in test_splits(task)
    # A file for prediction has no labels, and a task of single sentences no second text.
    needed = list(filter(None, task.columns))
    if not is_labeled and task.columns.label:
        needed.remove(task.columns.label)
    source = SourceFile(path, "data_dir", skip_bad_rows=skip_bad_rows)
    file_format = format_of(path)
    if file_format not in OBJECT_FORMATS:
        file_format = "tsv"
    table = read_table(
        source,
        file_format,
        functools.partial(_locate, path, task, split, needed, file_format != "tsv"),
        # Surplus tabs must not cost the prediction of a row: GLUE's server expects all of them.
        allow_longer=not is_labeled,
        is_literal=True,
        use_class_names=False,
    )
    # Misfits that every user of the official files has are no reason to ask for a flag.
    if task.has_misfits and is_labeled and len(source.faults) <= _MAX_SKIPPED * len(table.lines):
        source.skip_bad_rows = True
    # A task of single sentences has no column None.
    columns: dict[str | None, list] = dict(zip(table.names, table.columns, strict=True))
    # Other values than strings occur in the files of the hub only.
    for name in filter(None, (task.columns.text_a, task.columns.text_b)):
        table.check_strings(columns[name], name)
    ids = table.numbers()
    for name in _ID_COLUMNS:
        if name in columns:
            ids = [str(item) for item in columns[name]]
            table.note_repeated_ids(ids)
    if is_labeled:
        labels = _read_labels(table, columns[task.columns.label], task)
    else:
        labels = None
    return table.resolve(
        LabeledTexts(
            path=path,
            ids=ids,
            text_a=columns[task.columns.text_a],
            text_b=columns.get(task.columns.text_b),
            labels=labels,
            label_names=task.labels,
        )
    )


def _locate(
    path: str,
    task: GlueTask,
    split: str,
    needed: list[str],
    is_of_hub: bool,
    first_row: list[str],
) -> Layout:
    """Returns the layout of a file, with the needed columns and the column of the ids, if there is
    one.

    The first row is a header if it names all needed columns. If not, it is an example if it has as
    many fields as the official header, and none of its names.
    """
    header = [value.strip() for value in first_row]
    official = task.headers[split]
    if is_of_hub and task.hub_columns is not None:
        # The hub's names stand for the official ones, where those are missing.
        for name, hub_name in zip(task.columns, task.hub_columns, strict=True):
            if name and name not in header and hub_name in header:
                header[header.index(hub_name)] = name
    has_header = set(needed) <= set(header)
    if not has_header:
        if len(header) != len(official) or set(header) & set(official):
            raise UserError(
                f"{path}:1: this is neither the header of {task.name} nor a row of it: the columns "
                f"{', '.join(quoted(name) for name in needed)} are expected, or {len(official)} "
                f"columns without a header; found {len(header)}: "
                f"{', '.join(quoted(name) for name in header[: len(official)])}"
            )
        header = list(official)
    names = needed + [name for name in _ID_COLUMNS if name in header][:1]
    # The ids, if there are any, come last.
    return Layout(names, [header.index(name) for name in names], has_header)


def find_path(task: GlueTask, data_dir: str, split: str) -> str | None:
    """Returns the official file of a split, else the hub's, in the task's folder or directly
    below `data_dir`.

    Returns None if it is missing.
    """
    # The task's own folder comes first: a file in it can't belong to another task.
    folders = (task.folder, *task.other_folders, "")
    hub_split = split.replace("dev", "validation")
    for name in (
        f"{split}.tsv",
        f"{hub_split}-00000-of-00001.parquet",
        f"{hub_split}.parquet",
        f"{hub_split}.jsonl",
    ):
        for path in _paths(data_dir, folders, name):
            if files.exists(path):
                return path
    return None


def _paths(data_dir: str, folders: Sequence[str], name: str) -> list[str]:
    if not files.is_remote(data_dir):
        data_dir = os.path.expanduser(data_dir)
    return [os.path.join(data_dir, folder, name) for folder in folders]


# XNLI (arXiv 1809.05053): natural language inference in 15 languages, the original's fourth task.
# Its folder has the contents of XNLI-MT-1.0.zip and XNLI-1.0.zip, with or without the folders of
# the archives: machine-translated training sets, one file per language, and development and test
# sets translated by people, each with all languages in one file.
XNLI = "xnli"
XNLI_LABELS = ("contradiction", "entailment", "neutral")
# The only language that the original reads.
XNLI_LANGUAGE = "zh"


def read_xnli(
    data_dir: str,
    split: str,
    languages: Sequence[str],
    labels: Sequence[str],
    skip_bad_rows: Skip = None,
) -> dict[str, LabeledTexts]:
    """Reads the examples of some languages.

    Args:
      split: "train", "dev" or "test"; all have labels.
      languages: codes such as "zh", a single one for training; ("all",) for all languages in the
        file of another split.

    Returns:
      language → its examples, in the order of `languages`.

    Raises:
      UserError: a file, a column or a language is missing; or, with file and line, a row with
        another number of fields, bytes that are not UTF-8, an unknown label.
    """
    if split == "train":
        name = f"multinli.train.{languages[0]}.tsv"
        folders = ("multinli", os.path.join("XNLI-MT-1.0", "multinli"))
        columns = ["premise", "hypo", "label"]
    else:
        name = f"xnli.{split}.tsv"
        folders = ("", "XNLI-1.0")
        columns = ["sentence1", "sentence2", "gold_label", "language"]
    paths = _paths(data_dir, folders, name)
    path = next(filter(files.exists, paths), None)
    if path is None:
        raise UserError(f"--data_dir: {name} of XNLI is not there: looked for {', '.join(paths)}")
    named = [(column, "data_dir") for column in columns]
    source = SourceFile(path, "data_dir", "tsv", skip_bad_rows)
    table = read_named_columns(source, named, is_literal=True)
    premises, hypotheses, names, *codes = table.columns
    # The training files spell the first class differently.
    names = ["contradiction" if name == "contradictory" else name for name in names]
    texts = LabeledTexts(
        path=path,
        ids=codes[0] if codes else table.numbers(),
        text_a=premises,
        text_b=hypotheses,
        labels=table.label_numbers(table.label_sets(names), labels),
        label_names=tuple(labels),
    )
    # A bad row of any language counts, as they share the file.
    texts = table.resolve(texts)
    if split == "train":
        return {languages[0]: texts}
    # Until here the ids are the codes of the languages.
    codes_of_file = list(dict.fromkeys(texts.ids))
    if tuple(languages) == ("all",):
        languages = codes_of_file
    examples = {}
    for language in languages:
        rows = np.flatnonzero(np.array(texts.ids) == language)
        if not len(rows):
            raise UserError(
                f"{path} has no examples in {language!r}: the languages are "
                f"{', '.join(codes_of_file)}"
            )
        ids = [str(value) for value in range(len(rows))]
        examples[language] = dataclasses.replace(texts.take(rows), ids=ids)
    return examples
