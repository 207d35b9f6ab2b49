"""From the files of tagged sentences to windows in memory, and whether the checkpoint fits them.

Input: files (`data_gen/labelled/tagged_files.py`). Output: windows with labels
(`data_gen/labelled/word_windows.py`), which `bert_tf/tasks/token_classification/task.py` trains on
and predicts.
"""

import dataclasses

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks.token_classification.options import (
    DOCUMENT,
    SENTENCE,
    VOTE,
    TokenClassificationOptions,
)
from bert_tf.training import examples as in_memory
from bert_tf.training.examples import Examples
from data_gen.labelled.tag_schemes import Chunks, TagNames, parse_names, write_tags
from data_gen.labelled.tagged_files import TaggedSentences, read_tagged_file
from data_gen.labelled.word_windows import WordWindows, encode_words, make_windows
from modeling.checkpoints.load import Checkpoint
from modeling.config import label_names

KIND = "token_classification"
# Of a tagger on fixed activations.
FEATURES_KIND = "token_classification_from_features"
# Names in --data_dir, the first that is there is read.
_EXTENSIONS = (".txt", ".conll", ".jsonl")
_FILES = {
    "train": ("eng.train", *(f"train{extension}" for extension in _EXTENSIONS)),
    "dev": (
        "eng.testa",
        *(f"{name}{extension}" for name in ("valid", "dev") for extension in _EXTENSIONS),
    ),
    "test": ("eng.testb", *(f"test{extension}" for extension in _EXTENSIONS)),
}


@dataclasses.dataclass(frozen=True)
class Split(in_memory.Dataset):
    """A file's sentences, and the windows made of them; W words.

    Attributes:
      labels: int32 [W], numbers of the model's labels, -1 for one that it does not have; None where
        the file has none.
      chunks: the right ones; None for plain tags and where the file has no labels.
    """

    source: TaggedSentences
    windows: WordWindows
    labels: np.ndarray | None
    chunks: Chunks | None

    @property
    def is_labelled(self) -> bool:
        return self.labels is not None


@dataclasses.dataclass(frozen=True)
class TokenData(in_memory.Datasets):
    """What a run reads.

    Attributes:
      labels: names of the model's labels, in the order of their numbers.
      chunk_names: their meaning; None for plain tags.
    """

    labels: tuple[str, ...]
    chunk_names: TagNames | None


def read_data(options: TokenClassificationOptions, opened: Checkpoint) -> TokenData:
    """Reads what a run needs and makes windows of it."""
    opened.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    reader = _Reader(options, opened)
    sources = options.read_sets(
        options.split_files(_FILES),
        lambda name, flag, path: read_tagged_file(
            path,
            flag,
            options.format,
            word_column=options.word_column,
            label_column=options.label_column,
            label_names=options.label_names,
            needs_tags=name != "test",
            tag_scheme=options.tag_scheme,
            skip_bad_rows=None if name == "test" else options.skip_bad_rows,
        ),
    )
    splits = {name: reader.make_split(name, source) for name, source in sources.items()}
    if opened.tokenizer.do_lower_case and reader.chunk_names is not None:
        reader.notes.append("the vocabulary is uncased: names are easier to find with a cased one")
    return TokenData(
        labels=tuple(reader.labels),
        chunk_names=reader.chunk_names,
        train=splits.pop("train", None),
        test={"test": splits.pop("test")} if "test" in splits else {},
        dev=splits,
        description={
            "kind": KIND,
            "labels": list(reader.labels),
            "max_seq_length": options.max_seq_length,
            "min_context": options.min_context,
            "label_scheme": reader.scheme,
            "words": reader.words,
        },
        notes=reader.notes,
        metrics=("f1", "precision", "recall", "accuracy") if reader.chunk_names else ("accuracy",),
    )


def check_head(opened: Checkpoint, data: TokenData) -> str | None:
    """Why the checkpoint's token-classification head can't be used for these labels; None where it
    can, or is missing."""
    if opened.source is None or KIND not in opened.heads:
        return None
    classes = opened.source.classes(KIND)
    if classes != len(data.labels):
        return f"that of the checkpoint has {classes} labels, this task has {len(data.labels)}"
    there = checkpoint_labels(opened)
    if there and there != list(data.labels):
        return f"that of the checkpoint is for the labels {', '.join(there)}"
    return None


def checkpoint_labels(opened: Checkpoint) -> list[str]:
    """Names of the labels of the checkpoint's head in their order; empty where there is no head, or
    no names."""
    if opened.source is None:
        return []
    kind = (opened.task or {}).get("kind")
    if kind == FEATURES_KIND or kind == KIND and KIND in opened.heads:
        return list(map(str, opened.task.get("labels") or []))
    return label_names(opened.config) if KIND in opened.heads else []


class _Reader:
    """The files of a run, with the labels that they share."""

    def __init__(self, options: TokenClassificationOptions, opened: Checkpoint):
        self._options, self._opened = options, opened
        self.notes: list[str] = []
        self.labels: list[str] = []
        self.chunk_names: TagNames | None = None
        # How texts are cut into words: as ours, or as those of a user who gave words.
        self.words = (opened.task or {}).get("words", "edges")
        # What the model knows chunks in.
        self.scheme = options.label_scheme
        if not options.do_train:
            self.labels = checkpoint_labels(opened)
            has_ends = any(label.startswith("S-") for label in self.labels)
            self.scheme = (opened.task or {}).get("label_scheme", "iobes" if has_ends else "iob2")
            if not self.labels:
                raise UserError(
                    f"{opened.source.description} lacks the names of its labels: it is no model for tokens "
                    "that was trained here; give --do_train, or the directory of one"
                )
            self.chunk_names = parse_names(self.labels)

    def make_split(self, name: str, sentences: TaggedSentences) -> Split:
        """The windows of a file, the training data first."""
        self.notes += sentences.notes
        if name == "train":
            self.words = "edges" if sentences.texts is None else "basic"
        labels, chunks = (
            (None, None) if sentences.tags is None else self._interpret(name, sentences)
        )
        options, tokenizer, path = self._options, self._opened.tokenizer, sentences.path
        with_documents = options.context != SENTENCE and sentences.documents is not None
        if not with_documents and options.context != SENTENCE:
            level = "note: " if options.context not in (DOCUMENT, VOTE) else "WARNING: "
            self.notes.append(
                f"{level}{path} has no borders of documents (-DOCSTART- lines in conll): every sentence is "
                "read without context"
            )
        is_training = name == "train"
        windows = make_windows(
            encode_words(tokenizer, sentences.words),
            sentences.row_lengths,
            sentences.documents if with_documents else None,
            tokenizer.vocabulary,
            max_seq_length=options.max_seq_length,
            min_context=options.min_context,
            sentences_per_window=options.sentences_per_window if is_training else None,
            votes=options.votes if options.context == VOTE and not is_training else 1,
        )
        for count, what in (
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
        ):
            if count:
                self.notes.append(f"{path}: {count:,} {what}")
        names, kinds = (
            (chunks.type_names, chunks.spans()[:, 2])
            if chunks is not None
            else (sentences.tag_names, sentences.tags)
        )
        counts = [] if labels is None else np.bincount(kinds, minlength=len(names)).tolist()
        return Split(
            sentences,
            window_examples(windows, labels if is_training else None),
            windows,
            labels,
            chunks,
            classes=dict(zip(names, counts, strict=False)),
        )

    def _interpret(self, name: str, sentences: TaggedSentences) -> tuple[np.ndarray, Chunks | None]:
        """(labels, chunks) of the words."""
        path, chunks = sentences.path, sentences.chunks()
        tags, names = (sentences.tags, sentences.tag_names)
        if chunks is not None:
            tags, names = write_tags(chunks, self.scheme)
            if sentences.scheme != self.scheme:
                self.notes.append(
                    f"{path}: the tags are in {sentences.scheme.upper()}, converted to {self.scheme.upper()}"
                )
        if name == "train":
            self.labels = list(names) if chunks is not None else sorted(names)
            there = checkpoint_labels(self._opened)
            # In the order that the checkpoint's head has them in; with all that it has besides.
            if there and set(names) <= set(there):
                if others := [label for label in there if label not in names]:
                    self.notes.append(
                        f"the checkpoint has labels that the training data does not have, they are kept: "
                        f"{', '.join(others)}"
                    )
                self.labels = there
            self.chunk_names = parse_names(self.labels)
        elif (chunks is None) != (self.chunk_names is None):
            raise UserError(
                f"{path}: its tags are {'plain' if chunks is None else 'those of chunks'}, unlike those that the "
                "model knows: see --label_column and --tag_scheme"
            )
        number = {label: place for place, label in enumerate(self.labels)}
        known = np.array([number.get(one, -1) for one in names], np.int32)
        labels = known[tags]
        unknown = np.flatnonzero(labels < 0)
        if len(unknown):
            different = sorted({names[tag] for tag in tags[unknown].tolist()})
            self.notes.append(
                f"{sentences.where(unknown[0])}: the label {names[tags[unknown[0]]]} is not among those of the "
                f"training data; {len(unknown):,} words have such labels ({', '.join(different)}), which count "
                "as errors"
            )
        return labels, chunks


def window_examples(windows: WordWindows, labels: np.ndarray | None = None) -> Examples:
    """Windows as training (with labels, int32 [W]) and prediction take them."""
    tokens = {
        "input_ids": windows.input_ids,
        "segment_ids": np.zeros(len(windows.input_ids), np.uint8),
    }
    if labels is not None:
        tokens["label_ids"] = windows.label_ids(labels)
    return Examples(tokens, windows.row_lengths)
