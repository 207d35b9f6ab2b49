"""Answers to questions as parts of texts: SQuAD v1.1 and v2.0 (sections 4.2 and 4.3 of the paper).

Input: windows (`bert_tf/tasks/question_answering/data.py`). Output: a run directory, by way of `bert_tf/tasks/run.py`,
with answers and scores (`bert_tf/tasks/question_answering/results.py`).
"""

import os

import numpy as np
import tensorflow as tf

from bert_common import files, gzipped, json_files
from bert_common.progress import Progress
from bert_tf.evaluation.squad_files import describe_choices
from bert_tf.tasks import run as driver
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.question_answering.data import SquadSplit, one_question, read_predicted, read_training
from bert_tf.tasks.question_answering.options import (
  DEFAULT,
  GIVEN,
  TUNED_ON,
  SquadOptions,
  SquadSettings,
  choose_settings,
)
from bert_tf.tasks.question_answering.results import Answered, answer_questions, write
from bert_tf.tasks.splits import TaskData
from bert_tf.tasks.task import RunningModel
from bert_tf.tasks.teachers import Teachers
from bert_tf.training.step import Objective
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.companion_files import BEST_DIRECTORY, TASK_FILE, read_task_file
from modeling.checkpoints.load import Checkpoint
from modeling.config import BertConfig
from modeling.question_answering import SPAN, BertForQuestionAnswering

# float32 [T] each: of the starts and the ends, the windows concatenated.
Logits = tuple[np.ndarray, np.ndarray]

OUTPUTS = ("start_logits", "end_logits")
# Answers shown to a single question where --n_best_size is not given.
_SHOWN = 5


def run(options: SquadOptions) -> int:
  """What `run_squad.py` does; see `bert_tf/tasks/run.py`."""
  if options.ensemble:
    from bert_tf.tasks.question_answering.ensemble import EnsembleTask

    return driver.run(EnsembleTask, options)
  return driver.run(SquadTask, options)


class SquadTask(FineTuningTask):
  """Questions, contexts and how they are read.

  Attributes:
    settings: of windows and answers, as the run begins.
    prediction_split: the questions to answer; None where there are none.
  """

  options: SquadOptions

  token_outputs = OUTPUTS

  def __init__(self, options: SquadOptions, checkpoint: Checkpoint | None = None,
               settings: SquadSettings | None = None, prediction_split: SquadSplit | None = None):
    self.settings, self.prediction_split = settings, prediction_split
    super().__init__(options, self._read, checkpoint)
    self.teachers: Teachers | None = None
    if options.teacher_checkpoint and options.do_train:
      tokenizer = self.checkpoint.tokenizer
      self.teachers = Teachers(options.teacher_checkpoint, "question_answering", _make_teacher, self.config,
                               self.settings.max_seq_length)
      self.teachers.check_vocabulary(tokenizer.vocabulary, tokenizer.do_lower_case)
      self.data.sources["--teacher_checkpoint"] = lambda: self.teachers.digest
    self.main_metric = self.settings.main_metric

  def _read(self, options: SquadOptions, checkpoint: Checkpoint) -> TaskData:
    self.settings = self.settings or self._choose_settings()
    self.settings.check_model(self.config)
    train = read_training(options.train_file, self.settings, checkpoint.tokenizer, options.skip_bad_answers,
                          options.max_train_examples) if options.do_train else None
    predicted = self.prediction_split = self.prediction_split or _read_prediction_split(
        options, self.settings, checkpoint.tokenizer)
    notes = [line for split in (train, predicted) if split is not None and not options.asks for line in split.notes]
    if options.do_train and predicted is not None and not predicted.is_labelled:
      notes.append(f"{predicted.source.path} does not tell the right answers: no evaluation while training, the last "
                   "weights are kept")
    return TaskData(train, {"predict": predicted} if predicted is not None and predicted.is_labelled else {}, {},
                    self.settings.to_task(), notes)

  def _choose_settings(self) -> SquadSettings:
    options, task = self.options, self.checkpoint.task
    if not options.do_train:
      return choose_settings(options.given_settings, task)
    # What is trained further from another run's weights has no threshold yet, nor has a run that was given one before.
    own_task = task if self.start.is_own else None
    settings = choose_settings(options.given_settings, own_task, threshold_only=True)
    was_tuned = settings.null_score_diff_threshold_is.startswith(TUNED_ON)
    return settings if was_tuned else choose_settings(options.given_settings, None)

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

  def logits(self, run: RunningModel, what: str) -> Logits:
    """Of all windows of the prediction split, with a progress line that begins with `what`."""
    split = self.prediction_split
    if not len(split.windows):
      return np.zeros(0, np.float32), np.zeros(0, np.float32)
    with Progress(what, len(split.windows), "windows") as progress:
      outputs = run.predict(split.examples, progress.advance)
    return outputs["start_logits"], outputs["end_logits"]

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
    self._keep_threshold(run, answered.settings)
    if options.verbose_logging:
      for line in describe_choices(answered.results, answered.settings.null_score_diff_threshold):
        run.log(line)
    if run.devices.is_chief:
      run.log(write(options.output_dir, evaluation))

  def _answer(self, run: RunningModel, what: str) -> Answered:
    settings = choose_settings({}, run.description)
    return answer_questions(self.prediction_split, self.logits(run, what), settings,
                            self._tunes(settings.null_score_diff_threshold_is), self.options.official_scores)

  def _tunes(self, origin: str) -> bool:
    """Whether the threshold is tuned: one that was before is used on other files as it is, which flatters none."""
    return origin == DEFAULT or (self.options.do_train and origin != GIVEN)

  def _keep_threshold(self, run: RunningModel, settings: SquadSettings) -> None:
    """The threshold in task.json, beside the last and the best weights; in no other run's directory."""
    if not run.devices.is_chief or settings == choose_settings({}, run.description):
      return
    directory = self.options.output_dir
    for path in (os.path.join(directory, TASK_FILE), os.path.join(directory, BEST_DIRECTORY, TASK_FILE)):
      if files.exists(path):
        json_files.write(path, {**read_task_file(path), **settings.threshold()})


def _make_teacher(config: BertConfig, dtype: str) -> BertForQuestionAnswering:
  return BertForQuestionAnswering(config, dtype=dtype)


def _read_prediction_split(options: SquadOptions, settings: SquadSettings, tokenizer: Tokenizer) -> SquadSplit | None:
  """The questions that the options ask for."""
  if options.asks:
    context = options.context if options.context_file is None else gzipped.read_text(
        files.check_readable(options.context_file, "context_file"))
    return one_question(options.question, context, settings, tokenizer)
  if options.predict_file and (options.do_predict or options.eval_steps != 0):
    return read_predicted(options.predict_file, settings, tokenizer, options.max_predict_examples)
  return None
