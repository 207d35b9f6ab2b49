"""Size and latency of exported models beside transformers, in one run.

  python benchmarks/serving.py                                   # 6 layers of 384 units, random weights
  python benchmarks/serving.py --init_checkpoint=hf_directory --text_file=sentences.txt
  python benchmarks/serving.py --size=base --tokens=16,64,128,384 --programs=export,onnx_int8,transformers

Every program is given the same texts and returns one vector for each, the mean over its tokens:

  export                 the SavedModel of export_model.py --task=features: strings in, tokenizer in the graph
  onnx, onnx_int8        --format=onnx, with --quantize=int8, in onnxruntime, with tokenizer.json in tokenizers
  openvino               the former in OpenVINO, in float32 (pip install --group peers, as those that follow)
  transformers           AutoTokenizer and AutoModel on PyTorch, padded to the longest
  transformers_compiled  the same with torch.compile, whose compilation is left out

A process for each, taking turns, one request a turn.
"""

import dataclasses
import functools
import glob
import itertools
import os
import random
import statistics
import tempfile
from collections.abc import Callable

from benchmarks import interleaved, texts
from benchmarks.machine import find_config
from bert_common import cli
from bert_common.options import option
from bert_tf.tables import print_table
from data_gen.tokenization.vocabulary import Vocabulary

_WARM_UP = 10
_DEFAULT_PROGRAMS = ("export", "transformers")
_PROGRAMS = (*_DEFAULT_PROGRAMS, "onnx", "onnx_int8", "openvino", "transformers_compiled")
# What a runtime without TensorFlow loads.
_EXPORTS = {"onnx": {"format": "onnx"}, "onnx_int8": {"format": "onnx", "quantize": "int8"}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServingOptions(texts.TextOptions, texts.VocabularyOptions, interleaved.TurnsOptions):
  """Options of the benchmark."""

  init_checkpoint: str | None = option(None, "The checkpoint.", default_text="random weights of --size")
  size: str = option("L6-H384", "L<layers>-H<hidden>, base or large: of the model with random weights.")
  max_characters: int = option(250, "Longer texts are left out.", minimum=1)
  max_seq_length: int = option(128, "Most tokens of a text, for all programs.", minimum=3)
  batch_size: tuple[int, ...] = option((1, 32), "Texts of a request.", minimum=1)
  tokens: tuple[int, ...] = option(
      (), "Texts of exactly so many tokens, one row of results for each, instead of those of --text_file.", minimum=3)
  repetitions: int = option(100, "Requests to each program.", minimum=1)
  programs: tuple[str, ...] = option(_DEFAULT_PROGRAMS, "What is measured.", choices=_PROGRAMS)


def main(options: ServingOptions) -> None:
  results = {}
  with tempfile.TemporaryDirectory() as directory:
    _export(options, directory)
    for name, lines in _texts(options).items():
      print(f"{len(lines):,} texts of {name}; {options.repetitions} requests to each program")
      for size in options.batch_size:
        results[name, size] = interleaved.take_turns(
            options, options.programs, options.repetitions, _build, options, directory, lines, size)
  rows = [("texts", "of", "program", "median ms", "quartiles", "90 % below",
           f"{options.programs[0]} is faster by", "95 % interval")]
  for (name, size), seconds in results.items():
    for program, turns in seconds.items():
      low, median, high = (1e3 * one for one in interleaved.quartiles(turns))
      slow = 1e3 * sorted(turns)[int(0.9 * len(turns))]
      rows.append((f"{size:5}", name, program, f"{median:.1f}", f"{low:.1f} to {high:.1f}", f"{slow:.1f}",
                   *interleaved.ratio_texts(seconds, program, options.programs[0])))
      options.record(program, texts=size, of=name, **{"median ms": median, "90 % below ms": slow})
  print_table(rows)


def _texts(options: ServingOptions) -> dict[str, list[str]]:
  """What they are → texts."""
  if not options.tokens:
    lines, _ = texts.split([line for line in options.lines() if len(line) <= options.max_characters], 100_000)
    return {f"{statistics.median(map(len, lines)):.0f} characters (median)": lines}
  words = [word for word in Vocabulary.from_file(options.vocab_file).tokens
           if word.isascii() and word.isalpha() and word.islower()]
  rng = random.Random(0)
  # [CLS] and [SEP] are tokens, too.
  return {f"{length} tokens": [" ".join(rng.choices(words, k=length - 2)) for _ in range(256)]
          for length in options.tokens}


def _export(options: ServingOptions, directory: str) -> None:
  """Exports the model for every task that it has a head for, and converts it for the peers."""
  from bert_tf.inference.export import export
  from bert_tf.inference.options import ExportOptions
  from bert_tf.inference.task_table import possible_tasks
  from modeling.checkpoints.convert import convert
  from modeling.checkpoints.load import open_checkpoint

  checkpoint = options.init_checkpoint or _random_model(options, os.path.join(directory, "random"))
  native = os.path.join(directory, "native")
  convert(checkpoint, "native", native)
  if {"transformers", "transformers_compiled"} & {*options.programs}:
    convert(native, "huggingface", os.path.join(directory, "huggingface"))
  print(f"{'export':12} {'MB':>7} {'of it graph and tokenizer':>26}")
  exports = {task: {"task": task} for task in possible_tasks(open_checkpoint(checkpoint))}
  needed = {*options.programs, *(["onnx"] if "openvino" in options.programs else [])}
  exports |= {name: {"task": "features", **given} for name, given in _EXPORTS.items() if name in needed}
  for name, given in exports.items():
    path = os.path.join(directory, name)
    windows = {} if "format" in given else {"max_query_length": 32, "doc_stride": 32}
    size = export(ExportOptions(init_checkpoint=checkpoint, export_dir=path, max_seq_length=options.max_seq_length,
                                **windows, **given)).size
    graphs = sum(os.path.getsize(path) for path in glob.glob(f"{path}/**/saved_model.pb", recursive=True))
    print(f"{name:12} {size / 1e6:7.1f} {graphs / 1e6:26.1f}")


def _random_model(options: ServingOptions, path: str) -> str:
  import numpy as np

  from modeling.checkpoints.convert import write_checkpoint
  from modeling.checkpoints.weights import encoder_shapes, head_shapes

  config = find_config(options.size, Vocabulary.from_file(options.vocab_file).size)
  announced = {"output_bias": (2,), "cls/squad/output_bias": (2,), "cls/predictions/output_bias": (config.vocab_size,)}
  rng = np.random.default_rng(0)
  # Factors of layer normalisation near 1: with smaller ones rounding grows from layer to layer.
  weights = {name: (name.endswith("gamma") + 0.02 * rng.standard_normal(shape)).astype(np.float32)
             for name, shape in (encoder_shapes(config) | head_shapes(config, announced)).items()}
  os.makedirs(path)
  write_checkpoint("native", path, weights, config, options.vocab_file, True)
  return path


def _build(options: ServingOptions, directory: str, lines: list[str], size: int, program: str
           ) -> Callable[[], None]:
  """A request to the program, which has answered some: another one in every turn."""
  requests = [lines[start:start + size] for start in range(0, len(lines) - size + 1, size)]
  make = {"export": _exported, "onnx": _onnx, "openvino": _openvino,
          "onnx_int8": functools.partial(_onnx, name="onnx_int8"), "transformers": _transformers,
          "transformers_compiled": functools.partial(_transformers, is_compiled=True)}[program]
  vectors_of = make(options, directory)
  for request in requests[-_WARM_UP:]:
    vectors_of(request)
  turns = itertools.cycle(requests)
  return lambda: vectors_of(next(turns))


def _exported(options: ServingOptions, directory: str):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 (its operations)

  function = tf.saved_model.load(os.path.join(directory, "features")).signatures["serving_default"]
  return lambda request: function(text=tf.constant(request))["mean_output"].numpy()


def _onnx(options: ServingOptions, directory: str, name: str = "onnx"):
  import onnxruntime

  path, settings = os.path.join(directory, name), onnxruntime.SessionOptions()
  settings.intra_op_num_threads = options.threads or 0
  session, encode = onnxruntime.InferenceSession(os.path.join(path, "model.onnx"), settings), _encoder(path)
  return lambda request: session.run(["sentence_embedding"], encode(request))[0]


def _openvino(options: ServingOptions, directory: str):
  import openvino

  # On some processors it would compute in bfloat16.
  settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
  if options.threads:
    settings["INFERENCE_NUM_THREADS"] = options.threads
  model = openvino.Core().compile_model(os.path.join(directory, "onnx", "model.onnx"), "CPU", settings)
  encode = _encoder(os.path.join(directory, "onnx"))
  return lambda request: model(encode(request))["sentence_embedding"]


def _encoder(directory: str) -> Callable:
  """Texts → inputs of a model of token ids."""
  import numpy as np
  import tokenizers

  tokenizer = tokenizers.Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
  fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

  def encode(request):
    rows = tokenizer.encode_batch(request)
    return {name: np.array([getattr(row, field) for row in rows]) for name, field in fields.items()}

  return encode


def _transformers(options: ServingOptions, directory: str, is_compiled: bool = False):
  os.environ["HF_HUB_OFFLINE"] = "1"
  import torch
  import transformers

  path = os.path.join(directory, "huggingface")
  tokenizer = transformers.AutoTokenizer.from_pretrained(path)
  config = transformers.AutoConfig.from_pretrained(path)
  if config.hidden_act == "gelu_new":
    # The same function as one kernel.
    config.hidden_act = "gelu_pytorch_tanh"
  model = transformers.AutoModel.from_pretrained(path, config=config).eval()
  if is_compiled:
    model = torch.compile(model)

  def vectors_of(request):
    batch = tokenizer(request, padding=True, truncation=True, max_length=options.max_seq_length, return_tensors="pt")
    with torch.inference_mode():
      weights = batch["attention_mask"][:, :, None].float()
      return ((model(**batch).last_hidden_state * weights).sum(1) / weights.sum(1)).numpy()

  return vectors_of


if __name__ == "__main__":
  cli.run(ServingOptions, main)
