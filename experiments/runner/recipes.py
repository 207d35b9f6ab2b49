"""From a model and a column to the jobs that measure it: text → vocabulary → records → pre-training → fine-tuning.

Every command is one that a user could type; `--print_plan` shows them.
"""

import dataclasses
import math
import os
import re
from collections.abc import Mapping

from bert_common.errors import UserError
from bert_tf.run_results import SELECTION_FILE
from bert_tf.tasks.evaluation import EVAL_RESULTS
from data_gen.labelled import glue
from experiments.runner import data
from experiments.runner import experiment as columns
from experiments.runner.data import Source
from experiments.runner.experiment import Column, Model, Row
from experiments.runner.jobs import Given, Job, Joined, Made, Plan
from experiments.runner.options import CORPORA, ExperimentOptions
from experiments.runner.scales import DISTILLATION, TEACHER, FineTuning, Phase, Scale, Size
from modeling.config import BertConfig
from modeling.costs import training_flops

_CHECKPOINTS = ("ckpt-*", "best", "vocab.txt")
# Kind of a column → what fine-tunes for it, and the flag that measures.
_SCRIPTS = {columns.GLUE: ("run_classifier.py", "do_eval"), columns.SQUAD: ("run_squad.py", "do_predict"),
            columns.SWAG: ("run_swag.py", "do_eval"), columns.NER: ("run_ner.py", "do_eval")}


@dataclasses.dataclass(frozen=True)
class Measurement:
  """Where a number is found when the job is complete.

  Attributes:
    job: its name.
    seed: of the repetition.
    examples, flops: of the pre-training before it; 0 where there is no single one.
  """

  job: str
  seed: int
  examples: float = 0.0
  flops: float = 0.0


class Recipes:
  """Adds jobs to a plan, with the settings of a scale and the data that the options name."""

  def __init__(self, plan: Plan, scale: Scale, options: ExperimentOptions):
    self._plan, self._scale, self._options = plan, scale, options
    self.seeds = options.seeds or scale.seeds

  def results(self, row: Row, column: Column, source: Source | None) -> list[Measurement]:
    """The jobs that measure a row in a column, one for each repetition."""
    if column.kind == columns.PRETRAINING:
      # Of the pre-trainings there are, one for each repetition or one for all.
      seeds = list(dict.fromkeys(self._pretraining_seed(seed) for seed in self.seeds))
      return [Measurement(self.pretrained(row.model, seed).name, seed) for seed in seeds]
    if row.members > 1:
      return [Measurement(self._ensemble(row, column, source).name, self.seeds[0])]
    spent = self.spent(row.model, row.at) if row.pretrained and not self._given(row.model) else (0.0, 0.0)
    return [Measurement(self.measured(row, column, source, seed).name, seed, *spent) for seed in self.seeds]

  def measured(self, row: Row, column: Column, source: Source, seed: int, pretraining_seed: int | None = None) -> Job:
    """One fine-tuning, or features with a BiLSTM on top, and its evaluation.

    Args:
      pretraining_seed: None for that of the repetition.
    """
    if pretraining_seed is None:
      pretraining_seed = self._pretraining_seed(seed)
    # The end of a curve is what other tables have measured.
    at = "" if row.at in (None, 1.0) else str(self._steps(row.model, row.at))
    start, suffix = self._start_of(row, pretraining_seed, at)
    name = f"{column.task or column.kind}-{suffix}{'-bilstm' if row.bilstm else ''}-run{seed}"
    if column.kind == columns.FEATURES:
      return self._features(f"features-{suffix}-run{seed}", row, source, start, seed)
    settings = self._scale.fine_tuning[self._scale.recipe(row, column)]
    name = f"{name}-{row.recipe}" if row.recipe else name
    if row.teacher is not None:
      start, name = Made(self._taught(name, row, column, source, start, seed).name), f"{name}-taught"
    return self._fine_tuned(name, row, column, source, settings, start, seed)

  def _start_of(self, row: Row, pretraining_seed: int, at: str) -> tuple[Made | Given, str]:
    """A checkpoint, or the configuration of random weights, and its part of the names of jobs."""
    name = self._model_name(row.model)
    if not row.pretrained:
      config_file = self._given(row.model, "bert_config.json") or Made(self.config(row.model).name, "bert_config.json")
      return config_file, f"{name}-random"
    given = self._given(row.model)
    if given and row.model == Model(row.model.size) and row.at is None:
      return given, name
    run = self.pretrained(row.model, pretraining_seed)
    return Made(run.name, f"ckpt-{at}" if at else ""), run.name.removeprefix("pretrain-") + (f"-at{at}" if at else "")

  def pretrained(self, model: Model, seed: int) -> Job:
    """A pre-training with everything before it: its phases are one run under one schedule."""
    scale, steps, phases = self._scale, self._steps(model), self._scale.phases
    if given := self._given(model):
      raise UserError(f"--checkpoints={model.size}:{given.path}: this experiment measures the size's pre-training, or "
                      "trains it in other ways: leave the size out")
    records = [Made(self._records(model, phase, "train").name, "train.tfrecord-*-of-*") for phase in phases]
    held_out = tuple(Made(self._records(model, phase, "dev").name, "dev.tfrecord") for phase in phases)
    read: dict[str, object] = {"input_file": records[0], "max_seq_length": phases[0].length,
                               "max_predictions_per_seq": phases[0].predictions}
    if len(phases) > 1:
      read = {"phases": tuple(Joined((f"{phase.length}:{phase.share}:", one))
                              for phase, one in zip(phases, records, strict=True))}
    # Ten for a curve; of a large model that trains for a few steps they would take longer than the steps.
    every = max(steps // 10, scale.steps // 25) or steps
    return self._add(f"pretrain-{self._model_name(model)}-seed{seed}", "run_pretraining.py", {
        "do_train": True, "do_eval": True, **read, "eval_file": held_out,
        "bert_config_file": Made(self.config(model).name, "bert_config.json"), "vocab_file": self._vocab_file(model),
        "do_lower_case": not model.cased, "train_batch_size": scale.batch_size,
        "eval_batch_size": scale.eval_batch_size,
        **({"masking": model.masking} if scale.dynamic_masking else {}),
        "learning_rate": self._size(model).learning_rate or scale.learning_rate, "num_train_steps": steps,
        "num_warmup_steps": max(1, min(scale.warmup_steps, steps // 4)), "eval_steps": every,
        "save_checkpoints_steps": max(1, steps // scale.checkpoints),
        "keep_checkpoint_max": 0 if self._keeps_checkpoints(model) else 1, "seed": seed,
        "next_sentence_prediction": model.next_sentence}, EVAL_RESULTS, makes=_CHECKPOINTS,
        work=(steps * scale.batch_size, self.spent(model, None)[1]))

  def config(self, model: Model) -> Job:
    """The bert_config.json of a model."""
    size = self._size(model)
    own = {} if size.initializer_range is None else {"initializer_range": size.initializer_range}
    longest = max(max(phase.length for phase in self._scale.phases),
                  *(one.length for one in self._scale.fine_tuning.values()))
    return self._add(f"config-{self._shape_name(model)}", "experiments/write_config.py", {
        "vocab_file": self._vocab_file(model), "num_hidden_layers": size.layers, "hidden_size": size.hidden,
        "num_attention_heads": size.heads, "max_position_embeddings": longest, "causal": model.left_to_right,
        **self._scale.config, **own}, "bert_config.json")

  def spent(self, model: Model, at: float | None) -> tuple[float, float]:
    """(sequences, floating-point operations) of a pre-training up to the checkpoint at a share of it."""
    steps = made = self._steps(model, at)
    flops = 0.0
    for phase in self._scale.phases:
      count = min(made, round(phase.share * self._steps(model)))
      # Left to right every position is projected to the vocabulary.
      predictions = phase.length if model.left_to_right else phase.predictions
      flops += count * self._scale.batch_size * training_flops(self._bert_config(model), phase.length, predictions)
      made -= count
    return float(steps * self._scale.batch_size), flops

  def _fine_tuned(self, name: str, row: Row, column: Column, source: Source, settings: FineTuning,
                  start: Made | Given, seed: int) -> Job:
    script, asked = _SCRIPTS[column.kind]
    flags = {**self._start(row.model, start), "do_train": True, asked: True, **self._data_flags(column, source),
             **self._settings_flags(settings, seed)}
    if column.kind == columns.GLUE:
      flags["task_name"] = column.task
    if row.bilstm:
      flags["bilstm_units"] = self._size(row.model).hidden
    examples = min(source.examples, settings.most_examples or source.examples)
    return self._add(name, script, flags, EVAL_RESULTS, makes=("",),
                     work=self._tuning_work(row.model, settings, examples))

  def _start(self, model: Model, start: Made | Given) -> dict[str, object]:
    """The flags of a start from a checkpoint, or from random weights where a configuration is given."""
    if not start.path.endswith("bert_config.json"):
      return {"init_checkpoint": start}
    vocab_file = self._given(model, "vocab.txt") or self._vocab_file(model)
    return {"bert_config_file": start, "vocab_file": vocab_file, "do_lower_case": not model.cased}

  def _taught(self, name: str, row: Row, column: Column, source: Source, start: Made | Given,
             seed: int) -> Job:
    """A student on the outputs of its teacher alone: for the training set and, as transfer text, all of its file."""
    teacher = self.measured(Row("teacher", row.teacher, recipe=TEACHER), column, source, seed)
    settings, columns_of = self._scale.fine_tuning[DISTILLATION], glue.find_task(column.task).columns
    data_flags, transfer = self._data_flags(column, source), {}
    if not source.split:
      transfer = {"transfer_file": Given(f"{source.flags['data_dir'].path}/train.tsv"),
                  "text_a_column": columns_of.text_a}
      transfer |= {} if columns_of.text_b is None else {"text_b_column": columns_of.text_b}
    return self._add(f"distil-{name}", "run_classifier.py", {
        **self._start(row.model, start), "do_train": True, "do_eval": True, "task_name": column.task, **data_flags,
        "teacher_checkpoint": Made(teacher.name), "distillation_weight": 1.0, **transfer,
        **self._settings_flags(settings, seed)}, EVAL_RESULTS, makes=("",),
        work=self._tuning_work(row.model, settings, source.examples + (settings.most_examples or 0)))

  def _features(self, name: str, row: Row, source: Source, start: Made | Given, seed: int) -> Job:
    settings = self._scale.fine_tuning[columns.FEATURES]
    last = tuple(str(number) for number in range(-min(4, self._size(row.model).layers), 0))
    chosen, result = {"layers": last, "combine": "concat"}, EVAL_RESULTS
    if row.layers:
      name, chosen, result = f"{name}-all", {"layers": "all"}, SELECTION_FILE
    flops = source.examples / 3 * training_flops(self._bert_config(row.model), settings.length, 0)
    return self._add(name, "run_ner.py", {
        "feature_based": True, **chosen, "init_checkpoint": start, "do_train": True, "do_eval": True, **source.flags,
        **self._settings_flags(settings, seed, dropout=False)}, result,
        work=(round(settings.epochs * source.examples), flops))

  def _ensemble(self, row: Row, column: Column, source: Source) -> Job:
    """Runs with pre-training seeds and fine-tuning seeds of their own, which answer together."""
    members = min(row.members, self._scale.members)
    single = dataclasses.replace(row, members=1)
    runs = [self.measured(single, column, source, seed, pretraining_seed=seed) for seed in range(1, members + 1)]
    name = f"ensemble{members}-{re.split('-(?:seed|run)[0-9]', runs[0].name)[0]}"
    return self._add(name, "run_squad.py", {
        "ensemble": tuple(Made(one.name) for one in runs), "do_predict": True,
        "predict_file": source.flags["predict_file"]}, EVAL_RESULTS)

  def _settings_flags(self, settings: FineTuning, seed: int, dropout: bool = True) -> dict[str, object]:
    rate = settings.grid or settings.learning_rate
    flags = {"max_seq_length": settings.length, "train_batch_size": settings.batch_size, "learning_rate": rate,
             "num_train_epochs": settings.epochs, "seed": seed, **settings.flags}
    if settings.most_examples:
      flags["max_train_examples"] = settings.most_examples
    return flags | (self._scale.fine_tuning_flags if dropout else {})

  def _data_flags(self, column: Column, source: Source) -> dict[str, object]:
    if not source.split:
      return dict(source.flags)
    task = glue.find_task(column.task)
    return {"data_dir": Made(self._add(
        f"split-{column.task}", "experiments/split_dev_set.py", {"task_name": column.task, **source.flags},
        f"{task.folder}/{task.files[glue.dev_splits(task)[0]]}").name)}

  def _corpus(self) -> Job:
    """The prepared text, and what is held out of it."""
    text, is_plan = self._options.corpus, self._options.print_plan
    given: Made | Given = Given(text or "corpus/*.txt")
    if text is None and not is_plan and self._scale.name in CORPORA:
      raise UserError(f"--scale={self._scale.name} needs --corpus: {CORPORA[self._scale.name]} (--print_plan shows "
                      "what would be done with it)")
    if text is None and not (is_plan and self._scale.cores is None):
      self._add("text", "data_gen/extract_docstrings.py", self._workers(), "docstrings.jsonl",
                output="docstrings.jsonl")
      given = Made("text", "docstrings.jsonl")
    return self._add("corpus", "data_gen/prepare_corpus.py", {
        "input_file": given, "held_out_fraction": self._scale.held_out, "held_out_file": Made("corpus", "held_out.txt"),
        **self._workers()}, "train.txt", makes=("held_out.txt",), output="train.txt")

  def _vocab_file(self, model: Model) -> Made:
    corpus, name = self._corpus(), "vocab-cased" if model.cased else "vocab"
    self._add(name, "vocab/build_vocab.py", {
        "input_file": Made(corpus.name, "train.txt"), "held_out_file": Made(corpus.name, "held_out.txt"),
        "vocab_size": self._scale.vocab_size, "do_lower_case": not model.cased, **self._workers()}, "vocab.txt")
    return Made(name, "vocab.txt")

  def _records(self, model: Model, phase: Phase, split: str) -> Job:
    """Of split "train", or "dev": masked as in the paper whatever the model was trained with, for perplexities that can
    be compared."""
    text, dupe_factor, masking, output = {
        "train": ("train.txt", self._scale.dupe_factor, model.masking, "train.tfrecord@8"),
        "dev": ("held_out.txt", 1, Model().masking, "dev.tfrecord")}[split]
    masked, kind = {"masking": masking}, masking.replace(",", "_")
    if split == "train" and self._scale.dynamic_masking:
      masked, kind = {"dynamic_masking": True}, "dynamic"
    vocab_file = self._vocab_file(model)
    name = "-".join([f"records-{split}-{phase.length}", kind, *(["cased"] if model.cased else []),
                     *([] if model.next_sentence else ["no_next_sentence"])])
    return self._add(name, "data_gen/create_pretraining_data.py", {
        "input_file": Made("corpus", text), "vocab_file": vocab_file,
        "do_lower_case": not model.cased, "max_seq_length": phase.length, "max_predictions_per_seq": phase.predictions,
        "dupe_factor": dupe_factor, **masked, "next_sentence_prediction": model.next_sentence, "resume": True,
        **self._workers()}, f"{split}.tfrecord.stats.json", makes=(f"{split}.tfrecord*",), output=output)

  def _add(self, name: str, script: str, flags: Mapping[str, object], result: str, makes: tuple[str, ...] = (),
           work: tuple[int, float] = (0, 0.0), output: str | None = None) -> Job:
    """Adds a job that writes in its directory, or an output file in it; `work` is its examples and operations."""
    written = {"output_dir": Made(name)} if output is None else {"output_file": Made(name, output)}
    return self._plan.add(Job(name, script, {**flags, **written}, result, makes, *work))

  def _workers(self) -> dict[str, object]:
    return {} if self._scale.cores is None else {"num_workers": self._scale.cores}

  def _steps(self, model: Model, at: float | None = None) -> int:
    """Of a pre-training; with `at` those of the checkpoint there, which is one that is written."""
    steps = max(1, round(self._scale.steps * model.length))
    if at is None:
      return steps
    if not self._keeps_checkpoints(model):
      raise ValueError(f"{model}: the checkpoints on the way are not kept, see `Scale.snapshots`")
    apart = max(1, steps // self._scale.checkpoints)
    return min(steps, max(apart, round(at * steps / apart) * apart))

  def _keeps_checkpoints(self, model: Model) -> bool:
    sizes = {self._scale.sizes[name] for name in self._scale.snapshots}
    return self._size(model) in sizes and model.masking == Model().masking and not model.cased

  def _size(self, model: Model) -> Size:
    return self._scale.sizes[model.size]

  def _given(self, model: Model, name: str = "") -> Given | None:
    """The directory of the trained model that stands for a size, or a file in it; None where it is pre-trained."""
    directory = self._size(model).directory
    return None if directory is None else Given(os.path.join(directory, name).rstrip("/"))

  def _shape_name(self, model: Model) -> str:
    return f"{self._size(model).name}{'-cased' if model.cased else ''}{'-ltr' if model.left_to_right else ''}"

  def _model_name(self, model: Model) -> str:
    masking = "" if model.masking == Model().masking else f"-mask{model.masking.replace(',', '_')}"
    length = "" if model.length == 1.0 else f"-{self._steps(model)}steps"
    return f"{self._shape_name(model)}{'' if model.next_sentence else '-no_next_sentence'}{masking}{length}"

  def _bert_config(self, model: Model) -> BertConfig:
    return self._size(model).config(self._scale.vocab_size)

  def _tuning_work(self, model: Model, settings: FineTuning, examples: int) -> tuple[int, float]:
    """Of a run for each rate and batch size, as if all sequences had the greatest length."""
    runs = math.prod(len(tried) for tried in (settings.grid, settings.batch_size) if isinstance(tried, tuple) and tried)
    seen = round(settings.epochs * examples) * runs
    return seen, seen * training_flops(self._bert_config(model), settings.length, 0)

  def _pretraining_seed(self, seed: int) -> int:
    return seed if self._scale.pretraining_seeds else self.seeds[0]


def available(column_names: tuple[str, ...], options: ExperimentOptions
              ) -> tuple[dict[str, tuple[Column, Source | None]], list[str]]:
  """The columns whose data is there, by name, and notes: what is left out, what is not the published data."""
  found, notes = {}, []
  for name in column_names:
    column = columns.COLUMNS[name]
    source = None if column.kind == columns.PRETRAINING else data.find(column, options)
    if isinstance(source, str):
      notes.append(f"{column.title} is left out: {source}")
      continue
    found[name] = column, source
    if source is not None and source.note and source.note not in notes:
      notes.append(source.note)
  return found, notes
