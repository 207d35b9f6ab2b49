"""Which settings fit the training data, for --suggest: each with its reason, as a configuration file for --config.

Input: the options of a run, and its data, read once more where it is cut nowhere. Output: lines for the user, which are
the file. The rules are those of the paper (A.3), of the original's README and of "On the Stability of Fine-tuning BERT"
(Mosbach et al. 2021); what the command line gives stays as it is given. docs/fine_tuning.md explains them.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.options import FineTuningOptions
from bert_tf.training.devices import Devices
from bert_tf.training.throughput import describe_time
from modeling.checkpoints.load import open_checkpoint

# Lengths to choose among, and the share of the examples that may be cut.
_LENGTHS, _CUT = (32, 64, 128, 256, 512), 0.01
# Examples up to which a set is small, and from which on it is large.
_SMALL, _LARGE = 1_000, 50_000
# Steps that a small set is to have, and the most passes over it that this may take.
_STEPS_OF_SMALL, _MOST_EPOCHS = 300, 20
# How many times as many examples the largest class may have as the smallest.
_IMBALANCE = 10
# Flags that ask for the proposal and are no part of it.
_NOT_KEPT = ("suggest", "dry_run")


class Proposal(NamedTuple):
  """A setting, and why."""

  name: str
  value: Any
  reason: str


def suggest(make_task: Callable[[FineTuningOptions], FineTuningTask], options: FineTuningOptions,
            set_up_devices: Callable[[FineTuningOptions], Devices]) -> None:
  """Prints what the training data is like and the settings that follow, and writes them into --suggest.

  Raises:
    UserError: nothing is trained, the file exists, or see the task.
  """
  if not options.do_train:
    raise UserError("--suggest looks at training data: give --do_train")
  if options.suggest != "-":
    files.refuse_existing(options.suggest, "suggest")
  whole = _whole(options)
  task = make_task(whole or options)
  lengths = _lengths(task) if whole else []
  facts = describe_data(task, lengths)
  proposals = [one for one in propose(task, lengths) if one.name not in options.given]
  chosen = options.replace(sweep={}, **{one.name: one.value for one in proposals if one.name != "seed"})
  if time := describe_time(_flops(task.with_options(chosen)), set_up_devices(options)):
    facts.append(f"time of a run: {time}; starting and evaluations come on top")
  text = as_configuration(facts, options, proposals)
  print(text, end="")
  if options.suggest != "-":
    with files.atomic_write(options.suggest) as file:
      file.write(text)
    print(f"\nwritten: --config={options.suggest} trains with these settings")


def describe_data(task: FineTuningTask, lengths: Sequence[int]) -> list[str]:
  """Sizes, lengths and classes.

  Args:
    lengths: at which sequences may be cut; empty where they are windows of longer texts.
  """
  tokens = task.train_examples.row_lengths
  facts = [f"training data: {task.num_train_examples:,} examples, {len(tokens):,} sequences of {tokens.mean():.1f} "
           f"tokens, half of them of at most {np.median(tokens):.0f}, the longest {tokens.max()}"]
  if lengths:
    facts.append("share of the sequences that is cut: " + ", ".join(
        f"{_share_cut(task, length):.1%} at {length}" for length in lengths))
  counts = task.class_counts()
  if counts:
    shown = sorted(counts.items(), key=lambda pair: -pair[1])
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    facts.append(f"classes: {', '.join(f'{name} {count:,}' for name, count in shown[:20])}{more}")
  if not task.can_evaluate:
    facts.append("nothing to evaluate on while training: put a part of the data aside, or the last weights are taken "
                 "whatever they are")
  return facts


def propose(task: FineTuningTask, lengths: Sequence[int]) -> list[Proposal]:
  """The settings that the data asks for; `lengths` as for `describe_data`."""
  count, size = task.num_train_examples, task.config.hidden_size
  proposals = [_length(task, lengths)] if lengths else []
  batch = 16 if count < 5_000 else 32
  proposals.append(Proposal("train_batch_size", batch, "the paper (A.3) has 16 and 32: " + (
      "16 for more steps, as there are few examples" if batch == 16 else "32, as there are enough examples")))
  if task.options.lora:
    proposals.append(Proposal("learning_rate", 5e-4, "low-rank updates take a higher rate than whole matrices"))
  elif size < 512:
    proposals.append(Proposal("learning_rate", 1e-4, f"a small model, {size} units: the original README has 3e-5 to "
                              "3e-4 for these"))
  else:
    proposals.append(Proposal("learning_rate", 2e-5 if size > 768 else 3e-5, "the paper (A.3) has 5e-5, 3e-5 and 2e-5; "
                              "[5e-5, 3e-5, 2e-5] chooses the best on the development set"))
  return [*proposals, *_epochs(count, batch, task.can_evaluate), *_weights(task.class_counts() or {})]


def as_configuration(facts: Sequence[str], options: FineTuningOptions, proposals: Sequence[Proposal]) -> str:
  """The file: what is known of the data as comments, what was given, what is proposed with its reasons."""
  defaults = {one.name: list(one.default) if isinstance(one.default, tuple) else one.default
              for one in declared_options(type(options))}
  given = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in options.values().items()
           if name not in _NOT_KEPT and value is not None and (name in options.given or value != defaults[name])]
  chosen = [(f"{one.name}: {json.dumps(one.value)}", one.reason) for one in proposals]
  width = max(len(line) for line, _ in chosen) if chosen else 0
  return "\n".join([*(f"# {fact}" for fact in facts), "", *given, "",
                    *(f"{line:{width}}  # {reason}" for line, reason in chosen)]) + "\n"


def _whole(options: FineTuningOptions) -> FineTuningOptions | None:
  """The options under which sequences are as long as the model can have them; None where they are windows."""
  config = open_checkpoint(options.init_checkpoint, bert_config_file=options.bert_config_file,
                           vocab_file=options.vocab_file, do_lower_case=options.do_lower_case).config
  return options.reads_whole(min(config.max_position_embeddings, _LENGTHS[-1]))


def _lengths(task: FineTuningTask) -> list[int]:
  longest = task.max_seq_length
  return [length for length in _LENGTHS if length < longest] + [longest]


def _share_cut(task: FineTuningTask, length: int) -> float:
  """Of the sequences; of those at the greatest length all count as cut."""
  lengths = task.train_examples.row_lengths
  return float(np.mean(lengths >= length if length == task.max_seq_length else lengths > length))


def _length(task: FineTuningTask, lengths: Sequence[int]) -> Proposal:
  chosen = next((length for length in lengths if _share_cut(task, length) <= _CUT), task.max_seq_length)
  return Proposal("max_seq_length", chosen, f"cuts {_share_cut(task, chosen):.1%} of the sequences; time and memory "
                  "grow with it")


def _epochs(count: int, batch: int, can_choose: bool) -> list[Proposal]:
  if count >= _LARGE:
    return [Proposal("num_train_epochs", 2.0, "the paper (A.3) has 2 to 4: few for a large set")]
  if count >= _SMALL:
    return [Proposal("num_train_epochs", 3.0, "the paper (A.3) has 2 to 4, and 3 for GLUE")]
  epochs = float(min(_MOST_EPOCHS, max(4, -(-_STEPS_OF_SMALL * batch // count))))
  return [Proposal("num_train_epochs", epochs, f"few examples: {-(-count // batch) * int(epochs)} steps in all"),
          Proposal("optimizer_bias_correction", True, "with few examples runs fail less often with it (Mosbach et al. "
                   "2021)"),
          *([Proposal("seed", [1, 2, 3], "with few examples seeds differ by points: three runs, the best on the "
                      "development set is kept")] if can_choose else [])]


def _weights(counts: dict[str, int]) -> list[Proposal]:
  present = [count for count in counts.values() if count]
  if not present or max(present) < _IMBALANCE * min(present):
    return []
  return [Proposal("class_weights", "balanced", f"the largest class has {max(present) / min(present):.0f} times the "
                   "examples of the smallest: for macro F1; leave it out for accuracy")]


def _flops(task: FineTuningTask) -> float:
  """Of the whole training, with sequences of the length that is proposed."""
  lengths = np.minimum(task.train_examples.row_lengths, task.max_seq_length)
  return float(task.row_flops(lengths, predictions=0).sum() * task.options.num_train_epochs)
