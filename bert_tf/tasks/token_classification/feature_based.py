"""Feature-based approach of section 5.3 of the paper: a BiLSTM on activations of a frozen encoder.

Input: the same files as for fine-tuning, and an encoder. Output: a run directory as of every run,
by way of `bert_tf/runs/run.py`, with encoder and tagger in its checkpoints. The six rows of table
7 (`--layers=all`) are a sweep. Activations are computed once, and mapped into memory from a cache
that the runs of a sweep share:

  .activation_cache/<name>.bin     [W, N, H] of N layers, 0 being the embeddings
  .activation_cache/<name>.json    manifest: everything that the activations depend on

Activations whose manifest differs are computed again.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import IO

import numpy as np
import tensorflow as tf

from bert_common import files, manifests
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.runs import run as driver
from bert_tf.runs.task import Run
from bert_tf.tasks.token_classification.data import FEATURES_KIND, Split, window_examples
from bert_tf.tasks.token_classification.inference import TaggerShape
from bert_tf.tasks.token_classification.options import (
    ALL,
    FEATURE_DEFAULTS,
    TABLE_7,
    TokenClassificationOptions,
)
from bert_tf.tasks.token_classification.task import Tagged, TokenClassificationTask, tag_split
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for, padded_lengths
from bert_tf.training.phases import Phase
from bert_tf.training.prediction import Prediction
from bert_tf.training.run_directory import ACTIVATIONS
from data_gen.labeled.word_windows import WordWindows
from data_gen.ragged import bounds_of
from modeling import costs
from modeling.bilstm import BertForFeatureTagging, encoder_states
from modeling.checkpoints.load import config_for, read_checkpoint
from modeling.checkpoints.weights import ENCODER_PREFIX, FEATURE_TAGGER_PREFIX, original_names

# Format of the cache's files; increased when their content changes.
_VERSION = 4
# Number of windows that are computed and written together.
_WINDOWS_AT_ONCE = 256


def run(options: TokenClassificationOptions) -> int:
    """Runs `run_ner.py`, fine-tuned or with --feature_based; returns its exit status.

    --layers=all of a run that trains becomes a sweep over the rows of table 7.
    """
    if not options.feature_based:
        return driver.run(TokenClassificationTask, options)
    # Before the sweep opens the checkpoint.
    options.check()
    defaults = {}
    for name, value in FEATURE_DEFAULTS.items():
        if not options.is_chosen(name):
            defaults[name] = value
    options = options.replace(**defaults)
    if options.layers == (ALL,) and options.do_train:
        options = options.replace(sweep={**options.sweep, **_table_7_sweep(options)})
    return driver.run(FeatureTaggerTask, options)


def _table_7_sweep(options: TokenClassificationOptions) -> dict[str, list]:
    """Returns the values of --layers and --combine in the rows of table 7.

    Rows are left out if they need more layers than the model has.
    """
    # Small models do not have the last four layers of every row.
    config = config_for(read_checkpoint(options.init_checkpoint), options.bert_config_file)
    layers = []
    combines = []
    for row in TABLE_7.values():
        first = row.layers[0]
        if config is not None and first.startswith("-") and -int(first) > config.num_hidden_layers:
            continue
        layers.append(row.layers)
        combines.append(row.combine)
    return {"layers": tuple(layers), "combine": tuple(combines)}


def layer_numbers(layers: Sequence[str], count: int) -> tuple[int, ...]:
    """Returns the numbers of the layers that --layers names, from 0, the embeddings, to `count`."""
    # The row "all layers" of table 7 is without the embeddings.
    if tuple(layers) == ("1:",):
        return tuple(range(1, count + 1))
    numbers = []
    for layer in layers:
        if not layer.removeprefix("-").isdecimal() or not -count <= int(layer) <= count:
            raise UserError(
                f"--layers={','.join(layers)}: there is no layer {layer}: the model has 1 to "
                f"{count}, or -{count} to -1 from the end, and 0, the embeddings; {ALL} stands "
                "alone"
            )
        number = int(layer)
        if number < 0:
            number += count + 1
        numbers.append(number)
    return tuple(numbers)


class FeatureTaggerTask(TokenClassificationTask):
    """Tags of words from activations of the encoder that the run has in its checkpoints."""

    def __init__(self, options: TokenClassificationOptions):
        super().__init__(options)
        if files.is_remote(options.output_dir):
            raise UserError(
                f"--output_dir={options.output_dir}: activations are mapped into memory, which "
                "needs a local disk"
            )
        # The BiLSTM on fine-tuned encoders is another one, see --bilstm_units.
        self.config = dataclasses.replace(self.config, bilstm_units=0)
        # The directories of a sweep's runs are in this one, so that they share its cache.
        self._cache_directory = options.output_dir
        self._splits = {}
        if self.data.train is not None:
            self._splits["train"] = self.data.train
            self.train_examples = _Words({}, _row_lengths(self.data.train))
        for name, split in self.data.dev.items():
            if name != "dev":
                name = f"eval_{name.removeprefix('dev_')}"
            self._splits[name] = split
        self._splits.update(self.data.test)
        # All layers of a sweep are computed together: the encoder runs once.
        all_layers = set()
        if options.do_train:
            for layers in options.sweep.get("layers", (options.layers,)):
                all_layers.update(layer_numbers(layers, self.config.num_hidden_layers))
        self._all_layers = tuple(sorted(all_layers))
        # The token-classification head of the checkpoint is irrelevant here.
        self.head_mismatch = None
        if options.do_train and not self.is_own_checkpoint:
            tensors = self.start_weights.tensors
            if any(name.startswith(FEATURE_TAGGER_PREFIX) for name in tensors):
                self.head_mismatch = "a tagger is trained from random weights"
        self._set_shape()

    def with_options(self, options: TokenClassificationOptions) -> "FeatureTaggerTask":
        other = super().with_options(options)
        other._set_shape()
        return other

    def _set_shape(self) -> None:
        """Sets the shape of the tagger and the content of `task.json`."""
        options = self.options
        # Examples depend on the layers of the run; activations on the disk do not.
        self._examples: dict[str, Examples] = {}
        if options.do_train:
            if options.layers == (ALL,):
                # A sweep over all rows never makes a model with the layers "all".
                layers = (0,)
            else:
                layers = layer_numbers(options.layers, self.config.num_hidden_layers)
            self.shape = TaggerShape(
                layers,
                options.combine,
                options.lstm_units,
                options.lstm_layers,
                len(self.data.labels),
            )
        else:
            self.shape = TaggerShape.of_checkpoint(self.checkpoint)
        self.description = {
            **self.data.description,
            "kind": FEATURES_KIND,
            "layers": list(self.shape.layers),
            "combine": self.shape.combine,
        }

    def check_devices(self, devices: Devices) -> None:
        super().check_devices(devices)
        if devices.num_workers > 1:
            raise UserError("--feature_based keeps its activations on one machine: run one process")

    def padded_lengths(self, devices: Devices) -> np.ndarray:
        """Returns numbers of words: batches of the tagger are padded to these."""
        longest = max(int(split.source.row_lengths.max()) for split in self._splits.values())
        if self.options.pad_to_max_length or devices.kind == "TPU":
            return padded_lengths(longest, 1)
        if devices.jit_compile:
            return lengths_for(longest, few=True)
        # Nothing is compiled for each length: a batch is as long as its longest sentence.
        return np.arange(1, longest + 1)

    def phases(self) -> Sequence[Phase]:
        # A step does not compute the encoder, which is not trained.
        return [dataclasses.replace(phase, flops=0.0) for phase in super().phases()]

    def step_memory(self, phase: Phase, devices: Devices) -> float:
        """Returns the least bytes of a step.

        The encoder is not trained: it has one copy of its weights and no gradients.
        """
        weights = costs.encoder_parameters(self.config) + 4 * self._lstm_parameters()
        input_width = len(self.shape.layers) * self.config.hidden_size
        inputs = phase.batch_size * phase.tokens * input_width
        return costs.BYTES_PER_FLOAT * (weights + inputs)

    def _lstm_parameters(self) -> int:
        """Returns the number of parameters of the BiLSTM, without biases."""
        shape = self.shape
        width = self.config.hidden_size
        if shape.combine == "concat":
            width *= len(shape.layers)
        first_layer = width + shape.units
        # Other layers read both directions of the layer below.
        other_layers = (shape.depth - 1) * 3 * shape.units
        # Two directions with four gates.
        return 8 * shape.units * (first_layer + other_layers)

    def make_model(self, dtype: str) -> BertForFeatureTagging:
        options = self.options
        return BertForFeatureTagging(
            self.config,
            len(self.data.labels),
            self.shape.layers,
            self.shape.combine,
            units=self.shape.units,
            depth=self.shape.depth,
            dropout=self.config.classifier_dropout,
            seed=options.seed,
            dtype=dtype,
            # XLA can't compile cuDNN's LSTM.
            use_cudnn=False if options.jit_compile == "true" else "auto",
        )

    def examples_to_train_on(self, run: Run) -> Examples:
        return self._word_examples(run, self.data.train)

    def answer(self, run: Run, split: Split) -> Tagged:
        return tag_split(
            self.data, split, run.predict(self._word_examples(run, split))["probabilities"]
        )

    def _word_examples(self, run: Run, split: Split) -> Examples:
        """Returns sentences with the activations of their words; for training with labels."""
        # Splits are compared by identity: they contain arrays.
        name = next(name for name, value in self._splits.items() if value is split)
        if name not in self._examples:
            tokens = {"states": self._activations(run, name, split)}
            if name == "train":
                tokens["label_ids"] = split.labels
            self._examples[name] = Examples(tokens, _row_lengths(split))
        return self._examples[name]

    def _activations(self, run: Run, name: str, split: Split) -> "LayersOf":
        """Returns the activations of the words of a split, from the cache or from the encoder."""
        options = self.options
        layers = self._all_layers if self._all_layers else self.shape.layers
        windows = split.windows
        examples = window_examples(windows)

        def states(features: dict) -> dict:
            values = encoder_states(run.weights.model.encoder, features, layers)
            return {"states": tf.cast(values, options.activation_precision)}

        # The encoder runs without dropout, as in every prediction.
        predict = Prediction(
            states,
            options.predict_batch_size,
            lengths_for(options.max_seq_length, run.devices.has_few_shapes),
            run.devices.strategy,
            run.devices.jit_compile,
            ("states",),
            run.check_stop,
        )

        def compute(first: int, end: int) -> np.ndarray:
            first_token = examples.row_starts[first]
            end_token = examples.row_starts[end - 1] + examples.row_lengths[end - 1]
            tokens = {}
            for key, values in examples.tokens.items():
                tokens[key] = values[first_token:end_token]
            part = Examples(tokens, windows.row_lengths[first:end])
            words = words_of(windows, first, end)
            positions = windows.positions[words.start : words.stop]
            return predict(part)["states"][positions - first_token]

        return stored_activations(
            self._cache_directory,
            name,
            windows,
            self.shape.layers,
            layers,
            self.config.hidden_size,
            self._provenance(run, split),
            options.activation_precision,
            compute,
            run.log,
        )

    def _provenance(self, run: Run, split: Split) -> dict[str, object]:
        """Returns everything that the activations of a split depend on, for JSON."""
        tokenizer = self.checkpoint.tokenizer
        windows = split.windows
        weights = []
        for name, variable in original_names(run.weights.model).items():
            if name.startswith(ENCODER_PREFIX):
                weights += [name.encode(), np.asarray(variable)]
        config = dataclasses.asdict(self.config)
        # Other keys of a configuration do not change the encoder.
        del config["extra"]
        # JSON separates the words: ["ab", "c"] and ["a", "bc"] have different digests.
        words = json.dumps(list(split.source.words)).encode()
        return {
            "encoder": _digest(*weights),
            "computed_in": run.devices.dtype,
            "config": config,
            "text": _digest(words, split.source.row_lengths),
            "windows": _digest(
                windows.input_ids, windows.row_lengths, windows.positions, windows.words
            ),
            "vocabulary": tokenizer.vocabulary.fingerprint,
            "do_lower_case": tokenizer.do_lower_case,
            "max_seq_length": self.options.max_seq_length,
        }


class _Words(Examples):
    """Sentences whose tokens are words, before these have activations."""

    def describe(self) -> str:
        lengths = self.row_lengths
        return (
            f"{len(lengths):,} sentences of {lengths.mean():.1f} words, the longest {lengths.max()}"
        )


def _row_lengths(split: Split) -> np.ndarray:
    """Returns the numbers of words of the sentences that have any."""
    lengths = split.source.row_lengths
    return lengths[lengths > 0]


def _digest(*parts: bytes | np.ndarray) -> str:
    """Returns the SHA-256 of bytes and arrays."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            part = np.ascontiguousarray(part).tobytes()
        digest.update(part)
    return digest.hexdigest()


class LayersOf:
    """Some layers of stored activations, read when batches are made.

    It is indexed by words as an array [W, n, H] is.
    """

    def __init__(self, stored: np.ndarray, columns: Sequence[int]):
        # Nothing is read here: the layers of a batch are copied from the mapped file when it is
        # made.
        self._stored = stored
        self._columns = np.array(columns)
        self.dtype = stored.dtype
        self.shape = (len(stored), len(columns), stored.shape[2])

    def __getitem__(self, words: np.ndarray) -> np.ndarray:
        return self._stored[words[..., None], self._columns]


def stored_activations(
    output_dir: str,
    name: str,
    windows: WordWindows,
    layers: Sequence[int],
    all_layers: Sequence[int],
    hidden_size: int,
    made_from: Mapping[str, object],
    precision: str,
    compute: Callable[[int, int], np.ndarray],
    log: Callable[[str], None],
) -> LayersOf:
    """Returns the activations of a split, [W, layers, H], from the cache; computes missing ones.

    Args:
      output_dir: directory of the run or sweep, with the cache in it.
      name: of the split.
      layers: numbers of the layers to return, 0 for the embeddings.
      all_layers: numbers of the layers to compute if something is missing; contains `layers`.
      made_from: everything that the activations depend on, for JSON.
      precision: their data type.
      compute: (first window, end) → [words of these windows, all_layers, H].

    Raises:
      UserError: they can't be written.
    """
    directory = os.path.join(output_dir, ACTIVATIONS)
    path = os.path.join(directory, f"{name}.bin")
    manifest_path = os.path.join(directory, f"{name}.json")
    sources = {
        **made_from,
        "precision": precision,
        "words": windows.num_words,
        "hidden_size": hidden_size,
    }
    with contextlib.ExitStack() as opened:
        source: str | IO[bytes] = path
        try:
            manifest, (source,) = manifests.read_manifest(
                manifest_path,
                _VERSION,
                sources,
                [os.path.basename(path)],
                {"layers": list[int]},
                opened,
            )
            stored_layers = manifest["layers"]
        except UserError:
            # The manifest is missing, or belongs to other activations.
            stored_layers = []
        if not set(layers) <= set(stored_layers):
            # A run of a sweep that finds its own layers missing computes the layers of all runs.
            stored_layers = list(all_layers)
            size = (
                windows.num_words * len(stored_layers) * hidden_size * np.dtype(precision).itemsize
            )
            log(f"{name}: activations of {windows.num_words:,} words, {size / 2**20:,.0f} MiB")
            # Write them instead of filling a mapped file: a full disk is then an error, not a
            # signal.
            with files.user_error(f"activations can't be kept in {path}"):
                files.make_directories(directory)
                _write_activations(path, name, len(windows), compute)
                # The manifest is written last: without it an unfinished file is not used.
                manifests.write_manifest(
                    manifest_path, _VERSION, sources, [os.path.basename(path)], layers=stored_layers
                )
            source = path
        shape = (windows.num_words, len(stored_layers), hidden_size)
        stored = np.asarray(np.memmap(source, precision, "r", shape=shape))
    return LayersOf(stored, [stored_layers.index(layer) for layer in layers])


def _write_activations(
    path: str, name: str, num_windows: int, compute: Callable[[int, int], np.ndarray]
) -> None:
    """Computes and writes the activations of some windows at a time."""
    with (
        files.open_file(path, "wb") as file,
        Progress(f"{name} activations", num_windows, "window") as progress,
    ):
        for first in range(0, num_windows, _WINDOWS_AT_ONCE):
            end = min(first + _WINDOWS_AT_ONCE, num_windows)
            file.write(compute(first, end).tobytes())
            progress.advance(end - first)


def words_of(windows: WordWindows, first: int, end: int) -> range:
    """Returns the words that the windows `first` to `end` (exclusive) score.

    Windows and words are in the same order.
    """
    token_borders = bounds_of(windows.row_lengths)
    first_word, end_word = np.searchsorted(windows.positions, token_borders[[first, end]]).tolist()
    return range(first_word, end_word)
