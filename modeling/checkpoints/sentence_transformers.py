"""Directories of sentence-transformers: an encoder in Hugging Face's format, and how its vectors become one for a text.

  modules.json                       Transformer, Pooling and sometimes Normalize, one after the other
  1_Pooling/config.json              which vectors count
  sentence_bert_config.json          the most tokens of a text
  config_sentence_transformers.json  how vectors are compared, and prompts

Input: a directory. Output: where its encoder is, which `huggingface.py` reads and writes, and a `SentenceVectors`.
"""

import dataclasses
import os
from collections.abc import Mapping

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import TOKENIZER_CONFIG_FILE
from modeling.config import POOLINGS

_MODULES_FILE, _POOLING_DIRECTORY = "modules.json", "1_Pooling"
_LENGTH_FILE, _PROMPTS_FILE = "sentence_bert_config.json", "config_sentence_transformers.json"
# Versions before 6 have a key for each pooling, and later ones read them.
_POOLING_KEYS = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens",
                 "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens"}
# Of the first versions the latter.
_ENCODERS = ("Transformer", "BERT")
_FORMER_MODULES = "sentence_transformers.models."


@dataclasses.dataclass(frozen=True)
class SentenceVectors:
  """How the vectors of a text's tokens become one.

  Attributes:
    pooling: one of `POOLINGS`; of a directory that has more to it what that is, e.g. "mean, Dense".
    normalize: whether vectors are scaled to length 1.
    max_seq_length: most tokens of a text; None for as many as there are positions.
    prompts: name → what stands before texts of a kind, such as "query"; the default is that of all others.
  """

  pooling: str = "mean"
  normalize: bool = False
  max_seq_length: int | None = None
  prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
  default_prompt_name: str | None = None

  def prompt(self, *names: str) -> str:
    """The first of these prompts that there is, else that of all texts; empty for none."""
    return next((self.prompts[name] for name in (*names, self.default_prompt_name or "") if name in self.prompts), "")


def encoder_directory(directory: str) -> str:
  """Where the encoder is: in old directories below; `directory` itself where it is none of sentence-transformers."""
  modules = _modules(directory)
  return os.path.join(directory, modules[0][1]).rstrip("/") if modules else directory


def read_vectors(directory: str) -> SentenceVectors | None:
  """How the encoder in a directory is to be used; None where neither this nor the one above it has that.

  Raises:
    UserError: a file is damaged.
  """
  place = directory.rstrip("/")
  # A file of that name above another directory has nothing to do with it.
  is_below = os.path.basename(place).startswith("0_")
  for root in (place, *([os.path.dirname(place)] if is_below else [])):
    modules = _modules(root)
    if not modules or encoder_directory(root) != place:
      continue
    poolings = [_pooling(os.path.join(root, path)) for name, path in modules if name == "Pooling"]
    others = [name for name, _ in modules[1:] if name not in ("Pooling", "Normalize")]
    if poolings:
      found = json_files.read_object(os.path.join(root, _PROMPTS_FILE), {
          "prompts": dict[str, str] | None, "default_prompt_name": str | None})
      return SentenceVectors(", ".join([*poolings, *others]), any(name == "Normalize" for name, _ in modules),
                             _length(place), found.get("prompts") or {}, found.get("default_prompt_name"))
  return None


def write_vectors(directory: str, vectors: SentenceVectors, hidden_size: int, positions: int) -> None:
  """Adds what makes a directory of sentence-transformers of one with an encoder.

  Args:
    vectors: as `known_vectors` returns them.
    hidden_size, positions: of the model.

  Raises:
    UserError: a file can't be written.
  """
  names = ["Transformer", "Pooling", *(["Normalize"] if vectors.normalize else [])]
  paths = ["", _POOLING_DIRECTORY, "2_Normalize"]
  # They have no empty directory; the module reads nothing there.
  files.make_directories(os.path.join(directory, _POOLING_DIRECTORY))
  json_files.write(os.path.join(directory, _MODULES_FILE), [
      {"idx": number, "name": str(number), "path": path, "type": _FORMER_MODULES + name}
      for number, (name, path) in enumerate(zip(names, paths, strict=False))])
  json_files.write(os.path.join(directory, _POOLING_DIRECTORY, "config.json"), {
      "word_embedding_dimension": hidden_size, **{key: name == vectors.pooling for name, key in _POOLING_KEYS.items()}})
  json_files.write(os.path.join(directory, _LENGTH_FILE), {
      "max_seq_length": vectors.max_seq_length or positions, "do_lower_case": False})
  json_files.write(os.path.join(directory, _PROMPTS_FILE), {
      "prompts": vectors.prompts, "default_prompt_name": vectors.default_prompt_name, "similarity_fn_name": "cosine"})


def known_vectors(vectors: SentenceVectors | None, pooling: str | None = None) -> SentenceVectors:
  """The vectors that a directory describes, the mean over all tokens by default.

  Args:
    pooling: what the user chose in its place.

  Raises:
    UserError: the directory has a pooling or a module that this project does not have, and nothing was chosen.
  """
  found = vectors or SentenceVectors()
  found = dataclasses.replace(found, pooling=pooling or found.pooling)
  if found.pooling not in POOLINGS:
    raise UserError(f"{_MODULES_FILE} of the checkpoint makes vectors by {found.pooling!r}, which is not known here: "
                    f"only {', '.join(POOLINGS)}, with or without Normalize, can be taken over (or chosen: --pooling)")
  return found


def _modules(directory: str) -> list[tuple[str, str]]:
  """(class, path) of the modules of a directory; empty where there are none."""
  path = os.path.join(directory, _MODULES_FILE)
  if not files.is_directory(directory) or not files.exists(path):
    return []
  modules = json_files.read(path)
  if not isinstance(modules, list) or not modules:
    raise UserError(f"{path}: a list of modules is expected")
  for module in modules:
    json_files.check_object(module, {"type": str, "path": str}, path)
  found = [(module["type"].rpartition(".")[2], module["path"]) for module in modules]
  if found[0][0] not in _ENCODERS:
    raise UserError(f"{path}: the first module is {found[0][0]}, a {_ENCODERS[0]} is expected: others are not read")
  return found


def _pooling(directory: str) -> str:
  path = os.path.join(directory, "config.json")
  values = json_files.read_object(path, {"pooling_mode": str | list | None})
  names = [name for name, key in _POOLING_KEYS.items() if values.get(key) is True]
  names += [key for key, value in values.items() if key.startswith("pooling_mode_") and value is True
            and key not in _POOLING_KEYS.values()]
  stated = values.get("pooling_mode") or names or "mean"
  without = " without the prompt" if values.get("include_prompt") is False else ""
  return (stated if isinstance(stated, str) else " and ".join(map(str, stated))) + without


def _length(directory: str) -> int | None:
  stated = json_files.read_object(os.path.join(directory, _LENGTH_FILE)).get("max_seq_length")
  if stated is None:
    stated = json_files.read_object(os.path.join(directory, TOKENIZER_CONFIG_FILE)).get("model_max_length")
  return stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None
