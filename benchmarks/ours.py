"""This project's programs, as its scripts run them: what benchmarks compare with those of tensorflow_peers.py and
pytorch_peers.py."""

import importlib
import itertools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

import modeling
from benchmarks.examples import CLASSES, one_of_each_shape
from benchmarks.machine import POLICIES
from bert_tf.tasks.pretraining.task import make_objective as pretraining_objective
from bert_tf.training.examples import Examples, epoch_batches, lengths_for, training_dataset
from bert_tf.training.optimization import AdamWeightDecay
from bert_tf.training.prediction import Prediction
from bert_tf.training.step import Objective, StepOptions, TrainingState, TrainingStep
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.optimizer import WarmupDecay
from tests.oracles.squad_prediction import SQUAD_LENGTHS

_MODELS = {"classification": modeling.BertForClassification, "multiple_choice": modeling.BertForMultipleChoice,
           "token_classification": modeling.BertForTokenClassification,
           "sentence_embedding": modeling.BertForSentenceEmbedding}


def matmul(size: int, dtype: str = "float32") -> Callable[[], None]:
  """A product of two square matrices: what the machine can do at best."""
  multiply = tf.function(tf.matmul)
  a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
  return lambda: multiply(a, a)[0, 0].numpy()


def pretraining(config: BertConfig, batch: dict, precision: str, jit_compile: bool = False, recompute: bool = False,
                fused_attention: bool = False) -> Callable[[], None]:
  """A training step, as `run_pretraining.py` makes it."""
  model = modeling.BertForPreTraining(config, dtype=POLICIES[precision])
  model.encoder.recompute, model.encoder.fused_attention = recompute, fused_attention
  features = {name: value.astype(np.float32 if name.endswith("_weights") else np.int32)
              for name, value in batch.items()}
  step = _step(model, pretraining_objective(model), len(batch["input_ids"]), jit_compile)
  iterator = iter(tf.data.Dataset.from_tensors(features).cache().repeat())
  return lambda: step.run(iterator, 1)


def fine_tuning(task: str, config: BertConfig, examples: Examples, batch_size: int, lengths: np.ndarray,
                precision: str, jit_compile: bool = False) -> Callable[[int], None]:
  """Training of any number of steps, as the run scripts do it, after one batch of every shape of an epoch; `lengths` as
  `lengths_for` gives them."""
  model = _model(task, config, precision)
  dataset = training_dataset(examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1))
  warm_up = one_of_each_shape(examples, epoch_batches(examples.lengths, batch_size, 0, 0), lengths)
  for batch in warm_up:
    dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
  # Most tasks have the objective that follows from their model.
  make_objective = getattr(importlib.import_module(f"bert_tf.tasks.{task}.task"), "make_objective", Objective.of)
  step, iterator = _step(model, make_objective(model), batch_size, jit_compile), iter(dataset)
  step.run(iterator, len(warm_up))
  return lambda steps: step.run(iterator, steps)


def tagging(config: BertConfig, examples: Examples, batch_size: int, lengths: np.ndarray, precision: str
            ) -> Callable[[int], None]:
  """The probabilities of so many batches of sentences, the longest first, as evaluation computes them."""
  model = _model("token_classification", config, precision)
  predict = Prediction(lambda features: {"probabilities": tf.nn.softmax(model(features))}, batch_size, lengths,
                       tf.distribute.get_strategy(), False, ("probabilities",))
  for row in np.unique(np.searchsorted(lengths, examples.lengths), return_index=True)[1]:
    predict(_chosen(examples, np.repeat(row, batch_size)))
  # Batches of all lengths in every turn, as the other programs have them.
  batches = itertools.cycle(epoch_batches(examples.row_lengths, batch_size, 0, 0))
  return lambda steps: predict(_chosen(examples, np.concatenate([next(batches) for _ in range(steps)])))


def squad(config: BertConfig, precision: str, input_file: str, vocab_file: str, output_dir: str, batch_size: int
          ) -> Callable[[], int]:
  """A whole prediction, as `run_squad.py --do_predict` makes it; returns the number of windows."""
  from bert_common.progress import Progress
  from bert_tf.tasks.question_answering.data import make_split
  from bert_tf.tasks.question_answering.options import SquadSettings
  from bert_tf.tasks.question_answering.results import answer_questions, write
  from bert_tf.tasks.question_answering.task import OUTPUTS
  from bert_tf.training.devices import set_up
  from data_gen.labelled.squad import read_squad
  from data_gen.tokenization.tokenizer import Tokenizer

  settings = SquadSettings(**SQUAD_LENGTHS)
  # Nothing is trained that a compilation would pay for.
  devices = set_up("none", precision, "false")
  model = modeling.BertForQuestionAnswering(config, dtype=devices.dtype)
  model.build_weights()
  prediction = Prediction(
      lambda features: dict(zip(OUTPUTS, model(features), strict=True)), batch_size,
      lengths_for(settings.max_seq_length, devices.has_few_shapes), devices.strategy, devices.jit_compile, OUTPUTS)

  def predict() -> int:
    split = make_split(read_squad(input_file, "input_file"), settings, Tokenizer.from_file(vocab_file, True))
    with Progress("predicting", len(split.windows), "windows") as progress:
      outputs = prediction(split.examples, progress.advance)
    answered = answer_questions(split, tuple(outputs[name] for name in OUTPUTS), settings, tune=False)
    write(output_dir, answered.evaluation(step=0))
    return len(split.windows)

  return predict


def _model(task: str, config: BertConfig, precision: str):
  classes = [CLASSES[task]] if task in CLASSES else []
  return _MODELS[task](config, *classes, dtype=POLICIES[precision])


def _step(model, objective: Objective, batch_size: int, jit_compile: bool = False) -> TrainingStep:
  model.build_weights()
  return TrainingStep(objective, AdamWeightDecay(raw_variables(model)), WarmupDecay(5e-5, 10**6), TrainingState(),
                      tf.distribute.get_strategy(), batch_size, StepOptions(jit_compile=jit_compile))


def _chosen(examples: Examples, rows: np.ndarray) -> Examples:
  places = np.concatenate([np.arange(start, start + length) for start, length in zip(
      examples.row_starts[rows], examples.row_lengths[rows], strict=True)])
  return Examples({name: examples.tokens[name][places] for name in ("input_ids", "segment_ids")},
                  examples.row_lengths[rows])
