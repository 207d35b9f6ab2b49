"""Examples in memory of pairs of texts and of retrieval sets.

Every text is kept once, whatever the number of pairs it belongs to.

Input: files (`data_gen/labeled/sentence_pairs.py`). Output: sequences of all different texts,
which `bert_tf/tasks/sentence_embedding/task.py` trains on.

Letters: E examples (pairs), K texts of an example, U different texts, Q queries, N documents.
"""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_tf.tasks.sentence_embedding.options import (
    LABEL_COLUMNS,
    NLI,
    PAIRS,
    SEARCHED,
    SQUAD,
    STS_B,
    TEXT,
    SentenceEmbeddingOptions,
)
from bert_tf.training.examples import Dataset, Datasets, Examples, sets_by_role
from data_gen.labeled import sentence_pairs
from data_gen.labeled.pair_features import PairFeatures, encode_pairs
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.sentence_pairs import SentencePairs, read_retrieval
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.sentence_vectors import supported_vectors
from modeling.sentence_embedding import NO_TEXT

# The k-th texts of a batch are padded to a multiple of this, so that few lengths are compiled.
_LENGTH_STEP = 8


@dataclasses.dataclass(frozen=True)
class SentenceExamples(Examples):
    """E examples of K texts.

    `row_lengths` has one number per text, U in all.

    In a batch sequences are [B, K, S]; a missing text is all padding. A batch also holds "text_ids"
    int32 [B, K], `NO_TEXT` for missing texts and for padding examples, and "text_lengths" int32
    [B, K], the same in all rows: the number of tokens to which the k-th texts of the batch can be
    cut.

    Attributes:
      texts: int64 [E, K], the number of each text among the U different ones, or `NO_TEXT`.
    """

    texts: np.ndarray = dataclasses.field(kw_only=True)

    def __len__(self) -> int:
        return len(self.texts)

    @functools.cached_property
    def text_lengths(self) -> np.ndarray:
        """int64 [E, K], numbers of tokens of the texts of each example; 0 for missing ones."""
        return np.where(self.texts == NO_TEXT, 0, self.row_lengths[self.texts])

    @property
    def lengths(self) -> np.ndarray:
        return self.text_lengths.max(axis=1)

    @property
    def sequence_lengths(self) -> np.ndarray:
        return self.text_lengths.ravel()

    def describe(self) -> str:
        return (
            f"{len(self):,} of {self.texts.shape[1]} texts, {len(self.row_lengths):,} different "
            f"ones of {self.row_lengths.mean():.1f} tokens, the longest {self.row_lengths.max()}"
        )

    def select(
        self, indices: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        texts = self.texts[indices]
        lengths = self.text_lengths[indices]
        # The maximum over all replicas, as their rows are padded to the same length. Poolings need
        # a token, also where no example of the batch has a text in this place.
        longest = np.maximum(lengths.max(axis=0), 1)
        # Round up: -(-a // b) is ceil(a / b).
        longest = -(-longest // _LENGTH_STEP) * _LENGTH_STEP
        values = {name: values[indices] for name, values in self.values.items()}
        is_real = np.arange(len(indices))[:, None] < num_real
        # Losses compare ids to find equal texts in a batch, which are no negatives of each other.
        values["text_ids"] = np.where(is_real, texts, NO_TEXT)
        # A value per row, because a batch is split between replicas.
        values["text_lengths"] = np.tile(longest, (len(indices), 1))
        row_starts = np.where(texts == NO_TEXT, 0, self.row_starts[texts])
        return row_starts, lengths, values


@dataclasses.dataclass(frozen=True)
class SentenceSplit(Dataset):
    """A file and its texts.

    Attributes:
      task: one of `--task_name`; None for a retrieval set.
      queries, documents: int64 [Q] and [N], their numbers among the texts; empty for sets with
        scores.
      relevant: for each query document → grade.
    """

    task: str | None
    queries: np.ndarray
    documents: np.ndarray
    relevant: list[dict[int, float]]

    @property
    def is_labeled(self) -> bool:
        return self.is_ranked or super().is_labeled

    @property
    def is_ranked(self) -> bool:
        """Whether documents are ranked, rather than pairs scored."""
        return bool(len(self.queries))


def read_data(options: SentenceEmbeddingOptions, checkpoint: Checkpoint) -> Datasets:
    """Reads the files that a run needs and encodes their texts."""
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    tokenizer = checkpoint.tokenizer
    notes: list[str] = []
    splits: dict[str, SentenceSplit] = {}
    _add_splits(splits, options, _named_files(options), tokenizer, notes)
    if options.evaluates:
        if options.retrieval_files:
            splits["retrieval"] = _read_retrieval(options, tokenizer, notes)
        # Sets of --eval_files come last: they never choose the best weights.
        eval_files = {split: ("eval_files", path) for split, path in options.eval_splits.items()}
        _add_splits(splits, options, eval_files, tokenizer, notes)
    # The first set chooses the best weights: its metrics have no prefix.
    metrics: list[str] = []
    for name, metric_names in options.metric_names().items():
        prefix = f"{name}_" if metrics else ""
        metrics += [f"{prefix}{metric}" for metric in metric_names]
    vectors = supported_vectors(checkpoint.vectors, options.pooling)
    if vectors.dense:
        raise UserError(
            "--init_checkpoint has a Dense module after its pooling, which is predicted and "
            "exported with, but not trained: train it with sentence-transformers, or leave "
            "modules.json out to start from its encoder alone"
        )
    if vectors.truncate_dim:
        notes.append(
            f"truncate_dim {vectors.truncate_dim} of the checkpoint is not kept: whole vectors are "
            "trained"
        )
    return Datasets(
        **sets_by_role(splits),
        notes=notes,
        metrics=tuple(metrics),
        description={
            "kind": SENTENCE_EMBEDDING,
            "task_name": options.task_name,
            "pooling": vectors.pooling,
            "normalize": options.normalize,
            "max_seq_length": options.max_seq_length,
        },
    )


def _named_files(options: SentenceEmbeddingOptions) -> dict[str, tuple[str, str | None]]:
    """Returns split → (flag, path) of the files that a run reads; STS-B's in --data_dir have no
    path."""
    paths = {}
    if options.do_train or options.dev_fraction:
        paths["train"] = ("train_file", options.train_file)
    if options.do_predict:
        paths["test"] = ("test_file", options.test_file)
    # Both sets come from the training file if --dev_fraction is given.
    has_dev_file = "dev" in options.metric_names() and not options.dev_fraction
    if options.evaluates and has_dev_file:
        paths["dev"] = ("dev_file", options.dev_file)
    return paths


def _add_splits(
    splits: dict[str, SentenceSplit],
    options: SentenceEmbeddingOptions,
    paths: Mapping[str, tuple[str, str | None]],
    tokenizer: Tokenizer,
    notes: list[str],
) -> None:
    """Reads files of pairs, and adds them to the splits."""
    sources = options.read_sets(paths, functools.partial(_read_pairs, options))
    for name, pairs in sources.items():
        notes += pairs.notes
        splits[name] = _encode_pairs(pairs, options, name, tokenizer, notes)


def _read_pairs(
    options: SentenceEmbeddingOptions, split: str, flag: str, path: str | None
) -> SentencePairs:
    """Reads a file in the layout of its task."""
    # Development files may be of another kind than the training file.
    task = options.task_name if split == "train" else options.evaluated_task
    if path:
        files.check_readable(path, flag)
    if task == STS_B:
        # STS-B's official files differ in their columns: other files have the columns of the
        # development set.
        if flag == "eval_files":
            split = "dev"
        return sentence_pairs.read_sts_b(
            ("" if options.data_dir is None else options.data_dir),
            split,
            path or None,
            options.skip_bad_rows,
        )
    # SQuAD files have no columns.
    if task == SQUAD:
        return sentence_pairs.read_questions(path, flag)
    return _read_columns(options, task, split, flag, path)


def _read_columns(
    options: SentenceEmbeddingOptions,
    task: str,
    split: str,
    flag: str,
    path: str,
) -> SentencePairs:
    """Reads a file of columns or, for texts alone, of one text per line."""
    source = SourceFile(path, flag, options.file_format, options.skip_bad_rows, options.delimiter)
    text_a = (options.text_a_column or "sentence1", "text_a_column")
    if task == TEXT:
        # The file has one text per line unless a column is given.
        column = text_a if options.text_a_column else None
        return sentence_pairs.read_texts(source, column)
    columns = [text_a, (options.text_b_column, "text_b_column")]
    label = (options.label_column or LABEL_COLUMNS.get(task), "label_column")
    if task == NLI:
        columns.append(label)
        return sentence_pairs.read_nli(source, columns)
    if task == PAIRS:
        columns += [(name, "negative_columns") for name in options.negative_columns]
        label = None
    elif split == "test" and options.label_column is None:
        # Cosines of pairs without scores can be predicted, too.
        label = None
    return sentence_pairs.read_columns(source, columns, label, options.highest_score)


def _read_retrieval(
    options: SentenceEmbeddingOptions, tokenizer: Tokenizer, notes: list[str]
) -> SentenceSplit:
    """Reads and encodes queries and documents."""
    retrieval, num_skipped = read_retrieval(
        **options.retrieval_files, id_column=options.id_column, text_column=options.text_column
    )
    if num_skipped:
        notes.append(
            f"{options.queries_file}: {num_skipped:,} queries have no relevant document and are "
            "left out"
        )
    (queries, documents), features = _encode_texts(
        [retrieval.queries, retrieval.documents], options, "retrieval", tokenizer, notes
    )
    # A retrieval set has no pairs to train on or to score: the texts alone are encoded.
    examples = SentenceExamples(
        features.tokens,
        features.row_lengths,
        texts=np.empty((0, 1), np.int64),
    )
    return SentenceSplit(
        retrieval,
        examples,
        None,
        queries,
        documents,
        retrieval.relevant,
        truncated=features.truncated,
    )


def _encode_texts(
    columns: Sequence[Sequence[str]],
    options: SentenceEmbeddingOptions,
    name: str,
    tokenizer: Tokenizer,
    notes: list[str],
) -> tuple[list[np.ndarray], PairFeatures]:
    """Encodes the U different texts of some columns.

    Returns:
      for each column int64, the numbers of its texts among the different ones or `NO_TEXT`; and the
      sequences of these.
    """
    numbers: dict[str, int] = {}
    rows = []
    for texts in columns:
        row = np.full(len(texts), NO_TEXT, np.int64)
        for position, text in enumerate(texts):
            if text.strip():
                row[position] = numbers.setdefault(text, len(numbers))
        rows.append(row)
    # Queries often repeat: encode each different text once.
    features = encode_pairs(tokenizer, list(numbers), None, options.max_seq_length)
    if features.truncated:
        notes.append(
            f"{name}: {features.truncated:,} of {len(numbers):,} texts were truncated to "
            f"{options.max_seq_length} tokens"
        )
    return rows, features


def _encode_pairs(
    pairs: SentencePairs,
    options: SentenceEmbeddingOptions,
    name: str,
    tokenizer: Tokenizer,
    notes: list[str],
) -> SentenceSplit:
    """Encodes the texts of a file of pairs."""
    rows, features = _encode_texts(pairs.columns, options, name, tokenizer, notes)
    # Sets with scores have nothing to rank.
    queries = np.empty(0, np.int64)
    documents = np.empty(0, np.int64)
    relevant: list[dict[int, float]] = []
    if name == "train":
        task = options.task_name
        if task in SEARCHED or task == TEXT:
            _check_negatives(rows, pairs.path, options, notes)
    else:
        task = options.evaluated_task
        if task in SEARCHED:
            queries, documents, relevant = retrieval_set(rows)
    values = {}
    if pairs.labels is not None:
        values["label_ids"] = pairs.labels
    examples = SentenceExamples(
        features.tokens,
        features.row_lengths,
        values,
        texts=np.stack(rows, axis=1),
    )
    return SentenceSplit(
        pairs, examples, task, queries, documents, relevant, truncated=features.truncated
    )


def _check_negatives(
    rows: list[np.ndarray], path: str, options: SentenceEmbeddingOptions, notes: list[str]
) -> None:
    """Raises `UserError` if some positive would never have a negative.

    Its loss would be 0 whatever the vectors. Pairs are fine if a hard negative belongs to each.

    Args:
      rows: numbers of anchors, positives and hard negatives, see `_encode_texts`.
    """
    for negatives in rows[2:]:
        if (negatives != NO_TEXT).all():
            return
    # In-batch negatives of an anchor are the other positives, and the other way round.
    for texts, kind, other in ((rows[0], "anchor", "positive"), (rows[1], "positive", "anchors")):
        if len(np.unique(texts)) < 2:
            raise UserError(
                f"--train_file: {path} has one {kind} only: there is no negative for its {other}"
            )
    if 1 in options.sweep.get("train_batch_size", (options.train_batch_size,)):
        raise UserError(
            "--train_batch_size=1: the negatives of a pair are the other examples of its batch: "
            "take 2 at least, the more the better"
        )
    if len(rows[0]) % options.train_batch_size == 1 and not options.original_batches:
        notes.append(
            "the last batch of an epoch is one pair, which has no negative: it is not learned from "
            "there"
        )


def retrieval_set(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[dict[int, float]]]:
    """Makes a retrieval set of pairs: anchors are queries, all other texts documents.

    Args:
      rows: numbers of anchors, positives and hard negatives.

    Returns:
      `queries`, `documents` and `relevant` of `SentenceSplit`.
    """
    # Hard negatives are documents, too: a query must rank its positive before them.
    documents = np.unique(np.concatenate(rows[1:]))
    documents = documents[documents != NO_TEXT]
    # An anchor with several positives is one query.
    relevant: dict[int, dict[int, float]] = defaultdict(dict)
    positives = np.searchsorted(documents, rows[1]).tolist()
    for anchor, document in zip(rows[0].tolist(), positives, strict=True):
        relevant[anchor][document] = 1.0
    # Queries are in the order of the pairs.
    return np.array(list(relevant), np.int64), documents, list(relevant.values())
