"""Companion file of a vocabulary, `tokenizer_config.json`: its casing and its fingerprint.

The file and the key `do_lower_case` are those of Hugging Face's tokenizers, which pass over ours, `vocab_sha256`.
Input: a directory. Output: what is known of the vocabulary in it, so that another one is never taken for it.
"""

import os

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import Vocabulary

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
_CASING, _FINGERPRINT = "do_lower_case", "vocab_sha256"


def write_tokenizer_config(directory: str, do_lower_case: bool | None, fingerprint: str | None, **more: object) -> None:
  """Writes what is known, and nothing where that is nothing.

  Args:
    directory: of the vocabulary.
    do_lower_case: its casing; None where it is not known.
    fingerprint: `Vocabulary.fingerprint`; None where it is not known.
    more: further keys that Hugging Face's tokenizers read.

  Raises:
    UserError: it can't be written.
  """
  known = {_CASING: do_lower_case, "tokenizer_class": "BertTokenizer", **more, _FINGERPRINT: fingerprint}
  if do_lower_case is not None or fingerprint is not None or more:
    optional = (_CASING, _FINGERPRINT)
    json_files.write(os.path.join(directory, TOKENIZER_CONFIG_FILE),
                     {name: value for name, value in known.items() if value is not None or name not in optional})


def read_casing(directory: str) -> bool | None:
  """The casing in the file; None where it has none.

  Raises:
    UserError: the file is damaged.
  """
  casing = _read(directory).get(_CASING)
  return casing if isinstance(casing, bool) else None


def read_fingerprint(directory: str) -> str | None:
  """The fingerprint of the vocabulary that the weights in this directory were trained with; None where it is unknown.

  Raises:
    UserError: the file is damaged.
  """
  fingerprint = _read(directory).get(_FINGERPRINT)
  return fingerprint if isinstance(fingerprint, str) else None


def casing_of_release(directory: str) -> bool | None:
  """The casing of a model that Google released, which only the name of its directory shows; None for other names."""
  path = files.absolute(directory)
  name = os.path.basename(path).lower()
  if "uncased" in name or name in ("chinese_l-12_h-768_a-12", "multilingual_l-12_h-768_a-12"):
    return True
  return False if "cased" in name else None


def check_beside(vocabulary: Vocabulary, do_lower_case: bool) -> None:
  """Refuses a vocabulary file, or a casing of it, that contradicts what stands beside it.

  Args:
    vocabulary: read from a file.
    do_lower_case: the casing that it is to be used with.

  Raises:
    UserError: the directory of the file has another casing or another fingerprint.
  """
  directory = files.parent_directory(vocabulary.path or "")
  casing = read_casing(directory)
  casing = casing_of_release(directory) if casing is None else casing
  if casing is not None and casing != do_lower_case:
    raise UserError(f"--do_lower_case is {str(do_lower_case).lower()}, but the vocabulary {vocabulary.path} is of "
                    f"{'lower-cased' if casing else 'cased'} text: give --do_lower_case={str(casing).lower()}")
  check_fingerprint(vocabulary, read_fingerprint(directory))


def check_fingerprint(vocabulary: Vocabulary, fingerprint: str | None) -> None:
  """Raises `UserError` where a vocabulary is not the one that the weights beside it were trained with."""
  if fingerprint is not None and not vocabulary.has_fingerprint(fingerprint):
    raise UserError(f"{vocabulary.path} (fingerprint {short(vocabulary.fingerprint)}) is not the vocabulary that the "
                    f"weights beside it were trained with ({short(fingerprint)} in {TOKENIZER_CONFIG_FILE}): put that "
                    "one back; one in which only [unused] entries are replaced may lie elsewhere, as --vocab_file")


def short(fingerprint: str) -> str:
  """A fingerprint as messages show it."""
  return fingerprint[:12]


def _read(directory: str) -> dict:
  path = os.path.join(directory, TOKENIZER_CONFIG_FILE)
  value = json_files.read(path) if files.exists(path) else {}
  return value if isinstance(value, dict) else {}
