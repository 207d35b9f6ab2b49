"""Addresses of released weights, for messages where a model's name is given as a path; nothing is downloaded."""

import os
import re

from bert_tf.common import files
from bert_tf.common.errors import UserError

_GOOGLE = "https://storage.googleapis.com/bert_models"
_HUB = "https://huggingface.co"
_OWNER = "google-bert/"
# Name on Hugging Face's hub → Google's own release of the same weights.
_RELEASES = {
    "bert-base-uncased": "2018_10_18/uncased_L-12_H-768_A-12",
    "bert-large-uncased": "2018_10_18/uncased_L-24_H-1024_A-16",
    "bert-base-cased": "2018_10_18/cased_L-12_H-768_A-12",
    "bert-large-cased": "2018_10_18/cased_L-24_H-1024_A-16",
    "bert-base-chinese": "2018_11_03/chinese_L-12_H-768_A-12",
    "bert-base-multilingual-cased": "2018_11_23/multi_cased_L-12_H-768_A-12",
}
_NAME_ON_THE_HUB = re.compile(r"[\w.-]+/[\w.-]*bert[\w.-]*", re.IGNORECASE)


def check_checkpoint_there(checkpoint: str) -> None:
  """Raises `UserError` where nothing on a local disk is called so, or begins so, as the files of a prefix do."""
  if not (files.is_remote(checkpoint) or files.exists(checkpoint)
          or files.glob_files(f"{files.escape_pattern(checkpoint)}.*")):
    raise no_checkpoint(checkpoint)


def no_checkpoint(path: str) -> UserError:
  """The error for a checkpoint that is not there."""
  return UserError(f"there is no checkpoint {path}: neither a directory nor {path}.index exists{download_hint(path)}")


def download_hint(name: str) -> str:
  """Advice on what to download, as the end of a message; "" where `name` is not a model's name."""
  if files.is_remote(name) or os.path.isabs(name):
    return ""
  released = _RELEASES.get(name.removeprefix(_OWNER))
  if released:
    page = f"{_HUB}/{_OWNER}{name.removeprefix(_OWNER)}"
    return (f". Nothing is downloaded by itself: unpack {_GOOGLE}/{released}.zip and give "
            f"--init_checkpoint={os.path.basename(released)}; or give a directory with config.json, vocab.txt and "
            f"model.safetensors from {page}")
  if _NAME_ON_THE_HUB.fullmatch(name):
    return (f". Nothing is downloaded by itself: if that is a name on Hugging Face's hub, give a directory with "
            f"config.json, vocab.txt and model.safetensors from {_HUB}/{name}")
  return ""
