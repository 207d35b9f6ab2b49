"""Options of `run_squad.py`.

`task.json` keeps how contexts are read and answers chosen. An option on the command line wins, then
the settings that a run was trained with, then the original's defaults: `--do_predict` alone needs
no flags.
"""

import importlib.util
import os
from collections.abc import Collection, Mapping
from typing import Self

from bert_common import json_files
from bert_common.errors import UserError, needs_package
from bert_common.options import FILE, declared_options, option, option_class
from bert_tf.evaluation.squad_answers import AnswerOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions
from data_gen.labeled.squad_features import WindowOptions
from modeling.config import BertConfig

KIND = "question_answering"
THRESHOLD = "null_score_diff_threshold"
# Origins of a threshold; the last one is followed by the name of the file.
DEFAULT = "the default"
GIVEN = "given"
MEAN = "the mean of the runs' thresholds"
TUNED_ON = "tuned on "


@option_class
class SquadConfig(WindowOptions, AnswerOptions):
    """Settings of windows and answers.

    Attributes:
      null_score_diff_threshold_is: origin of the threshold.
    """

    # Not an option: runs record it, and a tuned threshold is tuned again by training only.
    null_score_diff_threshold_is: str = DEFAULT

    def check_model(self, config: BertConfig) -> None:
        """Raises `UserError` for windows that skip text or that the model has no positions for."""
        config.check_sequence_length(self.max_seq_length, "--max_seq_length")
        self.check()
        self.check_room()

    def limit_lengths(self, positions: int, fixed: Collection[str]) -> Self:
        """Reduces the lengths to those that a model of so many positions has room for.

        If they do not fit, questions get at most a third of the window, and windows move by half of
        the rest.

        Args:
          fixed: names of settings to leave unchanged.
        """
        # Models of others may have fewer positions than the original's 384.
        if "max_seq_length" in fixed:
            length = self.max_seq_length
        else:
            length = min(self.max_seq_length, positions)
        query_length = self.max_query_length
        stride = self.doc_stride
        # A window has [CLS], the question, [SEP], a part of the context and [SEP].
        if stride > length - query_length - 3:
            if "max_query_length" not in fixed:
                query_length = min(query_length, max(length // 3, 1))
            if "doc_stride" not in fixed:
                stride = min(stride, max((length - query_length - 3) // 2, 1))
        return self.replace(max_seq_length=length, max_query_length=query_length, doc_stride=stride)

    def with_threshold(self, threshold: float, origin: str) -> Self:
        """Replaces the threshold; its origin is `DEFAULT`, `GIVEN`, `MEAN` or `TUNED_ON` + file."""
        return self.replace(
            null_score_diff_threshold=threshold, null_score_diff_threshold_is=origin
        )

    @property
    def chosen_settings(self) -> dict[str, object]:
        """Settings on the command line or of the Python call, by name; the others may change."""
        return {name: getattr(self, name) for name in SETTINGS if self.is_chosen(name)}

    def describe_threshold(self) -> str:
        """Returns the threshold between an answer and none, with its origin, for the user."""
        threshold = f"{self.null_score_diff_threshold:.4f}"
        return f"{THRESHOLD} {threshold} ({self.null_score_diff_threshold_is})"

    def to_task(self) -> dict[str, object]:
        """Returns the content of `task.json`."""
        return {"kind": KIND, **{name: getattr(self, name) for name in SETTINGS}}


# Names of the settings that `task.json` keeps.
SETTINGS = (
    *(declared.name for declared in declared_options(WindowOptions)),
    *(declared.name for declared in declared_options(AnswerOptions)),
    f"{THRESHOLD}_is",
)


def merge_settings(options: Mapping[str, object], task: Mapping[str, object] | None) -> SquadConfig:
    """Merges settings: options win over `task.json`, which wins over the defaults.

    A `task.json` of another kind of task is ignored.
    """
    # A checkpoint of another task may be the start of question answering.
    stored: dict[str, object] = {}
    if task is not None and task.get("kind") == KIND:
        defaults = SquadConfig().to_task()
        stored = {name: task[name] for name in SETTINGS if name in task}
        # The file may have been edited: a wrong type must fail here, not in the middle of
        # predictions.
        types = {name: type(defaults[name]) for name in stored}
        json_files.check_object(stored, types, "task.json")
    settings = SquadConfig(**{**stored, **options})
    if THRESHOLD not in options:
        return settings
    return settings.with_threshold(settings.null_score_diff_threshold, GIVEN)


@option_class
class SquadOptions(SquadConfig, DistillationOptions, FineTuningOptions):
    """Question answering."""

    # `merge_settings` takes all settings of `task.json`.
    read_as_trained = ()

    train_file: str | None = option(
        None, "SQuAD file to train on.", path=FILE, common=True, affects_result=False
    )
    predict_file: str | None = option(
        None,
        "SQuAD file to predict. If it has the right answers it is scored, also while training.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    # The alias is the name of this flag in all other scripts.
    skip_bad_answers: bool = option(
        False,
        "Skip training questions whose answer is not in the context, at most a tenth of all or as "
        "many as the number given, and list them in left_out.jsonl, instead of refusing the file.",
        counts=True,
        aliases=("skip_bad_rows",),
    )
    verbose_logging: bool = option(
        False,
        "Print the answer to every question and its strongest rival.",
        affects_result=False,
    )
    official_scores: bool = option(
        False,
        "Score by the official scripts of the package tf-models-official; the scores are the same.",
        affects_result=False,
    )
    ensemble: tuple[str, ...] = option(
        (), "Directories of several runs: predict with the mean of their logits."
    )
    question: str | None = option(
        None, "Answer this question about --context and print the best answers.", common=True
    )
    context: str | None = option(None, "Text that --question is about.", common=True)
    # A long context does not fit on a command line.
    context_file: str | None = option(
        None, "UTF-8 file with the text that --question is about.", path=FILE
    )

    dev_flag = "predict_file"

    def limit_length(self, config: BertConfig) -> Self:
        """Returns the options unchanged: `SquadConfig.limit_lengths` limits the lengths later."""
        return self

    def required(self) -> list[str]:
        names = super().required()
        if not (self.ensemble and self.is_interactive):
            return names
        # A question to an ensemble writes no file.
        return [name for name in names if name != "output_dir"]

    @property
    def is_interactive(self) -> bool:
        """Whether --question is answered."""
        return self.question is not None

    @property
    def predicts(self) -> bool:
        return self.do_predict or self.is_interactive

    def check(self) -> None:
        super().check()
        if not (self.do_train or self.do_predict or self.is_interactive):
            raise UserError(
                "nothing to do: give --do_train, --do_predict or both, or --question with --context"
            )
        self._check_question()
        if self.do_train and not self.train_file:
            raise UserError("--do_train needs --train_file")
        # Fail before training, not at the first evaluation.
        if self.official_scores and importlib.util.find_spec("official") is None:
            raise needs_package("--official_scores", "official")
        if self.do_predict and not (self.predict_file or self.dev_fraction):
            raise UserError(
                "--do_predict needs --predict_file, or --dev_fraction to hold out a part of "
                "--train_file"
            )
        if self.ensemble:
            self._check_ensemble()

    def _check_question(self) -> None:
        """Raises `UserError` for options that contradict --question."""
        if self.is_interactive and (self.do_train or self.do_predict):
            raise UserError(
                "--question is for a trained model alone: leave --do_train and --do_predict out"
            )
        if self.context is not None and self.context_file is not None:
            raise UserError("--context and --context_file are two texts: give one of them")
        has_context = self.context is not None or self.context_file is not None
        if self.is_interactive != has_context:
            raise UserError(
                "--question and --context (or --context_file) belong together: give both"
            )

    def _check_ensemble(self) -> None:
        """Raises `UserError` for options that contradict --ensemble, and repeated directories."""
        if self.do_train or self.init_checkpoint:
            raise UserError(
                "--ensemble predicts with trained runs: leave --do_train and --init_checkpoint out"
            )
        directories = {os.path.abspath(directory) for directory in self.ensemble}
        if len(directories) < 2 or len(directories) < len(self.ensemble):
            raise UserError(
                f"--ensemble={','.join(self.ensemble)}: two or more different runs are expected"
            )
