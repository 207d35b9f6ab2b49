"""Size and latency of exported models beside transformers, in one run.

  python benchmarks/serving.py                                   # 6 layers of 384 units, random weights
  python benchmarks/serving.py --init_checkpoint=hf_directory
  python benchmarks/serving.py --size=base --tokens=16,64,128,384 --programs=export,onnx_int8,transformers

Every program is given the same texts and returns one vector for each, the mean over its tokens:

  export                 the SavedModel of export_model.py --task=features: strings in, tokenizer in the graph
  onnx, onnx_int8        --format=onnx, with --quantize=int8, in onnxruntime, with tokenizer.json in tokenizers
  transformers           AutoTokenizer and AutoModel on PyTorch, padded to the longest (pip install --group peers)

A process for each, taking turns, one request a turn.
"""

import dataclasses
import functools
import glob
import itertools
import os
import random
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
_PROGRAMS = (*_DEFAULT_PROGRAMS, "onnx", "onnx_int8")
# Program → how its model is exported.
_EXPORTS = {"export": {}, "onnx": {"format": "onnx"}, "onnx_int8": {"format": "onnx", "quantize": "int8"}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServingOptions(texts.VocabularyOptions, interleaved.TurnsOptions):
  """Options of the benchmark."""

  init_checkpoint: str | None = option(None, "The checkpoint.", default_text="random weights of --size")
  size: str = option("L6-H384", "L<layers>-H<hidden>, base or large: of the model with random weights.")
  max_seq_length: int = option(128, "Most tokens of a text, for all programs.", minimum=3)
  batch_size: tuple[int, ...] = option((1, 32), "Texts of a request.", minimum=1)
  tokens: tuple[int, ...] = option((16, 128), "Tokens of a text, one row of results for each.", minimum=3)
  repetitions: int = option(100, "Requests to each program.", minimum=1)
  programs: tuple[str, ...] = option(_DEFAULT_PROGRAMS, "What is measured.", choices=_PROGRAMS)


def main(options: ServingOptions) -> None:
  rows = [("texts", "of", "program", "median ms", "quartiles", "90 % below",
           f"{options.programs[0]} is faster by", "95 % interval")]
  with tempfile.TemporaryDirectory() as directory:
    _export(options, directory)
    for name, lines in _texts(options).items():
      print(f"{len(lines):,} texts of {name}; {options.repetitions} requests to each program")
      for size in options.batch_size:
        seconds = interleaved.take_turns(
            options, options.programs, options.repetitions, _build, options, directory, lines, size)
        for program, turns in seconds.items():
          low, median, high = (1e3 * one for one in interleaved.quartiles(turns))
          rows.append((f"{size:5}", name, program, f"{median:.1f}", f"{low:.1f} to {high:.1f}",
                       f"{1e3 * sorted(turns)[int(0.9 * len(turns))]:.1f}",
                       *interleaved.ratio_texts(seconds, program, options.programs[0])))
  print_table(rows)


def _texts(options: ServingOptions) -> dict[str, list[str]]:
  """What they are → texts."""
  words = [word for word in Vocabulary.from_file(options.vocab_file).tokens
           if word.isascii() and word.isalpha() and word.islower()]
  rng = random.Random(0)
  # [CLS] and [SEP] are tokens, too.
  return {f"{length} tokens": [" ".join(rng.choices(words, k=length - 2)) for _ in range(256)]
          for length in options.tokens}


def _export(options: ServingOptions, directory: str) -> None:
  """Exports the model for its vectors, and converts it for the peers."""
  from bert_tf.inference.export import export
  from bert_tf.inference.options import ExportOptions
  from modeling import BertForPreTraining
  from modeling.checkpoints.convert import convert

  native = os.path.join(directory, "native")
  if options.init_checkpoint:
    convert(options.init_checkpoint, "native", native)
  else:
    config = find_config(options.size, Vocabulary.from_file(options.vocab_file).size)
    BertForPreTraining(config).save_checkpoint(native, vocab_file=options.vocab_file, do_lower_case=True)
  if "transformers" in options.programs:
    convert(native, "huggingface", os.path.join(directory, "huggingface"))
  print(f"{'export':12} {'MB':>7} {'of it graph and tokenizer':>26}")
  for name, given in _EXPORTS.items():
    if name in options.programs:
      path = os.path.join(directory, name)
      size = export(ExportOptions(init_checkpoint=native, export_dir=path, task="features",
                                  max_seq_length=options.max_seq_length, **given)).size
      graphs = sum(os.path.getsize(path) for path in glob.glob(f"{path}/**/saved_model.pb", recursive=True))
      print(f"{name:12} {size / 1e6:7.1f} {graphs / 1e6:26.1f}")


def _build(options: ServingOptions, directory: str, lines: list[str], size: int, program: str
           ) -> Callable[[], None]:
  """A request to the program, which has answered some: another one in every turn."""
  requests = [lines[start:start + size] for start in range(0, len(lines) - size + 1, size)]
  make = {"export": _exported, "onnx": _onnx,
          "onnx_int8": functools.partial(_onnx, name="onnx_int8"), "transformers": _transformers}[program]
  vectors_of = make(options, directory)
  for request in requests[-_WARM_UP:]:
    vectors_of(request)
  turns = itertools.cycle(requests)
  return lambda: vectors_of(next(turns))


def _exported(options: ServingOptions, directory: str):
  import tensorflow as tf
  import tensorflow_text  # noqa: F401 (its operations)

  function = tf.saved_model.load(os.path.join(directory, "export")).signatures["serving_default"]
  return lambda request: function(text=tf.constant(request))["mean_output"].numpy()


def _onnx(options: ServingOptions, directory: str, name: str = "onnx"):
  import numpy as np
  import onnxruntime
  import tokenizers

  path, settings = os.path.join(directory, name), onnxruntime.SessionOptions()
  settings.intra_op_num_threads = options.threads or 0
  session = onnxruntime.InferenceSession(os.path.join(path, "model.onnx"), settings)
  tokenizer = tokenizers.Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
  fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

  def vectors_of(request):
    rows = tokenizer.encode_batch(request)
    return session.run(["sentence_embedding"], {name: np.array([getattr(row, field) for row in rows])
                                                for name, field in fields.items()})[0]

  return vectors_of


def _transformers(options: ServingOptions, directory: str):
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

  def vectors_of(request):
    batch = tokenizer(request, padding=True, truncation=True, max_length=options.max_seq_length, return_tensors="pt")
    with torch.inference_mode():
      weights = batch["attention_mask"][:, :, None].float()
      return ((model(**batch).last_hidden_state * weights).sum(1) / weights.sum(1)).numpy()

  return vectors_of


if __name__ == "__main__":
  cli.run(ServingOptions, main)
