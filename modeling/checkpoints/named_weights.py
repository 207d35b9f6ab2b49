"""Released weights by name: `google:uncased_L-12_H-768_A-12` and
`hf:google-bert/bert-base-uncased`.

Input: a checkpoint as a user names it. Output: its path; for such a name the path of a directory in
a cache. Only these two prefixes download anything; afterwards both work offline.

- `google:` the releases of google-research/bert, by `keras.utils.get_file` into the cache of this
  project.
- `hf:` models of Hugging Face's hub, by huggingface_hub (optional) into its own cache, which other
  tools share.
"""

import contextlib
import functools
import glob
import hashlib
import os
import re
import sys
import tempfile
import warnings

from bert_common import files, locks
from bert_common.errors import (
    UserError,
    did_you_mean,
    in_one_line,
    needs_package,
    say,
    without_passwords,
)
from data_gen.tokenization.settings import casing_of_release, write_settings
from data_gen.tokenization.vocabulary import Vocabulary

HUB = "hf:"
GOOGLE = "google:"
# Environment variable: address of a mirror of Google's directory of releases.
MIRROR_VARIABLE = "BERT_TF_WEIGHTS_URL"
_GOOGLE_URL = "https://storage.googleapis.com/bert_models"
_OWNER = "google-bert/"
# Date of a release, a directory there → its models, the newest release first.
_RELEASES = {
    "2020_02_20": [
        "uncased_L-2_H-128_A-2",
        "uncased_L-2_H-256_A-4",
        "uncased_L-2_H-512_A-8",
        "uncased_L-2_H-768_A-12",
        "uncased_L-4_H-128_A-2",
        "uncased_L-4_H-256_A-4",
        "uncased_L-4_H-512_A-8",
        "uncased_L-4_H-768_A-12",
        "uncased_L-6_H-128_A-2",
        "uncased_L-6_H-256_A-4",
        "uncased_L-6_H-512_A-8",
        "uncased_L-6_H-768_A-12",
        "uncased_L-8_H-128_A-2",
        "uncased_L-8_H-256_A-4",
        "uncased_L-8_H-512_A-8",
        "uncased_L-8_H-768_A-12",
        "uncased_L-10_H-128_A-2",
        "uncased_L-10_H-256_A-4",
        "uncased_L-10_H-512_A-8",
        "uncased_L-10_H-768_A-12",
        "uncased_L-12_H-128_A-2",
        "uncased_L-12_H-256_A-4",
        "uncased_L-12_H-512_A-8",
        "uncased_L-12_H-768_A-12",
    ],
    "2019_05_30": ["wwm_uncased_L-24_H-1024_A-16", "wwm_cased_L-24_H-1024_A-16"],
    "2018_11_23": ["multi_cased_L-12_H-768_A-12"],
    "2018_11_03": ["multilingual_L-12_H-768_A-12", "chinese_L-12_H-768_A-12"],
    "2018_10_18": [
        "uncased_L-12_H-768_A-12",
        "uncased_L-24_H-1024_A-16",
        "cased_L-12_H-768_A-12",
        "cased_L-24_H-1024_A-16",
    ],
}
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
# Files on the hub that readers of checkpoints need: never a pickle, and the file of TensorFlow
# classes only if there is nothing else.
_H5 = "tf_model.h5"
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "model.weights.h5")
_VOCABULARIES = ("vocab.txt", "tokenizer.json")
_HUB_FILES = (
    *_WEIGHTS,
    *_VOCABULARIES,
    "model-*.safetensors",
    "task.weights.h5",
    "config.json",
    "tokenizer_config.json",
    "assets/tokenizer/vocabulary.txt",
    "modules.json",
    "*_Pooling/config.json",
    "sentence_bert_config.json",
)


def _release_paths() -> dict[str, str]:
    """Returns name, or date/name → date/name of every release."""
    paths = {}
    for date, names in _RELEASES.items():
        for name in names:
            # A name alone means the oldest of its models: the last release has a BERT-Base of its
            # own, trained again with the small models.
            paths[name] = paths[f"{date}/{name}"] = f"{date}/{name}"
    return paths


_PATHS = _release_paths()


def check_checkpoint_there(checkpoint: str) -> None:
    """Raises `UserError` if no local file has this path or, as the files of a prefix, begins with
    it.

    Weights by name are downloaded, so that a wrong name is an error before anything slow is
    imported.
    """
    path = local_path(checkpoint)
    if files.is_remote(path) or files.exists(path):
        return
    if not files.glob_files(f"{glob.escape(path)}.*"):
        raise no_checkpoint(path)


def no_checkpoint(path: str) -> UserError:
    """Returns the error for a missing checkpoint, with the name that may be meant."""
    message = f"there is no checkpoint {path}: neither a directory nor {path}.index exists"
    hint = ". Nothing is downloaded unless it is asked for: give"
    name = path.removeprefix(_OWNER)
    if name in _ON_THE_HUB:
        message += f"{hint} {HUB}{_OWNER}{name} or {GOOGLE}{_ON_THE_HUB[name]}"
    elif path in _PATHS:
        message += f"{hint} {GOOGLE}{path}"
    return UserError(message)


def local_path(checkpoint: str) -> str:
    """Returns the path of a checkpoint; for released weights by name the path of a directory in a
    cache, into which they are downloaded if needed.

    Args:
      checkpoint: a path, `google:NAME`, `google:DATE/NAME`, `hf:OWNER/NAME` or
        `hf:OWNER/NAME@REVISION`.

    Raises:
      UserError: the name is unknown, the server can't be reached or refuses, the download is
        damaged or differs from the first one, or huggingface_hub is not installed.
    """
    # A path on a remote file system may begin with anything.
    if files.is_remote(checkpoint) or not checkpoint.startswith((GOOGLE, HUB)):
        return checkpoint
    if checkpoint.startswith(HUB):
        return _hub_model(checkpoint)
    path = _PATHS.get(checkpoint.removeprefix(GOOGLE))
    # Names are long and differ by a letter: a suggestion saves a look at the list.
    if path is None:
        meant = did_you_mean(checkpoint, [GOOGLE + name for name in _PATHS])
        examples = ", ".join(names[0] for names in _RELEASES.values())
        raise UserError(
            f"{checkpoint} is unknown{meant or ':'} the names are {examples} and others, see "
            "docs/checkpoints.md"
        )
    directory = os.path.join(files.cache_directory(), *path.split("/"))
    if not os.path.isdir(directory):
        url = f"{os.environ.get(MIRROR_VARIABLE, _GOOGLE_URL).rstrip('/')}/{path}.zip"
        # Messages show the address, so it must not hold a password.
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UserError(f"{MIRROR_VARIABLE}: an address without user and password is expected")
        try:
            _download_release(url, directory)
        # `get_file` raises all kinds of errors, also `Exception` itself.
        except Exception as error:
            raise UserError(
                f"{checkpoint} is not in the cache, {directory}, and can't be downloaded from "
                f"{url}: {in_one_line(error)}"
            ) from None
    return directory


def hub_name(checkpoint: str) -> str | None:
    """Returns the name on the hub of released weights by name; None without one."""
    if checkpoint.startswith(HUB):
        match = _HUB_NAME.fullmatch(checkpoint.removeprefix(HUB))
        if match:
            return match["repository"]
    if checkpoint.startswith(GOOGLE):
        path = _PATHS.get(checkpoint.removeprefix(GOOGLE))
        for name, release in _ON_THE_HUB.items():
            if path == _PATHS[release]:
                return _OWNER + name
    return None


def _download_release(url: str, directory: str) -> None:
    """Downloads and unpacks a release; of several processes each does, and the first one's stays.

    No checksums are published: the checksum of the first download is recorded, and later ones must
    have it.
    """
    # Imported here: it takes seconds, as the download does.
    import keras

    # Everything is prepared in a temporary directory beside the final one, then renamed: a killed
    # download never looks complete.
    parent = os.path.dirname(directory)
    record = f"{directory}.zip.sha256"
    os.makedirs(parent, exist_ok=True)
    checksum = None
    with contextlib.suppress(FileNotFoundError), open(record, encoding="ascii") as file:
        checksum = file.read().partition(" ")[0] or None
    locks.remove_abandoned(parent, locks.temporary_names("download"))
    with (
        tempfile.TemporaryDirectory(
            prefix=".download.", suffix=locks.TEMPORARY, dir=parent
        ) as work,
        contextlib.ExitStack() as stack,
        # The progress bar must not become a part of a script's output.
        contextlib.redirect_stdout(sys.stderr),
        # Keras warns about a file that is no archive; `_directory_of_release` refuses it.
        warnings.catch_warnings(action="ignore"),
    ):
        lock = locks.take(work)
        if lock is not None:
            stack.callback(os.close, lock)
        unpacked = keras.utils.get_file(
            "weights.zip", url, cache_dir=work, cache_subdir="", extract=True, file_hash=checksum
        )
        release = _directory_of_release(unpacked)
        with (
            open(os.path.join(work, "weights.zip"), "rb") as file,
            files.atomic_write(record) as record_file,
        ):
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            record_file.write(f"{checksum}  {os.path.basename(directory)}.zip\n")
        # Its fingerprint lets readers refuse a vocabulary that is edited in the cache.
        vocabulary = Vocabulary.from_file(os.path.join(release, "vocab.txt"))
        settings = vocabulary.settings(casing_of_release(directory), vocabulary.fingerprint)
        write_settings(release, settings)
        if not os.path.isdir(directory):
            os.rename(release, directory)


def _directory_of_release(unpacked: str) -> str:
    """Returns the directory of a release's files: some of the zip files hold a directory, others
    the files."""
    for folder, _, names in os.walk(unpacked):
        if "bert_config.json" in names and "vocab.txt" in names:
            return folder
    raise UserError("it holds no bert_config.json with a vocab.txt beside it")


@functools.cache
def _hub_model(name: str) -> str:
    """Returns the directory of a model in the cache of huggingface_hub; files in the cache are used
    even if the hub has newer ones."""
    match = _HUB_NAME.fullmatch(name.removeprefix(HUB))
    if match is None:
        names = [f"{HUB}{_OWNER}{hub_name}" for hub_name in _ON_THE_HUB]
        raise UserError(
            f"{name} is no name on Hugging Face's hub{did_you_mean(name, names, 0.5) or ':'} "
            f"{HUB}OWNER/NAME is expected, or {HUB}OWNER/NAME@REVISION"
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
            # Another program may have left out files that it did not need.
            names = os.listdir(directory)
            has_vocabulary = not set(names).isdisjoint(_VOCABULARIES)
            if _has_weights(directory) and has_vocabulary and "config.json" in names:
                return directory
        say(
            f"{name}: downloading from {without_passwords(huggingface_hub.constants.ENDPOINT)}",
            file=sys.stderr,
        )
        directory = download(allow_patterns=_HUB_FILES)
        if not _has_weights(directory):
            directory = download(allow_patterns=_H5)
    except (huggingface_hub.errors.HTTPError, OSError, ValueError) as error:
        raise UserError(
            f"{name} is not, or not wholly, in the cache {huggingface_hub.constants.HF_HUB_CACHE}, "
            "and can't be downloaded (for a private model log in by `hf auth login`, or set "
            f"HF_TOKEN): {in_one_line(error)}"
        ) from None
    if not _has_weights(directory):
        raise UserError(
            f"{name} has none of {', '.join(_WEIGHTS)}, {_H5}: weights in a pickle are not read. "
            "Another revision may have one: see refs/pr among its branches"
        )
    return directory


def _has_weights(directory: str) -> bool:
    """Whether a directory has weights that can be read."""
    return not set(os.listdir(directory)).isdisjoint((*_WEIGHTS, _H5))
