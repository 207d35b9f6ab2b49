"""The options of `run_classifier.py`."""

import math

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, option, option_class
from bert_common.remote_files import is_remote
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions, HeadDropoutOptions
from bert_tf.tasks.options import delimiter_option
from data_gen.labeled import glue
from data_gen.labeled.named_columns import check_columns
from data_gen.labeled.row_formats import FORMATS
from data_gen.labeled.rows import SourceFile

CUSTOM = "custom"
BALANCED = "balanced"
LONG_TEXTS = ("truncate", "head_tail", "windows")
_IS_CUSTOM = (f"task_name={CUSTOM}",)
_IS_XNLI = (f"task_name={glue.XNLI}",)
# Transfer texts have the columns of custom files, also beside a task of GLUE.
_HAS_COLUMNS = (*_IS_CUSTOM, "transfer_file")


@option_class
class ClassificationOptions(
    DistillationOptions, HeadDropoutOptions, DevelopmentSetOptions, FineTuningOptions
):
    """Classification; files and columns are for --task_name=custom."""

    # Names come from the original script, in any case of letters.
    task_name: str = option(
        None,
        "Name of the task: one of GLUE's (cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, rte, wnli, or "
        "ax to predict its diagnostic set), xnli, or custom for your own files.",
        required=True,
        common=True,
    )
    data_dir: str | None = option(
        None,
        "Directory with GLUE's folders, with the files of the task, or with those of XNLI.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    train_file: str | None = option(
        None,
        f"Training file ({', '.join(FORMATS[1:])}; compressed or not).",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    dev_file: str | None = option(
        None,
        "Development file, evaluated while training and at the end.",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    test_file: str | None = option(
        None,
        "File to predict.",
        path=FILE,
        common=True,
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    transfer_file: str | None = option(
        None,
        "Unlabeled texts for --teacher_checkpoint, in the columns of the other files. They are "
        "added to the training set, or replace it.",
        path=FILE,
        affects_result=False,
        only_with=("teacher_checkpoint",),
    )
    file_format: str = option(
        "auto",
        "Format of the files. auto: by their extensions.",
        choices=FORMATS,
        only_with=_HAS_COLUMNS,
    )
    delimiter: str | None = delimiter_option(_HAS_COLUMNS)
    text_a_column: str | None = option(
        None,
        "Column or key of the text; a number, from 0, for a file without a header.",
        common=True,
        only_with=_HAS_COLUMNS,
    )
    text_b_column: str | None = option(
        None,
        "Column of the second text of a pair.",
        common=True,
        only_with=_HAS_COLUMNS,
    )
    label_column: str | None = option(
        None, "Column of the label.", common=True, only_with=_IS_CUSTOM
    )
    label_columns: tuple[str, ...] = option(
        (),
        "A column of 0 and 1 for each label, in place of --label_column: an example may have "
        "several labels, or none.",
        only_with=_IS_CUSTOM,
    )
    id_column: str | None = option(
        None,
        "Column that identifies a row in the predictions.",
        default_text="the number of the row, from 0",
        affects_result=False,
        only_with=_IS_CUSTOM,
    )
    regression: bool = option(
        False, "Treat the labels as numbers and predict numbers.", only_with=_IS_CUSTOM
    )
    multi_label: bool = option(
        False,
        "Allow an example several labels, or none: each label gets an independent probability.",
        only_with=_IS_CUSTOM,
    )
    label_separator: str = option(
        ",",
        "Separator between the labels of an example; JSON lines may have a list instead.",
        only_with=("multi_label",),
    )
    class_weights: str | None = option(
        None,
        "Weight of the examples of each class in the loss: numbers in the order of the classes, or "
        "balanced for the same total weight of all classes.",
        default_text="1 for each",
    )
    train_language: str = option(
        glue.XNLI_LANGUAGE, "Language of XNLI to train on.", only_with=_IS_XNLI
    )
    eval_languages: tuple[str, ...] | None = option(
        None,
        "Languages of XNLI to evaluate and predict, or all; the first one selects the best "
        "weights.",
        default_text="--train_language",
        only_with=_IS_XNLI,
    )
    # The original has the flag; scripts that set it must still run.
    eval_batch_size: int = option(
        8,
        "Accepted for old command lines and ignored; use --predict_batch_size.",
        affects_result=False,
    )
    max_seq_length: int = option(
        128,
        "Maximum number of tokens of a sequence, [CLS] and [SEP] included; see --long_texts.",
        minimum=3,
        common=True,
    )
    # No default here: a trained model keeps its rule.
    long_texts: str | None = option(
        None,
        "Part of longer texts that the model reads. truncate: the beginning, as in the original. "
        "head_tail: a quarter from the beginning, the rest from the end. windows: everything, in "
        "overlapping windows whose scores are averaged; not for pairs.",
        choices=LONG_TEXTS,
        default_text="as the model was trained, else truncate",
    )
    # Windows that overlap by half show every token with context on both sides.
    window_stride: int | None = option(
        None,
        "Number of tokens from one window to the next.",
        minimum=1,
        default_text="half of a window",
    )

    @property
    def is_custom(self) -> bool:
        """Whether the task consists of the user's own files."""
        return self.task_name.lower() == CUSTOM

    @property
    def is_xnli(self) -> bool:
        """Whether the task is XNLI, which is not one of GLUE's."""
        return self.task_name.lower() == glue.XNLI

    def check(self) -> None:
        # Unknown names are refused before the checks of other options, whose messages would
        # mislead.
        if self.task_name and not (self.is_custom or self.is_xnli):
            glue.find_task(self.task_name, (glue.XNLI, CUSTOM))
        super().check()
        # Holding out a part of GLUE's training set would make results incomparable.
        if self.dev_fraction and not self.is_custom:
            raise UserError(
                f"--dev_fraction is for --task_name={CUSTOM}: {self.task_name} has a "
                "development set"
            )
        if self.transfer_file and not self.text_a_column:
            raise UserError(
                "--transfer_file needs --text_a_column, the column with the text, and for pairs "
                "--text_b_column"
            )
        if self.multi_label and self.regression:
            raise UserError(
                "--multi_label and --regression contradict each other: labels are names, or they "
                "are numbers"
            )
        if self.label_columns and (self.label_column or self.regression):
            raise UserError(
                "--label_columns stands in place of --label_column and --regression: give one of "
                "them"
            )
        if self.multi_label and not self.label_separator.strip(" "):
            raise UserError("--label_separator must be given: the text between two labels")
        if self.class_weights not in (None, BALANCED):
            weights = self.listed_weights()
            # A weight of 0 ignores a class; all 0 would train on nothing. NaN fails every
            # comparison.
            is_valid = any(weights) and all(0 <= weight < math.inf for weight in weights)
            if not is_valid:
                raise UserError(
                    f"--class_weights={self.class_weights}: balanced or a list of numbers is "
                    "expected, none negative and not all 0"
                )
        # Its development set is split by language already.
        if self.is_xnli and self.eval_files:
            raise UserError(
                f"--eval_files is not for --task_name={glue.XNLI}: see --eval_languages"
            )

    def check_inputs(self) -> None:
        super().check_inputs()
        path = self.train_file
        # A pipe can be read once, and TensorFlow reads remote files.
        if not self.is_custom or not path or files.is_special(path) or is_remote(path):
            return
        named = []
        for flag in ("text_a_column", "text_b_column", "label_column"):
            name = getattr(self, flag)
            if name is not None:
                named.append((name, flag))
        named += [(name, "label_columns") for name in self.label_columns]
        if self.text_a_column:
            source = SourceFile(path, "train_file", self.file_format, delimiter=self.delimiter)
            check_columns(source, named)

    def listed_weights(self) -> list[float]:
        """Returns the numbers of --class_weights; empty if they are no numbers."""
        try:
            return [float(weight) for weight in self.class_weights.split(",")]
        except ValueError:
            return []
