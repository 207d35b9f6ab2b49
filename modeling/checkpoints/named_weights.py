"""Released weights by name: `google:uncased_L-12_H-768_A-12` and `hf:google-bert/bert-base-uncased`.

Input: what is given as a checkpoint. Output: a path, of a directory in a cache where it is such a name. Only these two
prefixes download anything.

  google:   the releases of google-research/bert, into the cache of this project
  hf:       models of Hugging Face's hub, by huggingface_hub (optional) into its own cache, which other tools share
"""

import contextlib
import difflib
import functools
import http
import os
import re
import shutil
import sys
from collections.abc import Iterable

from bert_common import files, json_files
from bert_common.errors import UserError, in_one_line

HUB, GOOGLE = "hf:", "google:"
# Environment variable: the address of a mirror of Google's directory of releases.
MIRROR_VARIABLE = "BERT_TF_WEIGHTS_URL"
_GOOGLE_URL = "https://storage.googleapis.com/bert_models"
_HUB_URL = "https://huggingface.co"
_OWNER = "google-bert/"
# Date of a release, a directory there → its models. A name alone is the first of these; the last release has a
# BERT-Base of its own, trained again with the small models.
_RELEASES = {
    "2018_10_18": ("uncased_L-12_H-768_A-12", "uncased_L-24_H-1024_A-16", "cased_L-12_H-768_A-12",
                   "cased_L-24_H-1024_A-16"),
    "2018_11_03": ("multilingual_L-12_H-768_A-12", "chinese_L-12_H-768_A-12"),
    "2018_11_23": ("multi_cased_L-12_H-768_A-12",),
    "2019_05_30": ("wwm_uncased_L-24_H-1024_A-16", "wwm_cased_L-24_H-1024_A-16"),
    "2020_02_20": tuple(f"uncased_L-{layers}_H-{units}_A-{units // 64}" for layers in (2, 4, 6, 8, 10, 12)
                        for units in (128, 256, 512, 768)),
}
_PATHS = {name: f"{date}/{name}" for date, names in reversed(_RELEASES.items()) for name in names} | {
    f"{date}/{name}": f"{date}/{name}" for date, names in _RELEASES.items() for name in names}
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
_HUB_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>(?!.*\.\.)[\w./-]+))?", re.ASCII)
_BERT_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]*bert[\w.-]*", re.IGNORECASE)
_PREFIX = re.compile(r"(\w{2,20}):(//)?(?=\w)")
# What a prefix may be meant by.
_MEANT = {"hf": HUB, "hub": HUB, "huggingface": HUB, "google": GOOGLE}
# What readers of checkpoints want of a directory on the hub: never a pickle.
_SAFETENSORS, _INDEX, _KERAS_HUB, _H5 = (
    "model.safetensors", "model.safetensors.index.json", "model.weights.h5", "tf_model.h5")
ADAPTER_CONFIG, _ADAPTER = "adapter_config.json", "adapter_model.safetensors"
_HUB_FILES = (
    _SAFETENSORS, _INDEX, "model-*.safetensors", _KERAS_HUB, "task.weights.h5", "config.json", "vocab.txt",
    "tokenizer.json", "tokenizer_config.json", "assets/tokenizer/vocabulary.txt", ADAPTER_CONFIG, _ADAPTER,
    "modules.json", "*_Pooling/config.json", "sentence_bert_config.json")
# After the name of a release in the cache: the sum of its zip file.
_RECORD = ".zip.sha256"


def check_checkpoint_there(checkpoint: str) -> None:
  """Raises `UserError` where nothing on a local disk is called so, or begins so, as the files of a prefix do.

  Weights by name are downloaded, so that a name that does not exist is an error before anything slow is imported.
  """
  if adapted := split_adapter(checkpoint):
    for part in adapted:
      check_checkpoint_there(part)
    return
  path = local_path(checkpoint)
  if not (files.is_remote(path) or files.exists(path) or files.glob_files(f"{files.escape_pattern(path)}.*")):
    raise no_checkpoint(path)


def split_adapter(checkpoint: str) -> tuple[str, str] | None:
  """(base, adapter) of `BASE+ADAPTER`; None for a checkpoint by itself, whose name may have a + in it."""
  base, _, adapter = checkpoint.rpartition("+")
  is_adapter = adapter.startswith(HUB) or (adapter and files.exists(os.path.join(adapter, ADAPTER_CONFIG)))
  return (base, adapter) if base and is_adapter else None


def no_checkpoint(path: str) -> UserError:
  """The error for a checkpoint that is not there, with the name that may be meant."""
  return UserError(f"there is no checkpoint {path}: neither a directory nor {path}.index exists{_hint(path)}")


def local_path(checkpoint: str) -> str:
  """The path itself, or that of the directory in a cache where it is the name of released weights.

  What is not in the cache is downloaded, once for all processes.

  Args:
    checkpoint: a path, `google:NAME`, `google:DATE/NAME` or `hf:OWNER/NAME`, with `@REVISION` where not the newest one
      is meant.

  Raises:
    UserError: the name is unknown, the server can't be reached or refuses, what it sends is damaged or not what it
      was at the first time, or huggingface_hub is not installed.
  """
  if checkpoint.startswith(GOOGLE) and not files.is_remote(checkpoint):
    return _google_release(
        checkpoint, files.cache_directory(), os.environ.get(MIRROR_VARIABLE, _GOOGLE_URL).rstrip("/"))
  if checkpoint.startswith(HUB) and not files.is_remote(checkpoint):
    return _hub_model(checkpoint)
  prefix = _PREFIX.match(checkpoint)
  # Others with slashes are file systems.
  meant = prefix and (_MEANT.get(prefix[1]) if prefix[2] else _MEANT.get(_nearest(prefix[1].lower(), _MEANT) or ""))
  if prefix and meant and not os.path.exists(checkpoint):
    raise UserError(f"there is no checkpoint {checkpoint}: did you mean {meant}{checkpoint[prefix.end():]}?")
  return checkpoint


def hub_name(checkpoint: str) -> str | None:
  """The name on the hub of released weights by name; None for what has none there."""
  if match := _HUB_NAME.fullmatch(checkpoint.removeprefix(HUB)) if checkpoint.startswith(HUB) else None:
    return match["repository"]
  path = _PATHS.get(checkpoint.removeprefix(GOOGLE)) if checkpoint.startswith(GOOGLE) else None
  return next((f"{_OWNER}{name}" for name, release in _ON_THE_HUB.items() if path == _PATHS[release]), None)


def _nearest(name: str, names: Iterable[str]) -> str | None:
  return next(iter(difflib.get_close_matches(name, list(names), 1)), None)


def _hint(name: str) -> str:
  """The names that may be meant by what is no path, as the end of a message."""
  on_the_hub = name.removeprefix(_OWNER)
  if on_the_hub in _ON_THE_HUB:
    meant = f"{HUB}{_OWNER}{on_the_hub} or {GOOGLE}{_ON_THE_HUB[on_the_hub]}"
  elif name in _PATHS:
    meant = f"{GOOGLE}{name}"
  elif not files.is_remote(name) and _BERT_ON_THE_HUB.fullmatch(name):
    meant = f"{HUB}{name}, if that is a name on Hugging Face's hub"
  else:
    return ""
  return f". Nothing is downloaded unless it is asked for: give {meant}"


# Google's releases.


@functools.cache
def _google_release(name: str, cache: str, url: str) -> str:
  """The directory of a release; what is in the cache is compared with the sums on record, once in a process."""
  path = _PATHS.get(name.removeprefix(GOOGLE))
  if path is None:
    near = _nearest(name.removeprefix(GOOGLE), _PATHS)
    raise UserError(f"{name} is unknown: {f'did you mean {GOOGLE}{near}? The' if near else 'the'} names are "
                    f"{', '.join(names[0] for names in _RELEASES.values())} and others, see docs/checkpoints.md")
  directory = os.path.join(cache, *path.split("/"))
  if not os.path.isdir(directory):
    with files.user_error(f"{name}: can't write in {cache}"):
      _download_release(name, f"{url}/{path}.zip", directory)
  _check_sums(name, directory)
  return directory


def _download_release(name: str, url: str, directory: str) -> None:
  from bert_common import downloads

  work = os.path.join(os.path.dirname(directory), f".{os.path.basename(directory)}.download")
  archive, unpacked = os.path.join(work, "weights.zip"), os.path.join(work, "unpacked")
  with downloads.held_directory(work, f"{name}: waiting for another process that downloads it"):
    if not os.path.isdir(directory):
      print(f"{name}: downloading {url} to {directory}", file=sys.stderr, flush=True)
      try:
        downloads.fetch(url, archive)
      except UserError as error:
        raise UserError(f"{name} is not in the cache, {directory}: {error}") from None
      shutil.rmtree(unpacked, ignore_errors=True)
      try:
        digest = _checked_digest(name, archive, f"{directory}{_RECORD}")
        downloads.unpack(archive, unpacked, name)
        found = _model_directory(name, unpacked)
      except UserError:
        # Completed, it would be the same again.
        os.remove(archive)
        raise
      downloads.write_sums(found)
      with files.atomic_write(f"{directory}{_RECORD}") as file:
        file.write(f"{digest}  {os.path.basename(directory)}.zip\n")
      os.rename(found, directory)
    shutil.rmtree(work, ignore_errors=True)


def _checked_digest(name: str, archive: str, record: str) -> str:
  """The sum of what was downloaded, compared with that of the first download: none is published."""
  from bert_common import downloads

  digest = downloads.file_sha256(archive)
  for known in downloads.read_sums(record).values():
    if known != digest:
      raise UserError(f"{name}: what was downloaded has the SHA-256 {digest}, but {known} at the first download "
                      f"({record}): it was damaged on its way or exchanged. To trust it, remove that record")
  return digest


def _model_directory(name: str, unpacked: str) -> str:
  """Where the model is in what was unpacked: some of the zip files hold a directory, others the files."""
  for place, _, names in os.walk(unpacked):
    if {"bert_config.json", "vocab.txt"} <= {*names}:
      return place
  raise UserError(f"the zip file of {name} holds no bert_config.json with a vocab.txt beside it")


def _check_sums(name: str, directory: str) -> None:
  from bert_common import downloads

  for file, digest in downloads.read_sums(os.path.join(directory, downloads.SUMS_FILE)).items():
    path = os.path.join(directory, os.path.basename(file))
    if not os.path.exists(path) or downloads.file_sha256(path) != digest:
      raise UserError(f"{name}: {path} is not what was downloaded: remove {directory}, and it is downloaded again")


# Models on Hugging Face's hub.


@functools.cache
def _hub_model(name: str) -> str:
  """The directory of a model in the cache of huggingface_hub: what is there is taken as it is, newer or not."""
  match = _HUB_NAME.fullmatch(name.removeprefix(HUB))
  if match is None:
    meant = _nearest(name.removeprefix(HUB), _ON_THE_HUB)
    suggestion = f"did you mean {HUB}{_OWNER}{meant}? " if meant else ""
    raise UserError(f"{name} is no name on Hugging Face's hub: {suggestion}{HUB}OWNER/NAME is expected, or "
                    f"{HUB}OWNER/NAME@REVISION")
  try:
    import huggingface_hub
    import huggingface_hub.errors
  except ImportError:
    raise UserError(f"{name}: huggingface_hub is not installed: pip install 'bert-tf[hub]'") from None
  wanted = {"repo_id": match["repository"], "revision": match["revision"]}
  try:
    with contextlib.suppress(huggingface_hub.errors.LocalEntryNotFoundError):
      directory = huggingface_hub.snapshot_download(**wanted, allow_patterns=_HUB_FILES, local_files_only=True)
      if _is_complete(directory):
        return directory
    print(f"{name}: downloading from {huggingface_hub.constants.ENDPOINT}", file=sys.stderr, flush=True)
    directory = huggingface_hub.snapshot_download(**wanted, allow_patterns=_HUB_FILES)
    if not _has_weights(directory):
      huggingface_hub.snapshot_download(**wanted, allow_patterns=_H5)
    if not _has_weights(directory):
      raise UserError(f"{name} has none of {_SAFETENSORS}, {_KERAS_HUB} and {_H5}: weights in a pickle are not read. "
                      "Another revision may have one: see refs/pr among its branches")
    _verify(name, directory, match["repository"])
  except (huggingface_hub.errors.HTTPError, OSError, ValueError) as error:
    raise _hub_error(name, match["repository"], error) from None
  return directory


def _hub_error(name: str, repository: str, error: Exception) -> UserError:
  from huggingface_hub import constants, errors

  cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
  status = next((one.response.status_code for one in (error, cause) if isinstance(one, errors.HfHubHTTPError)), None)
  if isinstance(error, errors.GatedRepoError):
    return UserError(f"{name}: its owner asks for consent: give it on {_HUB_URL}/{repository}, then log in (`hf auth "
                     "login`) or set HF_TOKEN")
  if isinstance(error, errors.RepositoryNotFoundError) or status == http.HTTPStatus.UNAUTHORIZED:
    near = _nearest(repository.removeprefix(_OWNER), _ON_THE_HUB)
    return UserError(f"{name} is not on the hub, or private: {f'did you mean {HUB}{_OWNER}{near}? ' if near else ''}"
                     "For a private model log in (`hf auth login`) or set HF_TOKEN")
  if isinstance(error, errors.RevisionNotFoundError):
    return UserError(f"{name}: the model has no such revision: a branch, a tag or a commit is expected")
  if isinstance(error, errors.HFValidationError):
    return UserError(f"{name} is no name on Hugging Face's hub: {in_one_line(error)}")
  if constants.HF_HUB_OFFLINE:
    return UserError(f"{name} is not, or not wholly, in the cache {constants.HF_HUB_CACHE}, and HF_HUB_OFFLINE forbids "
                     "to download it")
  reason = f"HTTP {status}" if status else in_one_line(cause) or type(error).__name__
  return UserError(f"{name} is not, or not wholly, in the cache {constants.HF_HUB_CACHE}, and can't be downloaded from "
                   f"{constants.ENDPOINT}: {reason}")


def _has_weights(directory: str) -> bool:
  """Whether all files of the weights are there."""
  names = {*os.listdir(directory)}
  if _INDEX in names:
    shards = json_files.read_object(os.path.join(directory, _INDEX)).get("weight_map")
    return {*shards.values()} <= names if isinstance(shards, dict) else True
  return bool(names & {_SAFETENSORS, _KERAS_HUB, _H5, _ADAPTER})


def _is_complete(directory: str) -> bool:
  """Whether no program has left out what was of no use to it."""
  names = {*os.listdir(directory)}
  return _has_weights(directory) and ADAPTER_CONFIG in names or (
      _has_weights(directory) and "config.json" in names and bool(names & {"vocab.txt", "tokenizer.json"}))


def _verify(name: str, directory: str, repository: str) -> None:
  """Compares what was downloaded with the sums that the hub publishes; removes what differs."""
  from huggingface_hub import HfApi

  found = HfApi().verify_repo_checksums(repository, revision=os.path.basename(directory))
  for one in found.mismatches:
    path = os.path.join(directory, one["path"])
    for place in {os.path.realpath(path), path}:
      os.remove(place)
    raise UserError(f"{name}: {one['path']} has another SHA-256 than the hub publishes, it was damaged on its way and "
                    "is removed: the same command again downloads it")
