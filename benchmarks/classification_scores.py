"""Fine-tunes PyTorch's BertForSequenceClassification with the settings of run_classifier.py, to compare the scores.

  python benchmarks/classification_scores.py --task_name=mrpc --data_dir=glue --model=hf_directory --seed=1,2,3

Scores are those of the development set. What is the same as there, and what is not: benchmarks/torch_scores.py.
Needs requirements-peers.txt.
"""

import dataclasses
import os

import numpy as np

from benchmarks import peers, torch_scores
from bert_tf.common import cli
from bert_tf.common.options import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassificationScoresOptions(torch_scores.ScoresOptions):
  """The task and what run_classifier.py has by default."""

  task_name: str = option(None, "One of GLUE's tasks with a development set.", required=True)
  data_dir: str = option(None, "Where GLUE's folders are, or the task's own folder.", required=True)
  max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)


def main(options: ClassificationScoresOptions) -> None:
  peers.check_torch()
  import transformers

  from bert_tf.evaluation.classification import score
  from bert_tf.tasks.classification.options import ClassificationOptions
  from bert_tf.tasks.classification.task import ClassificationTask

  limit = options.max_seq_length
  data = ClassificationTask(ClassificationOptions(
      task_name=options.task_name, data_dir=options.data_dir, init_checkpoint=options.model,
      output_dir=os.path.join(options.model, "unused"), max_seq_length=limit, do_train=True, do_eval=True)).data
  labels_type = np.float32 if data.regression else np.int64

  def evaluate(model) -> dict[str, float]:
    found = {}
    for name, split in data.dev.items():
      predictions = data.predictions(torch_scores.row_logits(model, split.examples, limit))
      classes = None if data.regression else len(data.labels)
      found |= {f"{name} {metric}": value
                for metric, value in score(data.metrics, predictions, split.texts.labels, classes).items()}
    return found

  def make_model():
    return transformers.BertForSequenceClassification.from_pretrained(
        options.model, num_labels=max(len(data.labels), 1))

  torch_scores.compare(options, lambda seed: torch_scores.fine_tune(
      options, seed, make_model, data.train.examples, limit,
      labels_of=lambda batch: {"labels": batch["label_ids"].astype(labels_type)}, evaluate=evaluate,
      main_metric=f"{next(iter(data.dev))} {data.main_metric}"))


if __name__ == "__main__":
  cli.run(ClassificationScoresOptions, main)
