"""The feature-based half of section 5.3 of the paper: a BiLSTM on the activations of an encoder that stays as it is.

Input: the same files as for fine-tuning, and an encoder. Output: a run directory as of every run, by way of
`bert_tf/tasks/run.py`, with encoder and tagger in its checkpoints; and a cache of activations (`activations.py`), which
the runs of a selection share. The six rows of table 7 (`--layers=all`) are such a selection.
"""

import dataclasses
import hashlib
import json
import os
import weakref
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import whole_number
from bert_tf.tasks import run as driver
from bert_tf.tasks.running import Run
from bert_tf.tasks.task import Stage
from bert_tf.tasks.token_classification.activations import ActivationCache, LayersOf, words_of
from bert_tf.tasks.token_classification.data import FEATURES_KIND, Split, window_examples
from bert_tf.tasks.token_classification.feature_inference import TaggerShape, check_tagger
from bert_tf.tasks.token_classification.options import ALL, TABLE_7, TokenClassificationOptions
from bert_tf.tasks.token_classification.results import Tagged, tag_split
from bert_tf.tasks.token_classification.task import TokenClassificationTask
from bert_tf.training import run_directory
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for, padded_lengths
from bert_tf.training.prediction import Prediction
from bert_tf.training.throughput import Workload
from modeling import memory
from modeling.checkpoints.companion_files import BEST_DIRECTORY, BEST_RECORD, TASK_FILE, read_task_file
from modeling.checkpoints.load import config_for, read_checkpoint
from modeling.checkpoints.weights import ENCODER_PREFIX, FEATURE_TAGGER_PREFIX, original_names
from modeling.feature_tagger import BertForFeatureTagging, encoder_states


def run(options: TokenClassificationOptions) -> int:
  """What `run_ner.py --feature_based` does; returns the exit status."""
  options.check()
  return driver.run(FeatureTaggerTask, with_rows_of_table_7(options.effective))


def with_rows_of_table_7(options: TokenClassificationOptions) -> TokenClassificationOptions:
  """The rows that the model has the layers for as a selection, where --layers=all asks for them."""
  if options.layers != (ALL,) or not options.do_train:
    return options
  config = config_for(read_checkpoint(options.init_checkpoint), options.bert_config_file)
  rows = [(row.layers, row.combine) for row in TABLE_7.values()
          if config is None or not row.layers[0].startswith("-") or int(row.layers[0]) >= -config.num_hidden_layers]
  layers, combine = zip(*rows, strict=True)
  return options.replace(sweep={**options.sweep, "layers": layers, "combine": combine})


def layer_numbers(layers: Sequence[str], count: int) -> tuple[int, ...]:
  """Numbers from 0, the embeddings, to `count` of what --layers names."""
  if tuple(layers) == ("1:",):
    return tuple(range(1, count + 1))
  numbers = []
  for layer in layers:
    if not layer.removeprefix("-").isdecimal() or not -count <= whole_number(layer) <= count:
      raise UserError(f"--layers={','.join(layers)}: there is no layer {layer}: the model has 1 to {count}, or "
                      f"-{count} to -1 from the end, and 0, the embeddings; {ALL} stands alone")
    numbers.append(int(layer) % (count + 1) if int(layer) < 0 else int(layer))
  return tuple(numbers)


class FeatureTaggerTask(TokenClassificationTask):
  """Tags of words from fixed activations.

  The activations are those of the encoder that the run has in its checkpoints.

  Raises:
    UserError: see `TokenClassificationTask`; the output directory is that of the checkpoint.
  """

  def __init__(self, options: TokenClassificationOptions):
    if options.do_train:
      _check_not_the_checkpoint(options)
    super().__init__(options)
    self.config = dataclasses.replace(self.config, bilstm_units=0)
    self._cache = ActivationCache(options.output_dir)
    self._examples: tuple[Callable[[], Run | None], dict[str, Examples]] = (lambda: None, {})
    self._splits = {} if self.data.train is None else {"train": self.data.train}
    self._splits |= {name if name == "dev" else f"eval_{name}": split for name, split in self.data.dev.items()}
    self._splits |= self.data.test
    rows = options.sweep.get("layers", (options.layers,)) if options.do_train else ()
    self._all_layers = tuple(sorted({one for row in rows for one in layer_numbers(row, self.config.num_hidden_layers)}))
    if self.data.train is not None:
      self.train_examples = _Words({}, _row_lengths(self.data.train))
    has_tagger = any(name.startswith(FEATURE_TAGGER_PREFIX) for name in self.start.weights.tensors)
    is_new = options.do_train and not self.start.is_own
    self.start.head_mismatch = "a tagger is trained from random weights" if is_new and has_tagger else None
    if "layers" in options.sweep:
      self.notes += ["rows of table 7 of the paper, with its F1 (12 layers, CoNLL-2003):", *(
          f"  {','.join(row.layers):12} {row.combine:13} {row.paper_f1:.1f}  {name}" for name, row in TABLE_7.items())]
    self._set_shape()

  def with_options(self, options: TokenClassificationOptions) -> "FeatureTaggerTask":
    other = super().with_options(options)
    other._set_shape()
    return other

  def _set_shape(self) -> None:
    options, count = self.options, self.config.num_hidden_layers
    # That of a selection is never made.
    layers = (0,) if options.layers == (ALL,) else layer_numbers(options.layers, count)
    self.shape = TaggerShape(layers, options.combine, options.lstm_units, options.lstm_layers) if (
        options.do_train) else TaggerShape.of_checkpoint(self.checkpoint)
    self.description = {**self.data.description, **self.shape.description}

  def check_devices(self, devices: Devices) -> None:
    super().check_devices(devices)
    if devices.num_workers > 1:
      raise UserError("--feature_based keeps its activations on one machine: run one process")
    if self.options.do_train:
      _check_best_is_ours(self.options.output_dir)

  def workload(self, devices: Devices) -> Workload:
    """The encoder is not trained: of its weights there is one copy, nothing is kept for gradients, and its arithmetic
    is not that of a step. Batches are padded to numbers of words."""
    longest = max(int(split.source.row_lengths.max()) for split in self._splits.values())
    if self.options.pad_to_max_length or devices.kind == "TPU":
      lengths = padded_lengths(longest, 1)
    else:
      # Nothing is compiled for each length: a batch is as long as its longest sentence.
      lengths = lengths_for(longest, few=True) if devices.jit_compile else np.arange(1, longest + 1)
    config, shape = self.config, self.shape
    inputs = len(shape.layers) * config.hidden_size
    width = inputs if shape.combine == "concat" else config.hidden_size
    parameters = 8 * shape.units * ((width + shape.units) + (shape.depth - 1) * 3 * shape.units)
    weights = memory.encoder_parameters(config) + 4 * parameters
    return Workload(tuple(dataclasses.replace(
        stage, flops=0.0, least_bytes=memory.BYTES_PER_FLOAT * (weights + stage.batch_size * stage.tokens * inputs))
        for stage in super().workload(devices).stages), lengths)

  def make_model(self, dtype: str) -> BertForFeatureTagging:
    options = self.options
    model = self.shape.make_model(
        self.config, len(self.data.labels), dropout=options.classifier_dropout, seed=options.seed, dtype=dtype,
        use_cudnn=False if options.jit_compile == "true" else "auto")
    if not options.do_train:
      check_tagger(model, self.checkpoint)
    return model

  def stage(self, run: Run) -> Stage:
    stage = super().stage(run)

    def make_dataset():
      self.train_examples = self._word_examples(run, self.data.train)
      return stage.make_dataset()

    return dataclasses.replace(stage, make_dataset=make_dataset)

  def answer(self, run: Run, split: Split) -> Tagged:
    return tag_split(self.data, split, run.predict(self._word_examples(run, split))["probabilities"])

  def _word_examples(self, run: Run, split: Split) -> Examples:
    """Sentences with the activations of their words; in training with their labels."""
    name = next(name for name, one in self._splits.items() if one is split)
    # Made once for a run; a selection has many.
    of_run, found = self._examples
    if of_run() is not run:
      found = {}
      self._examples = weakref.ref(run), found
    if name not in found:
      tokens = {"states": self._states(run, name, split)}
      if name == "train":
        tokens["label_ids"] = split.labels
      found[name] = Examples(tokens, _row_lengths(split))
    return found[name]

  def _states(self, run: Run, name: str, split: Split) -> LayersOf:
    layers, precision = self._all_layers or self.shape.layers, self.options.activation_precision
    windows, whole = split.windows, window_examples(split.windows)
    predict = Prediction(
        lambda features: {"states": tf.cast(encoder_states(run.model.encoder, features, layers), precision)},
        self.options.predict_batch_size, lengths_for(self.options.max_seq_length, run.devices.has_few_shapes),
        run.devices.strategy, run.devices.jit_compile, ("states",), run.check_stop)

    def compute(first: int, end: int) -> np.ndarray:
      tokens = slice(whole.row_starts[first], whole.row_starts[end - 1] + whole.row_lengths[end - 1])
      part = Examples({key: values[tokens] for key, values in whole.tokens.items()}, windows.row_lengths[first:end])
      words = words_of(windows, first, end)
      return predict(part)["states"][windows.positions[words.start:words.stop] - tokens.start]

    return self._cache.states(
        name, windows, self.shape.layers, layers, self.config.hidden_size, self._made_from(run, split), precision,
        compute, run.log)

  def _made_from(self, run: Run, split: Split) -> dict[str, object]:
    """All that the activations of a split depend on."""
    options, tokenizer, windows = self.options, self.checkpoint.tokenizer, split.windows
    config = {key: value for key, value in dataclasses.asdict(self.config).items() if key != "extra"}
    return {
        "encoder": _digest(*(part for name, variable in original_names(run.model).items()
                             if name.startswith(ENCODER_PREFIX) for part in (name.encode(), np.asarray(variable)))),
        "config": config, "computed_in": run.devices.dtype,
        "text": _digest(json.dumps(list(split.source.words)).encode(), split.source.row_lengths),
        "windows": _digest(windows.input_ids, windows.row_lengths, windows.positions, windows.words),
        "vocabulary": tokenizer.vocabulary.fingerprint, "do_lower_case": tokenizer.do_lower_case,
        "context": options.context, "max_seq_length": options.max_seq_length, "min_context": options.min_context,
        "sentences_per_window": options.sentences_per_window}


class _Words(Examples):
  """Sentences whose tokens are words, before these have activations."""

  def describe(self) -> str:
    lengths = self.row_lengths
    return f"{len(lengths):,} sentences of {lengths.mean():.1f} words, the longest {lengths.max()}"


def _row_lengths(split: Split) -> np.ndarray:
  """Words of the sentences that have any."""
  lengths = split.source.row_lengths
  return lengths[lengths > 0]


def _digest(*parts: bytes | np.ndarray) -> str:
  digest = hashlib.sha256()
  for part in parts:
    digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
  return digest.hexdigest()


def _check_not_the_checkpoint(options: TokenClassificationOptions) -> None:
  """Refuses to write where the encoder is read."""
  path = options.init_checkpoint
  places = [path, os.path.join(path, BEST_DIRECTORY)] if files.is_directory(path) else [files.parent_directory(path)]
  if any(files.same_file(options.output_dir, place) for place in places):
    raise UserError(f"--output_dir={options.output_dir} is the directory of --init_checkpoint: choose another one")


def _check_best_is_ours(directory: str) -> None:
  """Refuses a run whose best weights would take the place of something else."""
  best = os.path.join(directory, BEST_DIRECTORY)
  if not files.is_directory(best) or not files.list_directory(best):
    return
  kind = read_task_file(os.path.join(best, TASK_FILE)).get("kind")
  is_complete = files.exists(os.path.join(best, BEST_RECORD))
  if not run_directory.read_flags(directory).get("feature_based") or is_complete and kind != FEATURES_KIND:
    raise UserError(f"--output_dir={directory}: {best} is not of a run with --feature_based that can be resumed: move "
                    "it away, or choose another directory")
