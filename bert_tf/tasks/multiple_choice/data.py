"""From the files of a multiple-choice task to examples in memory.

Input: questions with choices (`data_gen/labelled/multiple_choice.py`). Output: sequences with
labels, which `bert_tf/tasks/multiple_choice/task.py` trains on: one for each choice. All choices of
a question stay together, and none is made up where a question has fewer.
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
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labelled import multiple_choice
from data_gen.labelled.multiple_choice import ChoiceQuestions
from data_gen.labelled.pair_features import END, START_OF_A, encode_pairs
from modeling.checkpoints.load import Checkpoint

KIND = "multiple_choice"
# Names of the files in --data_dir, the first that is there is read.
_FILES = {
    SWAG: {"train": ("train.csv",), "dev": ("val.csv",), "test": ("test.csv",)},
    HELLASWAG: {
        "train": ("hellaswag_train.jsonl",),
        "dev": ("hellaswag_val.jsonl",),
        "test": ("hellaswag_test.jsonl",),
    },
    CODAH: {split: (f"{split}.tsv", f"{split}.csv") for split in ("train", "dev", "test")},
    CUSTOM: dict.fromkeys(("train", "dev", "test"), ()),
}


@dataclasses.dataclass(frozen=True)
class ChoiceExamples(Examples):
    """E questions: `row_lengths` and `row_starts` have one number a choice, those of a question
    side by side.

    In a batch sequences are [B, K, S], K the most choices that a question here has; choices that a
    question does not have are all padding. Where not all have the same number, a batch also holds
    "num_choices" int32 [B] and "first_choice" int32 [B], the choices of the questions before this
    one in the global batch; padding examples count one choice.
    """

    num_choices: np.ndarray = dataclasses.field(kw_only=True)

    def __len__(self) -> int:
        return len(self.num_choices)

    @functools.cached_property
    def first_rows(self) -> np.ndarray:
        """int64 [E], the row of the first choice of each question."""
        return np.cumsum(self.num_choices) - self.num_choices

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        return np.maximum.reduceat(self.row_lengths, self.first_rows)

    def describe(self) -> str:
        number = (
            f"{self.num_choices.min()} to {self.most_choices}"
            if self.is_ragged
            else str(self.most_choices)
        )
        return (
            f"{len(self):,} questions with {number} choices, sequences of {self.row_lengths.mean():.1f} tokens, the "
            f"longest {self.row_lengths.max()}"
        )

    @functools.cached_property
    def most_choices(self) -> int:
        """K."""
        return int(self.num_choices.max())

    @property
    def is_ragged(self) -> bool:
        """Whether some questions have fewer choices than others."""
        return bool((self.num_choices < self.most_choices).any())

    def select(
        self, chosen: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        values = {name: values[chosen] for name, values in self.values.items()}
        counts = self.num_choices[chosen]
        if self.is_ragged:
            counts = np.where(np.arange(len(chosen)) < num_real, counts, 1)
            values |= {
                "num_choices": counts.astype(np.int32),
                "first_choice": (np.cumsum(counts) - counts).astype(np.int32),
            }
        numbers = np.arange(self.most_choices)
        is_there = numbers < counts[:, None]  # [B, K]
        rows = np.where(is_there, self.first_rows[chosen][:, None] + numbers, 0)
        return self.row_starts[rows], np.where(is_there, self.row_lengths[rows], 0), values

    def by_question(self, scores: np.ndarray) -> np.ndarray:
        """float [number of choices] → [E, K], minus infinity for choices that are not there."""
        table = np.full((len(self), self.most_choices), -np.inf, scores.dtype)
        table[np.arange(self.most_choices) < self.num_choices[:, None]] = scores
        return table


def read_data(options: MultipleChoiceOptions, opened: Checkpoint) -> Datasets:
    """Reads what a run needs and makes sequences of it."""
    opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    notes: list[str] = []
    splits: dict[str, Dataset] = {}
    for name, questions in options.read_sets(
        options.split_files(_FILES[options.task_name]),
        lambda name, flag, path: _read_split(options, flag, path),
    ).items():
        notes += questions.notes
        features = encode_pairs(
            opened.tokenizer,
            *questions.pairs(),
            options.max_seq_length,
            lose=START_OF_A if options.truncate == "context_start" else END,
        )
        examples = ChoiceExamples(
            {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
            features.row_lengths,
            {} if questions.labels is None else {"label_ids": questions.labels},
            num_choices=questions.num_choices,
        )
        right = [] if questions.labels is None else np.bincount(questions.labels).tolist()
        splits[name] = Dataset(
            questions,
            examples,
            truncated=features.truncated,
            classes={f"choice {number}": count for number, count in enumerate(right)},
        )
        if features.truncated:
            notes.append(
                f"{name}: {features.truncated:,} of {len(examples.row_lengths):,} sequences, of a question with one "
                f"choice each, were truncated to {options.max_seq_length} tokens"
            )
    return Datasets(
        train=splits.pop("train", None),
        test={"test": splits.pop("test")} if "test" in splits else {},
        dev=splits,
        notes=notes,
        metrics=("accuracy",),
        description={
            "kind": KIND,
            "task_name": options.task_name,
            "max_seq_length": options.max_seq_length,
            "truncate": options.truncate,
        },
    )


def _read_split(options: MultipleChoiceOptions, flag: str, path: str) -> ChoiceQuestions:
    """The questions of a file; a test file may be without labels."""
    needs_labels = flag != "test_file"
    skip = options.skip_bad_rows if needs_labels else None
    if options.task_name == CUSTOM:
        return multiple_choice.read_own(
            path,
            flag,
            choices_columns=options.choices_columns,
            question_column=options.question_column,
            context_column=options.context_column,
            label_column=options.label_column if needs_labels else None,
            id_column=options.id_column,
            label_kind=options.label_kind,
            file_format=options.file_format,
            skip_bad_rows=skip,
        )
    if options.task_name == HELLASWAG:
        return multiple_choice.read_hellaswag(path, flag, needs_labels, skip)
    is_tsv = options.task_name == CODAH and path.removesuffix(".gz").endswith(".tsv")
    return (multiple_choice.read_codah if is_tsv else multiple_choice.read_swag)(
        path, flag, needs_labels, skip
    )
