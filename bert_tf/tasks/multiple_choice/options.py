"""Options of `run_swag.py`."""

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, option, option_class
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import FineTuningOptions, HeadDropoutOptions
from bert_tf.tasks.options import DataFileOptions, delimiter_option
from data_gen.labeled.multiple_choice import LABEL_KINDS
from data_gen.labeled.row_formats import FORMATS

SWAG = "swag"
HELLASWAG = "hellaswag"
CODAH = "codah"
CUSTOM = "custom"
TRUNCATIONS = ("longer", "context_start")
_IS_CUSTOM = (f"task_name={CUSTOM}",)


@option_class
class MultipleChoiceOptions(
    DataFileOptions, DevelopmentSetOptions, HeadDropoutOptions, FineTuningOptions
):
    """Multiple choice; columns are for --task_name=custom."""

    read_as_trained = ("max_seq_length", "truncate", "label_kind")

    task_name: str = option(
        SWAG,
        "Layout of the files: swag, hellaswag and codah are those of the data sets; custom reads "
        "your own files.",
        choices=(SWAG, HELLASWAG, CODAH, CUSTOM),
        common=True,
    )
    data_dir: str | None = option(
        None,
        "Directory with the files of the data set under their original names: train.csv, val.csv "
        "and test.csv for SWAG, hellaswag_train.jsonl etc., train.tsv etc. for a fold of CODAH.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    # The data sets have fixed formats; the next options describe custom files.
    file_format: str = option(
        "auto",
        "Format of custom files. auto: by their extensions.",
        choices=FORMATS,
        only_with=_IS_CUSTOM,
    )
    delimiter: str | None = delimiter_option(_IS_CUSTOM)
    choices_columns: tuple[str, ...] = option(
        (),
        "Columns or keys of the choices, or the key of a list of them in JSON lines.",
        only_with=_IS_CUSTOM,
    )
    question_column: str | None = option(
        None,
        "Column of the question, or of the text that the choices continue; a number, from 0, for a "
        "file without a header.",
        only_with=_IS_CUSTOM,
    )
    context_column: str | None = option(
        None, "Column of a text that the question is about.", only_with=_IS_CUSTOM
    )
    label_column: str | None = option(None, "Column of the right choice.", only_with=_IS_CUSTOM)
    id_column: str | None = option(
        None,
        "Column of the ids of questions, for predictions.",
        default_text="questions are numbered",
        only_with=_IS_CUSTOM,
    )
    # "auto" is ambiguous if the choices themselves are numbers or letters.
    label_kind: str = option(
        "auto",
        "Name of the right choice. index: its number from 0. number: from 1. letter: from A. text: "
        "its text. auto: the one that fits all labels of a file.",
        choices=LABEL_KINDS,
        only_with=_IS_CUSTOM,
    )
    # Defaults of the SWAG experiment in the paper, section 4.4: 16 questions, 2e-5.
    train_batch_size: int = option(
        16,
        "Number of questions of a step, on all devices together.",
        minimum=1,
        sweep=True,
        common=True,
    )
    learning_rate: float = option(2e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    # Predictions have a sequence per choice, so that the batch is counted in choices.
    predict_batch_size: int = option(
        64,
        "Number of choices of a batch of predictions, on all devices together; the predictions do "
        "not depend on it.",
        minimum=1,
        affects_result=False,
    )
    # The original's default; [CLS], a token and [SEP] are the minimum.
    max_seq_length: int = option(
        128,
        "Maximum number of tokens of a sequence, which is a text with one choice; longer ones are "
        "truncated.",
        minimum=3,
        common=True,
    )
    truncate: str = option(
        "longer",
        "Part that a sequence that is too long loses. longer: the end of its longer segment, as in "
        "the original. context_start: the same, but the context loses its beginning.",
        choices=TRUNCATIONS,
    )
    # An error analysis starts with the questions that the model gets most wrong.
    hardest_questions: int = option(
        20,
        "Number of questions in hardest_questions.jsonl, those whose right choice got the lowest "
        "probability.",
        minimum=0,
        affects_result=False,
    )

    def check(self) -> None:
        super().check()
        if self.task_name != CUSTOM:
            return
        # The official data sets have fixed columns; only custom files need these options.
        missing = None
        if not self.choices_columns:
            missing = "--choices_columns must be given: the columns with the choices"
        elif not (self.question_column or self.context_column):
            missing = "--question_column or --context_column must be given: the text of a question"
        # A test file may be without labels.
        elif self.evaluates and not self.label_column:
            missing = "--label_column must be given: the column of the right choice"
        if missing:
            raise UserError(f"--task_name={CUSTOM}: {missing}")
