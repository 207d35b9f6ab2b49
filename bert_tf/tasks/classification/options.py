"""The options of `run_classifier.py`."""

import dataclasses
import math

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, option
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions, HeadDropoutOptions
from data_gen.labelled import glue
from data_gen.labelled.glue import find_task

CUSTOM = "custom"
BALANCED = "balanced"
LONG_TEXTS = ("truncate", "head_tail", "windows")
_IS_CUSTOM, _IS_XNLI = (f"task_name={CUSTOM}",), (f"task_name={glue.XNLI}",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassificationOptions(
    DistillationOptions, HeadDropoutOptions, DevelopmentSetOptions, FineTuningOptions
):
    """Classification; files and columns are for --task_name=custom, --data_dir is for GLUE and
    XNLI."""

    task_name: str = option(
        None,
        "One of GLUE's tasks: cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, or ax to predict its "
        "diagnostic set; xnli; or custom, for files of your own.",
        required=True,
        common=True,
    )
    data_dir: str | None = option(
        None,
        "Where GLUE's folders are, or the task's own folder; or XNLI's.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    train_file: str | None = option(
        None,
        ".tsv, .csv or .jsonl.",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    dev_file: str | None = option(
        None,
        "What is evaluated on, while training and at the end.",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    test_file: str | None = option(
        None,
        "What is predicted.",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    transfer_file: str | None = option(
        None,
        "Texts without labels for --teacher_checkpoint, in the columns of the other files; they are trained on "
        "with those of the training set, or alone.",
        path=FILE,
        affects_result=False,
        only_with=("teacher_checkpoint",),
    )
    file_format: str = option(
        "auto",
        "Of the files. auto: by their extensions.",
        choices=("auto", "tsv", "csv", "jsonl"),
        only_with=(*_IS_CUSTOM, "transfer_file"),
    )
    text_a_column: str | None = option(
        None,
        "The column or key of the text; a number, from 0, where there is no header.",
        common=True,
        only_with=(*_IS_CUSTOM, "transfer_file"),
    )
    text_b_column: str | None = option(
        None,
        "The column of the second text of a pair.",
        common=True,
        only_with=(*_IS_CUSTOM, "transfer_file"),
    )
    label_column: str | None = option(
        None, "The column of the label.", common=True, only_with=_IS_CUSTOM
    )
    regression: bool = option(
        False, "The labels are numbers, to be predicted as such.", only_with=_IS_CUSTOM
    )
    multi_label: bool = option(
        False,
        "An example may have several labels, or none: each gets a probability of its own.",
        only_with=_IS_CUSTOM,
    )
    label_separator: str = option(
        ",",
        "Between the labels of an example; in JSON lines they may be a list, too.",
        only_with=_IS_CUSTOM,
    )
    class_weights: str | None = option(
        None,
        "How much examples count in the loss, by their class: numbers in the order of the classes, or balanced for "
        "all classes to count the same.",
        default_text="1 for each",
    )
    train_language: str = option(
        glue.XNLI_LANGUAGE, "Of XNLI: the language to train on.", only_with=_IS_XNLI
    )
    eval_languages: tuple[str, ...] | None = option(
        None,
        "Of XNLI: the languages to evaluate and predict, or all; the first one chooses the best weights.",
        default_text="--train_language",
        only_with=_IS_XNLI,
    )
    eval_batch_size: int = option(
        8,
        "Accepted for old command lines: results do not depend on it, see --predict_batch_size.",
        affects_result=False,
    )
    max_seq_length: int = option(
        128,
        "Longer sequences are cut, see --long_texts: [CLS], a token and [SEP] at least.",
        minimum=3,
        common=True,
    )
    long_texts: str | None = option(
        None,
        "What is read of longer texts. truncate: their beginning, as in the original. head_tail: a quarter from "
        "the beginning, the rest from the end. windows: all, in windows that overlap, whose scores are averaged; not for "
        "pairs.",
        choices=LONG_TEXTS,
        default_text="as the model was trained, else truncate",
    )
    window_stride: int | None = option(
        None, "Tokens from one window to the next.", minimum=1, default_text="half of a window"
    )

    @property
    def is_custom(self) -> bool:
        """Whether the files are the user's own."""
        return self.task_name.lower() == CUSTOM

    @property
    def is_xnli(self) -> bool:
        """Whether it is the task that is not one of GLUE's."""
        return self.task_name.lower() == glue.XNLI

    def check(self) -> None:
        if self.task_name and not (self.is_custom or self.is_xnli):
            find_task(self.task_name, (glue.XNLI, CUSTOM))
        super().check()
        if self.dev_fraction and not self.is_custom:
            raise UserError(
                f"--dev_fraction is for --task_name={CUSTOM}: {self.task_name} has a development set"
            )
        if self.transfer_file and not self.text_a_column:
            raise UserError(
                "--transfer_file needs --text_a_column, the column with the text, and of pairs --text_b_column"
            )
        if self.multi_label and self.regression:
            raise UserError(
                "--multi_label and --regression contradict each other: labels are names, or they are numbers"
            )
        if self.multi_label and not self.label_separator.strip(" "):
            raise UserError(
                "--label_separator must be given: what is between the labels of an example"
            )
        if self.class_weights not in (None, BALANCED):
            weights = self.listed_weights()
            if (
                not weights
                or not all(0 <= weight < math.inf for weight in weights)
                or not any(weights)
            ):
                raise UserError(
                    f"--class_weights={self.class_weights}: balanced or a list of numbers is expected, none "
                    "negative and not all 0"
                )
        if self.is_xnli and self.eval_files:
            raise UserError(
                f"--eval_files is not for --task_name={glue.XNLI}: see --eval_languages"
            )

    def listed_weights(self) -> list[float]:
        """The numbers of --class_weights; empty where they are none."""
        try:
            return [float(weight) for weight in self.class_weights.split(",")]
        except ValueError:
            return []
