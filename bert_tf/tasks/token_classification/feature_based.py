"""The feature-based half of section 5.3 of the paper: a BiLSTM on the activations of an encoder
that stays as it is.

Input: the same files as for fine-tuning, and an encoder. Output: a run directory as of every run,
by way of `bert_tf/runs/run.py`, with encoder and tagger in its checkpoints. The six rows of table
7 (`--layers=all`) are a selection. Activations are computed once, and mapped into memory from a
cache that the runs of a selection share:

  .activation_cache/<name>.bin     [W, N, H] of N layers, 0 being the embeddings
  .activation_cache/<name>.json    their manifest: what they were made from

What was made from the same is used, all else is computed again.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.runs import provenance
from bert_tf.runs import run as driver
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
from data_gen.labelled.word_windows import WordWindows
from modeling import costs
from modeling.bilstm import BertForFeatureTagging, encoder_states
from modeling.checkpoints.load import config_for, read_checkpoint
from modeling.checkpoints.weights import ENCODER_PREFIX, FEATURE_TAGGER_PREFIX, original_names

if TYPE_CHECKING:
    from bert_tf.runs.trainer import Trainer

# Of the cache's files; raised when their content changes.
_VERSION = 4
# Windows that are computed and written together.
_WINDOWS_AT_ONCE = 256


def run(options: TokenClassificationOptions) -> int:
    """What `run_ner.py` does, fine-tuned or with --feature_based; see `bert_tf/runs/run.py`."""
    if not options.feature_based:
        return driver.run(TokenClassificationTask, options)
    options.check()
    options = options.replace(
        **{name: value for name, value in FEATURE_DEFAULTS.items() if name not in options.given}
    )
    if options.layers == (ALL,) and options.do_train:
        # The rows of table 7 that the model has the layers for.
        config = config_for(read_checkpoint(options.init_checkpoint), options.bert_config_file)
        rows = [
            (row.layers, row.combine)
            for row in TABLE_7.values()
            if config is None
            or not row.layers[0].startswith("-")
            or int(row.layers[0]) >= -config.num_hidden_layers
        ]
        layers, combine = zip(*rows, strict=True)
        options = options.replace(sweep={**options.sweep, "layers": layers, "combine": combine})
    return driver.run(FeatureTaggerTask, options)


def layer_numbers(layers: Sequence[str], count: int) -> tuple[int, ...]:
    """Numbers from 0, the embeddings, to `count` of what --layers names."""
    if tuple(layers) == ("1:",):
        return tuple(range(1, count + 1))
    numbers = []
    for layer in layers:
        if not layer.removeprefix("-").isdecimal() or not -count <= int(layer) <= count:
            raise UserError(
                f"--layers={','.join(layers)}: there is no layer {layer}: the model has 1 to {count}, or "
                f"-{count} to -1 from the end, and 0, the embeddings; {ALL} stands alone"
            )
        numbers.append(int(layer) % (count + 1) if int(layer) < 0 else int(layer))
    return tuple(numbers)


class FeatureTaggerTask(TokenClassificationTask):
    """Tags of words from fixed activations.

    The activations are those of the encoder that the run has in its checkpoints.
    """

    def __init__(self, options: TokenClassificationOptions):
        super().__init__(options)
        if files.is_remote(options.output_dir):
            raise UserError(
                f"--output_dir={options.output_dir}: activations are mapped into memory, which needs a local "
                "disk"
            )
        self.config = dataclasses.replace(self.config, bilstm_units=0)
        # Shared by the runs of a selection, whose directories are in this one.
        self._cache_directory = options.output_dir
        self._splits = {} if self.data.train is None else {"train": self.data.train}
        self._splits |= {
            name if name == "dev" else f"eval_{name}": split
            for name, split in self.data.dev.items()
        }
        self._splits |= self.data.test
        rows = options.sweep.get("layers", (options.layers,)) if options.do_train else ()
        self._all_layers = tuple(
            sorted(
                {one for row in rows for one in layer_numbers(row, self.config.num_hidden_layers)}
            )
        )
        if self.data.train is not None:
            self.train_examples = _Words({}, _row_lengths(self.data.train))
        has_tagger = any(
            name.startswith(FEATURE_TAGGER_PREFIX) for name in self.start_weights.tensors
        )
        is_new = options.do_train and not self.is_own_checkpoint
        self.head_mismatch = (
            "a tagger is trained from random weights" if is_new and has_tagger else None
        )
        self._set_shape()

    def with_options(self, options: TokenClassificationOptions) -> "FeatureTaggerTask":
        other = super().with_options(options)
        other._set_shape()
        return other

    def _set_shape(self) -> None:
        options = self.options
        self._examples: dict[str, Examples] = {}
        if not options.do_train:
            self.shape = TaggerShape.of_checkpoint(self.checkpoint)
        else:
            # That of a selection is never made.
            layers = (
                (0,)
                if options.layers == (ALL,)
                else layer_numbers(options.layers, self.config.num_hidden_layers)
            )
            self.shape = TaggerShape(
                layers,
                options.combine,
                options.lstm_units,
                options.lstm_layers,
                len(self.data.labels),
            )
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
        """Batches are padded to numbers of words."""
        longest = max(int(split.source.row_lengths.max()) for split in self._splits.values())
        if self.options.pad_to_max_length or devices.kind == "TPU":
            return padded_lengths(longest, 1)
        if devices.jit_compile:
            return lengths_for(longest, few=True)
        # Nothing is compiled for each length: a batch is as long as its longest sentence.
        return np.arange(1, longest + 1)

    def phases(self) -> Sequence[Phase]:
        # The encoder's arithmetic is not that of a step, as it is not trained.
        return [dataclasses.replace(phase, flops=0.0) for phase in super().phases()]

    def step_memory(self, phase: Phase, devices: Devices) -> float:
        """The encoder is not trained: there is one copy of its weights, and nothing is kept for
        gradients."""
        config, shape = self.config, self.shape
        inputs = len(shape.layers) * config.hidden_size
        width = inputs if shape.combine == "concat" else config.hidden_size
        parameters = 8 * shape.units * ((width + shape.units) + (shape.depth - 1) * 3 * shape.units)
        weights = costs.encoder_parameters(config) + 4 * parameters
        return costs.BYTES_PER_FLOAT * (weights + phase.batch_size * phase.tokens * inputs)

    def make_model(self, dtype: str) -> BertForFeatureTagging:
        options, shape = self.options, self.shape
        return BertForFeatureTagging(
            self.config,
            len(self.data.labels),
            shape.layers,
            shape.combine,
            units=shape.units,
            depth=shape.depth,
            dropout=options.classifier_dropout,
            seed=options.seed,
            dtype=dtype,
            use_cudnn=False if options.jit_compile == "true" else "auto",
        )

    def examples_to_train_on(self, run: "Trainer") -> Examples:
        return self._word_examples(run, self.data.train)

    def answer(self, run: "Trainer", split: Split) -> Tagged:
        return tag_split(
            self.data, split, run.predict(self._word_examples(run, split))["probabilities"]
        )

    def _word_examples(self, run: "Trainer", split: Split) -> Examples:
        """Sentences with the activations of their words, made once; in training with their
        labels."""
        name = next(name for name, one in self._splits.items() if one is split)
        if name in self._examples:
            return self._examples[name]
        options, tokenizer = self.options, self.checkpoint.tokenizer
        layers, precision = self._all_layers or self.shape.layers, options.activation_precision
        windows, whole = split.windows, window_examples(split.windows)
        predict = Prediction(
            lambda features: {
                "states": tf.cast(encoder_states(run.model.encoder, features, layers), precision)
            },
            options.predict_batch_size,
            lengths_for(options.max_seq_length, run.devices.has_few_shapes),
            run.devices.strategy,
            run.devices.jit_compile,
            ("states",),
            run.check_stop,
        )

        def compute(first: int, end: int) -> np.ndarray:
            tokens = slice(
                whole.row_starts[first], whole.row_starts[end - 1] + whole.row_lengths[end - 1]
            )
            part = Examples(
                {key: values[tokens] for key, values in whole.tokens.items()},
                windows.row_lengths[first:end],
            )
            words = words_of(windows, first, end)
            return predict(part)["states"][
                windows.positions[words.start : words.stop] - tokens.start
            ]

        weights = [
            part
            for name, variable in original_names(run.model).items()
            if name.startswith(ENCODER_PREFIX)
            for part in (name.encode(), np.asarray(variable))
        ]
        made_from = {
            "encoder": _digest(*weights),
            "computed_in": run.devices.dtype,
            "config": {
                key: value
                for key, value in dataclasses.asdict(self.config).items()
                if key != "extra"
            },
            "text": _digest(
                json.dumps(list(split.source.words)).encode(), split.source.row_lengths
            ),
            "windows": _digest(
                windows.input_ids, windows.row_lengths, windows.positions, windows.words
            ),
            "vocabulary": tokenizer.vocabulary.fingerprint,
            "do_lower_case": tokenizer.do_lower_case,
            "max_seq_length": options.max_seq_length,
        }
        states = stored_activations(
            self._cache_directory,
            name,
            windows,
            self.shape.layers,
            layers,
            self.config.hidden_size,
            made_from,
            precision,
            compute,
            run.log,
        )
        labels = {"label_ids": split.labels} if name == "train" else {}
        self._examples[name] = Examples({"states": states, **labels}, _row_lengths(split))
        return self._examples[name]


class _Words(Examples):
    """Sentences whose tokens are words, before these have activations."""

    def describe(self) -> str:
        lengths = self.row_lengths
        return (
            f"{len(lengths):,} sentences of {lengths.mean():.1f} words, the longest {lengths.max()}"
        )


def _row_lengths(split: Split) -> np.ndarray:
    """Words of the sentences that have any."""
    lengths = split.source.row_lengths
    return lengths[lengths > 0]


def _digest(*parts: bytes | np.ndarray) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


class LayersOf:
    """Some of the layers of stored activations, read when batches are made: indexed by words as an
    array [W, n, H] is."""

    def __init__(self, stored: np.ndarray, columns: Sequence[int]):
        self._stored, self._columns = stored, np.array(columns)
        self.dtype, self.shape = stored.dtype, (len(stored), len(columns), stored.shape[2])

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
    """The activations of a split, [W, layers, H], in the cache of a run or a selection; what is
    missing is computed.

    Args:
      layers: numbers of those that are needed, 0 for the embeddings.
      all_layers: of those that are computed where something is missing; contains `layers`.
      made_from: everything that the activations depend on, for JSON.
      compute: (first window, end) → [words of these windows, all_layers, H].
    """
    directory = os.path.join(output_dir, ACTIVATIONS)
    path, record_path = (
        os.path.join(directory, f"{name}.{extension}") for extension in ("bin", "json")
    )
    sources = {
        **made_from,
        "precision": precision,
        "words": windows.num_words,
        "hidden_size": hidden_size,
    }
    try:
        stored_layers = provenance.read_manifest(
            record_path, _VERSION, sources, {"layers": list[int]}
        )["layers"]
    except UserError:
        stored_layers = []
    if not set(layers) <= set(stored_layers):
        stored_layers = list(all_layers)
        size = windows.num_words * len(stored_layers) * hidden_size * np.dtype(precision).itemsize
        log(f"{name}: activations of {windows.num_words:,} words, {size / 2**20:,.0f} MiB")
        # Written and not mapped: a full disk is an error there, and no signal.
        with files.user_error(f"activations can't be kept in {path}"):
            os.makedirs(directory, exist_ok=True)
            with (
                open(path, "wb") as file,
                Progress(f"{name} activations", len(windows), "window") as progress,
            ):
                for first in range(0, len(windows), _WINDOWS_AT_ONCE):
                    last = min(first + _WINDOWS_AT_ONCE, len(windows))
                    file.write(compute(first, last).tobytes())
                    progress.advance(last - first)
            provenance.write_manifest(
                record_path, _VERSION, sources, [os.path.basename(path)], layers=stored_layers
            )
    stored = np.memmap(
        path, precision, "r", shape=(windows.num_words, len(stored_layers), hidden_size)
    )
    return LayersOf(np.asarray(stored), [stored_layers.index(layer) for layer in layers])


def words_of(windows: WordWindows, first: int, end: int) -> range:
    """The words that the windows `first` … `end` - 1 score: windows and words are in the same
    order."""
    starts = np.concatenate([[0], np.cumsum(windows.row_lengths)])
    return range(*np.searchsorted(windows.positions, starts[[first, end]]).tolist())
