"""From pairs of texts, and retrieval sets, to examples in memory: every text is kept once, however
many have it.

Input: files (`data_gen/labelled/sentence_pairs.py`). Output: sequences of all different texts,
which `bert_tf/tasks/sentence_embedding/task.py` trains on.
"""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.tasks.sentence_embedding import options as kinds
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.training.examples import Dataset, Datasets, Examples
from data_gen.labelled import sentence_pairs
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.sentence_pairs import Retrieval, SentencePairs, read_retrieval
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING, known_vectors
from modeling.checkpoints.load import Checkpoint
from modeling.sentence_embedding import NO_TEXT

# In a batch the k-th texts of all examples are as long as the longest of them, rounded up: few
# lengths are compiled.
_LENGTH_STEP = 8


@dataclasses.dataclass(frozen=True)
class SentenceExamples(Examples):
    """E examples of K texts, rows int64 [E, K] or `NO_TEXT`; `row_lengths` has one number a text, U
    in all.

    In a batch sequences are [B, K, S]; a text that is not there is all padding. A batch also holds
    "text_ids" int32 [B, K], `NO_TEXT` for all of a padding example, too, and "text_lengths" int32
    [B, K], of all rows the same: to so many tokens the k-th texts of the batch can be cut.
    """

    texts: np.ndarray = dataclasses.field(kw_only=True)

    def __len__(self) -> int:
        return len(self.texts)

    @functools.cached_property
    def text_lengths(self) -> np.ndarray:
        """int64 [E, K], tokens of the texts of each example; 0 for none."""
        return np.where(self.texts == NO_TEXT, 0, self.row_lengths[self.texts])

    @property
    def lengths(self) -> np.ndarray:
        return self.text_lengths.max(axis=1)

    @property
    def sequence_lengths(self) -> np.ndarray:
        return self.text_lengths.ravel()

    def describe(self) -> str:
        return (
            f"{len(self):,} of {self.texts.shape[1]} texts, {len(self.row_lengths):,} different ones of "
            f"{self.row_lengths.mean():.1f} tokens, the longest {self.row_lengths.max()}"
        )

    def select(
        self, chosen: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        texts, lengths = self.texts[chosen], self.text_lengths[chosen]
        longest = -(-lengths.max(axis=0) // _LENGTH_STEP) * _LENGTH_STEP
        values = {name: values[chosen] for name, values in self.values.items()}
        values["text_ids"] = np.where(np.arange(len(chosen))[:, None] < num_real, texts, NO_TEXT)
        values["text_lengths"] = np.tile(longest, (len(chosen), 1))
        return np.where(texts == NO_TEXT, 0, self.row_starts[texts]), lengths, values


@dataclasses.dataclass(frozen=True)
class SentenceSplit(Dataset):
    """A file and its texts.

    Attributes:
      task: one of `--task_name`; None for a retrieval set.
      queries, documents: int64 [Q] and [N], their rows among the texts; empty for sets with scores.
      relevant: for each query document → grade.
    """

    task: str | None
    queries: np.ndarray
    documents: np.ndarray
    relevant: list[dict[int, float]]

    @property
    def is_labelled(self) -> bool:
        return self.is_ranked or super().is_labelled

    @property
    def is_ranked(self) -> bool:
        """Whether documents are ranked, rather than pairs scored."""
        return bool(len(self.queries))


def read_data(options: SentenceEmbeddingOptions, opened: Checkpoint) -> Datasets:
    """Reads what a run needs and makes sequences of it."""
    opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    notes: list[str] = []

    def read(paths: Mapping[str, tuple[str, str | None]]) -> dict[str, SentenceSplit]:
        found = {}
        for name, source in options.read_sets(
            paths, lambda *of_set: _read(options, *of_set)
        ).items():
            notes.extend(source.notes)
            found[name] = _encode(opened.tokenizer, source, options, name, notes)
        return found

    asked = {
        "train": options.do_train or options.dev_fraction,
        "test": options.do_predict,
        "dev": options.evaluates and "dev" in options.metric_names() and not options.dev_fraction,
    }
    # The official files of STS-B have no path.
    splits = read(
        {
            name: (f"{name}_file", getattr(options, f"{name}_file"))
            for name, is_asked in asked.items()
            if is_asked
        }
    )
    if options.evaluates and options.retrieval_files:
        retrieval, left_out = read_retrieval(
            **options.retrieval_files, id_column=options.id_column, text_column=options.text_column
        )
        if left_out:
            notes.append(
                f"{options.queries_file}: {left_out:,} queries have no relevant document and are left out"
            )
        splits["retrieval"] = _encode(opened.tokenizer, retrieval, options, "retrieval", notes)
    if options.evaluates:
        splits |= read(
            {name: ("eval_files", path) for name, path in options.named_eval_files.items()}
        )
    metrics = [
        f"{f'{name}_' if number else ''}{metric}"
        for number, (name, of_set) in enumerate(options.metric_names().items())
        for metric in of_set
    ]
    return Datasets(
        train=splits.pop("train", None),
        test={"test": splits.pop("test")} if "test" in splits else {},
        dev=splits,
        notes=notes,
        metrics=tuple(metrics),
        description={
            "kind": SENTENCE_EMBEDDING,
            "task_name": options.task_name,
            "pooling": known_vectors(opened.vectors, options.pooling).pooling,
            "normalize": options.normalize,
            "max_seq_length": options.max_seq_length,
        },
    )


def _read(options: SentenceEmbeddingOptions, split: str, flag: str, path: str) -> SentencePairs:
    task = options.task_name if split == "train" else options.evaluated_task
    skip = None if split == "test" else options.skip_bad_rows
    if path:
        files.check_readable(path, flag)
    if task == kinds.STS_B:
        return sentence_pairs.read_sts_b(
            options.data_dir or "", split if flag != "eval_files" else "dev", path or None, skip
        )
    if task == kinds.SQUAD:
        return sentence_pairs.read_questions(path, flag)
    first = (options.text_a_column or "sentence1", "text_a_column")
    columns = [first, (options.text_b_column, "text_b_column")]
    if task == kinds.TEXT:
        return sentence_pairs.read_texts(
            path, flag, first if options.text_a_column else None, options.file_format, skip
        )
    label = (options.label_column or kinds.LABEL_COLUMNS.get(task), "label_column")
    if task == kinds.NLI:
        return sentence_pairs.read_nli(path, flag, [*columns, label], options.file_format, skip)
    if task == kinds.PAIRS:
        columns += [(name, "negative_columns") for name in options.negative_columns]
    has_labels = task != kinds.PAIRS and (split != "test" or options.label_column is not None)
    return sentence_pairs.read_columns(
        path,
        flag,
        columns,
        label if has_labels else None,
        options.highest_score,
        options.file_format,
        skip,
    )


def _encode(
    tokenizer: Tokenizer,
    source: SentencePairs | Retrieval,
    options: SentenceEmbeddingOptions,
    name: str,
    notes: list[str],
) -> SentenceSplit:
    is_retrieval = isinstance(source, Retrieval)
    task = (
        None if is_retrieval else options.task_name if name == "train" else options.evaluated_task
    )
    numbers: dict[str, int] = {}
    # Of each column the rows of its texts among the different ones, int64.
    rows = [
        np.array(
            [numbers.setdefault(text, len(numbers)) if text.strip() else NO_TEXT for text in texts],
            np.int64,
        )
        for texts in ([source.queries, source.documents] if is_retrieval else source.columns)
    ]
    max_seq_length = options.max_seq_length
    features = encode_pairs(tokenizer, list(numbers), None, max_seq_length)
    if features.truncated:
        notes.append(
            f"{name}: {features.truncated:,} of {len(numbers):,} texts were truncated to {max_seq_length} tokens"
        )
    if (
        name == "train"
        and task in (*kinds.SEARCHED, kinds.TEXT)
        and not any((row != NO_TEXT).all() for row in rows[2:])
    ):
        # Where some positive would never have a negative, its loss would be 0 whatever the vectors.
        for what, texts in (("anchor", rows[0]), ("positive", rows[1])):
            if len(np.unique(texts)) < 2:
                raise UserError(
                    f"--train_file: {source.path} has one {what} only: there is no negative for its "
                    f"{'positive' if what == 'anchor' else 'anchors'}"
                )
        if 1 in options.sweep.get("train_batch_size", (options.train_batch_size,)):
            raise UserError(
                "--train_batch_size=1: the negatives of a pair are the other examples of its batch: take 2 at "
                "least, the more the better"
            )
        if len(rows[0]) % options.train_batch_size == 1 and not options.original_batches:
            notes.append(
                "the last batch of an epoch is one pair, which has no negative: it is not learnt from there"
            )
    values = {} if source.labels is None else {"label_ids": source.labels}
    ranking: tuple = (np.empty(0, np.int64), np.empty(0, np.int64), [])
    if is_retrieval:
        ranking = (*rows, source.relevant)
    elif name != "train" and task in kinds.SEARCHED:
        ranking = ranking_of(rows)
    examples = SentenceExamples(
        {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
        features.row_lengths,
        values,
        texts=np.empty((0, 1), np.int64) if is_retrieval else np.stack(rows, axis=1),
    )
    return SentenceSplit(source, examples, task, *ranking, truncated=features.truncated)


def ranking_of(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[dict[int, float]]]:
    """Pairs as a retrieval set: anchors are queries, all other texts documents."""
    documents = np.unique(np.concatenate(rows[1:]))
    documents = documents[documents != NO_TEXT]
    relevant: dict[int, dict[int, float]] = defaultdict(dict)
    for anchor, document in zip(
        rows[0].tolist(), np.searchsorted(documents, rows[1]).tolist(), strict=True
    ):
        relevant[anchor][document] = 1.0
    return np.array(list(relevant), np.int64), documents, list(relevant.values())
