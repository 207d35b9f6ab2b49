"""Fine-tunes PyTorch's BertForQuestionAnswering with the settings of run_squad.py, to compare the scores.

  python benchmarks/squad_scores.py --train_file=train-v1.1.json --predict_file=dev-v1.1.json --model=hf_directory \\
      --train_batch_size=16 --num_train_epochs=2

Windows, answers, the threshold for "no answer" and the official scores are ours. What else is the same as there, and
what is not: benchmarks/torch_scores.py. Needs requirements-peers.txt.
"""

import dataclasses
import os

import numpy as np

from benchmarks import peers, torch_scores
from bert_tf.common import cli
from bert_tf.common.options import option
from bert_tf.tasks.question_answering.settings import SquadSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadScoresOptions(SquadSettings, torch_scores.ScoresOptions):
  """Files and what run_squad.py has by default."""

  train_file: str = option(None, "SQuAD file to train on.", required=True)
  predict_file: str = option(None, "SQuAD file with answers, which is evaluated on after every epoch.", required=True)


def main(options: SquadScoresOptions) -> None:
  peers.check_torch()
  import transformers

  from bert_tf.tasks.question_answering.options import SquadOptions
  from bert_tf.tasks.question_answering.results import answer_questions, main_metric
  from bert_tf.tasks.question_answering.settings import SETTINGS
  from bert_tf.tasks.question_answering.task import OUTPUTS, SquadTask

  task = SquadTask(SquadOptions(
      **{name: getattr(options, name) for name in SETTINGS}, train_file=options.train_file,
      predict_file=options.predict_file, init_checkpoint=options.model,
      output_dir=os.path.join(options.model, "unused"), do_train=True, do_predict=True))
  split, settings, limit = task.prediction_split, task.settings, task.max_seq_length

  def evaluate(model) -> dict[str, float]:
    logits = torch_scores.token_logits(model, split.examples, limit, OUTPUTS)
    return answer_questions(split, logits, settings, tune=settings.version_2_with_negative).metrics

  torch_scores.compare(options, lambda seed: torch_scores.fine_tune(
      options, seed, lambda: transformers.BertForQuestionAnswering.from_pretrained(options.model),
      task.train_examples, limit,
      labels_of=lambda batch: {name: batch[name].astype(np.int64) for name in ("start_positions", "end_positions")},
      evaluate=evaluate, main_metric=main_metric(settings)))


if __name__ == "__main__":
  cli.run(SquadScoresOptions, main)
