"""The vocabulary that records, weights and flags have in common, or the line that says which of them has another one.

Ids of another vocabulary of the same size train without complaint, on nonsense. So what the generator noted beside the
records, what a run noted beside the weights, and `--vocab_file` are compared wherever two of them meet. Records of
other programs have no note: a sample of them is decoded, and the user told what it looks like.

Input: record files, the weights that training starts from, flags. Output: `RecordVocabulary`.
"""

import collections
import dataclasses
import itertools
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from data_gen.pretraining import records
from data_gen.pretraining.record_files import statistics_of
from data_gen.tokenization.tokenizer_config import short
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import WordPiece
from modeling.checkpoints.companion_files import VOCAB_FILE, StoredWeights
from modeling.checkpoints.vocabulary_check import check_vocabulary
from modeling.config import BertConfig

# Of records without a note: how many sequences are decoded, and of how many files at most.
_SAMPLE, _SAMPLE_FILES = 256, 8
# Shares beyond which a vocabulary is hardly that of the records; in their own one they are 0 but for [UNK].
_FEWEST_CLS, _MOST = 0.99, {"unknown": 0.05, "unused": 0.005, "after_punctuation": 0.005, "split_otherwise": 0.005}


@dataclasses.dataclass(frozen=True)
class RecordVocabulary:
  """What is known of the vocabulary.

  Attributes:
    fingerprint: `Vocabulary.fingerprint`; known also where only the records' note is left. None where nothing tells.
    mask_id: of [MASK]; None where there is none in the records.
  """

  vocabulary: Vocabulary | None
  do_lower_case: bool | None
  fingerprint: str | None
  mask_id: int | None
  notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class RecordNote:
  """What stands beside record files of one call of `create_pretraining_data.py`; of other files, nothing.

  Attributes:
    fingerprint, vocab_file, do_lower_case: of their vocabulary; None where nothing tells.
    max_predictions_per_seq, masked_lm_prob: what rows were packed for; None where nothing tells.
  """

  flag: str
  paths: tuple[str, ...]
  fingerprint: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  max_predictions_per_seq: int | None = None
  masked_lm_prob: float | None = None

  def describe(self) -> str:
    """The first file and its vocabulary."""
    made = f" (made with {self.vocab_file}, fingerprint {short(self.fingerprint)})" if self.fingerprint else ""
    return f"{self.paths[0]}{made}"


def find_vocabulary(options: PretrainingOptions, config: BertConfig, weights: StoredWeights | None,
                    record_files: Mapping[str, Sequence[str]]) -> RecordVocabulary:
  """Compares all that tells of the vocabulary.

  Args:
    weights: what training resumes or starts from, or what is evaluated; None for random weights.
    record_files: name of the flag → paths.

  Returns:
    the vocabulary: as given, else beside the weights or the configuration, else where the records' note says.

  Raises:
    UserError: two of them tell of different vocabularies or casings, or --vocab_file does not fit the model.
  """
  notes = [note for flag, paths in record_files.items() for note in read_notes(flag, paths)]
  noted = [note for note in notes if note.fingerprint]
  vocabulary = _choose(options, config, weights, noted)
  said = [_check(vocabulary, noted, weights)]
  casing = _common_casing(options, notes, weights)
  unmarked = [note for note in notes if not note.fingerprint]
  said += [describe_sample(note, vocabulary) for note in unmarked if vocabulary]
  fingerprint = vocabulary.fingerprint if vocabulary else noted[0].fingerprint if noted else None
  if fingerprint is None and weights is not None:
    fingerprint = weights.vocab_sha256
  mask_id = vocabulary.mask_id if vocabulary else guess_mask_id(_sample(notes[0].paths))
  return RecordVocabulary(vocabulary, casing, fingerprint, mask_id, tuple(filter(None, said)))


def read_notes(flag: str, paths: Sequence[str]) -> list[RecordNote]:
  """What the generator wrote beside record files: a note for each of its calls, one without facts for all other files.
  """
  found: dict[str | None, list[str]] = {}
  for path, stats_file in zip(paths, statistics_of(paths), strict=True):
    found.setdefault(stats_file, []).append(path)
  notes = []
  for stats_file, group in found.items():
    facts = json_files.read_object(stats_file) if stats_file else {}
    known = {name: facts.get(key) for name, key, kind in (
        ("fingerprint", "vocab_sha256", str), ("vocab_file", "vocab_file", str),
        ("do_lower_case", "do_lower_case", bool), ("max_predictions_per_seq", "max_predictions_per_seq", int),
        ("masked_lm_prob", "masked_lm_prob", float)) if isinstance(facts.get(key), kind)}
    notes.append(RecordNote(flag, tuple(group), **known))
  return notes


def _choose(options: PretrainingOptions, config: BertConfig, weights: StoredWeights | None,
            noted: Sequence[RecordNote]) -> Vocabulary | None:
  if options.vocab_file:
    vocabulary = Vocabulary.from_file(files.check_readable(options.vocab_file, "vocab_file"))
    if vocabulary.size != config.vocab_size:
      raise UserError(f"--vocab_file: {options.vocab_file} has {vocabulary.size} entries, but vocab_size is "
                      f"{config.vocab_size} in the model's configuration")
    return vocabulary
  directories = [os.path.dirname(options.bert_config_file)] if options.bert_config_file else []
  directories.append(options.output_dir)
  candidates = [weights.vocab_file if weights else None, *(os.path.join(one, VOCAB_FILE) for one in directories),
                *(note.vocab_file for note in noted)]
  for path in candidates:
    if path and files.is_file(path):
      vocabulary = Vocabulary.from_file(path)
      if vocabulary.size == config.vocab_size and all(vocabulary.has_fingerprint(note.fingerprint) for note in noted):
        return vocabulary
  return None


def _check(vocabulary: Vocabulary | None, noted: Sequence[RecordNote], weights: StoredWeights | None) -> str | None:
  """Raises `UserError` where two vocabularies meet; else what the user should know, or None."""
  if vocabulary is not None:
    for note in noted:
      if not vocabulary.has_fingerprint(note.fingerprint):
        raise UserError(f"--vocab_file: {vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is not the "
                        f"vocabulary of --{note.flag}: {note.describe()}: give that one, or make the records again "
                        "with yours")
    if not noted:
      return check_vocabulary(vocabulary, weights)
    return check_vocabulary(vocabulary, weights, f"--{noted[0].flag}: {noted[0].paths[0]}",
                            "make the records again with that one")
  if not noted:
    return None
  first = noted[0]
  for note in noted[1:]:
    if note.fingerprint != first.fingerprint:
      raise UserError(f"--{note.flag}: {note.describe()} and --{first.flag}: {first.describe()} belong to different "
                      "vocabularies: make the records again with one --vocab_file")
  own = Vocabulary.from_file(weights.vocab_file) if weights is not None and weights.vocab_file else None
  known = own.fingerprint if own else weights.vocab_sha256 if weights is not None else None
  if known is not None and known != first.fingerprint and not (own and own.has_fingerprint(first.fingerprint)):
    beside = f"{own.path}, " if own else ""
    raise UserError(f"--{first.flag}: {first.describe()} belongs to another vocabulary than the weights of "
                    f"{weights.description} ({beside}fingerprint {short(known)}): make the records again with "
                    f"--vocab_file={own.path if own else 'that of the weights'}")
  return (f"--{first.flag}: the vocabulary of {first.describe()} is not there any more: the run will have no "
          f"{VOCAB_FILE} unless --vocab_file names it")


def _common_casing(options: PretrainingOptions, notes: Sequence[RecordNote], weights: StoredWeights | None
                   ) -> bool | None:
  """The casing that everything agrees on; None where nothing tells."""
  told = [("--do_lower_case", options.do_lower_case), *((f"--{note.flag}: {note.paths[0]}", note.do_lower_case)
                                                        for note in notes)]
  if weights is not None:
    told.append((weights.description, weights.do_lower_case))
  known = [(who, casing) for who, casing in told if casing is not None]
  for who, casing in known[1:]:
    if casing != known[0][1]:
      lower, cased = (who, known[0][0]) if casing else (known[0][0], who)
      raise UserError(f"{lower} is of lower-cased text, {cased} of cased text: make the records with the casing of the "
                      "model (--do_lower_case of data_gen/create_pretraining_data.py)")
  return known[0][1] if known else None


# ------------------------------------------------------------------------------------------ records without a note


def describe_sample(note: RecordNote, vocabulary: Vocabulary) -> str:
  """What records of another program look like in a vocabulary, in one line; a warning if that can hardly be theirs."""
  figures = sample_figures(_sample(note.paths), vocabulary)
  is_odd = figures["begin_with_cls"] < _FEWEST_CLS or any(figures[name] > most for name, most in _MOST.items())
  line = (f"--{note.flag}: nothing tells the vocabulary of {note.paths[0]}; read with {vocabulary.path}, "
          f"{figures['begin_with_cls']:.0%} of the sequences begin with [CLS], {figures['unknown']:.1%} of the tokens "
          f"are [UNK] and {figures['unused']:.1%} [unused], {figures['after_punctuation']:.1%} of those after "
          f"punctuation are ## pieces, and {figures['split_otherwise']:.1%} of the words in pieces would be split "
          "otherwise")
  return f"warning: {line}: that is hardly the vocabulary they were made with, check --vocab_file" if is_odd else line


def sample_figures(sample: Sequence[Mapping[str, np.ndarray]], vocabulary: Vocabulary) -> dict[str, float]:
  """Shares that tell a vocabulary from another one of the same size.

  Returns:
    "begin_with_cls" of the sequences; "unknown" and "unused" (entries like [unused7]) of the tokens;
    "after_punctuation": of the tokens after punctuation, where a word must begin, those that continue one;
    "split_otherwise": of the words of several pieces those that this vocabulary would split in another way. The last
    two are 0 for the vocabulary of the records; the last was 0.6 to 9 % for others.
  """
  tokens, wordpiece = vocabulary.tokens, WordPiece(vocabulary)
  boundary = {vocabulary.cls_id, vocabulary.sep_id}
  punctuation = {index for index, token in enumerate(tokens)
                 if len(token) == 1 and unicodedata.category(token).startswith("P")}
  count = collections.Counter()
  for example in sample:
    ids = np.minimum(_unmasked_ids(example), len(tokens) - 1).tolist()
    count["sequences"] += 1
    count["cls"] += ids[:1] == [vocabulary.cls_id]
    count["tokens"] += len(ids)
    count["unknown"] += ids.count(vocabulary.unk_id)
    count["unused"] += sum(tokens[index].startswith("[unused") for index in ids)
    starts = [tokens[index] for before, index in itertools.pairwise(ids) if before in punctuation]
    count["starts"] += len(starts)
    count["pieces"] += sum(token.startswith("##") for token in starts)
    for word, following in _words_in_pieces(ids, tokens):
      # What was cut off at the end of a segment can't be known.
      if following not in boundary:
        text = tokens[word[0]] + "".join(tokens[index][2:] for index in word[1:])
        count["words"] += 1
        count["otherwise"] += np.frombuffer(wordpiece.ids(text), np.int32).tolist() != word
  return {name: count[part] / max(count[whole], 1) for name, part, whole in (
      ("begin_with_cls", "cls", "sequences"), ("unknown", "unknown", "tokens"), ("unused", "unused", "tokens"),
      ("after_punctuation", "pieces", "starts"), ("split_otherwise", "otherwise", "words"))}


def _words_in_pieces(ids: list[int], tokens: Sequence[str]) -> Iterator[tuple[list[int], int | None]]:
  """The words of several pieces, and what follows each; None where nothing does."""
  word: list[int] = []
  for index in [*ids, None]:
    if index is not None and tokens[index].startswith("##") and word:
      word.append(index)
      continue
    if len(word) > 1:
      yield word, index
    # Of a word whose beginning was cut off nothing is known.
    word = [index] if index is not None and not tokens[index].startswith("##") else []


def guess_mask_id(sample: Sequence[Mapping[str, np.ndarray]]) -> int | None:
  """The id of [MASK] without a vocabulary: what stands in most of the places whose token was changed.

  Returns:
    None where no id stands in at least half of them.
  """
  seen = collections.Counter()
  for example in sample:
    predicted = example["masked_lm_weights"] > 0
    visible = example["input_ids"][example["masked_lm_positions"][predicted]]
    seen.update(visible[visible != example["masked_lm_ids"][predicted]].tolist())
  (mask_id, count), = seen.most_common(1) or [(None, 0)]
  return mask_id if count and 2 * count >= seen.total() else None


def _unmasked_ids(example: Mapping[str, np.ndarray]) -> np.ndarray:
  """The ids of a sequence as they were before masking, int64 [length]."""
  ids = example["input_ids"].copy()
  predicted = example["masked_lm_weights"] > 0
  ids[example["masked_lm_positions"][predicted]] = example["masked_lm_ids"][predicted]
  return np.maximum(ids[:int(example["input_mask"].sum())], 0)


def _sample(paths: Sequence[str]) -> list[dict[str, np.ndarray]]:
  """The first sequences of the first files."""
  some = paths[:_SAMPLE_FILES]
  return [sequence for path in some
          for sequence in itertools.islice(records.read_sequences(path), _SAMPLE // len(some))]
