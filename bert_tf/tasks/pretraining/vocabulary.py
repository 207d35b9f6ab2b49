"""Vocabulary that records, weights and flags have in common.

Ids of another vocabulary of the same size train without complaint, on nonsense. So the fingerprints
that the generator stored beside the records, and a run beside the weights, are compared with each
other and with `--vocab_file`.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from data_gen.pretraining.records import statistics_of
from data_gen.tokenization.vocabulary import Vocabulary, short, temporary_vocabulary
from data_gen.tokenization.wordpiece import strips_accents
from modeling.checkpoints.companion_files import (
    VOCAB_FILE,
    CheckpointReader,
    check_vocabulary,
    settled_vocabulary,
)
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class RecordVocabulary:
    """Vocabulary of a run, as far as it is known.

    Attributes:
      fingerprint: `Vocabulary.fingerprint`; known, too, if only the records' note is left. None if
        it is unknown.
      notes: remarks for the user.
    """

    vocabulary: Vocabulary | None
    do_lower_case: bool | None
    fingerprint: str | None
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class RecordNote:
    """Note on the vocabulary of the record files of one call of `create_pretraining_data.py`.

    The last four attributes are None for records of other programs.
    """

    flag: str
    paths: tuple[str, ...]
    fingerprint: str | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    strip_accents: bool | None = None

    def __str__(self) -> str:
        description = f"--{self.flag}: {self.paths[0]}"
        if self.fingerprint:
            fingerprint = short(self.fingerprint)
            description += f" (made with {self.vocab_file}, fingerprint {fingerprint})"
        return description


def read_notes(flag: str, paths: Sequence[str]) -> list[RecordNote]:
    """Reads the notes in the statistics beside record files; files without any share one note."""
    # Shards and lists of files of one call share their statistics: one note for all of them.
    groups: dict[str | None, list[str]] = {}
    for path, stats_file in zip(paths, statistics_of(paths), strict=True):
        groups.setdefault(stats_file, []).append(path)
    notes = []
    for stats_file, group in groups.items():
        stats = json_files.read_object(stats_file) if stats_file else {}
        note = RecordNote(
            flag,
            tuple(group),
            fingerprint=_typed(stats, "vocab_sha256", str),
            vocab_file=_typed(stats, "vocab_file", str),
            do_lower_case=_typed(stats, "do_lower_case", bool),
            strip_accents=_typed(stats, "strip_accents", bool),
        )
        notes.append(note)
    return notes


def _typed(stats: Mapping[str, object], key: str, kind: type):
    """Returns a value of the statistics; None if it is missing or of another type."""
    value = stats.get(key)
    # The file may be of another program, or damaged: it is a hint, not an input.
    if isinstance(value, kind):
        return value
    return None


def find_vocabulary(
    options: PretrainingOptions,
    config: BertConfig,
    weights: CheckpointReader | None,
    record_files: Mapping[str, Sequence[str]],
) -> RecordVocabulary:
    """Finds the vocabulary of a run.

    It is --vocab_file, else the one beside the weights or the configuration, else the one in the
    records' note.

    Args:
      weights: those that training resumes or starts from, or that are evaluated; None for random
        weights.
      record_files: name of the flag → paths.

    Raises:
      UserError: two vocabularies or casings differ, or --vocab_file does not fit the model.
    """
    record_notes = []
    for flag, paths in record_files.items():
        record_notes += read_notes(flag, paths)
    # Notes without a fingerprint come from other programs: they can't be compared.
    known_notes = [note for note in record_notes if note.fingerprint]
    if options.vocab_file:
        vocabulary = Vocabulary.from_file(files.check_readable(options.vocab_file, "vocab_file"))
        # A larger vocabulary would look up rows that the embeddings do not have.
        if vocabulary.size > config.vocab_size:
            raise UserError(
                f"--vocab_file: {options.vocab_file} has {vocabulary.size} entries, but vocab_size "
                f"is {config.vocab_size} in the model's configuration"
            )
    else:
        vocabulary = _find_file(options, config, weights, known_notes)
    notes = []
    note = _compare(vocabulary, known_notes, weights)
    if note:
        notes.append(note)
    if vocabulary:
        for record_note in record_notes:
            if not record_note.fingerprint:
                notes.append(
                    f"warning: nothing beside {record_note} shows its vocabulary: it is read with "
                    f"{vocabulary.path}; check --vocab_file"
                )
    do_lower_case = _common_casing(options, record_notes, weights)
    return RecordVocabulary(
        _with_accents(vocabulary, record_notes, weights, do_lower_case),
        do_lower_case,
        _fingerprint(vocabulary, known_notes, weights),
        tuple(notes),
    )


def _find_file(
    options: PretrainingOptions,
    config: BertConfig,
    weights: CheckpointReader | None,
    record_notes: Sequence[RecordNote],
) -> Vocabulary | None:
    """Returns the first vocabulary that fits the model and the fingerprints of all records."""
    # The order decides: weights were trained with the vocabulary beside them.
    candidates = []
    if weights:
        candidates.append(weights.vocab_file)
    if options.bert_config_file:
        directory = os.path.dirname(options.bert_config_file)
        candidates.append(os.path.join(directory, VOCAB_FILE))
    candidates.append(os.path.join(options.output_dir, VOCAB_FILE))
    candidates += [note.vocab_file for note in record_notes]
    for path in candidates:
        # The records may have been made on another machine: the path in their note may not exist.
        if not path or not files.is_file(path):
            continue
        vocabulary = Vocabulary.from_file(path)
        # Another size or another fingerprint is another vocabulary.
        if vocabulary.size <= config.vocab_size and all(
            vocabulary.has_fingerprint(note.fingerprint) for note in record_notes
        ):
            return vocabulary
    return None


def _fingerprint(
    vocabulary: Vocabulary | None,
    record_notes: Sequence[RecordNote],
    weights: CheckpointReader | None,
) -> str | None:
    """Returns the fingerprint of the vocabulary, of the records or of the weights."""
    if vocabulary:
        return vocabulary.fingerprint
    if record_notes:
        return record_notes[0].fingerprint
    if weights:
        return weights.vocab_sha256
    return None


def _common_casing(
    options: PretrainingOptions,
    record_notes: Sequence[RecordNote],
    weights: CheckpointReader | None,
) -> bool | None:
    """Returns the casing of flags, records and weights; None if it is unknown.

    Raises:
      UserError: they differ.
    """
    # Later sources do not override earlier ones: all must agree.
    casings = [("--do_lower_case", options.do_lower_case)]
    for note in record_notes:
        casings.append((f"--{note.flag}: {note.paths[0]}", note.do_lower_case))
    if weights is not None:
        casings.append((weights.description, weights.do_lower_case))
    # The message names the first source of each casing.
    sources: dict[bool, str] = {}
    for source, do_lower_case in casings:
        if do_lower_case is not None:
            sources.setdefault(do_lower_case, source)
    if len(sources) > 1:
        raise UserError(
            f"{sources[True]} is of lower-cased text, {sources[False]} of cased text: make the "
            "records with the casing of the model (--do_lower_case of "
            "data_gen/create_pretraining_data.py)"
        )
    # All sources agree: there is one casing, or none.
    return next(iter(sources), None)


def _with_accents(
    vocabulary: Vocabulary | None,
    record_notes: Sequence[RecordNote],
    weights: CheckpointReader | None,
    do_lower_case: bool | None,
) -> Vocabulary | None:
    """Returns the vocabulary with the setting for accents of weights and records.

    Raises:
      UserError: they differ.
    """
    if vocabulary is None or do_lower_case is None:
        return vocabulary
    vocabulary = Vocabulary.from_file(settled_vocabulary(str(vocabulary.path), weights))
    for note in record_notes:
        strips = strips_accents(do_lower_case, vocabulary.strip_accents)
        if note.strip_accents in (None, strips):
            continue
        # The files beside the vocabulary, or beside the weights, have precedence over the records.
        if vocabulary.strip_accents is not None or weights is not None:
            raise UserError(
                f"--{note.flag}: {note.paths[0]} is of text with strip_accents="
                f"{note.strip_accents}, the vocabulary {vocabulary.path} is for {strips}: make the "
                "records with the --strip_accents of the model"
            )
        vocabulary.strip_accents = note.strip_accents
        vocabulary = Vocabulary.from_file(
            temporary_vocabulary(vocabulary.tokens, vocabulary.settings(do_lower_case, None))
        )
    return vocabulary


def _compare(
    vocabulary: Vocabulary | None,
    record_notes: Sequence[RecordNote],
    weights: CheckpointReader | None,
) -> str | None:
    """Compares the vocabularies, and returns a remark for the user, if any.

    Raises:
      UserError: two of them differ.
    """
    # Records of other programs leave the weights' vocabulary to compare with.
    if not record_notes:
        if vocabulary is None:
            return None
        return check_vocabulary(vocabulary, weights)
    # If no vocabulary was found, fingerprints of the records can still differ.
    first = record_notes[0]
    for note in record_notes:
        if vocabulary is not None and not vocabulary.has_fingerprint(note.fingerprint):
            raise UserError(
                f"--vocab_file: {vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is "
                f"not the vocabulary of {note}: give that one, or make the records again with yours"
            )
        if vocabulary is None and note.fingerprint != first.fingerprint:
            raise UserError(
                f"{note} and {first} belong to different vocabularies: make the records again with "
                "one --vocab_file"
            )
    if vocabulary is not None:
        return check_vocabulary(
            vocabulary,
            weights,
            f"--{first.flag}: {first.paths[0]}",
            "make the records again with that one",
        )
    # A vocabulary beside the weights does not belong to the records, or it would have been found.
    # Fingerprints show another vocabulary even after its file is gone.
    fingerprint = None
    vocab_file = "that of the weights"
    if weights is not None:
        fingerprint = weights.vocab_sha256
        if weights.vocab_file:
            vocab_file = weights.vocab_file
            fingerprint = Vocabulary.from_file(vocab_file).fingerprint
    if fingerprint and fingerprint != first.fingerprint:
        raise UserError(
            f"{first} belongs to another vocabulary than the weights of {weights.description} "
            f"(fingerprint {short(fingerprint)}): make the records again with "
            f"--vocab_file={vocab_file}"
        )
    return (
        f"the vocabulary of {first} is not there any more: the run will have no {VOCAB_FILE} "
        "unless --vocab_file names it"
    )
