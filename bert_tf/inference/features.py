"""Hidden states as features: for predictions and exports, and of whole files, `extract_features` of
the original.

Input: texts and pairs of texts. Output: vectors of tokens or of whole texts. Lines of a file are
read by the thousand and computed in batches of similar length; the vectors are written in the order
of the lines, as the original's lines of JSON or as an .npz that grows on disk only.

Letters: E lines, T tokens, H hidden.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from keras import ops

from bert_common import files
from bert_common.errors import UserError
from bert_common.outputs import prepare_output_file
from bert_common.parallel import portions
from bert_common.progress import Progress
from bert_tf.inference.options import ExtractOptions, InferenceSettings
from bert_tf.runs.run import set_up_devices
from bert_tf.tasks.inference import TaskInference, to_json
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples, lengths_for
from bert_tf.training.prediction import Prediction
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.tables import decoded_lines
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import SentenceVectors, known_vectors
from modeling.checkpoints.load import Checkpoint, load_weights, open_checkpoint
from modeling.checkpoints.weights import POOLER
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.sentence_embedding import pool, unit_length

# Of the vectors that are in memory together.
_BYTES_AT_ONCE = 256 << 20
# Lines read and sorted by length together; fewer where they are long.
_LINES_AT_ONCE, _CHARACTERS_AT_ONCE = 4096, 1 << 24
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")
# Writes some lines: number of the first of them, from 0; int32 [T] their token ids, [CLS] and [SEP]
# included; int64 [E] tokens of each line; layer number → float32 [T, H], or [E, H] where a line has
# one vector.
Write: TypeAlias = Callable[[int, np.ndarray, np.ndarray, Mapping[int, np.ndarray]], None]


class FeatureInference(TaskInference):
    """{"vector": [H numbers]} of a text or a pair; an export gives all vectors of the last
    layer."""

    def __init__(self, loaded: Checkpoint, settings: InferenceSettings):
        super().__init__(loaded, settings)
        check_layers((settings.layer,), loaded.config, "layer")
        self.load(loaded, BertEncoder(loaded.config))
        self._vectors_of = loaded.vectors
        self._layer, self._pooling = settings.layer, settings.pooling
        self._has_pooler = POOLER[0].original in loaded.source.tensors
        if not self._has_pooler:
            self.notes.append("the checkpoint has no pooler, so there is no pooled_output")

    def model_outputs(self, features: dict) -> dict:
        """float32 "layer_<number>" [B, H]."""
        outputs = layer_outputs(self.model, (self._layer,), self.vectors.pooling)(features)
        return {
            name: unit_length(value) if self.vectors.normalize else value
            for name, value in outputs.items()
        }

    @functools.cached_property
    def vectors(self) -> SentenceVectors:
        """How the vectors of a text become one. Raises `UserError` where it is unknown, see
        `known_vectors`."""
        return known_vectors(self._vectors_of, self._pooling)

    def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
        (vectors,) = self.run(self.examples(inputs)).values()
        return [{"vector": list(map(to_json, vector))} for vector in vectors]

    def serve_texts(self, *texts) -> dict:
        """As `serve_token_ids`, and "input_ids" and "input_mask", int32 [B, S]."""
        features = self.pack(*texts)
        return {
            **self.serve_token_ids(features),
            "input_ids": features["input_ids"],
            "input_mask": features["input_mask"],
        }

    def serve_token_ids(self, features: dict) -> dict:
        """float32 "sequence_output" [B, S, H], "mean_output" [B, H] (the mean over all tokens,
        [CLS] and [SEP] included) and, with a pooler, "pooled_output" [B, H]."""
        outputs = self.model(features)
        mean = pool(outputs["sequence_output"], features["input_mask"], "mean")
        pooled = {"pooled_output": outputs["pooled_output"]} if self._has_pooler else {}
        return {"sequence_output": outputs["sequence_output"], "mean_output": mean, **pooled}


def check_layers(layers: tuple[int, ...], config: BertConfig, flag: str) -> None:
    """Refuses layers that the model does not have; `flag` names them."""
    count = config.num_hidden_layers
    for layer in layers:
        if not -count <= layer < count:
            raise UserError(
                f"--{flag}: there is no layer {layer}: the model has {count}, 0 to {count - 1}, or {-count} to "
                "-1 from the end"
            )


def layer_outputs(
    encoder: BertEncoder, layers: tuple[int, ...], pooling: str
) -> Callable[[dict], dict]:
    """A function from a batch of features to "layer_<number>", float32 [B, S, H], or [B, H] with
    pooling."""
    count = encoder.config.num_hidden_layers

    def outputs_of(features: dict) -> dict:
        outputs = encoder(features["input_ids"], features["input_mask"], features["segment_ids"])
        vectors = {
            layer: ops.cast(outputs[f"encoder_layer_{layer % count}"], "float32")
            for layer in layers
        }
        if pooling != "none":
            vectors = {
                layer: pool(values, features["input_mask"], pooling)
                for layer, values in vectors.items()
            }
        return {f"layer_{layer}": values for layer, values in vectors.items()}

    return outputs_of


def run(options: ExtractOptions) -> None:
    """Runs `extract` for `extract_features.py`."""
    lines, tokens, truncated = extract(options, set_up_devices(options))
    if truncated:
        print(
            f"{truncated:,} of {lines:,} lines had more than --max_seq_length={options.max_seq_length} tokens and were "
            "truncated",
            file=sys.stderr,
        )
    print(f"wrote {options.output_file}: {lines:,} lines, {tokens:,} tokens", file=sys.stderr)


def extract(options: ExtractOptions, devices: Devices) -> tuple[int, int, int]:
    """Runs the encoder over all lines and writes the output, whole or not at all.

    Returns the numbers of lines, of their tokens, and of truncated lines. Raises `UserError` where
    a file can't be read, the checkpoint lacks a part, there is no such layer, or sequences are
    longer than the position table.
    """
    replicas = devices.strategy.num_replicas_in_sync
    if options.batch_size % replicas:
        raise UserError(
            f"--batch_size={options.batch_size} must be a multiple of the number of devices, {replicas}"
        )
    if not files.is_remote(options.output_file):
        prepare_output_file(options.output_file, "output_file", {})
    loaded = open_checkpoint(options.init_checkpoint, **options.companions())
    config, tokenizer = loaded.config, loaded.tokenizer
    for name, value in {
        "layers": tuple(one for one in options.layers if one >= -config.num_hidden_layers),
        "max_seq_length": min(options.max_seq_length, config.max_position_embeddings),
    }.items():
        if value != getattr(options, name) and not options.is_chosen(name):
            print(
                f"--{name}={str(value).strip('()').replace(' ', '')}: the model has no more",
                file=sys.stderr,
                flush=True,
            )
            options = options.replace(**{name: value})
    check_layers(options.layers, config, "layers")
    config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    with devices.strategy.scope():
        encoder = BertEncoder(config, dtype=devices.dtype)
        print(load_weights(encoder, loaded.source).describe(), file=sys.stderr, flush=True)
    names = tuple(f"layer_{layer}" for layer in options.layers)
    pooled = options.pooling != "none"
    predict = Prediction(
        layer_outputs(encoder, options.layers, options.pooling),
        options.batch_size,
        lengths_for(options.max_seq_length, devices.has_few_shapes),
        devices.strategy,
        devices.jit_compile,
        () if pooled else names,
    )
    most_vectors = _BYTES_AT_ONCE // (4 * config.hidden_size * len(names))
    writer = (
        npz_writer(options.output_file, pooled, options.layers, config.hidden_size)
        if options.output_file.endswith(".npz")
        else json_writer(options.output_file, pooled, tokenizer.vocabulary)
    )
    lines = tokens = truncated = 0
    with contextlib.ExitStack() as stack:
        size, file = None, sys.stdin.buffer
        if options.input_file != "-":
            # A pipe has no size, and that of a gzipped file is not that of its lines.
            size = files.file_size(options.input_file) or None
            stored, file = stack.enter_context(files.open_unzipped(options.input_file))
            size = size if file is stored else None
        write = stack.enter_context(writer)
        progress = stack.enter_context(Progress("features", total=size, unit="B"))
        name = "standard input" if options.input_file == "-" else options.input_file
        all_lines = (line.rstrip("\r\n") for _, line in decoded_lines(file, name))
        for chunk in portions(
            all_lines,
            lambda line: max(len(line), _CHARACTERS_AT_ONCE // _LINES_AT_ONCE),
            _CHARACTERS_AT_ONCE,
        ):
            pairs = [
                pair.groups() if (pair := _PAIR.match(line.strip())) else (line.strip(), "")
                for line in chunk
            ]
            features = encode_pairs(
                tokenizer, *map(list, zip(*pairs, strict=True)), options.max_seq_length
            )
            ids, lengths = (
                {"input_ids": features.input_ids, "segment_ids": features.segment_ids},
                features.row_lengths,
            )
            ends = np.cumsum(lengths)
            vectors = np.arange(1, len(chunk) + 1) if pooled else ends
            start = 0
            while start < len(chunk):
                # As many lines as have that many vectors; a line that has more comes alone.
                before = vectors[start - 1] if start else 0
                end = max(
                    start + 1, int(np.searchsorted(vectors, before + most_vectors, side="right"))
                )
                rows = slice(ends[start - 1] if start else 0, ends[end - 1])
                part = Examples(
                    {name: values[rows] for name, values in ids.items()}, lengths[start:end]
                )
                outputs = predict(part)
                write(
                    lines + start,
                    part.tokens["input_ids"],
                    part.row_lengths,
                    {
                        layer: outputs[name]
                        for layer, name in zip(options.layers, names, strict=True)
                    },
                )
                progress.advance(
                    sum(len(line.encode()) + 1 for line in chunk[start:end]), lines=lines + end
                )
                start = end
            lines, tokens = lines + len(chunk), tokens + len(features.input_ids)
            truncated += features.truncated
    return lines, tokens, truncated


@contextlib.contextmanager
def json_writer(path: str, pooled: bool, vocabulary: Vocabulary) -> Iterator[Write]:
    """One line of JSON for each line of the input; with `pooled` of one vector instead of one per
    token."""

    def vectors_at(layers: Mapping[int, np.ndarray], place: int) -> list[dict]:
        # Rounded as doubles, as in the original: rounded as float32 they would be printed with all
        # their digits again.
        return [
            {"index": index, "values": np.round(values[place].astype(np.float64), 6).tolist()}
            for index, values in layers.items()
        ]

    def write(
        first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]
    ) -> None:
        ends = np.cumsum(row_lengths)
        for row, (length, end) in enumerate(zip(row_lengths.tolist(), ends.tolist(), strict=True)):
            found = (
                {"layers": vectors_at(layers, row)}
                if pooled
                else {
                    "features": [
                        {
                            "token": vocabulary.tokens[input_ids[position]],
                            "layers": vectors_at(layers, position),
                        }
                        for position in range(end - length, end)
                    ]
                }
            )
            file.write(json.dumps({"linex_index": first + row, **found}) + "\n")

    with files.atomic_write(path) as file:
        yield write


@contextlib.contextmanager
def npz_writer(
    path: str, pooled: bool, layers: tuple[int, ...], hidden_size: int
) -> Iterator[Write]:
    """Arrays: `layer_<number>`, `row_lengths` and, without pooling, `input_ids`; see `json_writer`.

    They are files without names until their lengths are known, which an .npy begins with.
    """
    # Member → (its dtype, the shape of one row).
    members = {f"layer_{index}": (np.dtype(np.float32), (hidden_size,)) for index in layers}
    members |= {
        "row_lengths": (np.dtype(np.int64), ()),
        **({} if pooled else {"input_ids": (np.dtype(np.int32), ())}),
    }

    def write(
        first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]
    ) -> None:
        arrays = {f"layer_{index}": values for index, values in layers.items()}
        arrays |= {"row_lengths": row_lengths, "input_ids": input_ids}
        for name, (dtype, _) in members.items():
            contents[name].write(np.ascontiguousarray(arrays[name], dtype).data)

    with files.atomic_write(path, "wb") as file, contextlib.ExitStack() as stack:
        # Beside the output, where there is space for it; what is written over a network is
        # collected on this machine.
        is_elsewhere = files.is_remote(path) or files.is_special(path)
        directory = None if is_elsewhere else os.path.dirname(os.path.abspath(path))
        contents = {
            name: stack.enter_context(tempfile.TemporaryFile(dir=directory)) for name in members
        }
        yield write
        # Copied into the archive one by one, giving back the space of each.
        with zipfile.ZipFile(file, "w") as archive:
            for name, (dtype, row_shape) in members.items():
                content = contents[name]
                rows = content.tell() // (dtype.itemsize * int(np.prod(row_shape, dtype=np.int64)))
                content.seek(0)
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array_header_1_0(
                        member,
                        {
                            "descr": np.lib.format.dtype_to_descr(dtype),
                            "fortran_order": False,
                            "shape": (rows, *row_shape),
                        },
                    )
                    shutil.copyfileobj(content, member, 1 << 20)
                content.truncate(0)
