"""The programs that benchmarks/squad.py measures: each function returns one whole prediction of a file to call.

A prediction begins with the files on the disk, vocabulary included, and ends with the answers on the disk. The model is
there, and its graphs are traced by calls before.
"""

import json
import os
from collections.abc import Callable

import numpy as np

from benchmarks import peers

LENGTHS = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}


def ours(config, input_file: str, vocab_file: str, output_dir: str, batch_size: int) -> Callable[[], int]:
  """This project's way, as `run_squad.py --do_predict` goes."""
  from bert_tf.common.progress import Progress
  from bert_tf.tasks.question_answering.data import read_predicted
  from bert_tf.tasks.question_answering.results import answer_questions, write
  from bert_tf.tasks.question_answering.settings import SquadSettings
  from bert_tf.tasks.question_answering.task import OUTPUTS
  from bert_tf.training.devices import set_up
  from bert_tf.training.examples import lengths_for
  from bert_tf.training.prediction import Prediction
  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.question_answering import BertForQuestionAnswering

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
                 jit_compile: bool = False, grouped: bool = False) -> Callable[[], int]:
  """The Model Garden's encoder and BertSpanLabeler, windows padded to the full length, the rest in plain Python."""
  import tensorflow as tf
  from official.nlp.modeling import models

  encoder, initializer = peers.model_garden_encoder(config)
  labeler = models.BertSpanLabeler(encoder, initializer=initializer)
  rows = tf.TensorSpec([None, None if grouped else LENGTHS["max_seq_length"]], tf.int32)
  names = ("input_word_ids", "input_mask", "input_type_ids")
  network = tf.function(lambda *inputs: labeler(dict(zip(names, inputs, strict=True)), training=False),
                        input_signature=[rows] * 3, jit_compile=jit_compile)
  return peer(lambda *inputs: [side.numpy() for side in network(*inputs)], input_file, vocab_file, output_dir,
              batch_size, grouped)


def model_garden_xla(*arguments) -> Callable[[], int]:
  """The same, its network compiled with XLA."""
  return model_garden(*arguments, jit_compile=True)


def model_garden_grouped(*arguments) -> Callable[[], int]:
  """The same, not compiled; the longest windows first, each batch padded to its longest window."""
  return model_garden(*arguments, grouped=True)


def pytorch_grouped(config, input_file: str, vocab_file: str, output_dir: str, batch_size: int) -> Callable[[], int]:
  """Hugging Face's BertForQuestionAnswering on PyTorch, batches of similar length, the rest in plain Python."""
  peers.check_torch()
  import torch
  import transformers

  model = transformers.BertForQuestionAnswering(peers.huggingface_config(config)).eval()

  def outputs_of(ids, mask, segments):
    with torch.inference_mode():
      outputs = model(torch.tensor(ids), torch.tensor(mask), torch.tensor(segments))
    return outputs.start_logits.numpy(), outputs.end_logits.numpy()

  return peer(outputs_of, input_file, vocab_file, output_dir, batch_size, grouped=True)


def peer(outputs_of: Callable, input_file: str, vocab_file: str, output_dir: str, batch_size: int, grouped: bool
         ) -> Callable[[], int]:
  """A prediction with a peer's network and the original's way of making windows and answers, in plain Python.

  Args:
    outputs_of: ids, mask and segments, int32 [B, S] → logits of starts and of ends, [B, S].
    grouped: sort the windows by length, and pad each batch to its longest one instead of to the full length.
  """
  from data_gen.labelled.squad import read_squad
  from data_gen.tokenization.vocabulary import Vocabulary
  from tests.oracles.squad import reference_features
  from tests.oracles.squad_answers import reference_answers
  from tests.oracles.tokenizer import ReferenceTokenizer

  def predict() -> int:
    data = read_squad(input_file, "input_file")
    tokenizer = ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens)
    features = list(reference_features(data, tokenizer, **LENGTHS, training=False))
    counts = [len(feature["tokens"]) for feature in features]
    order = sorted(range(len(features)), key=lambda number: -counts[number]) if grouped else range(len(features))
    logits: list[tuple[list, list]] = [([], [])] * len(features)
    for first in range(0, len(features), batch_size):
      chosen = order[first:first + batch_size]
      length = counts[chosen[0]] if grouped else LENGTHS["max_seq_length"]
      ids, mask, segments = (np.zeros((len(chosen), length), np.int32) for _ in range(3))
      for row, number in enumerate(chosen):
        count = counts[number]
        ids[row, :count] = [tokenizer.ids[token] for token in features[number]["tokens"]]
        mask[row, :count] = 1
        segments[row, :count] = features[number]["segment_ids"]
      for number, start, end in zip(chosen, *outputs_of(ids, mask, segments), strict=True):
        logits[number] = start.tolist(), end.tolist()
    answers = reference_answers(data, features, *zip(*logits, strict=True), tokenizer)
    for name, contents in (("predictions", {id: nbest[0]["text"] for id, nbest in answers.items()}),
                           ("nbest_predictions", answers)):
      with open(os.path.join(output_dir, f"{name}.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(contents, indent=4) + "\n")
    return len(features)

  return predict
