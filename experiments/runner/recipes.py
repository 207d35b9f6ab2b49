"""The jobs that measure a row of a table in a column.

Text -> vocabulary -> records -> pre-training -> fine-tuning, each a command of this project. Rows
and tables that need the same job share it.
"""

import os
from typing import NamedTuple

from bert_common import files
from bert_common.errors import UserError
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.tasks.token_classification.options import DATA_FILES
from data_gen.labeled import glue
from experiments.runner.experiment import (
    AVERAGE,
    FEATURES,
    GLUE,
    NER,
    PRETRAINING,
    PUBLISHED,
    SQUAD,
    SWAG,
    Column,
    ExperimentOptions,
    Model,
    Row,
)
from experiments.runner.jobs import Job
from experiments.runner.scales import Phase, Scale
from modeling.checkpoints.companion_files import SELECTION_FILE
from modeling.config import BertConfig
from modeling.costs import training_flops

# Script of a kind of column, and its flag that measures on the development set.
_SCRIPTS = {
    GLUE: ("run_classifier.py", "do_eval"),
    SQUAD: ("run_squad.py", "do_predict"),
    SWAG: ("run_swag.py", "do_eval"),
    NER: ("run_ner.py", "do_eval"),
}
# Perplexities are measured with these masks, whatever masks a model was trained with.
_MASKING = Model().masking
_TRIVIAQA_FILE = "triviaqa.json"


class _Start(NamedTuple):
    """Weights that fine-tuning starts from: flags, jobs that make them, part of job names."""

    flags: dict[str, object]
    needs: tuple[str, ...]
    name: str


def find_data(column: Column, options: ExperimentOptions) -> tuple[dict[str, object], str]:
    """Finds the data of a column.

    A plan needs no data: the flag's name stands for a directory that is not given.

    Returns:
      The flags of the column's script that name its data, and why the column must be left out
      (empty if it need not be).
    """
    if column.kind in (PRETRAINING, AVERAGE, PUBLISHED):
        return {}, ""
    flag = "ner_dir" if column.kind == FEATURES else f"{column.kind}_dir"
    directory = getattr(options, flag)
    if directory is None:
        if not options.print_plan:
            return {}, f"--{flag} is not given"
        directory = flag
    flags: dict[str, object] = {"data_dir": directory}
    if column.kind == GLUE:
        flags["data_dir"] = os.path.join(directory, glue.find_task(column.task).folder)
    elif column.kind == SQUAD:
        # SQuAD's development set is what run_squad.py predicts and scores.
        flags = {"train_file": os.path.join(directory, f"train-{column.task}.json")}
        flags["predict_file"] = os.path.join(directory, f"dev-{column.task}.json")
    # Only the first level is checked: the scripts name what they miss before they train.
    for path in flags.values():
        if not options.print_plan and not files.exists(path):
            return {}, f"{path} does not exist"
    # All columns of named entities share a run, which predicts the test set if there is one.
    if column.kind == NER and (options.print_plan or _has_test_set(directory)):
        flags["do_predict"] = True
    elif column.file:
        return {}, f"{directory} has none of {', '.join(DATA_FILES['test'])}"
    return flags, ""


def _has_test_set(directory: str) -> bool:
    return any(files.exists(os.path.join(directory, name)) for name in DATA_FILES["test"])


def row_problem(row: Row, column: Column, options: ExperimentOptions) -> str:
    """Returns why a row is not measured in a column: "" if it is, else a sentence or "-".

    "-" is what nobody measures: other systems, averages, test scores of table 7's features.
    """
    if row.model is None or column.kind in (AVERAGE, PUBLISHED) or (row.layers and column.file):
        return "-"
    if row.triviaqa and not options.print_plan:
        path = os.path.join(options.squad_dir, _TRIVIAQA_FILE)
        if not files.exists(path):
            return (
                f"{row.name} is left out: {path} does not exist: data_gen/convert_triviaqa.py "
                "writes it"
            )
    return ""


class Recipes:
    """Makes jobs with the settings of a scale and the data that the options name.

    Attributes:
      jobs: all jobs by name, each after those that it needs.
    """

    def __init__(self, scale: Scale, options: ExperimentOptions):
        self.jobs: dict[str, Job] = {}
        self._scale = scale
        self._options = options
        self._seeds = options.seeds if options.seeds else scale.seeds
        self._directory = os.path.join(options.output_dir or "results", "jobs")
        self._workers = {}
        if scale.cores is not None:
            self._workers["num_workers"] = scale.cores

    def measure(self, row: Row, column: Column, data: dict[str, object]) -> dict[int, Job]:
        """Adds the jobs that measure a row in a column.

        Args:
          data: flags that name the column's data.

        Returns:
          The job with the result of each repetition, by seed.
        """
        if row.is_ensemble:
            return {self._seeds[0]: self._ensemble(row, column, data)}
        results = {}
        # At the paper's scale repetitions differ in fine-tuning alone.
        for seed in self._seeds:
            pretraining_seed = seed if self._scale.pretraining_seeds else self._seeds[0]
            if column.kind == PRETRAINING:
                results[pretraining_seed] = self._pretrain(row.model, pretraining_seed)
            else:
                results[seed] = self._fine_tune(row, column, data, seed, pretraining_seed)
        return results

    def _ensemble(self, row: Row, column: Column, data: dict[str, object]) -> Job:
        """Adds the runs of an ensemble, with seeds that differ in both stages, and its answer."""
        # The members are shared with the rows of the single model, where the seeds are the same.
        runs = []
        for seed in range(1, self._scale.members + 1):
            runs.append(self._fine_tune(row, column, data, seed, pretraining_seed=seed))
        flags = {
            "ensemble": tuple(run.directory for run in runs),
            "do_predict": True,
            "predict_file": data["predict_file"],
        }
        name = f"ensemble-{column.task}-{self._model_name(row.model)}"
        if row.triviaqa:
            name += "-triviaqa"
        needs = tuple(run.name for run in runs)
        return self._add(name, "run_squad.py", flags, EVAL_RESULTS, needs)

    def _fine_tune(
        self,
        row: Row,
        column: Column,
        data: dict[str, object],
        seed: int,
        pretraining_seed: int,
    ) -> Job:
        """Adds a fine-tuning, or a BiLSTM on fixed activations, with its evaluation."""
        start = self._start(row, pretraining_seed)
        if column.kind == FEATURES or row.layers:
            return self._feature_based(row, data, start, seed)
        if row.triviaqa:
            start = self._first_stage(data, start, seed)
        # All columns of a kind share the script; columns of one task share the job.
        script, evaluation_flag = _SCRIPTS[column.kind]
        recipe = column.kind if column.recipe is None else column.recipe
        settings = self._scale.fine_tuning[recipe]
        name = f"{column.task}-{start.name}-run{seed}"
        flags = {"do_train": True, evaluation_flag: True, **data}
        flags.update(settings.flags(seed))
        flags.update(self._scale.fine_tuning_flags)
        if column.kind == GLUE:
            flags["task_name"] = column.task
        elif column.task == "v2.0":
            flags["version_2_with_negative"] = True
        # The other flags are settings of the scale, so that names need not tell them apart.
        if row.bilstm:
            name += "-bilstm"
            flags["bilstm_units"] = self._scale.sizes[row.model.size].hidden
        return self._add(name, script, {**start.flags, **flags}, EVAL_RESULTS, start.needs)

    def _start(self, row: Row, pretraining_seed: int) -> _Start:
        """Returns the weights that a row starts from, trained elsewhere or here."""
        model = row.model
        directory = self._scale.sizes[model.size].directory
        # A trained model replaces the usual pre-training, not its variants or its checkpoints.
        if directory and model == Model(model.size, cased=model.cased) and row.at is None:
            return _Start({"init_checkpoint": directory}, (), self._model_name(model))
        run = self._pretrain(model, pretraining_seed)
        name = run.name.removeprefix("pretrain-")
        checkpoint = run.directory
        # The end of a curve is the model that the tables fine-tune.
        if row.at not in (None, 1.0):
            step = self._checkpoint_step(row.at)
            checkpoint = run.file(f"ckpt-{step}")
            name += f"-at{step}"
        return _Start({"init_checkpoint": checkpoint}, (run.name,), name)

    def _first_stage(self, data: dict[str, object], start: _Start, seed: int) -> _Start:
        """Adds fine-tuning on TriviaQA; returns its best weights on SQuAD's development set."""
        directory = os.path.dirname(str(data["train_file"]))
        flags = {**start.flags, "do_train": True, "do_predict": True, **data}
        flags["train_file"] = os.path.join(directory, _TRIVIAQA_FILE)
        flags.update(self._scale.fine_tuning[SQUAD].flags(seed))
        flags.update(self._scale.fine_tuning_flags)
        name = f"triviaqa-{start.name}-run{seed}"
        job = self._add(name, "run_squad.py", flags, EVAL_RESULTS, start.needs)
        return _Start({"init_checkpoint": job.directory}, (job.name,), f"{start.name}-triviaqa")

    def _feature_based(self, row: Row, data: dict[str, object], start: _Start, seed: int) -> Job:
        """Adds a BiLSTM on fixed activations; one job measures all rows of table 7."""
        flags = {"feature_based": True, "do_train": True, "do_eval": True, **data}
        flags.update(self._scale.fine_tuning[FEATURES].flags(seed))
        name = f"features-{start.name}-run{seed}"
        result = EVAL_RESULTS
        if row.layers:
            name += "-all"
            flags["layers"] = "all"
            result = SELECTION_FILE
        else:
            # The paper's best choice, or all layers of a smaller model.
            num_layers = min(4, self._scale.sizes[row.model.size].layers)
            flags["layers"] = tuple(range(-num_layers, 0))
            flags["combine"] = "concat"
        return self._add(name, "run_ner.py", {**start.flags, **flags}, result, start.needs)

    def _pretrain(self, model: Model, seed: int) -> Job:
        """Adds a pre-training; its phases are one run under one learning-rate schedule."""
        scale = self._scale
        size = scale.sizes[model.size]
        if size.directory:
            raise UserError(
                f"--checkpoints={model.size}:{size.directory}: this experiment measures the size's "
                "pre-training, or trains it in other ways: leave the size out"
            )
        config = self._config(model)
        vocabulary = self._vocabulary(model)
        needs = [config.name, vocabulary.name]
        phases = []
        eval_files = []
        flops = 0.0
        # run_pretraining.py evaluates each phase on the held-out records of its length.
        for phase in scale.phases:
            train = self._records(model, phase, "train")
            held_out = self._records(model, phase, "dev")
            needs += [train.name, held_out.name]
            phases.append(f"{phase.length}:{phase.share}:{train.file('train.tfrecord-*-of-*')}")
            eval_files.append(held_out.file("dev.tfrecord"))
            flops += phase.share * self._sequence_flops(model, phase)
        # Only the operations of matrix products count, averaged over the phases.
        sequences = scale.steps * scale.batch_size
        # Figure 5 fine-tunes checkpoints of these pre-trainings.
        keeps_checkpoints = (
            size == scale.sizes["base"] and model.masking == _MASKING and not model.cased
        )
        return self._add(
            f"pretrain-{self._model_name(model)}-seed{seed}",
            "run_pretraining.py",
            {
                "do_train": True,
                "do_eval": True,
                "phases": tuple(phases),
                "eval_file": tuple(eval_files),
                "bert_config_file": config.file("bert_config.json"),
                "vocab_file": vocabulary.file("vocab.txt"),
                "do_lower_case": not model.cased,
                "train_batch_size": scale.batch_size,
                "eval_batch_size": scale.eval_batch_size,
                "learning_rate": size.learning_rate or scale.learning_rate,
                "num_train_steps": scale.steps,
                "num_warmup_steps": scale.warmup_steps,
                "eval_steps": max(1, scale.steps // 10),
                "save_checkpoints_steps": scale.steps // scale.checkpoints,
                # 0 keeps all.
                "keep_checkpoint_max": 0 if keeps_checkpoints else 1,
                "seed": seed,
                "next_sentence_prediction": model.next_sentence,
                **scale.pretraining_flags,
            },
            EVAL_RESULTS,
            needs=tuple(needs),
            sequences=sequences,
            flops=sequences * flops,
        )

    def _checkpoint_step(self, share: float) -> int:
        """Returns the step of the checkpoint next to a share of the pre-training."""
        # Only these steps have a checkpoint.
        interval = self._scale.steps // self._scale.checkpoints
        number = round(share * self._scale.checkpoints)
        return max(1, number) * interval

    def _config(self, model: Model) -> Job:
        """Adds the bert_config.json of a model."""
        size = self._scale.sizes[model.size]
        vocabulary = self._vocabulary(model)
        lengths = [phase.length for phase in self._scale.phases]
        # Fine-tuning may read longer sequences than pre-training: their positions start untrained.
        for settings in self._scale.fine_tuning.values():
            lengths.append(settings.length)
        flags = {
            "vocab_file": vocabulary.file("vocab.txt"),
            "num_hidden_layers": size.layers,
            "hidden_size": size.hidden,
            "num_attention_heads": size.heads,
            "max_position_embeddings": max(lengths),
            "causal": model.left_to_right,
            **self._scale.config,
        }
        if size.initializer_range is not None:
            flags["initializer_range"] = size.initializer_range
        return self._add(
            f"config-{self._shape_name(model)}",
            "experiments/write_config.py",
            flags,
            "bert_config.json",
            needs=(vocabulary.name,),
        )

    def _records(self, model: Model, phase: Phase, split: str) -> Job:
        """Adds the pre-training records of a split, "train" or "dev"."""
        corpus = self._corpus()
        vocabulary = self._vocabulary(model)
        if split == "train":
            text_file = corpus.file("train.txt")
            dupe_factor = self._scale.dupe_factor
            masking = model.masking
            # Shards are shuffled among each other in training.
            output = "train.tfrecord@8"
        else:
            text_file = corpus.file("held_out.txt")
            # One fixed set of masks, so that all models are measured on the same tokens.
            dupe_factor = 1
            masking = _MASKING
            output = "dev.tfrecord"
        name = f"records-{split}-{phase.length}-{masking.replace(',', '_')}"
        if model.cased:
            name += "-cased"
        if not model.next_sentence:
            name += "-no_next_sentence"
        return self._add(
            name,
            "data_gen/create_pretraining_data.py",
            {
                "input_file": text_file,
                "vocab_file": vocabulary.file("vocab.txt"),
                "do_lower_case": not model.cased,
                "max_seq_length": phase.length,
                "max_predictions_per_seq": phase.predictions,
                "dupe_factor": dupe_factor,
                "masking": masking,
                "next_sentence_prediction": model.next_sentence,
                # Finished shards of an interrupted job are kept.
                "resume": True,
                **self._workers,
            },
            f"{split}.tfrecord.stats.json",
            needs=(corpus.name, vocabulary.name),
            output=output,
        )

    def _vocabulary(self, model: Model) -> Job:
        """Adds the vocabulary, learned from the text that is not held out."""
        corpus = self._corpus()
        name = "vocab-cased" if model.cased else "vocab"
        flags = {
            "input_file": corpus.file("train.txt"),
            "held_out_file": corpus.file("held_out.txt"),
            "vocab_size": self._scale.vocab_size,
            "do_lower_case": not model.cased,
            **self._workers,
        }
        return self._add(name, "vocab/build_vocab.py", flags, "vocab.txt", (corpus.name,))

    def _corpus(self) -> Job:
        """Adds the prepared text, a part of which is held out."""
        text = self._options.corpus
        if text is None:
            if not self._options.print_plan:
                raise UserError(
                    "--corpus must be given: the paper's is BookCorpus and the English Wikipedia, "
                    "3,300 million words"
                )
            text = "corpus/*.txt"
        # Documents that are held out are in no training records, so that perplexities are honest.
        held_out_file = os.path.join(self._directory, "corpus", "held_out.txt")
        return self._add(
            "corpus",
            "data_gen/prepare_corpus.py",
            {
                "input_file": text,
                "held_out_fraction": self._scale.held_out,
                "held_out_file": held_out_file,
                **self._workers,
            },
            "train.txt",
            output="train.txt",
        )

    def _add(
        self,
        name: str,
        script: str,
        flags: dict[str, object],
        result: str,
        needs: tuple[str, ...] = (),
        output: str | None = None,
        sequences: int = 0,
        flops: float = 0.0,
    ) -> Job:
        """Adds a job, or returns the equal one that another row has added.

        Args:
          output: file that the job writes; None if the script writes a directory.
        """
        directory = os.path.join(self._directory, name)
        if output is None:
            flags = {**flags, "output_dir": directory}
        else:
            flags = {**flags, "output_file": os.path.join(directory, output)}
        job = Job(name, directory, script, flags, result, needs, sequences, flops)
        # Two settings under one name would silently share the first one's result.
        if self.jobs.setdefault(name, job) != job:
            raise ValueError(f"two different jobs are called {name}")
        return job

    def _shape_name(self, model: Model) -> str:
        size = self._scale.sizes[model.size]
        if size.directory:
            # Two trained models may have the same shape.
            name = f"{model.size}-given"
        else:
            name = f"L{size.layers}-H{size.hidden}-A{size.heads}"
        if model.cased:
            name += "-cased"
        if model.left_to_right:
            name += "-ltr"
        return name

    def _model_name(self, model: Model) -> str:
        name = self._shape_name(model)
        if not model.next_sentence:
            name += "-no_next_sentence"
        if model.masking != _MASKING:
            name += f"-mask{model.masking.replace(',', '_')}"
        return name

    def _sequence_flops(self, model: Model, phase: Phase) -> float:
        """Returns the operations of a training step with one sequence."""
        size = self._scale.sizes[model.size]
        config = BertConfig(
            vocab_size=self._scale.vocab_size,
            hidden_size=size.hidden,
            num_hidden_layers=size.layers,
            num_attention_heads=size.heads,
            intermediate_size=4 * size.hidden,
            type_vocab_size=2,
        )
        # Left to right projects every position to the vocabulary.
        predictions = phase.length if model.left_to_right else phase.predictions
        return training_flops(config, phase.length, predictions)
