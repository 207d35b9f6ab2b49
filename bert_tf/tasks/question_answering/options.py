"""The options of `run_squad.py`; of these, how contexts are read and answers chosen is kept in
`task.json`.

What is given wins, then what a run was trained with, then the original's defaults: `--do_predict`
alone needs no flags.
"""

import dataclasses
import importlib.util
import os
from collections.abc import Collection, Mapping
from typing import Self

from bert_common import json_files
from bert_common.errors import UserError, needs_package
from bert_common.options import FILE, declared_options, option
from bert_tf.evaluation.squad_answers import AnswerOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions
from data_gen.labelled.squad_features import WindowOptions
from modeling.config import BertConfig

KIND = "question_answering"
THRESHOLD = "null_score_diff_threshold"
# Where a threshold is from; one that was tuned names the file.
DEFAULT, GIVEN, MEAN, TUNED_ON = (
    "the default",
    "given",
    "the mean of the runs' thresholds",
    "tuned on ",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadSettings(WindowOptions, AnswerOptions):
    """Windows and answers; `null_score_diff_threshold_is` says where the threshold is from."""

    null_score_diff_threshold_is: str = DEFAULT

    def check_model(self, config: BertConfig) -> None:
        """Raises `UserError` for windows that leave no room or text out, or that the model has no
        positions for."""
        config.check_sequence_length(self.max_seq_length, "--max_seq_length")
        self.check()
        self.check_room()

    def fitted(self, positions: int, given: Collection[str]) -> Self:
        """With lengths that a model of so many positions has room for, but for those that are
        given: where there is none for the others, questions keep a third of it, and windows move by
        half of the rest."""
        length = (
            self.max_seq_length
            if "max_seq_length" in given
            else min(self.max_seq_length, positions)
        )
        query, stride = self.max_query_length, self.doc_stride
        # [CLS] and two [SEP].
        if stride > length - query - 3:
            query = query if "max_query_length" in given else min(query, max(length // 3, 1))
            stride = (
                stride if "doc_stride" in given else min(stride, max((length - query - 3) // 2, 1))
            )
        return self.replace(max_seq_length=length, max_query_length=query, doc_stride=stride)

    def with_threshold(self, threshold: float, origin: str) -> Self:
        """The same with another threshold; `origin` is one of `DEFAULT`, `GIVEN`, `MEAN`,
        `TUNED_ON` + file."""
        return self.replace(
            null_score_diff_threshold=threshold, null_score_diff_threshold_is=origin
        )

    @property
    def given_settings(self) -> dict[str, object]:
        """The settings that were chosen, on the command line or in Python; the others are those of
        the run."""
        return {name: getattr(self, name) for name in SETTINGS if self.is_chosen(name)}

    def describe_threshold(self) -> str:
        """Which threshold decides between an answer and none."""
        return f"{THRESHOLD} {self.null_score_diff_threshold:.4f} ({self.null_score_diff_threshold_is})"

    def to_task(self) -> dict[str, object]:
        """What `task.json` holds."""
        return {"kind": KIND, **{name: getattr(self, name) for name in SETTINGS}}


# Names of what `task.json` keeps.
SETTINGS = (
    *(one.name for base in (WindowOptions, AnswerOptions) for one in declared_options(base)),
    f"{THRESHOLD}_is",
)


def choose_settings(
    given: Mapping[str, object], task: Mapping[str, object] | None
) -> SquadSettings:
    """What is given wins, then `task.json`, unless it is of another kind of task, then the
    defaults."""
    kept: dict[str, object] = {}
    if task is not None and task.get("kind") == KIND:
        defaults = SquadSettings().to_task()
        kept = {name: task[name] for name in SETTINGS if name in task}
        json_files.check_object(kept, {name: type(defaults[name]) for name in kept}, "task.json")
    settings = SquadSettings(**{**kept, **given})
    return (
        settings.with_threshold(settings.null_score_diff_threshold, GIVEN)
        if THRESHOLD in given
        else settings
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadOptions(SquadSettings, DistillationOptions, FineTuningOptions):
    """Question answering."""

    train_file: str | None = option(
        None, "SQuAD file to train on.", path=FILE, common=True, affects_result=False
    )
    predict_file: str | None = option(
        None,
        "SQuAD file to predict. Where it has the right answers it is scored, while training, too.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    skip_bad_answers: bool = option(
        False,
        "Leave out training questions whose answer is not in the context, instead of refusing the file.",
        aliases=("skip_bad_rows",),
    )
    verbose_logging: bool = option(
        False, "Print for every question what was chosen, and against what.", affects_result=False
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
    context: str | None = option(None, "The text that --question is about.", common=True)
    context_file: str | None = option(
        None, "A UTF-8 file with the text that --question is about.", path=FILE
    )

    dev_flag = "predict_file"

    def fit(self, config: BertConfig) -> Self:
        """Lengths are those of `SquadSettings.fitted`."""
        return self

    def required(self) -> list[str]:
        return [
            name
            for name in super().required()
            if not (name == "output_dir" and self.ensemble and self.asks)
        ]

    @property
    def asks(self) -> bool:
        """Whether there is a single question."""
        return self.question is not None

    def check(self) -> None:
        super().check()
        if not (self.do_train or self.do_predict or self.asks):
            raise UserError(
                "nothing to do: give --do_train, --do_predict or both, or --question with --context"
            )
        if self.asks and (self.do_train or self.do_predict):
            raise UserError(
                "--question is for a trained model alone: leave --do_train and --do_predict out"
            )
        if self.asks != (self.context is not None or self.context_file is not None):
            raise UserError(
                "--question and --context (or --context_file) belong together: give both"
            )
        if self.context is not None and self.context_file is not None:
            raise UserError("--context and --context_file are two texts: give one of them")
        if self.do_train and not self.train_file:
            raise UserError("--do_train needs --train_file")
        if self.official_scores and importlib.util.find_spec("official") is None:
            raise needs_package("--official_scores", "official")
        if self.do_predict and not (self.predict_file or self.dev_fraction):
            raise UserError("--do_predict needs --predict_file")
        if not self.ensemble:
            return
        if self.do_train or self.init_checkpoint:
            raise UserError(
                "--ensemble predicts with trained runs: leave --do_train and --init_checkpoint out"
            )
        if len({os.path.abspath(directory) for directory in self.ensemble}) < max(
            len(self.ensemble), 2
        ):
            raise UserError(
                f"--ensemble={','.join(self.ensemble)}: two or more different runs are expected"
            )
