"""The options of `run_swag.py`."""

import dataclasses

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, option
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import FineTuningOptions, HeadDropoutOptions
from data_gen.labelled.multiple_choice import LABEL_KINDS
from data_gen.labelled.tables import FORMATS

SWAG, HELLASWAG, CODAH, CUSTOM = "swag", "hellaswag", "codah", "custom"
TRUNCATIONS = ("longer", "context_start")
_IS_CUSTOM = (f"task_name={CUSTOM}",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoiceOptions(DevelopmentSetOptions, HeadDropoutOptions, FineTuningOptions):
    """Multiple choice; columns are for --task_name=custom."""

    task_name: str = option(
        SWAG,
        "swag, hellaswag and codah read files in the layout of these data sets; custom reads your own.",
        choices=(SWAG, HELLASWAG, CODAH, CUSTOM),
        common=True,
    )
    data_dir: str | None = option(
        None,
        "Where the data set's files are, under their own names: train.csv, val.csv and test.csv of SWAG, "
        "hellaswag_train.jsonl and so on, train.tsv and so on of a fold of CODAH.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    train_file: str | None = option(
        None,
        "What is trained on, in place of the file in --data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    dev_file: str | None = option(
        None,
        "What is evaluated on, while training and at the end, in place of the file in --data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    test_file: str | None = option(
        None,
        "What is predicted, in place of the file in --data_dir.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    file_format: str = option(
        "auto",
        "Of one's own files. auto: by their extensions.",
        choices=FORMATS,
        only_with=_IS_CUSTOM,
    )
    choices_columns: tuple[str, ...] = option(
        (),
        "The columns or keys of the choices; or one key of JSON lines that holds a list of them.",
        only_with=_IS_CUSTOM,
    )
    question_column: str | None = option(
        None,
        "The column of the question, or of what the choices continue; numbers, from 0, where there is no header.",
        only_with=_IS_CUSTOM,
    )
    context_column: str | None = option(
        None, "The column of a text that the question is about.", only_with=_IS_CUSTOM
    )
    label_column: str | None = option(None, "The column of the right choice.", only_with=_IS_CUSTOM)
    id_column: str | None = option(
        None,
        "The column of what a question is called in predictions.",
        default_text="questions are numbered",
        only_with=_IS_CUSTOM,
    )
    label_kind: str = option(
        "auto",
        "How the right choice is named: by its number from 0, its letter from A, or its text. auto: whatever all "
        "labels of a file can be.",
        choices=LABEL_KINDS,
        only_with=_IS_CUSTOM,
    )
    train_batch_size: int = option(
        16, "Questions of a step, on all devices together.", minimum=1, sweep=True, common=True
    )
    learning_rate: float = option(2e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    predict_batch_size: int = option(
        64,
        "Choices of a batch of predictions, on all devices together; the predictions do not depend on it.",
        minimum=1,
        affects_result=False,
    )
    max_seq_length: int = option(
        128,
        "Longer sequences, of a text with one choice, are truncated to so many tokens: [CLS], a token and [SEP] at "
        "least.",
        minimum=3,
        common=True,
    )
    truncate: str = option(
        "longer",
        "What a sequence that is too long loses. longer: the end of its longer segment, as in the original. "
        "context_start: the same, but of the context the beginning.",
        choices=TRUNCATIONS,
    )
    hardest_questions: int = option(
        20,
        "How many of the questions whose right choice got the lowest probability are in "
        "hardest_questions.jsonl.",
        minimum=0,
        affects_result=False,
    )

    def check(self) -> None:
        super().check()
        for is_there, what in (
            (self.choices_columns, "--choices_columns must be given: the columns with the choices"),
            (
                self.question_column or self.context_column,
                "--question_column must be given, or --context_column: what the choices belong to",
            ),
            (
                self.label_column or not self.evaluates,
                "--label_column must be given: the column of the right choice",
            ),
        ):
            if self.task_name == CUSTOM and not is_there:
                raise UserError(f"--task_name={CUSTOM}: {what}")
