"""Data of the fine-tuning programs: a file's examples or random tokens, and epochs of batches of them."""

import dataclasses
import itertools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from bert_tf.tasks.multiple_choice.data import ChoiceExamples, encode
from bert_tf.tasks.sentence_embedding.data import SentenceExamples
from bert_tf.tasks.token_classification.data import window_examples
from bert_tf.training.examples import Examples, assemble, epoch_batches
from data_gen.labelled.glue import find_task, read_split
from data_gen.labelled.multiple_choice import read_swag
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.sentence_pairs import read_sts_b
from data_gen.labelled.tagged_files import read_tagged_file
from data_gen.labelled.word_windows import encode_words, make_windows
from data_gen.tokenization.tokenizer import Tokenizer

VOCAB_SIZE = 30522
# Task → classes of its head, for those that have a choice.
CLASSES = {"classification": 2, "token_classification": 9}
_CHOICES = 4
_WARM_UP_STEPS, _BATCHES_AHEAD = 2, 2


def synthetic_pairs(limit: int) -> Examples:
  """As many pairs of sentences as MRPC has, of like lengths with the published uncased vocabulary; two classes."""
  random = np.random.default_rng(0)
  lengths = _clipped(random.normal(53.2, 13.0, 3668), 19, min(103, limit))
  tokens = _tokens(random, lengths)
  return Examples(tokens, lengths, {
      "label_ids": random.integers(0, CLASSES["classification"], len(lengths), np.int32)})


def synthetic_questions(limit: int) -> ChoiceExamples:
  """As many questions as CODAH's first training set has: lengths differ between questions, and less within one."""
  random = np.random.default_rng(0)
  lengths = random.normal(21.7, 6.0, (1665, 1)) + random.normal(0, 2.1, (1665, _CHOICES))
  lengths = _clipped(lengths.ravel(), 7, min(69, limit))
  questions = len(lengths) // _CHOICES
  return ChoiceExamples(
      _tokens(random, lengths), lengths, {"label_ids": random.integers(0, _CHOICES, questions, np.int32)},
      num_choices=np.full(questions, _CHOICES, np.int64))


def synthetic_sentences(limit: int) -> Examples:
  """As many sentences as WNUT-17 has, of like lengths; two of three tokens are scored, the others have the tag -1."""
  random = np.random.default_rng(0)
  lengths = _clipped(np.exp(random.normal(3.2, 0.5, 3394)), 3, min(120, limit))
  tokens = _tokens(random, lengths)
  tags = random.integers(0, CLASSES["token_classification"], len(tokens["input_ids"]), np.int32)
  tags[random.random(len(tags)) < 1 / 3] = -1
  return Examples({**tokens, "label_ids": tags}, lengths)


def read(task: str, path: str | None, vocab_file: str, limit: int) -> Examples:
  """The examples of a task: of MRPC or STS-B in a directory, of a file, or synthetic ones where there is none."""
  if path is None:
    return {"classification": synthetic_pairs, "multiple_choice": synthetic_questions,
            "token_classification": synthetic_sentences}[task](limit)
  readers = {"classification": _read_mrpc, "multiple_choice": _read_questions, "token_classification": _read_sentences,
             "sentence_embedding": _read_sts_b}
  return readers[task](path, Tokenizer.from_file(vocab_file, True), limit)


def _read_mrpc(data_dir: str, tokenizer: Tokenizer, limit: int) -> Examples:
  split = read_split(find_task("mrpc"), data_dir, "train")
  features = encode_pairs(tokenizer, split.text_a, split.text_b, limit)
  return Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                  {"label_ids": np.asarray(split.labels, np.int32)})


def _read_questions(path: str, tokenizer: Tokenizer, limit: int) -> ChoiceExamples:
  return encode(tokenizer, read_swag(path, "train_file"), limit, False)[0]


def _read_sentences(path: str, tokenizer: Tokenizer, limit: int) -> Examples:
  """Windows with as many tags as synthetic sentences have."""
  sentences = read_tagged_file(path, "train_file")
  windows = make_windows(encode_words(tokenizer, sentences.words), sentences.row_lengths, None, tokenizer.vocabulary,
                         max_seq_length=limit)
  return window_examples(windows, sentences.tags % CLASSES["token_classification"])


def _read_sts_b(data_dir: str, tokenizer: Tokenizer, limit: int) -> SentenceExamples:
  pairs = read_sts_b(data_dir, "train", None)
  sentences = [text for pair in zip(*pairs.columns, strict=True) for text in pair]
  features = encode_pairs(tokenizer, sentences, None, limit)
  return SentenceExamples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                          texts=np.arange(len(sentences)).reshape(-1, 2))


def full_batches(examples: Examples, batch_size: int) -> Examples:
  """The first examples, as many as fill whole batches, so that all programs have steps of one size."""
  count = rows = max(len(examples) // batch_size, 1) * batch_size
  changes = {}
  if isinstance(examples, ChoiceExamples):
    changes = {"num_choices": examples.num_choices[:count]}
    rows = changes["num_choices"].sum()
  elif isinstance(examples, SentenceExamples):
    changes = {"texts": examples.texts[:count]}
    rows = 2 * count
  tokens = examples.row_lengths[:rows].sum()
  return dataclasses.replace(
      examples, tokens={name: values[:tokens] for name, values in examples.tokens.items()},
      row_lengths=examples.row_lengths[:rows],
      values={name: values[:count] for name, values in examples.values.items()}, **changes)


def _clipped(lengths: np.ndarray, shortest: int, longest: int) -> np.ndarray:
  return lengths.round().clip(shortest, longest).astype(np.int64)


def _tokens(random: np.random.Generator, lengths: np.ndarray) -> dict[str, np.ndarray]:
  """Ids and segments of rows of these lengths: the second half of each is the second segment."""
  return {"input_ids": random.integers(1000, VOCAB_SIZE, lengths.sum(), np.int32),
          "segment_ids": np.concatenate([np.arange(length) > length // 2 for length in lengths]).astype(np.uint8)}


class EpochLoop:
  """Runs a peer over endless epochs of full batches, the next ones being made in a thread meanwhile.

  Args:
    run_batch: the program: what it does with a batch, which ends with a result on the host.
    examples, batch_size: of which batches are made.
    lengths: what batches are padded to, in ascending order.
    steps: how many there will be; a batch of each of their shapes is run at once.
    grouped: batches are of similar lengths, as ours: random pools of 50 batches, sorted.
  """

  def __init__(self, run_batch: Callable[[dict], object], examples: Examples, batch_size: int, lengths, steps: int,
               grouped: bool):
    lengths, make_epoch = np.asarray(lengths), epoch_batches if grouped else random_epoch
    epochs = (make_epoch(examples.lengths, batch_size, 0, epoch) for epoch in itertools.count())
    planned = list(itertools.islice(itertools.chain.from_iterable(epochs), steps))
    warm_up = one_of_each_shape(examples, planned, lengths)
    for batch in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
      run_batch(batch)
    self._run_batch = run_batch
    self._batches = _in_background(assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def __call__(self, steps: int) -> None:
    for batch in itertools.islice(self._batches, steps):
      self._run_batch(batch)


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))


def one_of_each_shape(examples: Examples, planned: Iterable[np.ndarray], lengths: np.ndarray) -> list[dict]:
  """Of batches of these examples one of each shape; those of several texts are cut to the lengths of the texts."""
  batches = (assemble(examples, chosen, len(chosen), lengths) for chosen in planned)
  return list({(batch["input_ids"].shape, tuple(batch.get("text_lengths", [()])[0])): batch
               for batch in batches}.values())


def known_labels(batch: dict) -> np.ndarray:
  """"label_ids" with -1 for tokens that are not scored: also the padding, which batches have 0 for."""
  labels = batch["label_ids"]
  return np.where(batch["input_mask"] == 1, labels, -1) if labels.shape == batch["input_mask"].shape else labels


def _in_background(batches: Iterator[dict]) -> Iterator[dict]:
  """The same batches, a few of them made ahead in a thread."""
  made: queue.Queue[dict | None] = queue.Queue(_BATCHES_AHEAD)

  def make() -> None:
    for batch in batches:
      made.put(batch)
    made.put(None)

  threading.Thread(target=make, daemon=True).start()
  return iter(made.get, None)
