"""Fine-tunes PyTorch's models with the settings of the run scripts, to compare the scores.

  python benchmarks/scores.py --task=classification --task_name=mrpc --data_dir=glue --model=hf_directory --seed=1,2,3
  python benchmarks/scores.py --task=question_answering --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --model=hf_directory --train_batch_size=16 --num_train_epochs=2
  python benchmarks/scores.py --task=multiple_choice --train_file=train.csv --dev_file=dev.csv --test_file=test.csv \\
      --model=hf_directory --seed=1,2,3
  python benchmarks/scores.py --task=token_classification --train_file=wnut17_train.conll \\
      --dev_file=wnut17_dev.conll --test_file=wnut17_test.conll --model=hf_directory --seed=1,2,3
  python benchmarks/scores.py --task=sentence_embedding --task_name=sts-b --data_dir=glue --model=hf_directory \\
      --seed=1,2,3

The same as in run_classifier.py, run_squad.py, run_swag.py, run_ner.py and run_sentence_embedding.py (whose peer is
sentence-transformers): the sequences, batches of similar length and, with the same seed, their order, the learning rate
of every step, clipping at 1, weight decay 0.01 but for biases and LayerNorm, dropout, an evaluation after every epoch,
of which the best one counts, and how answers, thresholds and tags are found and scored. Of PyTorch's own: AdamW with
bias correction (ours has it with --optimizer_bias_correction) and the weights of the new head. A test set needs labels.
Needs requirements-peers.txt.
"""

import dataclasses
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import pytorch_peers
from bert_tf.common import cli
from bert_tf.common.options import Options, declared_options, option
from bert_tf.common.tables import show_mean
from bert_tf.tasks.question_answering.settings import SquadSettings

if TYPE_CHECKING:
  from bert_tf.tasks.fine_tuning import FineTuningTask
  from bert_tf.training.examples import Examples

_PREDICTED_TOGETHER = 32
_SENTENCES = "sentence_embedding"
_AS_THE_SCRIPT = "as the run script of the task has it"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoresOptions(SquadSettings):
  """What is fine-tuned on what; files as the run script of the task takes them."""

  task: str = option(None, "What the model is fine-tuned for.", required=True,
                     choices=(*pytorch_peers.MODELS, _SENTENCES))
  model: str = option(None, "Hugging Face directory with model.safetensors and vocab.txt.", required=True)
  task_name: str | None = option(None, "Of classification: one of GLUE's tasks with a development set; of "
                                "sentence_embedding what its files have.")
  data_dir: str | None = option(None, "Where GLUE's folders are, or the task's own folder.")
  train_file: str | None = option(None, "What is trained on.")
  dev_file: str | None = option(None, "What is evaluated on after every epoch.")
  test_file: str | None = option(None, "What the best weights are tested on.")
  predict_file: str | None = option(None, "SQuAD file with answers, which is evaluated on after every epoch.")
  context: str | None = option(None, "As in run_ner.py.", choices=("auto", "sentence", "document"),
                               default_text="auto")
  seed: int = option(12345, "Of the new head, dropout and the order of the batches.", minimum=0, sweep=True)
  train_batch_size: int | None = option(None, "Examples of a step.", minimum=1, default_text=_AS_THE_SCRIPT)
  learning_rate: float | None = option(None, "Peak learning rate.", above=0, default_text=_AS_THE_SCRIPT)
  num_train_epochs: int = option(3, "Passes over the training data.", minimum=1)
  max_seq_length: int | None = option(None, "Longer sequences are cut, or read in parts.", minimum=3,
                                      default_text=_AS_THE_SCRIPT)

  def of_script(self, options: type[Options], **flags: object) -> Options:
    """The options of the task's run script: what is set here, and its own defaults."""
    names = {one.name for one in declared_options(options)} - {"seed"}
    chosen = {name: getattr(self, name) for name in names & {one.name for one in declared_options(ScoresOptions)}}
    made = options(**{name: value for name, value in chosen.items() if value is not None}, do_train=True,
                   init_checkpoint=self.model, output_dir=os.path.join(self.model, "unused"), **flags)
    made.check()
    return made


@dataclasses.dataclass(frozen=True)
class Scored:
  """What differs per task.

  Attributes:
    task: as its run script makes it, with its data.
    examples: what is trained on.
    evaluate: the model → scores on the development set.
    main_metric: by which of them epochs are compared.
    num_labels: classes of the head; None for those that have no choice.
    loss: of a batch, made from the model.
    test: the model → scores on the test set.
  """

  task: "FineTuningTask"
  examples: "Examples"
  evaluate: Callable[[object], dict[str, float]]
  main_metric: str
  num_labels: int | None = None
  loss: Callable[[object], Callable[[dict], object]] = lambda model: lambda batch: pytorch_peers.loss_of(model, batch)
  test: Callable[[object], dict[str, float]] = lambda model: {}


def main(options: ScoresOptions) -> None:
  """Fine-tunes with each of the seeds; prints what comes out, then mean and standard deviation."""
  pytorch_peers.check_installed()
  scored = _TASKS[options.task](options)
  results = []
  for seed in options.sweep.get("seed", (options.seed,)):
    started = time.monotonic()
    results.append(fine_tune(options, scored, seed))
    scores = ", ".join(f"{name} {value:.4f}" for name, value in results[-1].items())
    print(f"seed {seed}: {scores}; {time.monotonic() - started:.0f} s", flush=True)
  for name in results[0]:
    print(f"{name} of {len(results)} seeds: {show_mean([result[name] for result in results])}")


def fine_tune(options: ScoresOptions, scored: Scored, seed: int) -> dict[str, float]:
  """One fine-tuning: the scores of its best epoch, those of the test set included."""
  import torch

  from bert_tf.training.examples import assemble, epoch_batches
  from modeling.optimizer import WarmupDecay

  torch.manual_seed(seed)
  model = _load(options, scored.num_labels)
  loss_of = scored.loss(model)
  settings, examples = scored.task.options, scored.examples
  optimizer = pytorch_peers.adamw(model, settings.learning_rate)
  steps = options.num_train_epochs * -(-len(examples) // settings.train_batch_size)
  rates = WarmupDecay(1.0, steps, steps // 10)
  schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: float(rates(step)))
  lengths = np.arange(1, scored.task.max_seq_length + 1)
  best: dict[str, float] | None = None
  for epoch in range(options.num_train_epochs):
    model.train()
    for chosen in epoch_batches(examples.lengths, settings.train_batch_size, seed, epoch):
      batch = assemble(examples, chosen, len(chosen), lengths)
      pytorch_peers.update(model, optimizer, loss_of(batch))
      schedule.step()
    found = scored.evaluate(model)
    if best is None or found[scored.main_metric] > best[scored.main_metric]:
      best = {**found, **scored.test(model)}
  return best


def _load(options: ScoresOptions, num_labels: int | None):
  if options.task == _SENTENCES:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(options.model, device="cpu")
  import transformers

  classes = {} if num_labels is None else {"num_labels": num_labels}
  return getattr(transformers, pytorch_peers.MODELS[options.task]).from_pretrained(options.model, **classes)


def _classification(options: ScoresOptions) -> Scored:
  from bert_tf.evaluation.classification import score
  from bert_tf.tasks.classification.options import ClassificationOptions
  from bert_tf.tasks.classification.task import ClassificationTask

  task = ClassificationTask(options.of_script(ClassificationOptions, do_eval=True))
  data, classes = task.data, None if task.data.regression else len(task.data.labels)

  def evaluate(model) -> dict[str, float]:
    return {f"{name} {metric}": value for name, split in data.dev.items() for metric, value in score(
        data.metrics, data.predictions(_row_logits(model, split.examples)), split.source.labels, classes).items()}

  return Scored(task, data.train.examples, evaluate, f"{next(iter(data.dev))} {data.metrics[0]}",
                num_labels=classes or 1)


def _question_answering(options: ScoresOptions) -> Scored:
  from bert_tf.tasks.question_answering.options import SquadOptions
  from bert_tf.tasks.question_answering.results import answer_questions
  from bert_tf.tasks.question_answering.task import OUTPUTS, SquadTask

  task = SquadTask(options.of_script(SquadOptions, do_predict=True))
  split, settings = task.prediction_split, task.settings

  def evaluate(model) -> dict[str, float]:
    logits = _token_logits(model, split.examples, *OUTPUTS)
    return answer_questions(split, logits, settings, tune=settings.version_2_with_negative).metrics

  return Scored(task, task.train_examples, evaluate, settings.main_metric)


def _multiple_choice(options: ScoresOptions) -> Scored:
  from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
  from bert_tf.tasks.multiple_choice.task import MultipleChoiceTask

  task = MultipleChoiceTask(options.of_script(MultipleChoiceOptions, do_eval=True, do_predict=True))

  def accuracy(model, name: str, examples: "Examples") -> dict[str, float]:
    chosen = _row_logits(model, examples).argmax(-1)
    return {f"{name} accuracy": float((chosen == examples.values["label_ids"]).mean())}

  return Scored(task, task.data.train.examples, lambda model: accuracy(model, "dev", task.data.dev["dev"].examples),
                "dev accuracy", test=lambda model: accuracy(model, "test", task.data.test["test"].examples))


def _token_classification(options: ScoresOptions) -> Scored:
  from bert_tf.evaluation.classification import softmax
  from bert_tf.tasks.token_classification.options import TokenClassificationOptions
  from bert_tf.tasks.token_classification.results import score, tag_split
  from bert_tf.tasks.token_classification.task import TokenClassificationTask

  task = TokenClassificationTask(options.of_script(TokenClassificationOptions, do_eval=True, do_predict=True))
  data = task.data

  def scores(model, split, name: str) -> dict[str, float]:
    (logits,) = _token_logits(model, split.examples, "logits")
    found = score(tag_split(data, split, split.windows.of_words(softmax(logits).astype(np.float32))))
    return {f"{name} f1": found["f1"], f"{name} surface f1": found["surface_f1"]}

  return Scored(task, data.train.examples, lambda model: scores(model, data.dev["dev"], "dev"), "dev f1",
                num_labels=len(data.labels), test=lambda model: scores(model, data.test["test"], "test"))


def _sentence_embedding(options: ScoresOptions) -> Scored:
  from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
  from bert_tf.tasks.sentence_embedding.task import SentenceEmbeddingTask

  task = SentenceEmbeddingTask(options.of_script(SentenceEmbeddingOptions, do_eval=True))

  def evaluate(model) -> dict[str, float]:
    found = {}
    for name, split in task.data.dev.items():
      vectors = np.stack([row for row, in _outputs(model, split.examples.unique, "sentence_embedding")])
      vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
      found |= {f"{name} {metric}": value for metric, value in task.score(split, vectors).items()}
    return found

  return Scored(task, task.data.train.examples, evaluate, f"{next(iter(task.data.dev))} {task.main_metric}",
                loss=lambda model: pytorch_peers.sentence_loss(model, task.options.task_name))


_TASKS = {"classification": _classification, "question_answering": _question_answering,
          "multiple_choice": _multiple_choice, "token_classification": _token_classification,
          _SENTENCES: _sentence_embedding}


def _outputs(model, examples: "Examples", *names: str) -> list[tuple[np.ndarray, ...]]:
  """Outputs of the model for each example, padded, without dropout."""
  import torch

  from bert_tf.training.examples import assemble, sorted_batches

  model.eval()
  found: dict[int, tuple] = {}
  with torch.no_grad():
    for chosen in sorted_batches(examples.lengths, _PREDICTED_TOGETHER):
      inputs = pytorch_peers.features(
          assemble(examples, chosen, len(chosen), np.arange(1, examples.lengths.max() + 1)))
      # sentence-transformers' models take a dictionary.
      outputs = model(inputs) if hasattr(model, "encode") else model(**inputs)
      found |= zip(chosen, zip(*(outputs[name].numpy() for name in names), strict=True), strict=True)
  return [found[number] for number in range(len(examples))]


def _row_logits(model, examples: "Examples") -> np.ndarray:
  """float32 [E, C]."""
  return np.concatenate(_outputs(model, examples, "logits"))


def _token_logits(model, examples: "Examples", *names: str) -> tuple[np.ndarray, ...]:
  """float32 [T, ...] for each of the names of outputs, sequences concatenated."""
  return tuple(np.concatenate([value[:length] for value, length in zip(values, examples.row_lengths, strict=True)])
               for values in zip(*_outputs(model, examples, *names), strict=True))


if __name__ == "__main__":
  cli.run(ScoresOptions, main)
