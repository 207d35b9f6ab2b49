"""Whether a path may be written: no input of the command, no part of a checkpoint, a run directory
or an index."""

import os
import re
from collections.abc import Iterable, Mapping

from bert_common import files
from bert_common.errors import UserError

# Weights, those of other programs too, and the one file that leads to weights in folders below.
_WEIGHTS = re.compile(
    r".+\.(index|meta|data-\d{5}-of-\d{5}|safetensors|safetensors\.index\.json|h5|onnx)"
    r"|pytorch_model.*\.bin|flax_model\.msgpack|saved_model\.pb|modules\.json"
)
_OF_A_RUN = re.compile(r"ckpt-\d+\.(index|data-\d{5}-of-\d{5})")
_KEPT = re.compile(
    rf"{_WEIGHTS.pattern}|(bert_|sentence_bert_|tokenizer_)?config\.json|config_sentence_transformers\.json|vocab\.txt"
    r"|tokenizer\.json|special_tokens_map\.json|task\.json|best\.json|checkpoint|metrics\.jsonl|eval_results\.txt"
    r"|(flags|inputs|trackers|run_result|selection|copied|eval_results)\.json|events\.out\.tfevents.*"
    r"|vectors\.f32|offsets\.i64"
)
# Names that others have too, of an index where the last of these is beside them.
_OF_AN_INDEX, _VECTORS = ("documents.jsonl", "index.json"), "vectors.f32"


def check_output_file(
    path: str, flag: str, inputs: Mapping[str, Iterable[str]], own: Iterable[str] = ()
) -> str:
    """Returns `path` if a result may take its place.

    Raises `UserError` for a directory, for one of the inputs, flag → what is read, and for a part
    of a checkpoint, a run or an index; but for `own` names, which the command writes itself, only
    where weights are beside it.
    """
    with files.user_error(f"--{flag}: can't write {path}"):
        if path.endswith(("/", os.sep)) or files.is_directory(path):
            raise UserError(f"--{flag}: {path} is a directory, a file name is expected")
        if files.is_special(path) or not files.exists(path):
            return path
        for name, paths in inputs.items():
            if any(files.same_file(path, one) for one in paths):
                raise UserError(
                    f"--{flag}: {path} is also --{name}, which would be lost: give it another name"
                )
        name, folder = os.path.basename(path), files.parent_directory(path)
        is_kept = (
            _KEPT.fullmatch(name)
            or name in _OF_AN_INDEX
            and files.exists(os.path.join(folder, _VECTORS))
        )
        if is_kept and (name not in own or _weights_in(folder)):
            raise UserError(
                f"--{flag}: {path} is a part of a checkpoint, a run or an index, which would be lost: give it "
                "another name"
            )
    return path


def prepare_output_file(path: str, flag: str, inputs: Mapping[str, Iterable[str]]) -> None:
    """`check_output_file`, and `files.make_output_directory` of its directory; raises `UserError`
    as they do."""
    if not files.is_special(check_output_file(path, flag, inputs)):
        files.make_output_directory(files.parent_directory(path), flag)


def check_run_directory(path: str, flag: str) -> None:
    """Raises `UserError` where a run can't write, as far as that shows without writing, or where
    another program's weights are, whose configuration it would replace.
    """
    there = path
    while not files.is_remote(there) and not os.path.lexists(there):
        there = os.path.dirname(os.path.abspath(there))
    with files.user_error(f"--{flag}: can't write in {path}"):
        if not files.is_remote(there):
            os.scandir(there).close()
        if not files.is_remote(there) and not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
        other = next((name for name in _weights_in(path) if not _OF_A_RUN.fullmatch(name)), None)
    if other is not None:
        raise UserError(
            f"--{flag}: {path} holds a checkpoint of another kind ({other}), whose configuration would be "
            "replaced: choose another directory"
        )


def _weights_in(directory: str) -> list[str]:
    names = files.list_directory(directory) if files.is_directory(directory) else []
    return [name for name in names if _WEIGHTS.fullmatch(name)]
