"""Training of sentence vectors, in examples per second, beside sentence-transformers, in one run.

  python benchmarks/sentence_embeddings.py --data_dir=glue --vocab_file=vocab.txt
  python benchmarks/sentence_embeddings.py --data_dir=glue --vocab_file=vocab.txt --max_steps=4 --layers=2

The pairs of STS-B's training set, in-batch negatives, mean pooling, float32, dropout on: forward, backward, clipping,
AdamW, and the making of the batches. Compared with sentence-transformers' model and loss on PyTorch
(requirements-peers.txt) with fused AdamW: in random batches, as it is usually run, and (_grouped) in batches of similar
length as ours. Compilation is not counted.
"""

import dataclasses
from collections.abc import Callable, Sequence

from benchmarks import interleaved, texts
from benchmarks.finetuning import turn_steps
from bert_tf.common import cli
from bert_tf.common.options import DIRECTORY, option

_PROGRAMS = ("ours", "sentence_transformers", "sentence_transformers_grouped")
_LIMIT = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class SentenceOptions(texts.VocabularyOptions, interleaved.RatesOptions):
  """Options of the benchmark."""

  data_dir: str = option(None, "Where STS-B/train.tsv is.", required=True, path=DIRECTORY)
  batch_size: int = option(32, "Pairs of a step.", minimum=2)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; heads of 32 units.", minimum=32)
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(_PROGRAMS, "What is measured.", choices=_PROGRAMS)


def main(options: SentenceOptions) -> None:
  examples = _read(options)
  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)
  seconds = interleaved.take_turns(options, options.programs, len(steps), _build, options, examples, steps)
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, {len(examples):,} pairs, texts of "
        f"{examples.text_lengths.mean():.1f} tokens (longest {examples.text_lengths.max()}); {sum(steps)} steps in "
        f"{len(steps)} turns")
  interleaved.print_rates(options, seconds, [options.batch_size * number for number in steps], "pairs")


def _read(options: SentenceOptions):
  """As many `SentenceExamples` as make full batches."""
  import numpy as np

  from bert_tf.tasks.sentence_embedding.examples import SentenceExamples
  from data_gen.labelled.pair_features import encode_pairs
  from data_gen.labelled.sentence_pairs import read_sts_b
  from data_gen.tokenization.tokenizer import Tokenizer

  pairs = read_sts_b(options.data_dir, "train", None)
  pairs = pairs.first(len(pairs) // options.batch_size * options.batch_size)
  features = encode_pairs(Tokenizer.from_file(options.vocab_file, True), sum(pairs.columns, []), None, _LIMIT)
  return SentenceExamples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                          texts=np.arange(2 * len(pairs)).reshape(2, -1).T)


def _build(options: SentenceOptions, examples, steps: Sequence[int], name: str) -> Callable[[], None]:
  """The next turn of the program, which has seen every shape that there will be."""
  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=len(Tokenizer.from_file(options.vocab_file, True).vocabulary.tokens), hidden_size=options.hidden_size,
      num_hidden_layers=options.layers, num_attention_heads=options.hidden_size // 32,
      intermediate_size=4 * options.hidden_size)
  make = _ours if name == "ours" else _sentence_transformers
  run = make(config, examples, options.batch_size, sum(steps), name.endswith("_grouped"))
  remaining = iter(steps)
  return lambda: run(next(remaining))


def _ours(config, examples, batch_size: int, steps: int, grouped: bool) -> Callable[[int], None]:
  import tensorflow as tf

  from bert_tf.training.examples import assemble, epoch_batches, lengths_for, training_dataset
  from bert_tf.training.optimization import AdamWeightDecay
  from bert_tf.training.step import Objective, StepOptions, TrainingState, TrainingStep
  from modeling.checkpoints.weights import raw_variables
  from modeling.optimizer import WarmupDecay
  from modeling.sentence_embedding import BertForSentenceEmbedding

  model, lengths = BertForSentenceEmbedding(config), lengths_for(_LIMIT, few=False)
  step = TrainingStep(Objective.of(model), AdamWeightDecay(raw_variables(model)), WarmupDecay(2e-5, 10**6),
                      TrainingState(), tf.distribute.get_strategy(), batch_size, StepOptions(jit_compile=False))
  dataset = training_dataset(examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1))
  planned = [assemble(examples, chosen, batch_size, lengths)
             for chosen in epoch_batches(examples.lengths, batch_size, 0, 0)[:steps]]
  shapes = {(batch["input_ids"].shape[2], *batch["text_lengths"][0]): batch for batch in planned}
  for batch in shapes.values():
    dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
  iterator = iter(dataset)
  step.run(iterator, len(shapes))
  return lambda count: step.run(iterator, count)


def _sentence_transformers(config, examples, batch_size: int, steps: int, grouped: bool) -> Callable[[int], None]:
  import transformers

  from benchmarks import pytorch_peers
  from benchmarks.loops import EpochLoop

  model = _with_pooling(transformers.BertModel(transformers.BertConfig(**config.to_dict()), add_pooling_layer=False))
  loss, optimizer = pytorch_peers.sentence_loss(model, "pairs"), pytorch_peers.adamw(model, 2e-5)

  def train(batch: dict) -> float:
    return pytorch_peers.update(model, optimizer, loss(batch)).item()

  return EpochLoop(train, examples, batch_size, range(1, _LIMIT + 1), steps, grouped)


def _with_pooling(encoder):
  """The encoder's output for a batch, pooled by sentence-transformers, as its models give it."""
  import torch
  from sentence_transformers.sentence_transformer.modules import Pooling

  class Model(torch.nn.Module):
    def __init__(self):
      super().__init__()
      self.encoder, self.pooling = encoder, Pooling(encoder.config.hidden_size, "mean")

    def forward(self, features: dict) -> dict:
      outputs = self.encoder(features["input_ids"], attention_mask=features["attention_mask"])
      return self.pooling({**features, "token_embeddings": outputs.last_hidden_state})

  return Model().train()


if __name__ == "__main__":
  cli.run(SentenceOptions, main)
