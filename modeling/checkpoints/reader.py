"""Weights by the names of the original, as every reader of a format returns them.

Input: a `TensorFile` (shapes, and arrays of float32, by key) and the rows of the table of weights
that its keys are. Output: `CheckpointReader`.
"""

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping

import numpy as np

from bert_common.errors import UserError
from modeling.checkpoints.weights import (
    HEADS,
    MODEL_GARDEN,
    Weight,
    check_fits,
    config_from_shapes,
    heads_of,
    show_shape,
)
from modeling.config import BertConfig

# Checkpoints of the deepest models have some hundred tensors for each of 48 layers, with the slots
# of an optimizer.
_MAX_TENSORS = 10_000


@dataclasses.dataclass(frozen=True)
class CheckpointReader:
    """Weights that can be read by the names of the original (see `weights.py`).

    Every reader of a format makes one. Optimizer slots, counters and the like are not in it.

    Attributes:
      description: format and path, for messages.
      tensors: name → shape of each weight.
      read: name → float array of that shape. Raises `UserError` if the file is damaged, or a value
        is not finite.
      config: the configuration beside the weights, or None.
      vocab_file: path of the vocabulary beside the weights, or None.
      do_lower_case: whether the vocabulary is of lower-cased text; None if unknown.
      vocab_sha256: `Vocabulary.fingerprint` of the vocabulary that the weights were trained with;
        None if unknown.
      truncation_side: "left" if inputs that are too long keep their end; else their beginning.
      max_length: maximum number of tokens of an input; None if nothing says it.
      directory: directory of the weights and their companion files; None for formats of other
        programs that have none.
      path: of the weights: a prefix, or the first file.
      notes: remarks on the files, for the user.
    """

    description: str
    tensors: Mapping[str, tuple[int, ...]]
    read: Callable[[str], np.ndarray]
    config: BertConfig | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    vocab_sha256: str | None = None
    truncation_side: str | None = None
    max_length: int | None = None
    directory: str | None = None
    path: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def heads(self) -> list[str]:
        """Heads whose weights it has, by the keys of `model.heads`."""
        return heads_of(self.tensors)

    def fingerprint(self) -> str:
        """Returns the SHA-256 of all weights by name, the same for every format."""
        digest = hashlib.sha256()
        # Sorted, as formats differ in the order of their tensors.
        for name in sorted(self.tensors):
            digest.update(f"{name} {self.tensors[name]}".encode())
            digest.update(np.asarray(self.read(name), np.float32).tobytes())
        return digest.hexdigest()

    def classes(self, head: str) -> int | None:
        """Returns C of one of `HEADS`; None if that head is not in the checkpoint, or has no
        classes."""
        shape = self.tensors.get(HEADS[head].signature_name)
        if not shape or HEADS[head].parts:
            return None
        return shape[0]


class TensorFile:
    """A file of weights, with the shape of every tensor by key; subclasses open it.

    Attributes:
      path: of the file, for messages.
      shapes: key → shape.
      raw: key → the tensor as it is in the file.
    """

    raw: Callable[[str], np.ndarray]

    def __init__(self, path: str, types: tuple[str, ...]):
        """`types` are the numbers that it may hold as weights, in the words of the format."""
        self.path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        # Integers are counters and ids, never weights.
        self._types = types
        self._dtypes: dict[str, str] = {}
        self._identities: dict[str, tuple[int, ...] | None] = {}

    def watch(self, local_path: str) -> None:
        """Notes which file is opened, for `check_same_file`."""
        self._identities[local_path] = _identity(local_path)

    def check_same_file(self, local_path: str) -> None:
        """Raises `UserError` if a file is another one than when its tensors were listed."""
        if self._identities[local_path] != _identity(local_path):
            raise UserError(
                f"{self.path} has changed while it was read: run the same command again when it is "
                "complete"
            )

    def check_count(self, count: int) -> None:
        """Raises `UserError` for more tensors than any BERT has, before they are listed."""
        if count > _MAX_TENSORS:
            raise UserError(
                f"{self.path} holds {count:,} tensors, more than {_MAX_TENSORS:,}: these are no "
                "weights of BERT"
            )

    def check_stored(self, key: str, num_bytes: int, stored_bytes: int) -> None:
        """Raises `UserError` for a tensor that its file is too small for, before memory is asked
        for."""
        if num_bytes > stored_bytes:
            raise UserError(
                f"{self.path}: {key} is {show_shape(self.shapes[key])}, {num_bytes:,} bytes, of "
                f"which the file has at most {stored_bytes:,}: it is damaged or incomplete"
            )

    def read(self, key: str) -> np.ndarray:
        """Returns a tensor as float32; half-precision numbers are widened, which is exact.

        Raises:
          UserError: it is no float, can't be read, or holds values that are not finite.
        """
        self.check_dtype(key)
        return self.check_finite(key, np.asarray(self.raw(key)).astype(np.float32, copy=False))

    def check_dtype(self, key: str) -> None:
        """Raises `UserError` for a tensor that is no float, or would lose digits as float32."""
        if self._dtypes[key] not in self._types:
            raise UserError(
                f"{self.path}: {key} is of type {self._dtypes[key]}; weights are "
                f"{', '.join(self._types)}"
            )

    def check_finite(self, key: str, values: np.ndarray) -> np.ndarray:
        """Returns the values; raises `UserError` if one of them is NaN or infinite."""
        # A single such weight makes every output NaN, long after the file was read.
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise UserError(
                f"{self.path}: {key} holds {np.count_nonzero(~np.isfinite(values)):,} values that "
                "are not finite (NaN or infinity): the file is damaged, or training has diverged"
            )
        return values


def _identity(path: str) -> tuple[int, ...] | None:
    """Returns size, time and inode of a local file; None if it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


class RenamedFile(TensorFile):
    """The tensors of another file by other keys.

    Args:
      keys: new key → key in the file.
    """

    def __init__(self, file: TensorFile, keys: Mapping[str, str]):
        super().__init__(file.path, file._types)
        self._file = file
        self._keys = dict(keys)
        for name, key in keys.items():
            self.shapes[name] = file.shapes[key]
            self._dtypes[name] = file._dtypes[key]

    def raw(self, key: str):
        return self._file.raw(self._keys[key])


def stored_weights(
    description: str,
    placed: Mapping[str, tuple[Weight, TensorFile, str]],
    unused: Mapping[str, tuple[TensorFile, str]],
    config: BertConfig | None,
    layout: str = MODEL_GARDEN,
) -> CheckpointReader:
    """Returns a reader of weights in any layout, which turns them to the original's shapes.

    Args:
      placed: original name → row of the table of weights, file, and key in that file.
      unused: name → file and key of tensors that are in no BERT.
      config: configuration beside the files. None is replaced by that of the Model Garden's
        shapes where these determine all sizes.
      layout: `HUGGINGFACE`, `ORIGINAL`, or `MODEL_GARDEN`, whose shapes KerasHub has, too.

    Raises:
      UserError: types, shapes or configuration do not belong to a BERT.
    """
    tensors = {}
    for name, (row, file, key) in placed.items():
        shape = file.shapes[key]
        file.check_dtype(key)
        if row.is_transposed(layout) and len(shape) != 2:
            raise UserError(f"{file.path}: {key} is {show_shape(shape)}, a matrix is expected")
        # A letter of the table stands for each axis.
        if layout == MODEL_GARDEN and len(shape) != len(row.garden_shape):
            raise UserError(
                f"{file.path}: {key} is {show_shape(shape)}, {len(row.garden_shape)} axes are "
                "expected"
            )
        tensors[name] = row.original_shape(shape, layout)
    # In the original's shapes the units of all attention heads are one axis.
    if layout == MODEL_GARDEN:
        config = _checked_by_shapes(config, placed, description)
    if config is not None:
        check_fits(config, tensors, description)
    for name, (file, key) in unused.items():
        tensors[name] = file.shapes[key]

    # Tensors are read one by one: a model need not fit into memory twice.
    def read(name: str) -> np.ndarray:
        if name in placed:
            row, file, key = placed[name]
            return row.to_original(file.read(key), layout)
        file, key = unused[name]
        return file.read(key)

    return CheckpointReader(description=description, tensors=tensors, read=read, config=config)


def _checked_by_shapes(
    config: BertConfig | None,
    placed: Mapping[str, tuple[Weight, TensorFile, str]],
    description: str,
) -> BertConfig | None:
    """Returns the configuration, or the one that follows from the shapes; raises `UserError` if
    they have different numbers of attention heads, which only the Model Garden's layout shows."""
    shapes = {}
    rows = {}
    for name, (row, file, key) in placed.items():
        shapes[name] = file.shapes[key]
        rows[name] = row
    inferred = config_from_shapes(shapes, rows, description)
    if config is None:
        return inferred
    # A checkpoint without a pooler, say, does not show all sizes.
    if inferred is not None and config.num_attention_heads != inferred.num_attention_heads:
        raise UserError(
            f"{description}: the configuration contradicts the tensors: num_attention_heads is "
            f"{config.num_attention_heads} there and {inferred.num_attention_heads} in the tensors"
        )
    return config
