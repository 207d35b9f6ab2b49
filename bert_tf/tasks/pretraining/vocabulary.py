"""The vocabulary that records, weights and flags have in common, or the line on which of them has
another one.

Ids of another vocabulary of the same size train without complaint, on nonsense. So what the
generator noted beside the records, what a run noted beside the weights, and `--vocab_file` are
compared wherever two of them meet.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from data_gen.pretraining.records import statistics_of
from data_gen.tokenization.vocabulary import Vocabulary, short
from modeling.checkpoints.companion_files import VOCAB_FILE, StoredWeights, check_vocabulary
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class RecordVocabulary:
    """The vocabulary, as far as it is known.

    Attributes:
      fingerprint: `Vocabulary.fingerprint`; known also where only the records' note is left. None
        where it is unknown.
      notes: what the user should know.
    """

    vocabulary: Vocabulary | None
    do_lower_case: bool | None
    fingerprint: str | None
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class RecordNote:
    """What is known of the vocabulary of record files of one call of `create_pretraining_data.py`;
    None each for others."""

    flag: str
    paths: tuple[str, ...]
    fingerprint: str | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None

    def __str__(self) -> str:
        made = (
            f" (made with {self.vocab_file}, fingerprint {short(self.fingerprint)})"
            if self.fingerprint
            else ""
        )
        return f"--{self.flag}: {self.paths[0]}{made}"


def read_notes(flag: str, paths: Sequence[str]) -> list[RecordNote]:
    """The notes of the calls that made record files, from the statistics beside them, and one for
    all other files."""
    groups: dict[str | None, list[str]] = {}
    for path, stats_file in zip(paths, statistics_of(paths), strict=True):
        groups.setdefault(stats_file, []).append(path)
    notes = []
    for stats_file, group in groups.items():
        facts = json_files.read_object(stats_file) if stats_file else {}
        notes.append(
            RecordNote(
                flag,
                tuple(group),
                *(
                    facts[key] if isinstance(facts.get(key), kind) else None
                    for key, kind in (
                        ("vocab_sha256", str),
                        ("vocab_file", str),
                        ("do_lower_case", bool),
                    )
                ),
            )
        )
    return notes


def find_vocabulary(
    options: PretrainingOptions,
    config: BertConfig,
    weights: StoredWeights | None,
    record_files: Mapping[str, Sequence[str]],
) -> RecordVocabulary:
    """The vocabulary as given, else beside the weights or the configuration, else the one in the
    records' note.

    Args:
      weights: what training resumes or starts from, or what is evaluated; None for random weights.
      record_files: name of the flag → paths.

    Raises:
      UserError: two vocabularies or casings differ, or --vocab_file does not fit the model.
    """
    notes = [note for flag, paths in record_files.items() for note in read_notes(flag, paths)]
    noted = [note for note in notes if note.fingerprint]
    if options.vocab_file:
        vocabulary = Vocabulary.from_file(files.check_readable(options.vocab_file, "vocab_file"))
        if vocabulary.size != config.vocab_size:
            raise UserError(
                f"--vocab_file: {options.vocab_file} has {vocabulary.size} entries, but vocab_size is "
                f"{config.vocab_size} in the model's configuration"
            )
    else:
        directories = (
            [os.path.dirname(options.bert_config_file)] if options.bert_config_file else []
        )
        candidates = [
            weights.vocab_file if weights else None,
            *(os.path.join(one, VOCAB_FILE) for one in (*directories, options.output_dir)),
            *(note.vocab_file for note in noted),
        ]
        there = (Vocabulary.from_file(path) for path in candidates if path and files.is_file(path))
        vocabulary = next(
            (
                one
                for one in there
                if one.size == config.vocab_size
                and all(one.has_fingerprint(note.fingerprint) for note in noted)
            ),
            None,
        )
    fingerprints = [vocabulary.fingerprint] if vocabulary else [note.fingerprint for note in noted]
    if weights is not None:
        fingerprints.append(weights.vocab_sha256)
    said = [_compare(vocabulary, noted, weights)]
    said += [
        f"warning: nothing beside {note} shows its vocabulary: it is read with {vocabulary.path}; check --vocab_file"
        for note in notes
        if vocabulary and not note.fingerprint
    ]
    # The casing that everything agrees on.
    casings = [
        ("--do_lower_case", options.do_lower_case),
        *((f"--{note.flag}: {note.paths[0]}", note.do_lower_case) for note in notes),
        *([(weights.description, weights.do_lower_case)] if weights is not None else []),
    ]
    places = {casing: where for where, casing in reversed(casings) if casing is not None}
    if len(places) > 1:
        raise UserError(
            f"{places[True]} is of lower-cased text, {places[False]} of cased text: make the records with the "
            "casing of the model (--do_lower_case of data_gen/create_pretraining_data.py)"
        )
    return RecordVocabulary(
        vocabulary,
        next(iter(places), None),
        next(filter(None, fingerprints), None),
        tuple(filter(None, said)),
    )


def _compare(
    vocabulary: Vocabulary | None, noted: Sequence[RecordNote], weights: StoredWeights | None
) -> str | None:
    """What the user should know of the vocabularies, or None; raises `UserError` where two of them
    differ."""
    if not noted:
        return None if vocabulary is None else check_vocabulary(vocabulary, weights)
    first = noted[0]
    for note in noted:
        if vocabulary is not None and not vocabulary.has_fingerprint(note.fingerprint):
            raise UserError(
                f"--vocab_file: {vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is not the "
                f"vocabulary of {note}: give that one, or make the records again with yours"
            )
        if vocabulary is None and note.fingerprint != first.fingerprint:
            raise UserError(
                f"{note} and {first} belong to different vocabularies: make the records again with one "
                "--vocab_file"
            )
    if vocabulary is not None:
        return check_vocabulary(
            vocabulary,
            weights,
            f"--{first.flag}: {first.paths[0]}",
            "make the records again with that one",
        )
    # The weights' vocabulary, where it is there, is none of the records, or it would have been
    # chosen.
    known = weights and (
        Vocabulary.from_file(weights.vocab_file).fingerprint
        if weights.vocab_file
        else weights.vocab_sha256
    )
    if known and known != first.fingerprint:
        raise UserError(
            f"{first} belongs to another vocabulary than the weights of {weights.description} (fingerprint "
            f"{short(known)}): make the records again with --vocab_file="
            f"{weights.vocab_file or 'that of the weights'}"
        )
    return (
        f"the vocabulary of {first} is not there any more: the run will have no {VOCAB_FILE} unless --vocab_file "
        "names it"
    )
