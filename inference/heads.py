"""What a checkpoint can be used for, as it is: its task, the names of its classes, the length of its inputs.

Known from `task.json` of a fine-tuned run and, for checkpoints of others, from the tensors and the configuration.
Comes after `modeling/checkpoints/load.py`.
"""

import dataclasses
import difflib
from collections.abc import Mapping

from common.errors import UserError
from modeling.checkpoints.load import LoadedCheckpoint
from modeling.checkpoints.weights import heads_of
from tasks.question_answering.settings import SquadSettings, choose_settings

# Task → the head that it needs, by the keys of `model.heads`; None for the encoder alone.
TASKS = {"classifier": "classifier", "squad": "span", "fill_mask": "masked_lm", "features": None}

# Where nothing tells how long inputs may be.
_MAX_SEQ_LENGTH = {"squad": SquadSettings.max_seq_length}
_OTHERWISE = 512
# [CLS] and two [SEP].
_SPECIAL_TOKENS = 3


def choose_task(opened: LoadedCheckpoint, task: str | None) -> str:
  """The task that was asked for, or the only one that the checkpoint has a head for ("features" where it has none).

  Raises:
    UserError: there is no such task, the checkpoint has no head for it, or has several and none was asked for.
  """
  checkpoint = opened.source.description
  heads = heads_of(opened.source.tensors)
  possible = [name for name, head in TASKS.items() if head in heads]
  if task is None:
    if len(possible) > 1:
      raise UserError(f"{checkpoint} has heads for several tasks: say which with --task={' or --task='.join(possible)}")
    # A head of pre-training is no other task.
    others = [head for head in heads if head not in TASKS.values() and head != "next_sentence"]
    if not possible and others:
      raise UserError(f"{checkpoint} has a head for {', '.join(others)}, which is none of the tasks "
                      f"{', '.join(TASKS)}; --task=features takes the encoder alone")
    return possible[0] if possible else "features"
  if task not in TASKS:
    near = difflib.get_close_matches(task, TASKS, 1)
    hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(TASKS)}"
    raise UserError(f"--task={task} is unknown: {hint}")
  if TASKS[task] is not None and task not in possible:
    raise UserError(f"{checkpoint} has no head for --task={task}: it can be used for "
                    f"{', '.join([*possible, 'features'])}")
  return task


def class_labels(opened: LoadedCheckpoint) -> list[str] | None:
  """Names of the classes of a classifier, "0", "1", ... where nothing tells; None for regression.

  Raises:
    UserError: the names are not as many as the classes or not all different, or several classes apply at once.
  """
  source, task = opened.source, opened.task or {}
  classes = source.tensors["output_weights"][0]
  problem = opened.config.extra.get("problem_type")
  if task.get("kind") == "regression" or (not task and (classes == 1 or problem == "regression")):
    if classes != 1:
      raise UserError(f"{source.description} is for a score, but its head has {classes} outputs")
    return None
  if not task and problem == "multi_label_classification":
    raise UserError(f"{source.description} is for several classes at once; only one of the classes can be predicted")
  if "labels" in task:
    labels, where = task["labels"], "task.json"
  else:
    named = opened.config.extra.get("id2label")
    named = named if isinstance(named, Mapping) else {}
    labels, where = [named.get(str(number), str(number)) for number in range(classes)], "id2label"
  if not isinstance(labels, list) or len(labels) != classes or len(set(map(str, labels))) != classes:
    raise UserError(f"{source.description}: {where} must name {classes} different classes, as many as the head has: "
                    f"it has {labels!r}")
  return list(map(str, labels))


def input_length(opened: LoadedCheckpoint, task: str, max_seq_length: int | None = None) -> int:
  """The most tokens of an input.

  Args:
    opened: the checkpoint.
    task: see `TASKS`.
    max_seq_length: None for that of the fine-tuned run; where there is none 512 (squad: 384), or as many as the network
      has positions.

  Raises:
    UserError: more than the network has positions, or too few for any token.
  """
  positions = opened.config.max_position_embeddings
  if max_seq_length is None:
    length = _whole_number(opened, "max_seq_length", min(_MAX_SEQ_LENGTH.get(task, _OTHERWISE), positions))
  else:
    length = max_seq_length
  if length < _SPECIAL_TOKENS:
    raise UserError(f"--max_seq_length={length} must be at least {_SPECIAL_TOKENS}: [CLS], a token, [SEP]")
  opened.config.check_sequence_length(length, "--max_seq_length")
  return length


def span_settings(opened: LoadedCheckpoint, max_seq_length: int | None = None,
                  given: Mapping[str, object] | None = None) -> SquadSettings:
  """How contexts are read and answers chosen: as given, else as in the fine-tuned run, else the original's defaults.

  Where the length has no room for the latter, questions keep a third of it, and windows move by half of the rest.

  Args:
    opened: the checkpoint.
    max_seq_length: see `input_length`.
    given: other fields of `SquadSettings` that were asked for.

  Raises:
    UserError: there is no room for question and context, or `task.json` holds a value of another type.
  """
  length = input_length(opened, "squad", max_seq_length)
  given = given or {}
  settings = choose_settings({**given, "max_seq_length": length}, opened.task)
  if not {"doc_stride", "max_query_length"} & given.keys() and (
      settings.doc_stride > length - settings.max_query_length - _SPECIAL_TOKENS):
    max_query_length = min(settings.max_query_length, max(length // 3, 1))
    room = length - max_query_length - _SPECIAL_TOKENS
    settings = dataclasses.replace(settings, max_query_length=max_query_length,
                                   doc_stride=min(settings.doc_stride, max(room // 2, 1)))
  settings.check(opened.config)
  return settings


def _whole_number(opened: LoadedCheckpoint, key: str, default: int) -> int:
  value = (opened.task or {}).get(key, default)
  if type(value) is not int:
    raise UserError(f"{opened.source.description}: {key} in task.json is {value!r}, a whole number is wanted")
  return value
