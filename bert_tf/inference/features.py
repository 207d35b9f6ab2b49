"""Hidden states as features: for predictions and exports, and of whole files, `extract_features` of
the original.

Input: texts and pairs of texts. Output: vectors of tokens or of whole texts. Lines of a file are
read by the thousand and computed in batches of similar length; the vectors are written in the order
of the lines, as the original's lines of JSON or as an .npz that grows on disk only.

Letters: E lines, T tokens, H hidden units.
"""

import contextlib
import dataclasses
import functools
import json
import math
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, TypeAlias

import numpy as np
from keras import ops

from bert_common import files
from bert_common.errors import UserError, say
from bert_common.outputs import prepare_output_file
from bert_common.parallel import portions
from bert_common.progress import Progress
from bert_common.text_lines import decoded_lines
from bert_tf.inference.options import ExtractOptions, InferenceSettings
from bert_tf.runs.contents import InputFacts
from bert_tf.runs.run import set_up_devices
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import Prediction
from data_gen.labeled.pair_features import PairFeatures, encode_pairs
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.load import Checkpoint, dense_layers, load_weights, open_checkpoint
from modeling.checkpoints.sentence_vectors import DenseLayer, SentenceVectors, supported_vectors
from modeling.checkpoints.weights import POOLER
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.sentence_embedding import finish, pool

# Bytes of vectors that are in memory together.
_BYTES_AT_ONCE = 256 << 20
# Lines read and sorted by length together; fewer if they are long.
_LINES_AT_ONCE = 4096
_CHARACTERS_AT_ONCE = 1 << 24
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")
# Writes some lines: number of the first of them, from 0; int32 [T] their token ids, [CLS] and [SEP]
# included; int64 [E] number of tokens of each line; layer number → float32 [T, H], or [E, H] if a
# line has one vector.
Write: TypeAlias = Callable[[int, np.ndarray, np.ndarray, Mapping[int, np.ndarray]], None]


class FeatureInference(TaskInference):
    """Predicts {"vector": [H numbers]} for a text or a pair; an export gives all vectors of the
    last layer."""

    def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
        super().__init__(loaded, settings)
        check_layers((settings.layer,), loaded.config, "layer")
        self.load(loaded, BertEncoder(loaded.config))
        self._vectors_of = loaded.vectors
        self._layer = settings.layer
        self._pooling = settings.pooling
        self._has_pooler = POOLER[0].original in loaded.source.tensors
        if not self._has_pooler:
            self.notes.append("the checkpoint has no pooler, so there is no pooled_output")

    def model_outputs(self, features: dict) -> dict:
        """Returns float32 "layer_<number>" [B, H]."""
        outputs = layer_outputs(self.model, (self._layer,), self.vectors.pooling)(features)
        vectors = self.vectors
        finished = {}
        for name, value in outputs.items():
            finished[name] = finish(value, self._dense, vectors.normalize, vectors.truncate_dim)
        return finished

    @functools.cached_property
    def _dense(self) -> tuple[DenseLayer, ...]:
        """The dense layers after the pooling."""
        return dense_layers(self.vectors, self.model.config.hidden_size)

    @functools.cached_property
    def vectors(self) -> SentenceVectors:
        """The pooling of a text's vector; raises `UserError` if it is unknown, see
        `supported_vectors`."""
        return supported_vectors(self._vectors_of, self._pooling)

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        (vectors,) = self.run(self.examples(inputs)).values()
        return [{"vector": [to_json(value) for value in vector]} for vector in vectors]

    def serve_texts(self, *texts) -> dict:
        """Returns the outputs of `serve_token_ids`, "input_ids" and "input_mask", int32 [B, S]."""
        features = self.pack(*texts)
        outputs = self.serve_token_ids(features)
        outputs["input_ids"] = features["input_ids"]
        outputs["input_mask"] = features["input_mask"]
        return outputs

    def serve_token_ids(self, features: dict) -> dict:
        """Returns float32 "sequence_output" [B, S, H], "mean_output" [B, H] (the mean over all
        tokens, [CLS] and [SEP] included) and, with a pooler, "pooled_output" [B, H]."""
        outputs = self.model(features)
        sequence_output = outputs["sequence_output"]
        served = {
            "sequence_output": sequence_output,
            "mean_output": pool(sequence_output, features["input_mask"], "mean"),
        }
        if self._has_pooler:
            served["pooled_output"] = outputs["pooled_output"]
        return served


def check_layers(layers: tuple[int, ...], config: BertConfig, flag: str) -> None:
    """Raises `UserError` for layers that the model does not have; `flag` names them."""
    count = config.num_hidden_layers
    for layer in layers:
        if not -count <= layer < count:
            raise UserError(
                f"--{flag}: there is no layer {layer}: the model has {count}, 0 to {count - 1}, or "
                f"{-count} to -1 from the end"
            )


def layer_outputs(
    encoder: BertEncoder, layers: tuple[int, ...], pooling: str
) -> Callable[[dict], dict]:
    """Returns a function from a batch of features to "layer_<number>", float32 [B, S, H], or [B, H]
    with pooling."""
    num_layers = encoder.config.num_hidden_layers

    def outputs_of(features: dict) -> dict:
        mask = features["input_mask"]
        outputs = encoder(features["input_ids"], mask, features["segment_ids"])
        vectors = {}
        for layer in layers:
            # Files have float32, whatever the encoder computes in.
            values = ops.cast(outputs[f"encoder_layer_{layer % num_layers}"], "float32")
            if pooling != "none":
                values = pool(values, mask, pooling)
            vectors[f"layer_{layer}"] = values
        return vectors

    return outputs_of


def run(options: ExtractOptions) -> None:
    """Runs `extract` for `extract_features.py`."""
    lines, tokens, _ = extract(options, set_up_devices(options))
    say(f"wrote {options.output_file}: {lines:,} lines, {tokens:,} tokens", file=sys.stderr)


def _fitting(options: ExtractOptions, config: BertConfig) -> ExtractOptions:
    """Returns the options with defaults that a small model can fulfill; flags that are given are
    checked later."""
    fitting = {
        "layers": tuple(layer for layer in options.layers if -layer <= config.num_hidden_layers),
        "max_seq_length": min(options.max_seq_length, config.max_position_embeddings),
    }
    changes: dict[str, Any] = {}
    for name, value in fitting.items():
        is_default = getattr(options, name) == getattr(ExtractOptions, name)
        if is_default and name not in options.given and value != getattr(options, name):
            changes[name] = value
            # What the default asks for is more than the model has.
            say(f"note: --{name} is {value}, which is all that the model has", file=sys.stderr)
    return dataclasses.replace(options, **changes)


def extract(options: ExtractOptions, devices: Devices) -> tuple[int, int, int]:
    """Runs the encoder over all lines and writes the output, whole or not at all.

    Returns:
      The numbers of lines, of their tokens, and of truncated lines.

    Raises:
      UserError: a file can't be read, the checkpoint lacks a part, there is no such layer, or
        sequences are longer than the position table.
    """
    facts = InputFacts.of(options)
    # Fails before the long work, not after it.
    if not files.is_remote(options.output_file):
        prepare_output_file(options.output_file, "output_file")
    checkpoint = open_checkpoint(options.init_checkpoint, **options.companions())
    config = checkpoint.config
    options = _fitting(options, config)
    check_layers(options.layers, config, "layers")
    config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    # Variables made in the scope are on all devices.
    with devices.strategy.scope():
        encoder = BertEncoder(config, dtype=devices.dtype)
        report = load_weights(encoder, checkpoint.source)
    say(report.describe(), file=sys.stderr)
    checkpoint.say_notes()
    names = tuple(f"layer_{layer}" for layer in options.layers)
    is_pooled = options.pooling != "none"
    predict = Prediction(
        layer_outputs(encoder, options.layers, options.pooling),
        options.batch_size,
        lengths_for(options.max_seq_length, devices.has_few_shapes),
        devices.strategy,
        devices.jit_compile,
        () if is_pooled else names,
    )
    # Vectors of float32, four bytes each, of all layers.
    max_vectors = _BYTES_AT_ONCE // (4 * config.hidden_size * len(names))
    if options.output_file.endswith(".npz"):
        writer = npz_writer(options.output_file, is_pooled, options.layers, config.hidden_size)
    else:
        writer = json_writer(options.output_file, is_pooled, checkpoint.tokenizer.vocabulary)
    num_lines = num_tokens = num_truncated = 0
    with contextlib.ExitStack() as stack:
        size, lines = _open_lines(stack, options.input_file)
        write = stack.enter_context(writer)
        progress = stack.enter_context(Progress("features", total=size, unit="B"))
        for chunk in portions(lines, _cost_of_line, _CHARACTERS_AT_ONCE):
            features = _encode_lines(chunk, checkpoint.tokenizer, options.max_seq_length)
            # Lines are sorted by length within a part, and their vectors are in memory together.
            for start, end in _parts(features.row_lengths, is_pooled, max_vectors):
                part = _slice(features, start, end)
                outputs = predict(part)
                vectors = {}
                for layer, name in zip(options.layers, names, strict=True):
                    vectors[layer] = outputs[name]
                write(num_lines + start, part.tokens["input_ids"], part.row_lengths, vectors)
                # The progress bar counts the bytes of the file, in which a character may have four.
                num_bytes = sum(len(line.encode()) + 1 for line in chunk[start:end])
                progress.advance(num_bytes, lines=num_lines + end)
            num_lines += len(chunk)
            num_tokens += len(features.input_ids)
            num_truncated += features.truncated
        facts.check()
    if num_truncated:
        say(
            f"{num_truncated:,} of {num_lines:,} lines had more than "
            f"--max_seq_length={options.max_seq_length} tokens and were truncated",
            file=sys.stderr,
        )
    return num_lines, num_tokens, num_truncated


def _open_lines(stack: contextlib.ExitStack, path: str) -> tuple[int | None, Iterator[str]]:
    """Opens the input; returns its size in bytes, if it is known, and its lines without ends."""
    if path == "-":
        size = None
        file = sys.stdin.buffer
        name = "standard input"
    else:
        # A pipe has no size, and the size of a gzipped file says little about its lines.
        stored, file = stack.enter_context(files.open_unzipped(path))
        size = files.file_size(path) if file is stored else 0
        if size == 0:
            size = None
        name = path
    return size, _lines_without_ends(file, name)


def _lines_without_ends(file: IO[bytes], name: str) -> Iterator[str]:
    # A file that is compressed may end too early at any line.
    with files.user_error(f"can't read {name}"):
        for _, line in decoded_lines(file, name):
            yield line.rstrip("\r\n")


def _cost_of_line(line: str) -> int:
    # The lower bound limits the number of lines in a portion.
    return max(len(line), _CHARACTERS_AT_ONCE // _LINES_AT_ONCE)


def _encode_lines(lines: Sequence[str], tokenizer: Tokenizer, max_seq_length: int) -> PairFeatures:
    """Encodes lines, of which those with " ||| " are pairs."""
    firsts = []
    seconds = []
    for line in lines:
        first = line.strip()
        second = ""
        # The first text is the longest possible one, as in the original.
        match = _PAIR.match(first)
        if match:
            first, second = match.groups()
        firsts.append(first)
        seconds.append(second)
    return encode_pairs(tokenizer, firsts, seconds, max_seq_length)


def _parts(row_lengths: np.ndarray, is_pooled: bool, max_vectors: int) -> Iterator[tuple[int, int]]:
    """Yields start and end (exclusive) of runs of lines with at most `max_vectors` vectors; a line
    that has more is a run of its own."""
    vectors = np.ones_like(row_lengths) if is_pooled else row_lengths
    # A batch of long lines may have more vectors than fit into memory.
    ends = np.cumsum(vectors)
    start = 0
    while start < len(ends):
        num_before = ends[start] - vectors[start]
        end = int(np.searchsorted(ends, num_before + max_vectors, side="right"))
        end = max(end, start + 1)
        yield start, end
        start = end


def _slice(features: PairFeatures, start: int, end: int) -> Examples:
    """Returns the examples of some lines."""
    first_token = features.row_lengths[:start].sum()
    num_tokens = features.row_lengths[start:end].sum()
    tokens = {}
    for name, values in features.tokens.items():
        tokens[name] = values[first_token : first_token + num_tokens]
    return Examples(tokens, features.row_lengths[start:end])


@contextlib.contextmanager
def json_writer(path: str, pooled: bool, vocabulary: Vocabulary) -> Iterator[Write]:
    """Writes one line of JSON for each line of the input, with a vector per token, or `pooled` with
    one vector."""

    def vectors_at(layers: Mapping[int, np.ndarray], row: int) -> list[dict]:
        vectors = []
        for index, values in layers.items():
            # The original rounds doubles: numbers rounded as float32 would be printed with all
            # their digits.
            rounded = np.round(values[row].astype(np.float64), 6).tolist()
            vectors.append({"index": index, "values": rounded})
        return vectors

    def write(
        first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]
    ) -> None:
        position = 0
        for row, length in enumerate(row_lengths.tolist()):
            # "linex_index" is the original's spelling.
            line: dict[str, object] = {"linex_index": first + row}
            # The keys "features", "layers" and "values" are the original's.
            if pooled:
                line["layers"] = vectors_at(layers, row)
            else:
                features = []
                for token_id in input_ids[position : position + length]:
                    token = vocabulary.tokens[token_id]
                    features.append({"token": token, "layers": vectors_at(layers, position)})
                    position += 1
                line["features"] = features
            file.write(json.dumps(line) + "\n")

    with files.atomic_write(path) as file:
        yield write


@contextlib.contextmanager
def npz_writer(
    path: str, pooled: bool, layers: tuple[int, ...], hidden_size: int
) -> Iterator[Write]:
    """Writes the arrays `layer_<number>`, `row_lengths` and, without pooling, `input_ids`; see
    `json_writer`."""
    # Name of an array → an array without rows, of its type and of the shape of its rows.
    empty = {f"layer_{index}": np.zeros((0, hidden_size), np.float32) for index in layers}
    empty["row_lengths"] = np.zeros(0, np.int64)
    if not pooled:
        empty["input_ids"] = np.zeros(0, np.int32)

    def write(
        first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]
    ) -> None:
        arrays = {"row_lengths": row_lengths, "input_ids": input_ids}
        for index, values in layers.items():
            arrays[f"layer_{index}"] = values
        # Each array grows in a file of its own, because an archive takes one member after another.
        for name, content in contents.items():
            # Slices of a batch may have gaps, and the header promises rows without them.
            content.write(np.ascontiguousarray(arrays[name], empty[name].dtype).data)

    with files.atomic_write(path, "wb") as file, contextlib.ExitStack() as stack:
        # Temporary files are beside the output, where there is space for it; those for an output
        # on a network are on this machine.
        if files.is_remote(path) or files.is_special(path):
            directory = None
        else:
            directory = os.path.dirname(os.path.abspath(path))
        contents = {}
        for name in empty:
            contents[name] = stack.enter_context(tempfile.TemporaryFile(dir=directory))
        yield write
        # An .npy begins with its length, which is known only now; each array is copied into the
        # archive and gives its space back.
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in contents.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    _copy_array(content, empty[name], member)
                content.truncate(0)


def _copy_array(content: IO[bytes], empty: np.ndarray, member: IO[bytes]) -> None:
    """Copies the bytes of an array, with the header of an .npy file."""
    row_shape = empty.shape[1:]
    num_rows = content.tell() // (empty.itemsize * math.prod(row_shape))
    header = {
        "descr": np.lib.format.dtype_to_descr(empty.dtype),
        "fortran_order": False,
        "shape": (num_rows, *row_shape),
    }
    np.lib.format.write_array_header_1_0(member, header)
    content.seek(0)
    shutil.copyfileobj(content, member, 1 << 20)
