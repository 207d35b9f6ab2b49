"""From a model and a column to the jobs that measure it: text → vocabulary → records → pre-training → fine-tuning.

Input: the directories of the options. Output: commands that a user could type, which `--print_plan` shows, or why a
column is left out.
"""

import dataclasses
import itertools
import os
import re
from collections.abc import Mapping

from bert_common import files
from bert_common.errors import UserError
from bert_tf.run_results import SELECTION_FILE
from bert_tf.tasks.evaluation import EVAL_RESULTS
from data_gen.labelled import glue
from data_gen.labelled.tables import numbered_lines
from experiments.runner import experiment as columns
from experiments.runner.experiment import PAPER, Column, ExperimentOptions, Model, Row
from experiments.runner.jobs import Given, Job, Made, Plan
from experiments.runner.scales import DISTILLATION, TEACHER, FineTuning, Phase, Scale, Size
from modeling.config import BertConfig
from modeling.costs import training_flops

# Kind of a column → what fine-tunes for it, and the flag that measures.
_SCRIPTS = {columns.GLUE: ("run_classifier.py", "do_eval"), columns.SQUAD: ("run_squad.py", "do_predict"),
            columns.SWAG: ("run_swag.py", "do_eval"), columns.NER: ("run_ner.py", "do_eval")}
# Masks of all but table 8, and of what perplexities are measured on, whatever a model was trained with.
_MASKING = Model().masking
_CODAH = "codah_fold0_{}.swag.csv"
_NER_NAMES = {"train": ("eng.train", "train"), "dev": ("eng.testa", "testa", "valid", "dev")}


@dataclasses.dataclass(frozen=True)
class Source:
  """The data of a task.

  Attributes:
    flags: of its script.
    examples: to train on.
    split: whether there is only a development set, in the folder that the flags name, to be split.
    note: what a reader of the results should know.
  """

  flags: Mapping[str, object]
  examples: int
  split: bool = False
  note: str | None = None


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
    self._seeds = options.seeds or scale.seeds
    self._workers = {} if scale.cores is None else {"num_workers": scale.cores}

  def results(self, row: Row, column: Column, source: Source | None) -> list[Measurement]:
    """The jobs that measure a row in a column, one for each repetition."""
    if column.kind == columns.PRETRAINING:
      # Of the pre-trainings there are, one for each repetition or one for all.
      return [Measurement(self.pretrained(row.model, seed).name, seed)
              for seed in dict.fromkeys(map(self._pretraining_seed, self._seeds))]
    if row.members > 1:
      # Runs with pre-training seeds and fine-tuning seeds of their own, which answer together.
      members, single = min(row.members, self._scale.members), dataclasses.replace(row, members=1)
      runs = [self._measured(single, column, source, seed, pretraining_seed=seed) for seed in range(1, members + 1)]
      name = f"ensemble{members}-{re.split('-(?:seed|run)[0-9]', runs[0].name)[0]}"
      self._add(name, "run_squad.py", {
          "ensemble": tuple(Made(one.name) for one in runs), "do_predict": True,
          "predict_file": source.flags["predict_file"]}, EVAL_RESULTS)
      return [Measurement(name, self._seeds[0])]
    spent = self._spent(row.model, row.at) if row.pretrained and not self._size(row.model).directory else (0.0, 0.0)
    return [Measurement(self._measured(row, column, source, seed, self._pretraining_seed(seed)).name, seed, *spent)
            for seed in self._seeds]

  def _measured(self, row: Row, column: Column, source: Source, seed: int, pretraining_seed: int) -> Job:
    """One fine-tuning, or features with a BiLSTM on top, and its evaluation."""
    # The end of a curve is what other tables have measured.
    at = "" if row.at in (None, 1.0) else str(self._steps(row.model, row.at))
    start, suffix = self._start_of(row, pretraining_seed, at)
    if column.kind == columns.FEATURES:
      return self._features(f"features-{suffix}-run{seed}", row, source, start, seed)
    # A row's own recipe, that of the task, or that of its kind.
    recipes, of_task = self._scale.fine_tuning, f"{column.kind} {column.task}"
    settings = recipes[row.recipe or (of_task if of_task in recipes else column.kind)]
    name = (f"{column.task or column.kind}-{suffix}{'-bilstm' if row.bilstm else ''}-run{seed}"
            f"{f'-{row.recipe}' if row.recipe else ''}")
    if row.teacher is not None:
      taught = self._taught(name, row, column, source, start, seed, pretraining_seed)
      start, name = {"init_checkpoint": Made(taught.name)}, f"{name}-taught"
    script, asked = _SCRIPTS[column.kind]
    further = {"task_name": column.task} if column.kind == columns.GLUE else {}
    if row.bilstm:
      further["bilstm_units"] = self._size(row.model).hidden
    return self._add(name, script, {
        **start, "do_train": True, asked: True, **self._data_flags(column, source),
        **self._settings_flags(settings, seed), **self._scale.fine_tuning_flags, **further}, EVAL_RESULTS,
        work=self._tuning_work(row.model, settings, min(source.examples, settings.most_examples or source.examples)))

  def _start_of(self, row: Row, pretraining_seed: int, at: str) -> tuple[dict[str, object], str]:
    """The flags of a start from a checkpoint, or from random weights, and its part of the names of jobs."""
    model, given = row.model, self._size(row.model).directory
    if not row.pretrained:
      files = ({name: Given(os.path.join(given, name)) for name in ("bert_config.json", "vocab.txt")} if given else {
          "bert_config.json": Made(self._config(model).name, "bert_config.json"), "vocab.txt": self._vocab_file(model)})
      return {"bert_config_file": files["bert_config.json"], "vocab_file": files["vocab.txt"],
              "do_lower_case": not model.cased}, f"{self._model_name(model)}-random"
    if given and model == Model(model.size) and row.at is None:
      return {"init_checkpoint": Given(given)}, self._model_name(model)
    run = self.pretrained(model, pretraining_seed)
    return ({"init_checkpoint": Made(run.name, f"ckpt-{at}" if at else "")},
            run.name.removeprefix("pretrain-") + (f"-at{at}" if at else ""))

  def pretrained(self, model: Model, seed: int) -> Job:
    """A pre-training with everything before it: its phases are one run under one schedule."""
    scale, steps, phases = self._scale, self._steps(model), self._scale.phases
    if given := self._size(model).directory:
      raise UserError(f"--checkpoints={model.size}:{given}: this experiment measures the size's pre-training, or "
                      "trains it in other ways: leave the size out")
    records = [Made(self._records(model, phase, "train").name, "train.tfrecord-*-of-*") for phase in phases]
    held_out = tuple(Made(self._records(model, phase, "dev").name, "dev.tfrecord") for phase in phases)
    read: dict[str, object] = {"input_file": records[0], "max_seq_length": phases[0].length,
                               "max_predictions_per_seq": phases[0].predictions}
    if len(phases) > 1:
      read = {"phases": tuple((f"{phase.length}:{phase.share}:", one)
                              for phase, one in zip(phases, records, strict=True))}
    # Ten for a curve; of a large model that trains for a few steps they would take longer than the steps.
    every = max(steps // 10, scale.steps // 25) or steps
    return self._add(f"pretrain-{self._model_name(model)}-seed{seed}", "run_pretraining.py", {
        "do_train": True, "do_eval": True, **read, "eval_file": held_out,
        "bert_config_file": Made(self._config(model).name, "bert_config.json"), "vocab_file": self._vocab_file(model),
        "do_lower_case": not model.cased, "train_batch_size": scale.batch_size,
        "eval_batch_size": scale.eval_batch_size,
        "learning_rate": self._size(model).learning_rate or scale.learning_rate, "num_train_steps": steps,
        "num_warmup_steps": max(1, min(scale.warmup_steps, steps // 4)), "eval_steps": every,
        "save_checkpoints_steps": max(1, steps // scale.checkpoints),
        "keep_checkpoint_max": 0 if self._keeps_checkpoints(model) else 1, "seed": seed,
        "next_sentence_prediction": model.next_sentence}, EVAL_RESULTS,
        work=(steps * scale.batch_size, self._spent(model, None)[1]))

  def _config(self, model: Model) -> Job:
    """The bert_config.json of a model."""
    size = self._size(model)
    own = {} if size.initializer_range is None else {"initializer_range": size.initializer_range}
    longest = max(one.length for one in (*self._scale.phases, *self._scale.fine_tuning.values()))
    return self._add(f"config-{self._shape_name(model)}", "experiments/write_config.py", {
        "vocab_file": self._vocab_file(model), "num_hidden_layers": size.layers, "hidden_size": size.hidden,
        "num_attention_heads": size.heads, "max_position_embeddings": longest, "causal": model.left_to_right,
        **self._scale.config, **own}, "bert_config.json")

  def _spent(self, model: Model, at: float | None) -> tuple[float, float]:
    """(sequences, floating-point operations) of a pre-training up to the checkpoint at a share of it."""
    steps = made = self._steps(model, at)
    flops = 0.0
    for phase in self._scale.phases:
      count = min(made, round(phase.share * self._steps(model)))
      # Left to right every position is projected to the vocabulary.
      predictions = phase.length if model.left_to_right else phase.predictions
      flops += count * self._scale.batch_size * self._flops(model, phase.length, predictions)
      made -= count
    return float(steps * self._scale.batch_size), flops

  def _taught(self, name: str, row: Row, column: Column, source: Source, start: dict, seed: int,
              pretraining_seed: int) -> Job:
    """A student on the outputs of its teacher alone: for the training set and, as transfer text, all of its file."""
    teacher = self._measured(Row("teacher", row.teacher, recipe=TEACHER), column, source, seed, pretraining_seed)
    settings, texts, transfer = self._scale.fine_tuning[DISTILLATION], glue.find_task(column.task).columns, {}
    data_flags = self._data_flags(column, source)
    if not source.split:
      transfer = {"transfer_file": Given(f"{source.flags['data_dir'].path}/train.tsv"), "text_a_column": texts.text_a}
      transfer |= {} if texts.text_b is None else {"text_b_column": texts.text_b}
    return self._add(f"distil-{name}", "run_classifier.py", {
        **start, "do_train": True, "do_eval": True, "task_name": column.task, **data_flags,
        "teacher_checkpoint": Made(teacher.name), "distillation_weight": 1.0, **transfer,
        **self._settings_flags(settings, seed), **self._scale.fine_tuning_flags}, EVAL_RESULTS,
        work=self._tuning_work(row.model, settings, source.examples + (settings.most_examples or 0)))

  def _features(self, name: str, row: Row, source: Source, start: dict, seed: int) -> Job:
    settings = self._scale.fine_tuning[columns.FEATURES]
    last = tuple(str(number) for number in range(-min(4, self._size(row.model).layers), 0))
    chosen, result = {"layers": last, "combine": "concat"}, EVAL_RESULTS
    if row.layers:
      name, chosen, result = f"{name}-all", {"layers": "all"}, SELECTION_FILE
    flops = source.examples / 3 * self._flops(row.model, settings.length, 0)
    return self._add(name, "run_ner.py", {
        "feature_based": True, **chosen, **start, "do_train": True, "do_eval": True, **source.flags,
        **self._settings_flags(settings, seed)}, result, work=(round(settings.epochs * source.examples), flops))

  def _settings_flags(self, settings: FineTuning, seed: int) -> dict[str, object]:
    most = {"max_train_examples": settings.most_examples} if settings.most_examples else {}
    return {"max_seq_length": settings.length, "train_batch_size": settings.batch_size,
            "learning_rate": settings.grid or settings.learning_rate, "num_train_epochs": settings.epochs, "seed": seed,
            **settings.flags, **most}

  def _data_flags(self, column: Column, source: Source) -> dict[str, object]:
    if not source.split:
      return dict(source.flags)
    task = glue.find_task(column.task)
    return {"data_dir": Made(self._add(
        f"split-{column.task}", "experiments/split_dev_set.py", {"task_name": column.task, **source.flags},
        f"{task.folder}/{glue.dev_splits(task)[0]}.tsv").name)}

  def _vocab_file(self, model: Model) -> Made:
    """Of the prepared text but for what is held out of it."""
    text, is_paper = self._options.corpus, self._scale.name == PAPER
    if text is None and is_paper and not self._options.print_plan:
      raise UserError("--scale=paper needs --corpus: the paper's is BookCorpus and the English Wikipedia, 3,300 "
                      "million words (--print_plan shows what would be done with it)")
    given: Made | Given = Given(text or "corpus/*.txt")
    if text is None and not is_paper:
      given = Made(self._add("text", "data_gen/extract_docstrings.py", self._workers, "docstrings.jsonl",
                             output="docstrings.jsonl").name, "docstrings.jsonl")
    self._add("corpus", "data_gen/prepare_corpus.py", {
        "input_file": given, "held_out_fraction": self._scale.held_out, "held_out_file": Made("corpus", "held_out.txt"),
        **self._workers}, "train.txt", output="train.txt")
    name = "vocab-cased" if model.cased else "vocab"
    self._add(name, "vocab/build_vocab.py", {
        "input_file": Made("corpus", "train.txt"), "held_out_file": Made("corpus", "held_out.txt"),
        "vocab_size": self._scale.vocab_size, "do_lower_case": not model.cased, **self._workers}, "vocab.txt")
    return Made(name, "vocab.txt")

  def _records(self, model: Model, phase: Phase, split: str) -> Job:
    """Of split "train", or "dev"."""
    text, dupe_factor, masking, output = {
        "train": ("train.txt", self._scale.dupe_factor, model.masking, "train.tfrecord@8"),
        "dev": ("held_out.txt", 1, _MASKING, "dev.tfrecord")}[split]
    name = (f"records-{split}-{phase.length}-{masking.replace(',', '_')}{'-cased' if model.cased else ''}"
            f"{'' if model.next_sentence else '-no_next_sentence'}")
    return self._add(name, "data_gen/create_pretraining_data.py", {
        "input_file": Made("corpus", text), "vocab_file": self._vocab_file(model), "do_lower_case": not model.cased,
        "max_seq_length": phase.length, "max_predictions_per_seq": phase.predictions, "dupe_factor": dupe_factor,
        "masking": masking, "next_sentence_prediction": model.next_sentence, "resume": True, **self._workers},
        f"{split}.tfrecord.stats.json", output=output)

  def _add(self, name: str, script: str, flags: Mapping[str, object], result: str,
           work: tuple[int, float] = (0, 0.0), output: str | None = None) -> Job:
    """Adds a job that writes in its directory, or an output file in it; `work` is its examples and operations."""
    written = {"output_dir": Made(name)} if output is None else {"output_file": Made(name, output)}
    return self._plan.add(Job(name, script, {**flags, **written}, result, *work))

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
    return self._size(model) in sizes and model.masking == _MASKING and not model.cased

  def _size(self, model: Model) -> Size:
    return self._scale.sizes[model.size]

  def _shape_name(self, model: Model) -> str:
    size = self._size(model)
    return (f"L{size.layers}-H{size.hidden}-A{size.heads}{'-given' if size.directory else ''}"
            f"{'-cased' if model.cased else ''}{'-ltr' if model.left_to_right else ''}")

  def _model_name(self, model: Model) -> str:
    masking = "" if model.masking == _MASKING else f"-mask{model.masking.replace(',', '_')}"
    length = "" if model.length == 1.0 else f"-{self._steps(model)}steps"
    return f"{self._shape_name(model)}{'' if model.next_sentence else '-no_next_sentence'}{masking}{length}"

  def _flops(self, model: Model, length: int, predictions: int) -> float:
    """Of a training step with one sequence."""
    size = self._size(model)
    config = BertConfig(vocab_size=self._scale.vocab_size, hidden_size=size.hidden, num_hidden_layers=size.layers,
                        num_attention_heads=size.heads, intermediate_size=4 * size.hidden, type_vocab_size=2)
    return training_flops(config, length, predictions)

  def _tuning_work(self, model: Model, settings: FineTuning, examples: int) -> tuple[int, float]:
    """Of a run for each rate, as if all sequences had the greatest length."""
    seen = round(settings.epochs * examples) * (len(settings.grid) or 1)
    return seen, seen * self._flops(model, settings.length, 0)

  def _pretraining_seed(self, seed: int) -> int:
    return seed if self._scale.pretraining_seeds else self._seeds[0]


def find(column: Column, options: ExperimentOptions) -> Source | str:
  """The data of a column, or why it can't be measured.

  A plan needs no data: where a directory is not given, its flag stands for it, with the data set as it was published.
  """
  kind = {columns.FEATURES: columns.NER}.get(column.kind, column.kind)
  flag = f"{kind}_dir"
  directory = getattr(options, flag)
  if directory is None and options.print_plan:
    folder = os.path.join(flag, glue.find_task(column.task).folder) if kind == columns.GLUE else flag
    return Source(_squad_flags(column.task, flag) if kind == columns.SQUAD else {"data_dir": Given(folder)},
                  column.examples)
  if directory is None:
    return f"--{flag} was not given"
  return {columns.GLUE: _glue, columns.SQUAD: _squad, columns.SWAG: _swag, columns.NER: _ner}[kind](column, directory)


def available(column_names: tuple[str, ...], options: ExperimentOptions
              ) -> tuple[dict[str, tuple[Column, Source | None]], list[str]]:
  """The columns whose data is there, by name, and notes: what is left out, what is not the published data."""
  found, notes = {}, {}
  for name in column_names:
    column = columns.COLUMNS[name]
    source = None if column.kind == columns.PRETRAINING else find(column, options)
    if isinstance(source, str):
      notes[f"{column.title} is left out: {source}"] = True
      continue
    found[name] = column, source
    if source is not None and source.note:
      notes[source.note] = True
  return found, list(notes)


def _glue(column: Column, directory: str) -> Source | str:
  task = glue.find_task(column.task)
  folder = os.path.join(directory, task.folder)
  flags = {"data_dir": Given(folder)}
  if glue.find_path(task, directory, "train") and glue.find_path(task, directory, glue.dev_splits(task)[0]):
    return Source(flags, _rows(os.path.join(folder, "train.tsv"), "glue_dir"))
  dev = f"{glue.dev_splits(task)[0]}.tsv"
  if files.exists(os.path.join(folder, dev)):
    return Source(flags, _rows(os.path.join(folder, dev), "glue_dir"), split=True, note=(
        f"{task.folder} has only {dev} here: four fifths of it are trained on, one fifth is measured"))
  return f"{folder} has no train.tsv and {dev}"


def _squad_flags(version: str, directory: str) -> dict[str, object]:
  flags = {name: Given(os.path.join(directory, f"{part}-{version}.json"))
           for name, part in (("train_file", "train"), ("predict_file", "dev"))}
  return flags | ({"version_2_with_negative": True} if version == "v2.0" else {})


def _squad(column: Column, directory: str) -> Source | str:
  flags = _squad_flags(column.task, directory)
  missing = [value.path for value in flags.values() if isinstance(value, Given) and not files.exists(value.path)]
  if missing:
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there"
  # A question begins with its text.
  return Source(flags, sum(
      text.count('"question"') for _, text in numbered_lines(flags["train_file"].path, "squad_dir")))


def _swag(column: Column, directory: str) -> Source | str:
  if all(files.exists(os.path.join(directory, name)) for name in ("train.csv", "val.csv")):
    return Source({"data_dir": Given(directory)}, 4 * _rows(os.path.join(directory, "train.csv"), "swag_dir"))
  codah = {split: os.path.join(directory, _CODAH.format(split)) for split in ("train", "dev")}
  if all(map(files.exists, codah.values())):
    return Source({f"{split}_file": Given(path) for split, path in codah.items()},
                  4 * _rows(codah["train"], "swag_dir"),
                  note="CODAH (fold 0) instead of SWAG: questions of the same form, a fiftieth as many")
  return f"{directory} has neither train.csv and val.csv of SWAG nor {_CODAH.format('train')} of CODAH"


def _ner(column: Column, directory: str) -> Source | str:
  names = files.list_directory(directory) if files.exists(directory) else []
  found = {}
  for split, parts in _NER_NAMES.items():
    matches = [sorted(name for name in names if part in name) for part in parts]
    chosen = next((one for one in matches if one), None)
    if chosen is None:
      return f"{directory} has no file for {split}: a name with {' or '.join(parts)} is expected"
    found[split] = os.path.join(directory, chosen[0])
  empty = [not text.strip() for _, text in numbered_lines(found["train"], "ner_dir")]
  sentences = sum(before < after for before, after in itertools.pairwise(empty))
  note = None if os.path.basename(found["train"]) == "eng.train" else (
      f"{os.path.basename(found['train'])} instead of CoNLL-2003")
  return Source({f"{split}_file": Given(path) for split, path in found.items()}, sentences, note=note)


def _rows(path: str, flag: str) -> int:
  """Of a table with a header."""
  return sum(1 for _ in numbered_lines(path, flag)) - 1
