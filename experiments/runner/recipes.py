"""From a model and a column to the jobs that measure it: text → vocabulary → records → pre-training
→ fine-tuning.

Input: the directories of the options. Output: commands that a user could type, which `--print_plan`
shows, or why a column is left out.
"""

import dataclasses
import os
import re
from collections.abc import Mapping

from bert_common import files
from bert_common.errors import UserError
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.runs.results import SELECTION_FILE
from data_gen.labelled import glue
from experiments.runner import experiment as columns
from experiments.runner.experiment import PAPER, Column, ExperimentOptions, Model, Row
from experiments.runner.jobs import Given, Job, Made, Plan
from experiments.runner.scales import DISTILLATION, TEACHER, FineTuning, Phase, Scale
from modeling.config import BertConfig
from modeling.costs import training_flops

# Kind of a column → what fine-tunes for it, and the flag that measures.
_SCRIPTS = {
    columns.GLUE: ("run_classifier.py", "do_eval"),
    columns.SQUAD: ("run_squad.py", "do_predict"),
    columns.SWAG: ("run_swag.py", "do_eval"),
    columns.NER: ("run_ner.py", "do_eval"),
}
# Masks of all but table 8, and of what perplexities are measured on, whatever a model was trained
# with.
_MASKING = Model().masking
_NER_NAMES = {"train": ("eng.train", "train"), "dev": ("eng.testa", "testa", "valid", "dev")}


# Flags that name the data of a task, for its script.
Source = Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Where a number is found when the job is complete.

    Attributes:
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
        self._sizes, self._seeds = scale.sizes, options.seeds or scale.seeds
        self._workers = {} if scale.cores is None else {"num_workers": scale.cores}

    def results(self, row: Row, column: Column, source: Source) -> list[Measurement]:
        """The jobs that measure a row in a column, one for each repetition."""
        if column.kind == columns.PRETRAINING:
            # Of the pre-trainings there are, one for each repetition or one for all.
            return [
                Measurement(self.pretrained(row.model, seed).name, seed)
                for seed in dict.fromkeys(map(self._pretraining_seed, self._seeds))
            ]
        if row.members > 1:
            # Runs with pre-training seeds and fine-tuning seeds of their own, which answer
            # together.
            members, single = (
                min(row.members, self._scale.members),
                dataclasses.replace(row, members=1),
            )
            runs = [
                self._measured(single, column, source, seed, pretraining_seed=seed)
                for seed in range(1, members + 1)
            ]
            name = f"ensemble{members}-{re.split('-(?:seed|run)[0-9]', runs[0].name)[0]}"
            self._add(
                name,
                "run_squad.py",
                {
                    "ensemble": tuple(Made(one.name) for one in runs),
                    "do_predict": True,
                    "predict_file": source["predict_file"],
                },
                EVAL_RESULTS,
            )
            return [Measurement(name, self._seeds[0])]
        is_ours = row.pretrained and not self._sizes[row.model.size].directory
        spent = self._spent(row.model, row.at) if is_ours else (0.0, 0.0)
        return [
            Measurement(
                self._measured(row, column, source, seed, self._pretraining_seed(seed)).name,
                seed,
                *spent,
            )
            for seed in self._seeds
        ]

    def _measured(
        self, row: Row, column: Column, source: Source, seed: int, pretraining_seed: int
    ) -> Job:
        """One fine-tuning, or features with a BiLSTM on top, and its evaluation."""
        # The end of a curve is what other tables have measured.
        at = "" if row.at in (None, 1.0) else str(self._steps(row.model, row.at))
        # The flags of a start from a checkpoint, or from random weights, and its part of the names
        # of jobs.
        model, given = row.model, self._sizes[row.model.size].directory
        start: dict[str, object]
        if not row.pretrained:
            shape, vocab = (
                (Given(os.path.join(given, name)) for name in ("bert_config.json", "vocab.txt"))
                if given
                else (Made(self._config(model).name, "bert_config.json"), self._vocab_file(model))
            )
            start = {
                "bert_config_file": shape,
                "vocab_file": vocab,
                "do_lower_case": not model.cased,
            }
            suffix = f"{self._model_name(model)}-random"
        elif given and model == Model(model.size) and row.at is None:
            start, suffix = {"init_checkpoint": Given(given)}, self._model_name(model)
        else:
            run = self.pretrained(model, pretraining_seed)
            start = {"init_checkpoint": Made(run.name, f"ckpt-{at}" if at else "")}
            suffix = run.name.removeprefix("pretrain-") + (f"-at{at}" if at else "")
        if column.kind == columns.FEATURES:
            return self._features(f"features-{suffix}-run{seed}", row, column, source, start, seed)
        # A row's own recipe, that of the task, or that of its kind.
        recipes, of_task = self._scale.fine_tuning, f"{column.kind} {column.task}"
        settings = recipes[row.recipe or (of_task if of_task in recipes else column.kind)]
        name = (
            f"{column.task or column.kind}-{suffix}{'-bilstm' if row.bilstm else ''}-run{seed}"
            f"{f'-{row.recipe}' if row.recipe else ''}"
        )
        if row.teacher is not None:
            taught = self._taught(name, row, column, source, start, seed, pretraining_seed)
            start, name = {"init_checkpoint": Made(taught.name)}, f"{name}-taught"
        script, asked = _SCRIPTS[column.kind]
        further = {"task_name": column.task} if column.kind == columns.GLUE else {}
        if row.bilstm:
            further["bilstm_units"] = self._sizes[row.model.size].hidden
        return self._add(
            name,
            script,
            {
                **start,
                "do_train": True,
                asked: True,
                **source,
                **self._settings_flags(settings, seed),
                **self._scale.fine_tuning_flags,
                **further,
            },
            EVAL_RESULTS,
            work=self._tuning_work(
                row.model, settings, min(column.examples, settings.most_examples or column.examples)
            ),
        )

    def pretrained(self, model: Model, seed: int) -> Job:
        """A pre-training with everything before it: its phases are one run under one schedule."""
        scale, steps, phases = self._scale, self._steps(model), self._scale.phases
        if given := self._sizes[model.size].directory:
            raise UserError(
                f"--checkpoints={model.size}:{given}: this experiment measures the size's pre-training, or "
                "trains it in other ways: leave the size out"
            )
        records = [
            Made(self._records(model, phase, "train").name, "train.tfrecord-*-of-*")
            for phase in phases
        ]
        held_out = tuple(
            Made(self._records(model, phase, "dev").name, "dev.tfrecord") for phase in phases
        )
        read: dict[str, object] = {
            "input_file": records[0],
            "max_seq_length": phases[0].length,
            "max_predictions_per_seq": phases[0].predictions,
        }
        if len(phases) > 1:
            read = {
                "phases": tuple(
                    (f"{phase.length}:{phase.share}:", one)
                    for phase, one in zip(phases, records, strict=True)
                )
            }
        # Ten for a curve; of a large model that trains for a few steps they would take longer than
        # the steps.
        every = max(steps // 10, scale.steps // 25) or steps
        return self._add(
            f"pretrain-{self._model_name(model)}-seed{seed}",
            "run_pretraining.py",
            {
                "do_train": True,
                "do_eval": True,
                **read,
                "eval_file": held_out,
                "bert_config_file": Made(self._config(model).name, "bert_config.json"),
                "vocab_file": self._vocab_file(model),
                "do_lower_case": not model.cased,
                "train_batch_size": scale.batch_size,
                "eval_batch_size": scale.eval_batch_size,
                "learning_rate": self._sizes[model.size].learning_rate or scale.learning_rate,
                "num_train_steps": steps,
                "num_warmup_steps": max(1, min(scale.warmup_steps, steps // 4)),
                "eval_steps": every,
                "save_checkpoints_steps": max(1, steps // scale.checkpoints),
                "keep_checkpoint_max": 0 if self._keeps_checkpoints(model) else 1,
                "seed": seed,
                "next_sentence_prediction": model.next_sentence,
            },
            EVAL_RESULTS,
            work=(steps * scale.batch_size, self._spent(model, None)[1]),
        )

    def _config(self, model: Model) -> Job:
        """The bert_config.json of a model."""
        size = self._sizes[model.size]
        own = (
            {} if size.initializer_range is None else {"initializer_range": size.initializer_range}
        )
        longest = max(
            one.length for one in (*self._scale.phases, *self._scale.fine_tuning.values())
        )
        return self._add(
            f"config-{self._shape_name(model)}",
            "experiments/write_config.py",
            {
                "vocab_file": self._vocab_file(model),
                "num_hidden_layers": size.layers,
                "hidden_size": size.hidden,
                "num_attention_heads": size.heads,
                "max_position_embeddings": longest,
                "causal": model.left_to_right,
                **self._scale.config,
                **own,
            },
            "bert_config.json",
        )

    def _spent(self, model: Model, at: float | None) -> tuple[float, float]:
        """(sequences, floating-point operations) of a pre-training up to the checkpoint at a share
        of it."""
        steps = made = self._steps(model, at)
        flops = 0.0
        for phase in self._scale.phases:
            count = min(made, round(phase.share * self._steps(model)))
            # Left to right every position is projected to the vocabulary.
            predictions = phase.length if model.left_to_right else phase.predictions
            flops += count * self._scale.batch_size * self._flops(model, phase.length, predictions)
            made -= count
        return float(steps * self._scale.batch_size), flops

    def _taught(
        self,
        name: str,
        row: Row,
        column: Column,
        source: Source,
        start: dict,
        seed: int,
        pretraining_seed: int,
    ) -> Job:
        """A student on the outputs of its teacher alone: for the training set and, as transfer
        text, all of its file."""
        teacher = self._measured(
            Row("teacher", row.teacher, recipe=TEACHER), column, source, seed, pretraining_seed
        )
        settings, texts = self._scale.fine_tuning[DISTILLATION], glue.find_task(column.task).columns
        transfer = {
            "transfer_file": Given(f"{source['data_dir'].path}/train.tsv"),
            "text_a_column": texts.text_a,
        }
        transfer |= {} if texts.text_b is None else {"text_b_column": texts.text_b}
        return self._add(
            f"distil-{name}",
            "run_classifier.py",
            {
                **start,
                "do_train": True,
                "do_eval": True,
                "task_name": column.task,
                **source,
                "teacher_checkpoint": Made(teacher.name),
                "distillation_weight": 1.0,
                **transfer,
                **self._settings_flags(settings, seed),
                **self._scale.fine_tuning_flags,
            },
            EVAL_RESULTS,
            work=self._tuning_work(
                row.model, settings, column.examples + (settings.most_examples or 0)
            ),
        )

    def _features(
        self, name: str, row: Row, column: Column, source: Source, start: dict, seed: int
    ) -> Job:
        settings = self._scale.fine_tuning[columns.FEATURES]
        last = tuple(
            str(number) for number in range(-min(4, self._sizes[row.model.size].layers), 0)
        )
        chosen, result = {"layers": last, "combine": "concat"}, EVAL_RESULTS
        if row.layers:
            name, chosen, result = f"{name}-all", {"layers": "all"}, SELECTION_FILE
        flops = column.examples / 3 * self._flops(row.model, settings.length, 0)
        return self._add(
            name,
            "run_ner.py",
            {
                "feature_based": True,
                **chosen,
                **start,
                "do_train": True,
                "do_eval": True,
                **source,
                **self._settings_flags(settings, seed),
            },
            result,
            work=(round(settings.epochs * column.examples), flops),
        )

    def _settings_flags(self, settings: FineTuning, seed: int) -> dict[str, object]:
        most = {"max_train_examples": settings.most_examples} if settings.most_examples else {}
        return {
            "max_seq_length": settings.length,
            "train_batch_size": settings.batch_size,
            "learning_rate": settings.grid or settings.learning_rate,
            "num_train_epochs": settings.epochs,
            "seed": seed,
            **settings.flags,
            **most,
        }

    def _vocab_file(self, model: Model) -> Made:
        """Of the prepared text but for what is held out of it."""
        text, is_paper = self._options.corpus, self._scale.name == PAPER
        if text is None and is_paper and not self._options.print_plan:
            raise UserError(
                "--scale=paper needs --corpus: the paper's is BookCorpus and the English Wikipedia, 3,300 "
                "million words (--print_plan shows what would be done with it)"
            )
        given: Made | Given = Given(text or "corpus/*.txt")
        if text is None and not is_paper:
            given = Made(
                self._add(
                    "text",
                    "data_gen/extract_docstrings.py",
                    self._workers,
                    "docstrings.jsonl",
                    output="docstrings.jsonl",
                ).name,
                "docstrings.jsonl",
            )
        self._add(
            "corpus",
            "data_gen/prepare_corpus.py",
            {
                "input_file": given,
                "held_out_fraction": self._scale.held_out,
                "held_out_file": Made("corpus", "held_out.txt"),
                **self._workers,
            },
            "train.txt",
            output="train.txt",
        )
        name = "vocab-cased" if model.cased else "vocab"
        self._add(
            name,
            "vocab/build_vocab.py",
            {
                "input_file": Made("corpus", "train.txt"),
                "held_out_file": Made("corpus", "held_out.txt"),
                "vocab_size": self._scale.vocab_size,
                "do_lower_case": not model.cased,
                **self._workers,
            },
            "vocab.txt",
        )
        return Made(name, "vocab.txt")

    def _records(self, model: Model, phase: Phase, split: str) -> Job:
        """Of split "train", or "dev"."""
        text, dupe_factor, masking, output = {
            "train": ("train.txt", self._scale.dupe_factor, model.masking, "train.tfrecord@8"),
            "dev": ("held_out.txt", 1, _MASKING, "dev.tfrecord"),
        }[split]
        name = (
            f"records-{split}-{phase.length}-{masking.replace(',', '_')}{'-cased' if model.cased else ''}"
            f"{'' if model.next_sentence else '-no_next_sentence'}"
        )
        return self._add(
            name,
            "data_gen/create_pretraining_data.py",
            {
                "input_file": Made("corpus", text),
                "vocab_file": self._vocab_file(model),
                "do_lower_case": not model.cased,
                "max_seq_length": phase.length,
                "max_predictions_per_seq": phase.predictions,
                "dupe_factor": dupe_factor,
                "masking": masking,
                "next_sentence_prediction": model.next_sentence,
                "resume": True,
                **self._workers,
            },
            f"{split}.tfrecord.stats.json",
            output=output,
        )

    def _add(
        self,
        name: str,
        script: str,
        flags: Mapping[str, object],
        result: str,
        work: tuple[int, float] = (0, 0.0),
        output: str | None = None,
    ) -> Job:
        """Adds a job that writes in its directory, or an output file in it; `work` is its examples
        and operations."""
        written = (
            {"output_dir": Made(name)} if output is None else {"output_file": Made(name, output)}
        )
        return self._plan.add(Job(name, script, {**flags, **written}, result, *work))

    def _steps(self, model: Model, at: float | None = None) -> int:
        """Of a pre-training; with `at` those of the checkpoint there, which is one that is
        written."""
        steps = max(1, round(self._scale.steps * model.length))
        if at is None:
            return steps
        if not self._keeps_checkpoints(model):
            raise ValueError(
                f"{model}: the checkpoints on the way are not kept, see `Scale.snapshots`"
            )
        apart = max(1, steps // self._scale.checkpoints)
        return min(steps, max(apart, round(at * steps / apart) * apart))

    def _keeps_checkpoints(self, model: Model) -> bool:
        sizes = {self._sizes[name] for name in self._scale.snapshots}
        return self._sizes[model.size] in sizes and model.masking == _MASKING and not model.cased

    def _shape_name(self, model: Model) -> str:
        size = self._sizes[model.size]
        return (
            f"L{size.layers}-H{size.hidden}-A{size.heads}{'-given' if size.directory else ''}"
            f"{'-cased' if model.cased else ''}{'-ltr' if model.left_to_right else ''}"
        )

    def _model_name(self, model: Model) -> str:
        masking = "" if model.masking == _MASKING else f"-mask{model.masking.replace(',', '_')}"
        length = "" if model.length == 1.0 else f"-{self._steps(model)}steps"
        return f"{self._shape_name(model)}{'' if model.next_sentence else '-no_next_sentence'}{masking}{length}"

    def _flops(self, model: Model, length: int, predictions: int) -> float:
        """Of a training step with one sequence."""
        size = self._sizes[model.size]
        config = BertConfig(
            vocab_size=self._scale.vocab_size,
            hidden_size=size.hidden,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.hidden,
            type_vocab_size=2,
        )
        return training_flops(config, length, predictions)

    def _tuning_work(self, model: Model, settings: FineTuning, examples: int) -> tuple[int, float]:
        """Of a run for each rate, as if all sequences had the greatest length."""
        seen = round(settings.epochs * examples) * (len(settings.grid) or 1)
        return seen, seen * self._flops(model, settings.length, 0)

    def _pretraining_seed(self, seed: int) -> int:
        return seed if self._scale.pretraining_seeds else self._seeds[0]


def find(column: Column, options: ExperimentOptions) -> tuple[Source | None, str]:
    """The data of a column, and what a reader of the results should know of it; None, and why it
    can't be measured.

    A plan needs no data: where a directory is not given, its flag stands for it.
    """
    flag = f"{columns.NER if column.kind == columns.FEATURES else column.kind}_dir"
    directory = getattr(options, flag)
    if directory is None and not options.print_plan:
        return None, f"--{flag} was not given"
    folder = directory or flag
    if column.kind == columns.GLUE:
        task = glue.find_task(column.task)
        dev, place = glue.dev_splits(task)[0], os.path.join(folder, task.folder)
        is_there = (
            all(glue.find_path(task, folder, split) for split in ("train", dev))
            if directory
            else True
        )
        return (
            ({"data_dir": Given(place)}, "")
            if is_there
            else (None, f"{place} has no train.tsv and {dev}.tsv")
        )
    if column.kind == columns.SQUAD:
        paths = [os.path.join(folder, f"{part}-{column.task}.json") for part in ("train", "dev")]
        if directory and (missing := [path for path in paths if not files.exists(path)]):
            return None, f"there is no {' and no '.join(missing)}"
        return {
            "train_file": Given(paths[0]),
            "predict_file": Given(paths[1]),
            **({"version_2_with_negative": True} if column.task == "v2.0" else {}),
        }, ""
    if directory is None:
        return {"data_dir": Given(flag)}, ""
    names = sorted(files.list_directory(directory)) if files.exists(directory) else []
    if column.kind == columns.SWAG:
        is_there = {"train.csv", "val.csv"} <= set(names)
        return (
            ({"data_dir": Given(directory)}, "")
            if is_there
            else (None, f"{directory} has no train.csv and val.csv")
        )
    found = {}
    for split, parts in _NER_NAMES.items():
        matches = [name for part in parts for name in names if part in name]
        if not matches:
            return (
                None,
                f"{directory} has no file for {split}: a name with {' or '.join(parts)} is expected",
            )
        found[split] = matches[0]
    return (
        {f"{split}_file": Given(os.path.join(directory, name)) for split, name in found.items()},
        "" if found["train"] == "eng.train" else f"{found['train']} instead of CoNLL-2003",
    )


def available(
    column_names: tuple[str, ...], options: ExperimentOptions
) -> tuple[dict[str, tuple[Column, Source]], list[str]]:
    """The columns whose data is there, by name, and notes: what is left out, what is not the
    published data."""
    found, notes = {}, {}
    for name in column_names:
        column = columns.COLUMNS[name]
        source, note = ({}, "") if column.kind == columns.PRETRAINING else find(column, options)
        if source is not None:
            found[name] = column, source
        if note:
            notes[note if source is not None else f"{column.title} is left out: {note}"] = True
    return found, list(notes)
