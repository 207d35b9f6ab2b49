"""Examples in memory of the files of a multiple-choice task.

Input: questions with choices (`data_gen/labeled/multiple_choice.py`). Output: sequences with
labels, one for each choice, which `bert_tf/tasks/multiple_choice/task.py` trains on. All choices of
a question are in the same batch, and a question with fewer choices gets no artificial ones.
"""

import dataclasses
import functools

import numpy as np

from bert_tf.tasks.multiple_choice.options import (
    CODAH,
    CUSTOM,
    HELLASWAG,
    SWAG,
    MultipleChoiceOptions,
)
from bert_tf.training.examples import Dataset, Datasets, Examples, sets_by_role
from data_gen.labeled import multiple_choice
from data_gen.labeled.multiple_choice import NUMBERED, ChoiceQuestions
from data_gen.labeled.pair_features import END, START_OF_A, encode_pairs
from data_gen.labeled.rows import SourceFile
from data_gen.ragged import starts_of
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint

KIND = "multiple_choice"
# Names of the files in --data_dir; the first that exists is read. Custom files have no such names.
# The tables list what the publishers of the data sets ship.
_FILES = {
    SWAG: {"train": ("train.csv",), "dev": ("val.csv",), "test": ("test.csv",)},
    HELLASWAG: {
        "train": ("hellaswag_train.jsonl",),
        "dev": ("hellaswag_val.jsonl",),
        "test": ("hellaswag_test.jsonl",),
    },
    CODAH: {
        "train": ("train.tsv", "train.csv"),
        "dev": ("dev.tsv", "dev.csv"),
        "test": ("test.tsv", "test.csv"),
    },
}


@dataclasses.dataclass(frozen=True)
class ChoiceExamples(Examples):
    """E questions with sequences for their choices.

    `row_lengths` and `row_starts` have one number per choice, the choices of a question side by
    side.

    In a batch sequences are [B, K, S], K being the maximum number of choices of a question here;
    choices that a question does not have are all padding. If not all questions have the same number
    of choices, a batch also holds "num_choices" int32 [B]; padding examples count one choice.
    """

    num_choices: np.ndarray = dataclasses.field(kw_only=True)

    def __len__(self) -> int:
        return len(self.num_choices)

    @functools.cached_property
    def first_rows(self) -> np.ndarray:
        """int64 [E], the row of the first choice of each question."""
        return starts_of(self.num_choices)

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        # A batch is padded to its longest choice: that is the length of a question.
        return np.maximum.reduceat(self.row_lengths, self.first_rows)

    def describe(self) -> str:
        if self.is_ragged:
            choices = f"{self.num_choices.min()} to {self.max_choices}"
        else:
            choices = str(self.max_choices)
        return (
            f"{len(self):,} questions with {choices} choices, sequences of "
            f"{self.row_lengths.mean():.1f} tokens, the longest {self.row_lengths.max()}"
        )

    @functools.cached_property
    def max_choices(self) -> int:
        """K, the maximum number of choices."""
        return int(self.num_choices.max())

    @property
    def is_ragged(self) -> bool:
        """Whether some questions have fewer choices than others."""
        return bool((self.num_choices < self.max_choices).any())

    def select(
        self, indices: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        # Labels are numbers of choices, one per question.
        values = {name: values[indices] for name, values in self.values.items()}
        counts = self.num_choices[indices]
        if self.is_ragged:
            # The loss has a value per choice: a padding example without any would change its shape.
            counts = np.where(np.arange(len(indices)) < num_real, counts, 1)
            values["num_choices"] = counts.astype(np.int32)
        # Rows of missing choices point to the first row, with a length of 0.
        numbers = np.arange(self.max_choices)
        is_choice = numbers < counts[:, None]  # [B, K]
        rows = np.where(is_choice, self.first_rows[indices][:, None] + numbers, 0)
        return self.row_starts[rows], np.where(is_choice, self.row_lengths[rows], 0), values

    def by_question(self, scores: np.ndarray) -> np.ndarray:
        """Arranges scores of all choices as float [E, K], minus infinity for missing choices."""
        table = np.full((len(self), self.max_choices), -np.inf, scores.dtype)
        table[np.arange(self.max_choices) < self.num_choices[:, None]] = scores
        return table


def read_data(options: MultipleChoiceOptions, checkpoint: Checkpoint) -> Datasets:
    """Reads the files that a run needs and encodes their questions."""
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    notes: list[str] = []
    splits: dict[str, Dataset] = {}
    # The training file, which is read first, may show where labels are counted from.
    shared: dict[str, str] = {}
    sources = options.read_sets(
        options.split_files(_FILES.get(options.task_name)),
        functools.partial(_read_split, options, shared),
    )
    for name, questions in sources.items():
        split = _encode_split(questions, options, checkpoint.tokenizer)
        splits[name] = split
        notes += questions.notes
        if split.truncated:
            notes.append(
                f"{name}: {split.truncated:,} of {len(split.examples.row_lengths):,} sequences, of "
                f"a question with one choice each, were truncated to {options.max_seq_length} "
                "tokens"
            )
    return Datasets(
        **sets_by_role(splits),
        notes=notes,
        # The only metric of these tasks' papers.
        metrics=("accuracy",),
        description={
            "kind": KIND,
            "task_name": options.task_name,
            "max_seq_length": options.max_seq_length,
            "truncate": options.truncate,
            "label_kind": shared.get("label_kind", options.label_kind),
        },
    )


def _encode_split(
    questions: ChoiceQuestions, options: MultipleChoiceOptions, tokenizer: Tokenizer
) -> Dataset:
    """Encodes the questions of a file, each with every choice."""
    # The end of a context is next to the question: some tasks lose less with the beginning.
    truncation = START_OF_A if options.truncate == "context_start" else END
    contexts, choices = questions.pairs()
    features = encode_pairs(
        tokenizer, contexts, choices, options.max_seq_length, truncation=truncation
    )
    values = {}
    classes = {}
    if questions.labels is not None:
        values["label_ids"] = questions.labels
        for number, count in enumerate(np.bincount(questions.labels).tolist()):
            classes[f"choice {number}"] = count
    examples = ChoiceExamples(
        features.tokens,
        features.row_lengths,
        values,
        num_choices=questions.num_choices,
    )
    return Dataset(questions, examples, truncated=features.truncated, classes=classes)


def _read_split(
    options: MultipleChoiceOptions, shared: dict[str, str], name: str, flag: str, path: str
) -> ChoiceQuestions:
    """Reads the questions of a file; a test file may be without labels.

    Args:
      shared: gets "label_kind" of the first file whose labels are numbers, for the other files.
    """
    needs_labels = flag != "test_file"
    # A test file of the original has no labels.
    label_column = options.label_column if needs_labels else None
    if options.task_name == CUSTOM:
        questions = multiple_choice.read_custom(
            SourceFile(path, flag, options.file_format, options.skip_bad_rows, options.delimiter),
            multiple_choice.ChoiceColumns(
                choices=options.choices_columns,
                question=options.question_column,
                context=options.context_column,
                label=label_column,
                id=options.id_column,
            ),
            label_kind=shared.get("label_kind", options.label_kind),
        )
        if questions.labels is not None and questions.label_kind in NUMBERED:
            shared["label_kind"] = questions.label_kind
        return questions
    file_format = "jsonl" if options.task_name == HELLASWAG else "auto"
    source = SourceFile(path, flag, file_format, options.skip_bad_rows)
    if options.task_name == HELLASWAG:
        return multiple_choice.read_hellaswag(source, needs_labels)
    # CODAH is distributed as TSV, and converted to SWAG's columns.
    if options.task_name == CODAH and path.removesuffix(".gz").endswith(".tsv"):
        return multiple_choice.read_codah(source, needs_labels)
    return multiple_choice.read_swag(source, needs_labels)
