"""Fine-tunes PyTorch's BertForTokenClassification with the settings of run_ner.py, to compare the scores.

  python benchmarks/ner_scores.py --train_file=wnut17_train.conll --dev_file=wnut17_dev.conll \\
      --test_file=wnut17_test.conll --model=hf_directory --seed=1,2,3

The windows and where they are scored are the same, too. What else is the same as there, and what is not:
benchmarks/torch_scores.py. Needs requirements-peers.txt.
"""

import dataclasses
import os

import numpy as np

from benchmarks import peers, torch_scores
from bert_tf.common import cli
from bert_tf.common.options import option

# What PyTorch's loss leaves out.
_IGNORED = -100


@dataclasses.dataclass(frozen=True, kw_only=True)
class NerScoresOptions(torch_scores.ScoresOptions):
  """Files and what run_ner.py has by default."""

  train_file: str = option(None, "What is trained on.", required=True)
  dev_file: str = option(None, "What is evaluated on after every epoch.", required=True)
  test_file: str = option(None, "What the best weights are tested on; with labels.", required=True)
  context: str = option("auto", "As in run_ner.py.", choices=("auto", "sentence", "document"))
  max_seq_length: int = option(128, "Most tokens of a window.", minimum=3)


def main(options: NerScoresOptions) -> None:
  peers.check_torch()
  import transformers

  from bert_tf.evaluation.classification import softmax
  from bert_tf.tasks.token_classification.options import TokenClassificationOptions
  from bert_tf.tasks.token_classification.results import score, tag_split
  from bert_tf.tasks.token_classification.task import TokenClassificationTask

  limit = options.max_seq_length
  data = TokenClassificationTask(TokenClassificationOptions(
      train_file=options.train_file, dev_file=options.dev_file, test_file=options.test_file,
      init_checkpoint=options.model, output_dir=os.path.join(options.model, "unused"), context=options.context,
      max_seq_length=limit, do_train=True, do_eval=True, do_predict=True)).data

  def labels_of(batch: dict) -> dict[str, np.ndarray]:
    known = (batch["input_mask"] == 1) & (batch["label_ids"] >= 0)
    return {"labels": np.where(known, batch["label_ids"], _IGNORED).astype(np.int64)}

  def scores(model, split, name: str) -> dict[str, float]:
    (logits,) = torch_scores.token_logits(model, split.examples, limit, ("logits",))
    found = score(tag_split(data, split, split.windows.of_words(softmax(logits).astype(np.float32))))
    return {f"{name} f1": found["f1"], f"{name} surface f1": found["surface_f1"]}

  torch_scores.compare(options, lambda seed: torch_scores.fine_tune(
      options, seed,
      lambda: transformers.BertForTokenClassification.from_pretrained(options.model, num_labels=len(data.labels)),
      data.train.examples, limit, labels_of, evaluate=lambda model: scores(model, data.dev, "dev"),
      main_metric="dev f1", test=lambda model: scores(model, data.test, "test")))


if __name__ == "__main__":
  cli.run(NerScoresOptions, main)
