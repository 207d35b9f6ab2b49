"""Opening a checkpoint for a task: weights with their configuration, vocabulary and casing, all checked.

Comes after `modeling/checkpoints/load.py`; every task but pre-training begins here.
"""

import dataclasses
import os

from common import files
from common.errors import UserError
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.bundle import latest_checkpoint
from modeling.checkpoints.checkpoint import Checkpoint
from modeling.checkpoints.companion_files import BEST_RECORD, CONFIG_FILE, TASK_FILE, VOCAB_FILE
from modeling.checkpoints.huggingface_config import read_either_config
from modeling.checkpoints.load import LoadReport, load_weights, read_checkpoint
from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class LoadedCheckpoint:
  """A network's surroundings.

  Attributes:
    config: of the network.
    tokenizer: with the vocabulary and the casing that belong to it.
    source: the weights; None where the network starts from random ones.
    task: what a fine-tuned network is for (`task.json`); None for others.
  """

  config: BertConfig
  tokenizer: Tokenizer
  source: Checkpoint | None
  task: dict | None

  @property
  def vocab_file(self) -> str:
    return self.tokenizer.vocabulary.path


def open_checkpoint(checkpoint: str | None, *, bert_config_file: str | None = None, vocab_file: str | None = None,
                 do_lower_case: bool | None = None) -> LoadedCheckpoint:
  """Opens a checkpoint with all that belongs to it, or describes a network without weights.

  Args:
    checkpoint: whatever `read_checkpoint` reads; None for random weights, then `bert_config_file` is needed, and the
      vocabulary is found beside it where not given.
    bert_config_file, vocab_file: None where they are found beside the checkpoint.
    do_lower_case: casing of the vocabulary; None for that of the checkpoint, true where nothing tells.

  Raises:
    UserError: nothing can be read there, configuration or vocabulary are missing or do not fit, or the casing
      contradicts the checkpoint.
  """
  source = read_checkpoint(checkpoint) if checkpoint else None
  if bert_config_file:
    config = read_either_config(bert_config_file)
  elif source is not None and source.config is not None:
    config = source.config
  elif source is None:
    raise UserError("give --init_checkpoint, or --bert_config_file to start from random weights")
  else:
    raise UserError(f"{checkpoint}: there is no {CONFIG_FILE} beside the checkpoint: give --bert_config_file")
  vocab_file = vocab_file or (source.vocab_file if source else None) or _beside(bert_config_file)
  if vocab_file is None:
    where = f"{checkpoint}: there is no {VOCAB_FILE} beside the checkpoint" if checkpoint else "there is no vocabulary"
    raise UserError(f"{where}: give --vocab_file")
  known_casing = source.do_lower_case if source else None
  if do_lower_case is not None and known_casing is not None and do_lower_case != known_casing:
    raise UserError(f"--do_lower_case={str(do_lower_case).lower()} contradicts the checkpoint {checkpoint}, whose "
                    f"vocabulary is {'of lower-cased' if known_casing else 'of cased'} text: leave the flag out")
  if do_lower_case is None:
    do_lower_case = True if known_casing is None else known_casing
  tokenizer = Tokenizer.from_file(files.check_readable(vocab_file, "vocab_file"), do_lower_case)
  if len(tokenizer.vocabulary) != config.vocab_size:
    raise UserError(f"{vocab_file} has {len(tokenizer.vocabulary)} entries, but vocab_size is {config.vocab_size} in "
                    "the network's configuration: give the --vocab_file that belongs to the checkpoint")
  return LoadedCheckpoint(config=config, tokenizer=tokenizer, source=source, task=read_task(source))


def load_with_head(model, opened: LoadedCheckpoint, prefixes: tuple[str, ...], head: str) -> LoadReport:
  """Loads a network that is to be used as it is, so that its head must be in the checkpoint.

  Args:
    model: its variables must exist.
    opened: from `open_checkpoint`, with a source.
    prefixes: of the weights that the head is made of and stands on, by the names of the original.
    head: what the head is called in the message, e.g. "masked-LM head".

  Raises:
    UserError: as `load_weights`, or one of these weights is missing.
  """
  account = load_weights(model, opened.source)
  missing = [name for name in account.fresh if name.startswith(prefixes)]
  if missing:
    raise UserError(f"{account.description} has no whole {head} ({missing[0]} is missing): take a checkpoint trained "
                    "for this")
  return account


def read_task(source: Checkpoint | None) -> dict | None:
  """`task.json` of the run directory that the weights are in; None where there is none.

  Raises:
    UserError: it can't be read, or is no JSON object.
  """
  if source is None or source.directory is None:
    return None
  path = os.path.join(source.directory, TASK_FILE)
  if not os.path.exists(path):
    return None
  task = files.read_json(path)
  if not isinstance(task, dict):
    raise UserError(f"{path}: a JSON object is wanted")
  return task


def trained_step(opened: LoadedCheckpoint) -> int:
  """Updates that the weights of a checkpoint have seen; 0 where there are none, or nothing tells."""
  return step_of(opened.source) if opened.source else 0


def step_of(checkpoint: Checkpoint) -> int:
  """Updates that the weights of a checkpoint have seen, as its directory tells; 0 where nothing does."""
  directory = checkpoint.directory or ""
  record = os.path.join(directory, BEST_RECORD)
  if os.path.exists(record):
    return int(files.read_json(record)["step"])
  number = (latest_checkpoint(directory) or "").rpartition("-")[2]
  return int(number) if number.isdigit() else 0


def _beside(bert_config_file: str | None) -> str | None:
  path = os.path.join(os.path.dirname(bert_config_file or ""), VOCAB_FILE)
  return path if bert_config_file and os.path.exists(path) else None
