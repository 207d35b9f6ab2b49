"""Answers to questions as parts of texts: SQuAD v1.1 and v2.0 (sections 4.2 and 4.3 of the paper).

Input: windows (`bert_tf/tasks/question_answering/data.py`). Output: a run directory, by way of `bert_tf/tasks/run.py`,
with answers and scores (`bert_tf/tasks/question_answering/results.py`).
"""

import os

import keras
import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_common.progress import Progress
from bert_tf.tasks import run as driver
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.options import TEACHERS
from bert_tf.tasks.question_answering.data import (
  ENSEMBLE_FILE,
  SquadSplit,
  fingerprints,
  open_ensemble,
  read_questions,
  training_split,
)
from bert_tf.tasks.question_answering.options import (
  DEFAULT,
  GIVEN,
  MEAN,
  THRESHOLD,
  TUNED_ON,
  SquadOptions,
  SquadSettings,
  choose_settings,
)
from bert_tf.tasks.question_answering.results import Answered, answer_questions, write
from bert_tf.tasks.running import Run
from bert_tf.tasks.task import RunningModel
from bert_tf.training.examples import TaskData
from bert_tf.training.step import Objective
from data_gen.labelled.squad import SquadData, read_squad
from modeling.checkpoints.companion_files import BEST_DIRECTORY, TASK_FILE, read_task_file
from modeling.checkpoints.load import Checkpoint, step_of
from modeling.fine_tuning import SPAN, BertForQuestionAnswering

OUTPUTS = ("start_logits", "end_logits")
# Answers shown to a single question where --n_best_size is not given.
_SHOWN = 5


def run(options: SquadOptions) -> int:
  """What `run_squad.py` does; see `bert_tf/tasks/run.py`."""
  return driver.run(SquadTask, options)


class SquadTask(FineTuningTask):
  """Questions, contexts and how they are read; with --ensemble by several runs together, the paper's section 4.2.

  Args:
    checkpoint, settings, prediction_split: of an ensemble's member.

  Attributes:
    settings: of windows and answers, as the run begins.
    prediction_split: the questions to answer; None where there are none.
    members: the runs of an ensemble, of which the driver loads the first; else none.
  """

  options: SquadOptions

  token_outputs = OUTPUTS

  def __init__(self, options: SquadOptions, checkpoint: Checkpoint | None = None,
               settings: SquadSettings | None = None, prediction_split: SquadSplit | None = None):
    self.settings, self.prediction_split = settings, prediction_split
    self.members: list[Checkpoint] = []
    if options.ensemble:
      self.members, self.settings = open_ensemble(options.ensemble, options.given_settings, options.do_lower_case,
                                                  options.output_dir)
      checkpoint = self.members[0]
    super().__init__(options, self._read, checkpoint)
    if self.members:
      self.start.step = max(step_of(member.source) for member in self.members)
    self.teachers = None
    if options.teacher_checkpoint and options.do_train:
      tokenizer = self.checkpoint.tokenizer
      self.teachers = TEACHERS.load("step")(
          options.teacher_checkpoint, "question_answering",
          lambda config, dtype: BertForQuestionAnswering(config, dtype=dtype), self.config,
          self.settings.max_seq_length)
      self.teachers.check_vocabulary(tokenizer.vocabulary, tokenizer.do_lower_case)
    # Also where nothing is scored: weights are never chosen then.
    self.main_metric = self.main_metric or self.data.metrics[0]

  def _read(self, options: SquadOptions, checkpoint: Checkpoint) -> TaskData:
    given, adapted = options.given_settings, []
    if self.settings is None:
      chosen = choose_settings(given, None if options.do_train else checkpoint.task)
      self.settings = chosen.fitted(self.config.max_position_embeddings, given)
      if self.settings != chosen:
        adapted = [f"the model has {self.config.max_position_embeddings} positions: " + ", ".join(
            f"--{name}={value}" for name, value in self.settings.lengths().items() if value != getattr(chosen, name))]
    if options.do_train and self.start.is_own:
      # Of the run itself a threshold is kept that was tuned; what was given in an earlier start is given again or not.
      kept = choose_settings(given, checkpoint.task)
      if kept.null_score_diff_threshold_is.startswith(TUNED_ON):
        self.settings = self.settings.with_threshold(kept.null_score_diff_threshold, kept.null_score_diff_threshold_is)
    self.settings.check_model(self.config)
    parts: dict[str, SquadData] = {}
    if options.do_train or options.dev_fraction:
      parts = options.divided(read_squad(options.train_file, "train_file"))
    tokenizer = checkpoint.tokenizer
    train = training_split(options, self.settings, tokenizer, parts["train"]) if options.do_train else None
    predicted = self.prediction_split = self.prediction_split or read_questions(
        options, self.settings, tokenizer, parts.get("dev"))
    notes = [*adapted] if not options.asks else []
    notes += [line for split in (train, predicted) if split is not None and not options.asks for line in split.notes]
    is_labelled = predicted is not None and predicted.is_labelled
    if options.do_train and predicted is not None and not is_labelled:
      notes.append(f"{predicted.source.path} does not contain the right answers: no evaluation while training, the "
                   "last weights are kept")
    return TaskData(train, {"predict": predicted} if is_labelled else {}, {}, self.settings.to_task(), notes, metrics=(
        ("best_f1", "best_exact", "f1", "exact") if self.settings.version_2_with_negative else ("f1", "exact")))

  @property
  def _num_train_examples(self) -> int:
    return len(self.data.train) if self.options.original_batches else super()._num_train_examples

  def make_model(self, dtype: str) -> BertForQuestionAnswering:
    if self.teachers is not None:
      self.teachers.load(dtype)
    return BertForQuestionAnswering(self.config, seed=self.options.seed, dtype=dtype)

  def objective(self, model: BertForQuestionAnswering) -> Objective:
    return Objective.of(model, None if self.teachers is None else self.teachers.distilled(SPAN, self.options))

  def outputs(self, model: BertForQuestionAnswering, features: dict) -> dict:
    return dict(zip(OUTPUTS, model(features), strict=True))

  def evaluate(self, run: RunningModel) -> Evaluation:
    what = "evaluating" if self.can_evaluate else "predicting"
    return self._answer(run, what).evaluation(run.weights_step)

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    tf.summary.text("eval/answers", evaluation.details.markdown())

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    """Scores are written with the predictions."""

  def predict(self, run: RunningModel) -> None:
    options = self.options
    if options.asks:
      answered = self._answer(run, "reading")
      run.log(answered.describe_single(options.n_best_size if "n_best_size" in options.given else _SHOWN))
      return
    evaluation = run.evaluation()
    answered = evaluation.details
    if options.verbose_logging:
      for line in answered.describe_choices():
        run.log(line)
    if run.devices.is_chief:
      self._keep_threshold(answered.settings, run.description)
      run.log(write(options.output_dir, evaluation))

  def _answer(self, run: RunningModel, what: str) -> Answered:
    """The answers to all questions, with a progress line that begins with `what`."""
    settings, options = choose_settings({}, run.description), self.options
    origin = settings.null_score_diff_threshold_is
    # A threshold that was tuned before is used on other files as it is, which flatters none.
    tune = origin in (DEFAULT, MEAN) or (options.do_train and origin != GIVEN)
    return answer_questions(self.prediction_split, self._logits(run, what), settings, tune, options.official_scores)

  def _logits(self, run: RunningModel, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Of the starts and the ends, float32 [T] each, the windows concatenated; of an ensemble the means."""
    split, count, found = self.prediction_split, len(self.members), []
    if not len(split.windows):
      return np.zeros(0, np.float32), np.zeros(0, np.float32)
    # One model is in memory at a time, beside the first.
    for number in range(max(count, 1)):
      one = run
      if number:
        one = Run(SquadTask(self.options.replace(output_dir="", ensemble=()), self.members[number], self.settings,
                            split), run.devices, run.log)
        one.stop = run.stop
      label = f"{what}, run {number + 1} of {count}" if count else what
      with Progress(label, len(split.windows), "windows") as progress:
        outputs = one.predict(split.examples, progress.advance)
      found.append([outputs[name] for name in OUTPUTS])
      if number:
        del one
        keras.backend.clear_session()
    if not count:
      return tuple(found[0])
    # One by one: stacking an ensemble's logits would double the memory.
    return tuple((sum(logits.astype(np.float64) for logits in side) / count).astype(np.float32)
                 for side in zip(*found, strict=True))

  def _keep_threshold(self, settings: SquadSettings, description: dict) -> None:
    """Keeps a threshold that was tuned in task.json, beside the last and the best weights, or for an ensemble in a file
    of its own, for later predictions into this directory; in no other run's directory."""
    directory = self.options.output_dir
    if settings == choose_settings({}, description):
      return
    if self.members:
      json_files.write(os.path.join(directory, ENSEMBLE_FILE),
                       {"ensemble": fingerprints(self.members), **settings.to_task()})
      return
    threshold = {name: value for name, value in settings.to_task().items() if name.startswith(THRESHOLD)}
    for path in (os.path.join(directory, TASK_FILE), os.path.join(directory, BEST_DIRECTORY, TASK_FILE)):
      if files.exists(path):
        json_files.write(path, {**read_task_file(path), **threshold})
