"""Windows in memory of the files of tagged sentences, and whether the checkpoint fits them.

Input: files (`data_gen/labeled/tagged_files.py`). Output: windows with labels
(`data_gen/labeled/word_windows.py`), which `bert_tf/tasks/token_classification/task.py` trains on
and predicts.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks import class_names
from bert_tf.tasks.token_classification.options import (
    DATA_FILES,
    DOCUMENT,
    SENTENCE,
    VOTE,
    TokenClassificationOptions,
)
from bert_tf.training import examples as in_memory
from bert_tf.training.examples import Examples, sets_by_role
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.tag_schemes import (
    OUTSIDE,
    PLAIN,
    Chunks,
    TagNames,
    parse_names,
    respell,
    write_tags,
)
from data_gen.labeled.tagged_files import TaggedSentences, read_tagged_file
from data_gen.labeled.word_windows import WordWindows, encode_words, make_windows
from modeling.checkpoints.load import Checkpoint
from modeling.config import label_names

KIND = "token_classification"
# Kind of a tagger on fixed activations.
FEATURES_KIND = "token_classification_from_features"


@dataclasses.dataclass(frozen=True)
class Split(in_memory.Dataset):
    """Sentences of a file, and the windows made of them; W words.

    Attributes:
      labels: int32 [W], numbers of the model's labels, -1 for one that it does not have; None if
        the file has no labels.
      chunks: the right ones; None for plain tags and if the file has no labels.
    """

    source: TaggedSentences
    windows: WordWindows
    labels: np.ndarray | None
    chunks: Chunks | None

    @property
    def is_labeled(self) -> bool:
        return self.labels is not None


@dataclasses.dataclass(frozen=True)
class TokenData(in_memory.Datasets):
    """Data sets of a run.

    Attributes:
      labels: names of the model's labels, in the order of their numbers.
      chunk_names: their prefixes and types; None for plain tags.
    """

    labels: tuple[str, ...]
    chunk_names: TagNames | None


def read_data(options: TokenClassificationOptions, checkpoint: Checkpoint) -> TokenData:
    """Reads the files that a run needs and makes windows of them."""
    checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    reader = _Reader(options, checkpoint)
    sources = options.read_sets(
        options.split_files(DATA_FILES), functools.partial(_read_file, options)
    )
    splits = {}
    # The training data comes first, and decides about labels and words.
    for name, sentences in sources.items():
        splits[name] = reader.make_split(name, sentences)
    # Chunks are scored by conlleval's F1, plain tags by their accuracy.
    metrics = ("accuracy",)
    if reader.chunk_names is not None:
        metrics = ("f1", "precision", "recall", "accuracy")
        if checkpoint.tokenizer.do_lower_case:
            reader.notes.append(
                "the vocabulary is uncased: names are easier to find with a cased one"
            )
    description = {
        "kind": KIND,
        "labels": list(reader.labels),
        "max_seq_length": options.max_seq_length,
        "min_context": options.min_context,
        "context": options.context,
        "votes": options.votes,
        "label_scheme": reader.scheme,
        "words": reader.words,
    }
    # Other schemes are each file's own.
    if options.tag_scheme == PLAIN:
        description["tag_scheme"] = PLAIN
    return TokenData(
        labels=tuple(reader.labels),
        chunk_names=reader.chunk_names,
        **sets_by_role(splits),
        description=description,
        notes=reader.notes,
        metrics=metrics,
    )


def _read_file(
    options: TokenClassificationOptions, name: str, flag: str, path: str
) -> TaggedSentences:
    """Reads the sentences of a file; a test file may be without tags."""
    return read_tagged_file(
        SourceFile(path, flag, options.format, options.skip_bad_rows),
        word_column=options.word_column,
        label_column=options.label_column,
        label_names=options.label_names,
        needs_tags=name != "test",
        tag_scheme=options.tag_scheme,
    )


def check_head(checkpoint: Checkpoint, data: TokenData) -> str | None:
    """Returns why the checkpoint's token-classification head can't be used for these labels.

    None if it can be used, or is missing.
    """
    if checkpoint.source is None or KIND not in checkpoint.heads:
        return None
    classes = checkpoint.source.classes(KIND)
    if classes != len(data.labels):
        return f"that of the checkpoint has {classes} labels, this task has {len(data.labels)}"
    # A head without names is used if its size fits: its classes may be these labels.
    labels = checkpoint_labels(checkpoint)
    if class_names.order_of_head(data.labels, labels) != list(data.labels):
        return f"that of the checkpoint is for the labels {', '.join(labels)}"
    return None


def checkpoint_labels(checkpoint: Checkpoint) -> list[str]:
    """Returns the names of the labels of the checkpoint's head; empty without head or names."""
    if checkpoint.source is None:
        return []
    kind = checkpoint.task_settings.get("kind")
    has_head = KIND in checkpoint.heads
    # A feature-based tagger is no head of the checkpoint, but has labels.
    if kind == FEATURES_KIND or (kind == KIND and has_head):
        return [str(label) for label in checkpoint.task_settings.get("labels") or []]
    if has_head:
        names = label_names(checkpoint.config)
        # Published taggers spell tags in as many ways as files do, such as PER-B.
        return list(respell(names, np.arange(len(names)))[0])
    return []


class _Reader:
    """Maker of the splits of a run, with the labels that they share.

    Attributes:
      labels: names of the model's labels.
      chunk_names: their prefixes and types; None for plain tags.
      words: rule that cuts texts into words, see `word_graph.py`.
      scheme: tag scheme of the model's labels.
    """

    def __init__(self, options: TokenClassificationOptions, checkpoint: Checkpoint):
        task = checkpoint.task_settings
        self._options = options
        self._checkpoint = checkpoint
        self.notes: list[str] = []
        self.labels: list[str] = []
        self.chunk_names: TagNames | None = None
        self.words = task.get("words", "edges")
        self.scheme = options.label_scheme
        if not options.do_train:
            self.labels = checkpoint_labels(checkpoint)
            if not self.labels:
                raise UserError(
                    f"{checkpoint.source.description} lacks the names of its labels: it is no "
                    "model for tokens that was trained here; give --do_train, or the directory of "
                    "one"
                )
            # Models of others do not record their scheme: only IOBES has the prefix S-.
            is_iobes = any(label.startswith("S-") for label in self.labels)
            self.scheme = task.get("label_scheme", "iobes" if is_iobes else "iob2")
            if options.is_chosen("label_scheme") and options.label_scheme != self.scheme:
                raise UserError(
                    f"--label_scheme={options.label_scheme}: the model has learned {self.scheme}: "
                    "leave the flag out, or give --do_train"
                )
            self.chunk_names = self._parsed_labels()

    def make_split(self, name: str, sentences: TaggedSentences) -> Split:
        """Makes windows of the sentences of a file, the training data first."""
        # Notes appear in the order in which files are read.
        self.notes += sentences.notes
        is_training = name == "train"
        if is_training:
            # Predictions cut texts into words as the training file did.
            self.words = "edges" if sentences.texts is None else "basic"
        labels = None
        chunks = None
        if sentences.tags is not None:
            labels, chunks = self._interpret(name, sentences)
            self.notes.append(_describe_tags(sentences, chunks))
        windows = self._make_windows(sentences, is_training)
        return Split(
            sentences,
            window_examples(windows, labels if is_training else None),
            windows,
            labels,
            chunks,
            classes=_count_classes(sentences, chunks),
        )

    def _make_windows(self, sentences: TaggedSentences, is_training: bool) -> WordWindows:
        """Makes windows of sentences, with their context as --context says."""
        options = self._options
        tokenizer = self._checkpoint.tokenizer
        # Context crosses the borders of sentences, but not of documents.
        documents = None
        if options.context != SENTENCE:
            documents = sentences.documents
            if documents is None:
                # The user asked for context that does not exist; with --context=auto that is
                # normal.
                level = "WARNING" if options.context in (DOCUMENT, VOTE) else "note"
                self.notes.append(
                    f"{level}: {sentences.path} has no borders of documents (-DOCSTART- lines in "
                    "conll): every sentence is read without context"
                )
        sentences_per_window = None
        # Training on several windows of a sentence would count it several times.
        votes = 1
        if is_training:
            sentences_per_window = options.sentences_per_window
        elif options.context == VOTE:
            votes = options.votes
        windows = make_windows(
            encode_words(tokenizer, sentences.words),
            sentences.row_lengths,
            documents,
            tokenizer.vocabulary,
            max_seq_length=options.max_seq_length,
            min_context=options.min_context,
            sentences_per_window=sentences_per_window,
            votes=votes,
        )
        problems = [
            (
                windows.num_unknown_words,
                "words are nothing to the tokenizer: they are read as [UNK]",
            ),
            (
                windows.num_shortened_words,
                f"words are longer than {options.max_seq_length - 2} tokens and lost the rest",
            ),
            (
                windows.num_split_sentences,
                "sentences are longer than --max_seq_length: they are read in parts",
            ),
        ]
        for count, problem in problems:
            if count:
                self.notes.append(f"{sentences.path}: {count:,} {problem}")
        return windows

    def _interpret(self, name: str, sentences: TaggedSentences) -> tuple[np.ndarray, Chunks | None]:
        """Returns the label numbers of the words and, unless tags are plain, their chunks."""
        chunks = sentences.chunks()
        tags = sentences.tags
        names = sentences.tag_names
        if chunks is not None:
            # Files may have any scheme; the model learns one.
            tags, names = write_tags(chunks, self.scheme)
            if sentences.scheme != self.scheme:
                self.notes.append(
                    f"{sentences.path}: the tags are in {sentences.scheme.upper()}, converted to "
                    f"{self.scheme.upper()}"
                )
        if name == "train":
            self._set_labels(names, is_plain=chunks is None)
        elif not self._options.do_train:
            self._spell_labels(names)
        # Chunks and plain tags are scored in different ways.
        if name != "train" and (chunks is None) != (self.chunk_names is None):
            kind = "plain" if chunks is None else "those of chunks"
            raise UserError(
                f"{sentences.path}: its tags are {kind}, unlike those that the model knows: see "
                "--label_column and --tag_scheme"
            )
        numbers = {label: number for number, label in enumerate(self.labels)}
        # Map the few different tags, then all words at once.
        labels = np.array([numbers.get(tag, -1) for tag in names], np.int32)[tags]
        unknown = np.flatnonzero(labels < 0)
        if len(unknown):
            unknown_names = sorted({names[tag] for tag in tags[unknown].tolist()})
            self.notes.append(
                f"{sentences.where(unknown[0])}: the label {names[tags[unknown[0]]]} is not among "
                f"those of the training data; {len(unknown):,} words have such labels "
                f"({', '.join(unknown_names)}), which count as errors"
            )
        return labels, chunks

    def _set_labels(self, names: Sequence[str], is_plain: bool) -> None:
        """Sets the labels of the model from the tags of the training data."""
        self.labels = list(names)
        # Chunk tags have an order of their own: O first, then types with their prefixes.
        if is_plain:
            self.labels.sort()
        # Keep the checkpoint's labels and their order, so that its head can be used.
        trained_labels = class_names.order_of_head(self.labels, checkpoint_labels(self._checkpoint))
        if trained_labels:
            extra_labels = [label for label in trained_labels if label not in names]
            if extra_labels:
                self.notes.append(
                    "the checkpoint has labels that the training data does not have, they are "
                    f"kept: {', '.join(extra_labels)}"
                )
            self.labels = trained_labels
        self.notes += class_names.order_notes(self.labels, checkpoint_labels(self._checkpoint))
        self.chunk_names = self._parsed_labels()

    def _parsed_labels(self) -> TagNames | None:
        # Plain tags may look like those of chunks.
        return None if self._options.tag_scheme == PLAIN else parse_names(self.labels)

    def _spell_labels(self, names: Sequence[str]) -> None:
        """Spells the labels of a published head as a file does, for an evaluation."""
        head_names = checkpoint_labels(self._checkpoint)
        if self._checkpoint.task or set(names) <= set(self.labels):
            return
        if class_names.is_nameless(head_names):
            known = list(names)
        else:
            folded = {name.casefold() for name in head_names}
            known = [name for name in names if name.casefold() in folded]
        labels = class_names.order_of_head(known, head_names)
        if labels is None or set(known) <= {OUTSIDE}:
            raise UserError(
                f"{self._checkpoint.source.description} is for the labels "
                f"{', '.join(head_names)}, the data have {', '.join(names)}"
            )
        # A file may lack some of the labels: their types have its spelling, too.
        types = {}
        for name in names:
            type_name = name.partition("-")[2]
            types[type_name.casefold()] = type_name
        self.labels = []
        for label in labels:
            prefix, dash, type_name = label.partition("-")
            # Names with another case than the file's: prefixes and O are capitals everywhere.
            if label not in names and type_name.casefold() in types:
                label = f"{prefix.upper()}{dash}{types[type_name.casefold()]}"
            self.labels.append(label)
        self.notes += class_names.order_notes(self.labels, head_names)
        self.chunk_names = self._parsed_labels()


def _describe_tags(sentences: TaggedSentences, chunks: Chunks | None) -> str:
    """Returns what the tags of a file were taken for."""
    if chunks is not None:
        scheme = sentences.scheme.upper()
        return f"{sentences.path}: the tags mark chunks in the scheme {scheme}, scored by their F1"
    return f"{sentences.path}: {len(sentences.tag_names)} plain tags, scored by word"


def _count_classes(sentences: TaggedSentences, chunks: Chunks | None) -> dict[str, int]:
    """Returns the number of chunks of each type or, for plain tags, of words with each tag."""
    if sentences.tags is None:
        return {}
    names = sentences.tag_names
    numbers = sentences.tags
    if chunks is not None:
        names = chunks.type_names
        numbers = chunks.spans()[:, 2]
    counts = np.bincount(numbers, minlength=len(names))
    return dict(zip(names, counts.tolist(), strict=True))


def window_examples(windows: WordWindows, labels: np.ndarray | None = None) -> Examples:
    """Returns windows as examples, for training with the labels of the words, int32 [W]."""
    tokens = {
        "input_ids": windows.input_ids,
        "segment_ids": np.zeros(len(windows.input_ids), np.uint8),
    }
    if labels is not None:
        tokens["label_ids"] = windows.label_ids(labels)
    return Examples(tokens, windows.row_lengths)
