"""The programs that benchmarks/squad.py measures: each function returns one whole prediction of a file to call.

A prediction begins with the files on the disk, vocabulary included, and ends with the answers on the disk. The model is
there, and its graphs are traced by calls before.
"""

import json
import os
from collections.abc import Callable

import numpy as np

LENGTHS = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}


def ours(config, input_file: str, vocab_file: str, output_dir: str, batch_size: int) -> Callable[[], int]:
  """This project's way, as `run_squad.py --do_predict` goes."""
  from common.progress import Progress
  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.question_answering import BertForQuestionAnswering
  from tasks.question_answering.data import read_predicted
  from tasks.question_answering.results import answer_questions, write
  from tasks.question_answering.settings import SquadSettings
  from tasks.question_answering.task import OUTPUTS
  from training.devices import set_up
  from training.examples import lengths_for
  from training.prediction import Prediction

  settings = SquadSettings(**LENGTHS)
  model = BertForQuestionAnswering(config)
  model.build_weights()
  devices = set_up("none")
  prediction = Prediction(
      lambda features: dict(zip(OUTPUTS, model(features), strict=True)), batch_size,
      lengths_for(settings.max_seq_length, jit_compile=False), devices.strategy, devices.jit_compile, OUTPUTS)

  def predict() -> int:
    split = read_predicted(input_file, settings, Tokenizer.from_file(vocab_file, True))
    with Progress("predicting", len(split.windows), "windows") as progress:
      outputs = prediction(split.examples, progress.advance)
    answered = answer_questions(split, tuple(outputs[name] for name in OUTPUTS), settings, tune=False)
    write(output_dir, answered, 0)
    return len(split.windows)

  return predict


def model_garden(config, input_file: str, vocab_file: str, output_dir: str, batch_size: int,
                 jit_compile: bool = False) -> Callable[[], int]:
  """The Model Garden's BertEncoder and BertSpanLabeler, windows padded to the full length, the rest in plain Python."""
  import tensorflow as tf
  import tf_keras
  from official.nlp.modeling import models, networks

  from benchmarks.reference_squad import reference_features
  from benchmarks.reference_squad_answers import reference_answers
  from benchmarks.reference_tokenizer import ReferenceTokenizer
  from data_gen.labelled.squad import read_squad
  from data_gen.tokenization.vocabulary import Vocabulary

  initializer = tf_keras.initializers.TruncatedNormal(config.initializer_range)
  encoder = networks.BertEncoder(
      vocab_size=config.vocab_size, hidden_size=config.hidden_size, num_layers=config.num_hidden_layers,
      num_attention_heads=config.num_attention_heads, inner_dim=config.intermediate_size,
      inner_activation=lambda x: tf.nn.gelu(x, approximate=True), max_sequence_length=config.max_position_embeddings,
      type_vocab_size=config.type_vocab_size, initializer=initializer)
  model = models.BertSpanLabeler(encoder, initializer=initializer)
  length = LENGTHS["max_seq_length"]
  rows = tf.TensorSpec([None, length], tf.int32)
  network = tf.function(lambda *inputs: model(list(inputs), training=False), input_signature=[rows] * 3,
                        jit_compile=jit_compile)

  def predict() -> int:
    data = read_squad(input_file, "input_file")
    tokenizer = ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens)
    features = list(reference_features(data, tokenizer, **LENGTHS, training=False))
    start_logits, end_logits = [], []
    for first in range(0, len(features), batch_size):
      batch = features[first:first + batch_size]
      ids, mask, segments = (np.zeros((len(batch), length), np.int32) for _ in range(3))
      for row, feature in enumerate(batch):
        count = len(feature["tokens"])
        ids[row, :count] = [tokenizer.ids[token] for token in feature["tokens"]]
        mask[row, :count] = 1
        segments[row, :count] = feature["segment_ids"]
      starts, ends = network(ids, mask, segments)
      start_logits += starts.numpy().tolist()
      end_logits += ends.numpy().tolist()
    answers = reference_answers(data, features, start_logits, end_logits, tokenizer)
    for name, contents in (("predictions", {id: nbest[0]["text"] for id, nbest in answers.items()}),
                           ("nbest_predictions", answers)):
      with open(os.path.join(output_dir, f"{name}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(contents, indent=4) + "\n")
    return len(features)

  return predict


def model_garden_xla(*arguments) -> Callable[[], int]:
  """The same, its network compiled with XLA."""
  return model_garden(*arguments, jit_compile=True)
