"""Checks of paths to be written.

An output never replaces an input of the command or a part of a checkpoint, a run or an index.
"""

import os
import re
import sys
from collections.abc import Iterable

from bert_common import files
from bert_common.errors import UserError

# Files of weights, also of other programs, and the file that leads to weights in folders below.
_WEIGHTS = re.compile(
    r".+\.(index|meta|data-\d{5}-of-\d{5}|safetensors|safetensors\.index\.json|h5|onnx)"
    r"|pytorch_model.*\.bin|flax_model\.msgpack|saved_model\.pb|modules\.json"
)
_RUN_WEIGHTS = re.compile(r"ckpt-\d+\.(index|data-\d{5}-of-\d{5})")
_PROTECTED = re.compile(
    rf"{_WEIGHTS.pattern}|(bert_|sentence_bert_|tokenizer_)?config\.json"
    r"|config_sentence_transformers\.json|vocab\.txt|tokenizer\.json|special_tokens_map\.json"
    r"|task\.json|best\.json|checkpoint|metrics\.jsonl|eval_results\.txt"
    r"|(flags|inputs|trackers|run_result|selection|copied|eval_results)\.json"
    r"|events\.out\.tfevents.*|vectors\.f32|offsets\.i64"
)
# Files with results that runs replace.
_RUN_RESULTS = re.compile(
    r"((test|nbest|eval|dev)_)?predictions(_\w+)?\.(csv|jsonl?|txt)"
    r"|(test|eval)_results\.(tsv|txt|json)|eval_report\.txt|null_odds\.json|README\.md"
    r"|(answers|hardest_questions|metrics|eval_samples)\.jsonl|report\.html"
)
# Those that every start writes, or cuts, anew.
_OF_EVERY_START = ("README.md", "metrics.jsonl", "report.html")
# Best weights in a run directory.
_BEST = "best"
# Common names, which belong to a search index only if its vectors are in the same directory.
_INDEX_FILES = ("documents.jsonl", "index.json")
_INDEX_VECTORS = "vectors.f32"


def check_output_file(path: str, flag: str, own: Iterable[str] = ()) -> str:
    """Returns `path` if a result may be written there.

    Args:
      own: names that the command writes itself; they are refused only beside weights.

    Raises:
      UserError: the path is a directory, one of the inputs, or a part of a checkpoint, a run or an
        index.
    """
    with files.user_error(f"--{flag}: can't write {path}"):
        if path.endswith(("/", os.sep)) or files.is_directory(path):
            raise UserError(f"--{flag}: {path} is a directory, a file name is expected")
        check_compression(path, flag)
        # Everything below protects existing content, so a new name is free.
        if files.is_special(path) or not files.exists(path):
            return path
        files.check_replaceable(path, flag)
        name = os.path.basename(path)
        folder = files.parent_directory(path)
        if name in _INDEX_FILES:
            is_protected = files.exists(os.path.join(folder, _INDEX_VECTORS))
        else:
            is_protected = _PROTECTED.fullmatch(name) is not None
        if is_protected and (name not in own or _weights_in(folder)):
            raise UserError(
                f"--{flag}: {path} is a part of a checkpoint, a run or an index, which would be "
                "lost: give it another name"
            )
    return path


def check_compression(path: str, flag: str) -> None:
    """Raises `UserError` for a name of a compression that no result is written in."""
    ending = os.path.splitext(path)[1].lower()
    if ending in files.COMPRESSED and ending != files.GZIPPED:
        raise UserError(f"--{flag}: {path}: results are compressed by gzip only: end it in .gz")


def check_standard_output(where: str) -> None:
    """Raises `UserError` if a result would go to a standard output that the shell has closed.

    Args:
      where: begins the message.
    """
    # A stream that was closed (`>&-`) is open again, for messages.
    if getattr(sys.stdout, "name", None) == os.devnull:
        raise UserError(
            f"{where}: standard output is closed, and the results would be lost: open it, or give "
            "the name of a file"
        )


def prepare_output_file(path: str, flag: str) -> None:
    """Checks an output file and creates its directory.

    Raises `UserError` as `check_output_file` and `files.make_output_directory` do.
    """
    if not files.is_special(check_output_file(path, flag)):
        files.make_output_directory(files.parent_directory(path), flag)


def results_in(directory: str) -> list[str]:
    """Returns the names of the results of a run in a directory, its best weights among them."""
    results = []
    if files.is_directory(directory):
        for name in files.list_directory(directory):
            is_result = _RUN_RESULTS.fullmatch(name) and name not in _OF_EVERY_START
            if is_result or name == _BEST:
                results.append(name)
    return results


def check_run_directory(path: str, flag: str) -> None:
    """Checks, without writing, whether a run can write into a directory.

    Raises:
      UserError: it can't, or the directory contains weights of another program, whose configuration
        the run would replace, or an input of this command with the name of a result.
    """
    for name, input_flag in files.register.given().items():
        is_result = _RUN_RESULTS.fullmatch(os.path.basename(name)) is not None
        if is_result and files.same_file(files.parent_directory(name), path):
            raise UserError(
                f"--{flag}: the run would write {name}, which is also --{input_flag} and would be "
                "lost: choose another directory"
            )
    with files.user_error(f"--{flag}: can't write in {path}"):
        if not files.is_remote(path):
            existing = path
            # Missing parents are made later, so the nearest existing one decides about permissions.
            while not os.path.lexists(existing):
                existing = os.path.dirname(os.path.abspath(existing))
            # Fails with the system's reason if it is a file or can't be read.
            os.scandir(existing).close()
            if not os.access(existing, os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
        weights = _weights_in(path)
    for name in weights:
        if not _RUN_WEIGHTS.fullmatch(name):
            raise UserError(
                f"--{flag}: {path} contains a checkpoint of another kind ({name}), whose "
                "configuration would be replaced: choose another directory"
            )


def _weights_in(directory: str) -> list[str]:
    """Returns the names of the files of weights in a directory, which may be missing."""
    if not files.is_directory(directory):
        return []
    return [name for name in files.list_directory(directory) if _WEIGHTS.fullmatch(name)]
