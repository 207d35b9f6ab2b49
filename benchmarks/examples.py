"""What the programs of fine-tuning train on: a file's examples, or random tokens, as many as the data sets have."""

import dataclasses

import numpy as np

from bert_tf.tasks.multiple_choice.data import encode
from bert_tf.tasks.multiple_choice.examples import ChoiceExamples
from bert_tf.tasks.sentence_embedding.examples import SentenceExamples
from bert_tf.tasks.token_classification.data import window_examples
from bert_tf.training.examples import Examples
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
