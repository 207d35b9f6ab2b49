"""Released weights by name: `google:uncased_L-12_H-768_A-12` and
`hf:google-bert/bert-base-uncased`.

Input: what is given as a checkpoint. Output: a path, of a directory in a cache where it is such a
name. Only these two prefixes download anything; afterwards both work offline.

  google:   the releases of google-research/bert, by `keras.utils.get_file` into the cache of this
  project hf:       models of Hugging Face's hub, by huggingface_hub (optional) into its own cache,
  which other tools share
"""

import contextlib
import functools
import glob
import hashlib
import os
import re
import sys
import tempfile

from bert_common import files, locks
from bert_common.errors import UserError, did_you_mean, in_one_line, needs_package
from data_gen.tokenization.vocabulary import Vocabulary, casing_of_release, write_tokenizer_config

HUB, GOOGLE = "hf:", "google:"
# Environment variable: the address of a mirror of Google's directory of releases.
MIRROR_VARIABLE = "BERT_TF_WEIGHTS_URL"
_GOOGLE_URL = "https://storage.googleapis.com/bert_models"
_OWNER = "google-bert/"
# Date of a release, a directory there → its models. A name alone is the first of these; the last
# release has a BERT-Base of its own, trained again with the small models.
_RELEASES = {
    "2018_10_18": (
        "uncased_L-12_H-768_A-12",
        "uncased_L-24_H-1024_A-16",
        "cased_L-12_H-768_A-12",
        "cased_L-24_H-1024_A-16",
    ),
    "2018_11_03": ("multilingual_L-12_H-768_A-12", "chinese_L-12_H-768_A-12"),
    "2018_11_23": ("multi_cased_L-12_H-768_A-12",),
    "2019_05_30": ("wwm_uncased_L-24_H-1024_A-16", "wwm_cased_L-24_H-1024_A-16"),
    "2020_02_20": tuple(
        f"uncased_L-{layers}_H-{units}_A-{units // 64}"
        for layers in (2, 4, 6, 8, 10, 12)
        for units in (128, 256, 512, 768)
    ),
}
_PATHS = {
    name: f"{date}/{name}" for date, names in reversed(_RELEASES.items()) for name in names
} | {f"{date}/{name}": f"{date}/{name}" for date, names in _RELEASES.items() for name in names}
# Name on the hub, of `_OWNER` → Google's own release of the same weights.
_ON_THE_HUB = {
    "bert-base-uncased": "uncased_L-12_H-768_A-12",
    "bert-large-uncased": "uncased_L-24_H-1024_A-16",
    "bert-base-cased": "cased_L-12_H-768_A-12",
    "bert-large-cased": "cased_L-24_H-1024_A-16",
    "bert-base-chinese": "chinese_L-12_H-768_A-12",
    "bert-base-multilingual-cased": "multi_cased_L-12_H-768_A-12",
    "bert-base-multilingual-uncased": "multilingual_L-12_H-768_A-12",
    "bert-large-uncased-whole-word-masking": "wwm_uncased_L-24_H-1024_A-16",
    "bert-large-cased-whole-word-masking": "wwm_cased_L-24_H-1024_A-16",
}
_HUB_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?", re.ASCII)
# What readers of checkpoints want of a directory on the hub: never a pickle, and `_H5` where there
# is nothing else.
_H5 = "tf_model.h5"
_WEIGHTS = {"model.safetensors", "model.safetensors.index.json", "model.weights.h5", _H5}
_VOCABULARIES = {"vocab.txt", "tokenizer.json"}
_HUB_FILES = (
    *sorted(_WEIGHTS - {_H5}),
    "model-*.safetensors",
    "task.weights.h5",
    "config.json",
    *sorted(_VOCABULARIES),
    "tokenizer_config.json",
    "assets/tokenizer/vocabulary.txt",
    "modules.json",
    "*_Pooling/config.json",
    "sentence_bert_config.json",
)


def check_checkpoint_there(checkpoint: str) -> None:
    """Raises `UserError` where nothing on a local disk is called so, or begins so, as the files of
    a prefix do.

    Weights by name are downloaded, so that a name that does not exist is an error before anything
    slow is imported.
    """
    path = local_path(checkpoint)
    if not (
        files.is_remote(path) or files.exists(path) or files.glob_files(f"{glob.escape(path)}.*")
    ):
        raise no_checkpoint(path)


def no_checkpoint(path: str) -> UserError:
    """The error for a checkpoint that is not there, with the name that may be meant."""
    on_the_hub, meant = path.removeprefix(_OWNER), ""
    if on_the_hub in _ON_THE_HUB:
        meant = f"{HUB}{_OWNER}{on_the_hub} or {GOOGLE}{_ON_THE_HUB[on_the_hub]}"
    elif path in _PATHS:
        meant = f"{GOOGLE}{path}"
    hint = f". Nothing is downloaded unless it is asked for: give {meant}" if meant else ""
    return UserError(
        f"there is no checkpoint {path}: neither a directory nor {path}.index exists{hint}"
    )


def local_path(checkpoint: str) -> str:
    """The path itself, or that of the directory in a cache where it is the name of released
    weights.

    What is not in the cache is downloaded.

    Args:
      checkpoint: a path, `google:NAME`, `google:DATE/NAME` or `hf:OWNER/NAME`, with `@REVISION`
        where not the newest one is meant.

    Raises:
      UserError: the name is unknown, the server can't be reached or refuses, what it sends is
        damaged or not what it was at the first time, or huggingface_hub is not installed.
    """
    if files.is_remote(checkpoint) or not checkpoint.startswith((GOOGLE, HUB)):
        return checkpoint
    if checkpoint.startswith(HUB):
        return _hub_model(checkpoint)
    path = _PATHS.get(checkpoint.removeprefix(GOOGLE))
    if path is None:
        meant = did_you_mean(checkpoint, [GOOGLE + known for known in _PATHS])
        raise UserError(
            f"{checkpoint} is unknown{meant or ':'} the names are "
            f"{', '.join(names[0] for names in _RELEASES.values())} and others, see docs/checkpoints.md"
        )
    directory = os.path.join(files.cache_directory(), *path.split("/"))
    if not os.path.isdir(directory):
        url = f"{os.environ.get(MIRROR_VARIABLE, _GOOGLE_URL).rstrip('/')}/{path}.zip"
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UserError(f"{MIRROR_VARIABLE}: an address without user and password is expected")
        try:
            _download_release(url, directory)
        # `get_file` raises all kinds, also `Exception` itself.
        except Exception as error:
            raise UserError(
                f"{checkpoint} is not in the cache, {directory}, and can't be downloaded from {url}: "
                f"{in_one_line(error)}"
            ) from None
    return directory


def hub_name(checkpoint: str) -> str | None:
    """The name on the hub of released weights by name; None for what has none there."""
    if (
        match := _HUB_NAME.fullmatch(checkpoint.removeprefix(HUB))
        if checkpoint.startswith(HUB)
        else None
    ):
        return match["repository"]
    path = _PATHS.get(checkpoint.removeprefix(GOOGLE)) if checkpoint.startswith(GOOGLE) else None
    return next(
        (f"{_OWNER}{name}" for name, release in _ON_THE_HUB.items() if path == _PATHS[release]),
        None,
    )


def _download_release(url: str, directory: str) -> None:
    """Downloads and unpacks a release; of several processes each does, and the first one's is kept.

    No sums are published: that of the first download is recorded, and later ones must have it.
    """
    # Imported here: it takes seconds, as the download does.
    import keras

    parent, record = os.path.dirname(directory), f"{directory}.zip.sha256"
    os.makedirs(parent, exist_ok=True)
    known = None
    with contextlib.suppress(FileNotFoundError), open(record, encoding="ascii") as file:
        known = next(iter(file.read().split()), None)
    # Its progress bar must not become a part of what a script prints.
    locks.remove_abandoned(parent, locks.temporary_names("download"))
    with (
        tempfile.TemporaryDirectory(
            prefix=".download.", suffix=locks.TEMPORARY, dir=parent
        ) as work,
        contextlib.ExitStack() as held,
        contextlib.redirect_stdout(sys.stderr),
    ):
        if (lock := locks.take(work)) is not None:
            held.callback(os.close, lock)
        unpacked = keras.utils.get_file(
            "weights.zip", url, cache_dir=work, cache_subdir="", extract=True, file_hash=known
        )
        # Some of the zip files hold a directory, others the files.
        found = [
            place
            for place, _, names in os.walk(unpacked)
            if {"bert_config.json", "vocab.txt"} <= {*names}
        ]
        if not found:
            raise UserError("it holds no bert_config.json with a vocab.txt beside it")
        with (
            open(os.path.join(work, "weights.zip"), "rb") as file,
            files.atomic_write(record) as sums,
        ):
            sums.write(
                f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {os.path.basename(directory)}.zip\n"
            )
        # A vocabulary that is edited in the cache is refused as anywhere else.
        write_tokenizer_config(
            found[0],
            casing_of_release(directory),
            Vocabulary.from_file(os.path.join(found[0], "vocab.txt")).fingerprint,
        )
        if not os.path.isdir(directory):
            os.rename(found[0], directory)


@functools.cache
def _hub_model(name: str) -> str:
    """The directory of a model in the cache of huggingface_hub: what is there is taken as it is,
    newer or not."""
    match = _HUB_NAME.fullmatch(name.removeprefix(HUB))
    if match is None:
        meant = did_you_mean(name, [f"{HUB}{_OWNER}{known}" for known in _ON_THE_HUB], 0.5)
        raise UserError(
            f"{name} is no name on Hugging Face's hub{meant or ':'} {HUB}OWNER/NAME is expected, or "
            f"{HUB}OWNER/NAME@REVISION"
        )
    try:
        import huggingface_hub
        import huggingface_hub.errors
    except ImportError as error:
        raise needs_package(name, "huggingface_hub") or error from None
    download = functools.partial(
        huggingface_hub.snapshot_download, match["repository"], revision=match["revision"]
    )
    try:
        with contextlib.suppress(huggingface_hub.errors.LocalEntryNotFoundError):
            directory = download(allow_patterns=_HUB_FILES, local_files_only=True)
            # Another program may have left out what was of no use to it.
            names = {*os.listdir(directory)}
            if names & _WEIGHTS and names & _VOCABULARIES and "config.json" in names:
                return directory
        print(
            f"{name}: downloading from {huggingface_hub.constants.ENDPOINT}",
            file=sys.stderr,
            flush=True,
        )
        directory = download(allow_patterns=_HUB_FILES)
        if not _WEIGHTS & {*os.listdir(directory)}:
            directory = download(allow_patterns=_H5)
    except (huggingface_hub.errors.HTTPError, OSError, ValueError) as error:
        cache = huggingface_hub.constants.HF_HUB_CACHE
        raise UserError(
            f"{name} is not, or not wholly, in the cache {cache}, and can't be downloaded (for a private model "
            f"log in by `hf auth login`, or set HF_TOKEN): {in_one_line(error)}"
        ) from None
    if not _WEIGHTS & {*os.listdir(directory)}:
        raise UserError(
            f"{name} has none of {', '.join(sorted(_WEIGHTS))}: weights in a pickle are not read. Another "
            "revision may have one: see refs/pr among its branches"
        )
    return directory
