"""What fine-tuning benchmarks train on: a task as its run script makes it, and epochs of batches for the peers."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_common.options import declared_options, option
from bert_tf.tasks.question_answering.options import SquadSettings

if TYPE_CHECKING:
  from bert_tf.training.examples import Examples

TASKS = ("classification", "question_answering", "multiple_choice", "token_classification", "sentence_embedding")
_AS_THE_SCRIPT = "as the run script of the task has it"
_WARM_UP_STEPS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskOptions(SquadSettings):
  """What is fine-tuned on what; files as the run script of the task takes them."""

  task: str = option("classification", "What a model is fine-tuned for.", choices=TASKS)
  task_name: str | None = option(None, "Of classification: one of GLUE's tasks; of sentence_embedding what its files "
                                 "have.", default_text="mrpc, sts-b")
  data_dir: str | None = option(None, "Where GLUE's folders are, or the task's own folder.")
  train_file: str | None = option(None, "What is trained on.")
  train_batch_size: int | None = option(None, "Examples of a step.", minimum=1, default_text=_AS_THE_SCRIPT)
  max_seq_length: int | None = option(None, "Longer sequences are cut, or read in parts.", minimum=3,
                                      default_text=_AS_THE_SCRIPT)

  def read_task(self, output_dir: str, **values: object):
    """The `FineTuningTask` as its run script makes it, with its data: what is set here, and the script's defaults.

    Args:
      output_dir: a directory that is not there.
      values: further options of the run.
    """
    from bert_tf.extras.export_scores import RUNS, run_classes

    options, task = run_classes(self.task, RUNS[self.task][0])
    names = {one.name for one in declared_options(options)} & {one.name for one in declared_options(type(self))}
    chosen = {one: value for one in names - {"seed"} if (value := getattr(self, one)) is not None}
    by_default = {"classification": {"task_name": "mrpc"}, "sentence_embedding": {"task_name": "sts-b"}}
    made = options(**by_default.get(self.task, {}) | chosen | values, do_train=True, output_dir=output_dir)
    made.check()
    return task(made)


def epoch_loop(run_batch: Callable[[dict], object], examples: "Examples", batch_size: int, lengths: Sequence[int],
               steps: int, grouped: bool) -> Callable[[int], None]:
  """Runs a peer over so many more batches of endless epochs; a batch of each of their shapes is run at once.

  Args:
    run_batch: the program: what it does with a batch, which ends with a result on the host.
    examples, batch_size: of which batches are made.
    lengths: what batches are padded to, in ascending order.
    steps: how many there will be.
    grouped: batches are of similar lengths, as ours: random pools of 50 batches, sorted.
  """
  from bert_tf.training.examples import assemble, epoch_batches

  lengths, make_epoch = np.asarray(lengths), epoch_batches if grouped else random_epoch
  epochs = (make_epoch(examples.lengths, batch_size, 0, epoch) for epoch in itertools.count())
  planned = list(itertools.islice(itertools.chain.from_iterable(epochs), steps))
  warm_up = one_of_each_shape(examples, planned, lengths)
  for batch in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
    run_batch(batch)
  batches: Iterator[dict] = (assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def run(count: int) -> None:
    for batch in itertools.islice(batches, count):
      run_batch(batch)

  return run


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))


def one_of_each_shape(examples: "Examples", planned: Iterable[np.ndarray], lengths: np.ndarray) -> list[dict]:
  """Of batches of these examples one of each shape; those of several texts are cut to the lengths of the texts."""
  from bert_tf.training.examples import assemble

  batches = (assemble(examples, chosen, len(chosen), lengths) for chosen in planned)
  return list({(batch["input_ids"].shape, tuple(batch.get("text_lengths", [()])[0])): batch
               for batch in batches}.values())


def known_labels(batch: dict) -> np.ndarray:
  """"label_ids" with -1 for tokens that are not scored: also the padding, which batches have 0 for."""
  labels = batch["label_ids"]
  return np.where(batch["input_mask"] == 1, labels, -1) if labels.shape == batch["input_mask"].shape else labels
