"""Answers to questions as pieces of texts: SQuAD v1.1 and v2.0 (sections 4.2 and 4.3 of the paper).

Comes after `tasks/question_answering/data.py` (files → windows), `tasks/question_answering/ensemble.py` (windows → logits) and
`tasks/question_answering/results.py` (logits → answers, scores, files); `run_squad.py` turns flags into `SquadOptions` and calls
`run`.
"""

import dataclasses
import os
from collections.abc import Callable, Mapping

import tensorflow as tf

from common import files
from common.errors import UserError
from evaluation.squad_files import describe_choices, format_nbest
from modeling.checkpoints.load import LoadedCheckpoint, open_checkpoint, trained_step
from modeling.losses import example_weights
from modeling.question_answering import BertForQuestionAnswering, span_metrics, span_sums
from tasks.fine_tuning import FineTuningOptions, starting_point
from tasks.question_answering.data import SquadSplit, one_question, read_context, read_predicted, read_training
from tasks.question_answering.ensemble import Ensemble, Logits, fine_tuning, open_ensemble, span_prediction
from tasks.question_answering.results import Answered, answer_questions, describe_threshold, main_metric, write
from tasks.question_answering.settings import DEFAULT, GIVEN, TUNED_ON, SquadSettings, choose_settings
from training import report, run_directory
from training.devices import Devices, set_up
from training.loop import Task
from training.session import Interrupted

# Answers shown to a single question where --n_best_size is not given.
_SHOWN = 5


@dataclasses.dataclass(frozen=True)
class SquadOptions(FineTuningOptions):
  """The flags of `run_squad.py`, which explains them.

  Attributes:
    given: fields of `SquadSettings` that were on the command line; the others are those of the run, or the defaults.
  """

  train_file: str | None = None
  predict_file: str | None = None
  skip_bad_answers: bool = False
  verbose_logging: bool = False
  ensemble: tuple[str, ...] = ()
  question: str | None = None
  context: str | None = None
  context_file: str | None = None
  given: Mapping[str, object] = dataclasses.field(default_factory=dict)

  def check(self) -> None:
    """Raises `UserError` for flags that make no sense, alone or together."""
    super().check()
    asks = self.question is not None
    if not (self.do_train or self.do_predict or asks):
      raise UserError("nothing to do: give --do_train, --do_predict or both, or --question with --context")
    if asks and (self.do_train or self.do_predict):
      raise UserError("--question is for a trained model alone: leave --do_train and --do_predict out")
    if asks != (self.context is not None or self.context_file is not None):
      raise UserError("--question and --context (or --context_file) belong together: give both")
    if self.context is not None and self.context_file is not None:
      raise UserError("--context and --context_file are two texts: give one of them")
    if self.do_train and not self.train_file:
      raise UserError("--do_train needs --train_file")
    if self.do_predict and not self.predict_file:
      raise UserError("--do_predict needs --predict_file")
    if not self.ensemble:
      return
    if self.do_train or self.init_checkpoint:
      raise UserError("--ensemble predicts with trained runs: leave --do_train and --init_checkpoint out")
    if len({os.path.abspath(directory) for directory in self.ensemble}) < max(len(self.ensemble), 2):
      raise UserError(f"--ensemble={','.join(self.ensemble)}: two or more different runs are wanted")


def make_task(model: BertForQuestionAnswering) -> Task:
  """Span prediction as the loop sees it."""
  return Task(losses=("span",), counts=lambda features: {"span_count": tf.reduce_sum(example_weights(features))},
              sums=lambda features, dropout: span_sums(model(features, dropout=dropout), features),
              metrics=span_metrics)


def run(options: SquadOptions, flags: Mapping[str, object]) -> int:
  """Checks everything, then trains and predicts, or answers a single question.

  Args:
    options: what to do.
    flags: the effective flags, kept in `flags.json`.

  Returns:
    the process's exit status: 0, also when it was interrupted and can be resumed.

  Raises:
    UserError: see `SquadOptions.check`, `tasks/question_answering/data.py`, `tasks/question_answering/ensemble.py` and `training`.
  """
  options.check()
  ensemble = None
  if options.ensemble:
    ensemble = open_ensemble(options.ensemble, options.given, options.do_lower_case)
    ensemble = ensemble.with_kept_threshold(options.output_dir)
    opened, settings = ensemble.members[0], ensemble.settings
  else:
    opened, settings = _open(options)
  settings.check(opened.config)
  options = dataclasses.replace(options, max_seq_length=settings.max_seq_length)
  train = None
  if options.do_train:
    train = read_training(options.train_file, settings, opened.tokenizer, options.skip_bad_answers)
  asked = _read_asked(options, settings, opened)
  if options.question is None:
    files.make_output_directory(options.output_dir, "output_dir")
  devices = set_up(options.distribution_strategy, options.precision, options.jit_compile, options.tpu,
                   (options.output_dir, options.init_checkpoint, options.train_file, options.predict_file))
  options.check_devices(devices)
  options = _with_fitting_batches(options, asked, devices)
  say = report.printer(devices.is_chief)
  note = say if options.question is None else lambda line: None
  for split in filter(None, (train, asked)):
    for line in split.notes:
      note(line)
  try:
    if ensemble is not None:
      _predict_together(options, ensemble, asked, devices, flags, say, note)
    else:
      _Run(options, opened, settings, devices, flags, say, note).work(train, asked)
  except Interrupted as interruption:
    what = f"saved in {options.output_dir}; " if options.do_train else ""
    say(f"{interruption}: {what}run the same command again{' to go on from there' if options.do_train else ''}")
  return 0


class _Run:
  """A network in its run directory: trained, asked, or both."""

  def __init__(self, options: SquadOptions, opened: LoadedCheckpoint, settings: SquadSettings, devices: Devices,
               flags: Mapping[str, object], say: Callable[[str], None], note: Callable[[str], None]):
    self._options, self._settings, self._devices, self._say = options, settings, devices, say
    if options.do_train:
      for change in run_directory.changed_flags(options.output_dir, flags):
        say(f"changed since the last run in {options.output_dir}: {change}")
    # What task.json is written from; evaluations change the threshold in it.
    self._task = settings.to_task()
    self._tuning = fine_tuning(options, opened, self._task, devices, flags, note)
    self._predict = span_prediction(self._tuning)
    self._step = trained_step(opened)
    # Of the last evaluation: its step and what was found.
    self._evaluated: tuple[int, Answered] | None = None

  def work(self, train: SquadSplit | None, asked: SquadSplit | None) -> None:
    """Raises `Interrupted` when a signal came."""
    if train is not None:
      self._train(train, asked)
    with self._tuning.stop.listening(self._say):
      if self._options.question is not None:
        _show(self._answer(asked, self._predict(asked, "reading")), self._options, self._say)
      elif self._options.do_predict:
        self._write(asked)

  def _train(self, train: SquadSplit, asked: SquadSplit | None) -> None:
    evaluates = asked is not None and asked.is_scorable
    if asked is not None and not evaluates:
      self._say(f"{asked.data.path} does not tell the right answers: no evaluation while training, the last weights "
                "are kept")
    self._tuning.train(
        make_task(self._tuning.model), train.examples, "accuracy",
        (lambda: self._evaluate(asked)) if evaluates else None, main_metric(self._settings),
        lambda unused_metrics: tf.summary.text("answers", self._evaluated[1].markdown()))
    self._step = self._tuning.step
    record = self._tuning.load_best()
    if record is None:
      return
    self._step = record["step"]
    best = os.path.join(self._options.output_dir, run_directory.BEST_DIRECTORY)
    self._settings = choose_settings({}, files.read_json(os.path.join(best, run_directory.TASK_FILE)))
    self._keep_settings()
    self._say(f"best {record['metric']} {record['metrics'][record['metric']]:.4f} at step {record['step']}, kept in "
              f"{best}")

  def _evaluate(self, asked: SquadSplit) -> dict[str, float]:
    answered = self._answer(asked, self._predict(asked, "evaluating"))
    self._evaluated = (self._tuning.step, answered)
    self._task |= answered.settings.to_task()
    return answered.metrics

  def _answer(self, asked: SquadSplit, logits: Logits) -> Answered:
    # A threshold that was tuned before is used on other files as it is, or their scores would be flattered.
    origin = self._settings.null_score_diff_threshold_is
    return answer_questions(asked, logits, self._settings,
                            tune=origin == DEFAULT or (self._options.do_train and origin != GIVEN))

  def _write(self, asked: SquadSplit) -> None:
    step, answered = self._evaluated or (None, None)
    if step != self._step:
      answered = self._answer(asked, self._predict(asked, "predicting"))
    if answered.settings != self._settings:
      self._settings = answered.settings
      self._keep_settings()
    _write_files(self._options, answered, self._step, self._devices, self._say)

  def _keep_settings(self) -> None:
    """The threshold in task.json, beside the last and the best weights; in no other run's directory."""
    directory = self._options.output_dir
    if not self._devices.is_chief:
      return
    for path in (os.path.join(directory, run_directory.TASK_FILE),
                 os.path.join(directory, run_directory.BEST_DIRECTORY, run_directory.TASK_FILE)):
      if os.path.exists(path):
        files.write_json(path, {**files.read_json(path), **self._settings.threshold()})


def _open(options: SquadOptions) -> tuple[LoadedCheckpoint, SquadSettings]:
  start = starting_point(options)
  opened = open_checkpoint(start, bert_config_file=options.bert_config_file, vocab_file=options.vocab_file,
                        do_lower_case=options.do_lower_case)
  if not options.do_train:
    return opened, choose_settings(options.given, opened.task)
  # What is trained further from another run's weights has no threshold yet, nor has a run that was given one before.
  settings = choose_settings(options.given, opened.task if start == options.output_dir else None, threshold_only=True)
  was_tuned = settings.null_score_diff_threshold_is.startswith(TUNED_ON)
  return opened, settings if was_tuned else choose_settings(options.given, None)


def _read_asked(options: SquadOptions, settings: SquadSettings, opened: LoadedCheckpoint) -> SquadSplit | None:
  if options.question is not None:
    context = options.context if options.context_file is None else read_context(options.context_file)
    return one_question(options.question, context, settings, opened.tokenizer)
  if options.predict_file and (options.do_predict or options.eval_steps != 0):
    return read_predicted(options.predict_file, settings, opened.tokenizer)
  return None


def _with_fitting_batches(options: SquadOptions, asked: SquadSplit | None, devices: Devices) -> SquadOptions:
  """Batches of predictions are filled up with copies, which a single question should not wait for."""
  if asked is None:
    return options
  replicas = devices.strategy.num_replicas_in_sync
  needed = max(-(-len(asked.windows) // replicas), 1) * replicas
  return dataclasses.replace(options, predict_batch_size=min(options.predict_batch_size, needed))


def _predict_together(options: SquadOptions, ensemble: Ensemble, asked: SquadSplit, devices: Devices,
                      flags: Mapping[str, object], say: Callable[[str], None], note: Callable[[str], None]) -> None:
  settings = ensemble.settings
  logits = ensemble.logits(options, asked, devices, flags, note)
  tuned = settings.null_score_diff_threshold_is
  answered = answer_questions(asked, logits, settings, tune=tuned != GIVEN and not tuned.startswith(TUNED_ON))
  if options.question is not None:
    _show(answered, options, say)
    return
  if devices.is_chief and answered.settings != settings:
    ensemble.keep_threshold(options.output_dir, answered.settings)
  _write_files(options, answered, ensemble.step, devices, say)


def _write_files(options: SquadOptions, answered: Answered, step: int, devices: Devices, say: Callable[[str], None]
                 ) -> None:
  if options.verbose_logging:
    for line in describe_choices(answered.results, answered.settings.null_score_diff_threshold):
      say(line)
  if devices.is_chief:
    say(write(options.output_dir, answered, step))


def _show(answered: Answered, options: SquadOptions, say: Callable[[str], None]) -> None:
  """The answers to a single question."""
  (result,) = answered.results
  say(format_nbest(result, options.given.get("n_best_size", _SHOWN)))
  if result.null_odds is not None:
    chosen = result.choose(answered.settings.null_score_diff_threshold)
    say(f"answer: {chosen.text if chosen.start is not None else '(no answer)'}; null odds {result.null_odds:.4f}, "
        f"{describe_threshold(answered.settings)}")
