"""Pre-training: masked LM and next sentence (section 3.1 and A.2 of the paper).

Comes after `modeling/pretraining.py` (the network) and `training/session.py` (the loop); `run_pretraining.py` turns
flags into `PretrainingOptions` and calls `run`.
"""

import dataclasses
import os
from collections.abc import Mapping

import tensorflow as tf

from common import files
from common.checks import check_at_least
from common.errors import UserError
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.huggingface_config import read_either_config
from modeling.checkpoints.load import Checkpoint, read_checkpoint
from modeling.checkpoints.load import load_weights as load_into
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining, pretraining_counts, pretraining_metrics, pretraining_sums
from tasks.eval_results import describe_evaluation, write_eval_results
from tasks.pretraining import data as pretraining_data
from tasks.pretraining import report as pretraining_report
from training import report, run_directory
from training.devices import Devices, TpuOptions, set_up
from training.inputs import RecordFiles, evaluation_dataset, training_dataset
from training.loop import Evaluator, StepOptions, Task, Trainer, TrainingState
from training.optimization import AdamWeightDecay, LearningRateSchedule
from training.session import Interrupted, Session, SessionOptions, StopSignal


@dataclasses.dataclass(frozen=True)
class PretrainingOptions:
  """The flags of `run_pretraining.py`, which explains them."""

  input_file: str
  output_dir: str
  bert_config_file: str | None = None
  init_checkpoint: str | None = None
  eval_file: str | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  max_seq_length: int = 128
  max_predictions_per_seq: int = 20
  do_train: bool = False
  do_eval: bool = False
  train_batch_size: int = 32
  eval_batch_size: int = 8
  learning_rate: float = 5e-5
  num_train_steps: int = 100_000
  num_warmup_steps: int = 10_000
  save_checkpoints_steps: int = 1000
  keep_checkpoint_max: int = 5
  iterations_per_loop: int | None = None
  eval_steps: int = 0
  max_eval_steps: int | None = None
  seed: int = 12345
  next_sentence_prediction: bool = True
  optimizer_bias_correction: bool = False
  gradient_accumulation_steps: int = 1
  distribution_strategy: str = "auto"
  precision: str = "auto"
  jit_compile: str = "auto"
  profile_steps: tuple[int, int] | None = None
  tpu: TpuOptions = TpuOptions()

  @property
  def losses(self) -> tuple[str, ...]:
    """Names of the parts of the loss."""
    return ("masked_lm", "next_sentence") if self.next_sentence_prediction else ("masked_lm",)


@dataclasses.dataclass(frozen=True)
class _Checked:
  """What the checks found."""

  config: BertConfig
  source: Checkpoint | None
  train_files: RecordFiles
  eval_files: RecordFiles
  v2_feature_names: dict[str, bool]
  vocabulary: Vocabulary | None
  do_lower_case: bool | None


def make_task(model: BertForPreTraining, losses: tuple[str, ...] = ("masked_lm", "next_sentence")) -> Task:
  """Pre-training as the loop sees it.

  Args:
    model: the network.
    losses: ("masked_lm",) trains without the next-sentence task (section 5.1 of the paper).
  """
  return Task(
      losses=losses, counts=pretraining_counts,
      sums=lambda features, dropout: pretraining_sums(model(features, dropout=dropout), features),
      metrics=lambda sums: pretraining_metrics(sums, losses))


def run(options: PretrainingOptions, flags: Mapping[str, object]) -> int:
  """Checks everything, then trains and evaluates.

  Args:
    options: what to do.
    flags: the effective flags, kept in `flags.json`.

  Returns:
    the process's exit status: 0, also when it was interrupted and can be resumed.

  Raises:
    UserError: see `tasks.pretraining_data` and `training`.
  """
  checked = _check(options)
  devices = set_up(options.distribution_strategy, options.precision, options.jit_compile, options.tpu,
                   (options.input_file, options.eval_file, options.output_dir, options.init_checkpoint))
  _check_batch_sizes(options, devices)
  say = report.printer(devices.is_chief)
  for change in run_directory.changed_flags(options.output_dir, flags):
    say(f"changed since the last run in {options.output_dir}: {change}")
  with devices.strategy.scope():
    model = BertForPreTraining(checked.config, seed=options.seed, dtype=devices.dtype)
    model.build_weights()
    state = TrainingState()
    optimizer = None
    if options.do_train:
      optimizer = AdamWeightDecay(raw_variables(model), bias_correction=options.optimizer_bias_correction)
    checkpoint = run_directory.checkpoint_of(model, state, optimizer)
    manager = run_directory.CheckpointManager(
        checkpoint, options.output_dir, state.step, options.save_checkpoints_steps, options.keep_checkpoint_max)
    restored = manager.restore_or_initialize()
    if restored:
      say(f"resuming from {restored}, step {int(state.step.numpy())}")
    elif checked.source is not None:
      say(load_into(model, checked.source).describe())
    elif not options.do_train:
      raise UserError(f"--do_eval: {options.output_dir} holds no checkpoint: give --init_checkpoint, or train first")
  if devices.is_chief and options.do_train:
    vocab_path = checked.vocabulary.path if checked.vocabulary else None
    run_directory.write_description(options.output_dir, "run_pretraining.py", flags, checked.config, vocab_path,
                                    checked.do_lower_case)
  try:
    return _train_and_evaluate(options, checked, devices, model, state, optimizer, manager, say)
  except tf.errors.OpError as error:
    if devices.num_workers > 1 and "Collective ops is aborted" in error.message:
      raise UserError("another process of the cluster has gone, see what it said: run the same command again on all "
                      "machines to go on from the last checkpoint") from None
    if isinstance(error, (tf.errors.DataLossError, tf.errors.NotFoundError, tf.errors.InvalidArgumentError)):
      say("reading failed; looking for the record that is wrong")
      for flag, record_files in (("input_file", checked.train_files), ("eval_file", checked.eval_files)):
        pretraining_data.check_all_records(record_files, flag, checked.config, options.max_seq_length,
                                           options.max_predictions_per_seq)
    raise


def _train_and_evaluate(options: PretrainingOptions, checked: _Checked, devices: Devices, model: BertForPreTraining,
                        state: TrainingState, optimizer: AdamWeightDecay | None,
                        manager: run_directory.CheckpointManager, say) -> int:
  task = make_task(model, options.losses)
  stop = StopSignal()
  strategy = devices.strategy

  def parse(which: str):
    return pretraining_data.parser(options.max_seq_length, options.max_predictions_per_seq, checked.config.vocab_size,
                                   checked.v2_feature_names[which])

  def training_data():
    return strategy.distribute_datasets_from_function(lambda context: training_dataset(
        checked.train_files, parse("train"), options.train_batch_size, options.seed, int(state.examples.numpy()),
        context))

  def evaluation_data():
    return strategy.distribute_datasets_from_function(lambda context: evaluation_dataset(
        checked.eval_files, parse("eval"), options.eval_batch_size, context, options.max_eval_steps))

  trainer = evaluator = session_options = None
  if options.do_train:
    schedule = LearningRateSchedule(options.learning_rate, options.num_train_steps, options.num_warmup_steps)
    trainer = Trainer(task, optimizer, schedule, state, training_data, strategy, options.train_batch_size, StepOptions(
        jit_compile=devices.jit_compile, gradient_accumulation_steps=options.gradient_accumulation_steps,
        loss_scaling=devices.dtype == "mixed_float16", seed=options.seed))
    session_options = SessionOptions(
        num_train_steps=options.num_train_steps, save_checkpoints_steps=options.save_checkpoints_steps,
        eval_steps=options.eval_steps, iterations_per_loop=options.iterations_per_loop,
        tokens_per_example=options.max_seq_length, profile_steps=options.profile_steps,
        shown_metric="masked_lm_accuracy")
  if options.do_eval or options.eval_steps:
    evaluator = Evaluator(task, evaluation_data, strategy, devices.jit_compile,
                          stop.check if devices.num_workers == 1 else lambda: None)
  show_samples = None
  if evaluator is not None and devices.is_chief and checked.vocabulary is not None:
    samples = pretraining_report.sample_predictions(
        model, checked.eval_files, parse("eval"), checked.vocabulary)

    def show_samples(_):
      session.write_text("samples", samples())
  session = Session(options.output_dir, devices, state, manager if devices.is_chief else None, trainer, evaluator,
                    session_options, stop, show_samples)

  metrics = None
  if options.do_train:
    if session.step >= options.num_train_steps:
      say(f"training is finished: {options.output_dir} is at step {session.step} of {options.num_train_steps}; "
          "to train further, raise --num_train_steps (the learning rate then follows the longer schedule)")
    else:
      say(pretraining_report.plan(options, checked.config, model, devices, checked.train_files, session.step))
      session.write_text("flags", report.flags_table(dataclasses.asdict(options)))
      try:
        metrics = session.train()
      except Interrupted as interruption:
        say(f"{interruption}: saved step {session.step} in {options.output_dir}; "
            "run the same command again to go on from there")
        return 0
      say(f"trained to step {session.step}: {manager.latest_checkpoint}")
  if options.do_eval:
    if metrics is None:
      metrics = session.evaluate()
    if devices.is_chief:
      write_eval_results(options.output_dir, session.step, metrics)
      say(describe_evaluation(options.output_dir, checked.eval_files.num_examples, metrics))
  return 0


def _check(options: PretrainingOptions) -> _Checked:
  """Everything that can be known to be wrong before devices are touched."""
  if not (options.do_train or options.do_eval):
    raise UserError("nothing to do: give --do_train, --do_eval or both")
  check_at_least(options, 1, "train_batch_size", "eval_batch_size", "num_train_steps", "save_checkpoints_steps",
                 "max_seq_length", "max_predictions_per_seq", "gradient_accumulation_steps", "iterations_per_loop",
                 "max_eval_steps")
  check_at_least(options, 0, "num_warmup_steps", "eval_steps", "keep_checkpoint_max", "seed")
  if not options.learning_rate > 0:
    raise UserError(f"--learning_rate is {options.learning_rate}, it must be positive")
  if options.profile_steps and options.profile_steps[1] > options.num_train_steps:
    raise UserError(f"--profile_steps={options.profile_steps[0]},{options.profile_steps[1]} goes beyond the end of "
                    f"training, --num_train_steps={options.num_train_steps}")
  source = read_checkpoint(options.init_checkpoint) if options.init_checkpoint else None
  config = _config(options, source)
  lengths = (options.max_seq_length, options.max_predictions_per_seq)
  train_files, train_v2 = pretraining_data.check_records(options.input_file, "input_file", config, *lengths)
  eval_files, eval_v2 = train_files, train_v2
  if options.eval_file:
    eval_files, eval_v2 = pretraining_data.check_records(options.eval_file, "eval_file", config, *lengths)
  files.make_output_directory(options.output_dir, "output_dir")
  run_directory.check_same_model(options.output_dir, config)
  beside = None
  if options.bert_config_file:
    beside = os.path.join(os.path.dirname(options.bert_config_file), run_directory.VOCAB_FILE)
  vocabulary, do_lower_case = pretraining_data.find_vocabulary(
      config, options.vocab_file,
      [source.vocab_file if source else None, beside, os.path.join(options.output_dir, run_directory.VOCAB_FILE)],
      train_files.paths)
  if options.do_lower_case is not None:
    do_lower_case = options.do_lower_case
  elif do_lower_case is None and source is not None:
    do_lower_case = source.do_lower_case
  return _Checked(config=config, source=source, train_files=train_files, eval_files=eval_files,
                  v2_feature_names={"train": train_v2, "eval": eval_v2}, vocabulary=vocabulary,
                  do_lower_case=do_lower_case)


def _config(options: PretrainingOptions, source: Checkpoint | None) -> BertConfig:
  if options.bert_config_file:
    return read_either_config(options.bert_config_file)
  path = os.path.join(options.output_dir, run_directory.CONFIG_FILE)
  if run_directory.latest_checkpoint(options.output_dir) is not None and os.path.isfile(path):
    return BertConfig.from_file(path)
  if source is not None and source.config is not None:
    return source.config
  raise UserError("--bert_config_file must be given (or an --init_checkpoint with a bert_config.json beside it)")


def _check_batch_sizes(options: PretrainingOptions, devices: Devices) -> None:
  replicas = devices.strategy.num_replicas_in_sync
  parts = options.gradient_accumulation_steps
  if options.do_train and options.train_batch_size % (replicas * parts):
    accumulated = f" x {parts} gradient accumulation steps" if parts > 1 else ""
    raise UserError(f"--train_batch_size={options.train_batch_size} is the batch of all devices together and can't be "
                    f"divided by {replicas} replicas{accumulated}: take a multiple of {replicas * parts}")
  if (options.do_eval or options.eval_steps) and options.eval_batch_size % replicas:
    raise UserError(f"--eval_batch_size={options.eval_batch_size} can't be divided by {replicas} replicas: take a "
                    f"multiple of {replicas}")
