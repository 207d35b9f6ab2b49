"""Options of `run_ner.py`."""

from typing import NamedTuple, Self

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, Options, option, option_class
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions, HeadDropoutOptions
from bert_tf.tasks.options import DataFileOptions
from data_gen.labeled.tag_schemes import CHUNK_SCHEMES, SCHEMES
from data_gen.labeled.tagged_files import FORMATS

AUTO = "auto"
SENTENCE = "sentence"
DOCUMENT = "document"
VOTE = "vote"
CONTEXTS = (AUTO, SENTENCE, DOCUMENT, VOTE)
COMBINATIONS = ("concat", "sum", "weighted_sum")
# Names in --data_dir, CoNLL-2003's first. The first file that exists is read.
DATA_FILES = {
    "train": ("eng.train", "train.txt", "train.conll", "train.jsonl"),
    "dev": (
        "eng.testa",
        "valid.txt",
        "valid.conll",
        "valid.jsonl",
        "dev.txt",
        "dev.conll",
        "dev.jsonl",
    ),
    "test": ("eng.testb", "test.txt", "test.conll", "test.jsonl"),
}
# Value of --layers for all rows of table 7.
ALL = "all"


class TableRow(NamedTuple):
    """Row of table 7 of the paper.

    Attributes:
      layers, combine: values of --layers and --combine.
      paper_f1: the paper's F1 on the development set of CoNLL-2003.
    """

    layers: tuple[str, ...]
    combine: str
    paper_f1: float


TABLE_7 = {
    "embeddings": TableRow(("0",), "concat", 91.0),
    "second to last": TableRow(("-2",), "concat", 95.6),
    "last": TableRow(("-1",), "concat", 94.9),
    "weighted sum of the last four": TableRow(("-4", "-3", "-2", "-1"), "weighted_sum", 95.9),
    "concatenation of the last four": TableRow(("-4", "-3", "-2", "-1"), "concat", 96.1),
    "weighted sum of all layers": TableRow(("1:",), "weighted_sum", 95.5),
}
# Condition of the options of the BiLSTM.
_WITH_FEATURES = ("feature_based",)
# Defaults with --feature_based: Adam as in its paper.
FEATURE_DEFAULTS = {
    "learning_rate": 1e-3,
    "num_train_epochs": 15.0,
    "max_grad_norm": 5.0,
    "weight_decay": 0.0,
    "optimizer_bias_correction": True,
    "lr_schedule": "constant",
    "warmup_proportion": 0.0,
    # XLA can't compile cuDNN's LSTM.
    "jit_compile": "false",
}


@option_class
class TaggedFileOptions(DataFileOptions):
    """Files of tagged sentences."""

    data_dir: str | None = option(
        None,
        "Directory with the files, under the names of CoNLL-2003 (eng.train, eng.testa and "
        "eng.testb), or train, valid (or dev) and test with .txt, .conll or .jsonl.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    format: str = option(
        "auto",
        "Format of the files. auto: by their names, else columns (conll).",
        choices=FORMATS,
    )
    word_column: str | None = option(
        None,
        "Column of the words: a number from 0, or a key in JSON lines.",
        default_text="found by what it holds; tokens",
    )
    label_column: str | None = option(
        None,
        "Column of the labels: a number, or a key in JSON lines.",
        default_text="found by what it holds; ner_tags or entities",
    )
    label_names: tuple[str, ...] = option(
        (), "Names of the labels, for JSON lines whose labels are numbers."
    )
    tag_scheme: str = option(
        AUTO,
        "Scheme of the tags in the files. auto: detected. plain: tags of words without chunks, "
        "such as parts of speech.",
        choices=SCHEMES,
    )


@option_class
class FeatureOptions(Options):
    """BiLSTM on fixed activations, with --feature_based."""

    feature_based: bool = option(
        False,
        "Train a BiLSTM on the activations of a frozen encoder, which are computed once and stored "
        "in --output_dir. Then --learning_rate is 1e-3 by default, --num_train_epochs 15, "
        "--max_grad_norm 5, --weight_decay 0, the schedule constant without warm-up, and Adam has "
        "its bias correction.",
    )
    # Values are strings, because "1:" and "all" are no numbers.
    layers: tuple[str, ...] = option(
        ("-4", "-3", "-2", "-1"),
        "Layers whose activations are read: numbers from 1, -1 for the last one, 0 for the "
        "embeddings. all: the six rows of table 7 of the paper, one after the other; the best on "
        "the development set predicts.",
        only_with=_WITH_FEATURES,
    )
    combine: str = option(
        "concat",
        "Rule that makes one vector of several layers.",
        choices=COMBINATIONS,
        only_with=_WITH_FEATURES,
    )
    # The paper has two layers of 768 units, section 5.3.
    lstm_units: int = option(
        768,
        "Number of units of each direction of the BiLSTM.",
        minimum=1,
        maximum=10_000,
        only_with=_WITH_FEATURES,
    )
    lstm_layers: int = option(
        2, "Number of layers of the BiLSTM.", minimum=1, maximum=100, only_with=_WITH_FEATURES
    )
    # The default takes half of the disk space of float32.
    activation_precision: str = option(
        "float16",
        "Data type of the stored activations.",
        choices=("float16", "float32"),
        only_with=_WITH_FEATURES,
    )


@option_class
class TokenClassificationOptions(
    TaggedFileOptions,
    FeatureOptions,
    DistillationOptions,
    HeadDropoutOptions,
    DevelopmentSetOptions,
    FineTuningOptions,
):
    """Tags of words, such as named entities."""

    read_as_trained = ("max_seq_length", "min_context", "context", "votes", "tag_scheme")

    # The scheme of the files does not matter: tags are converted.
    label_scheme: str = option(
        "iob2", "Tag scheme that the model learns chunks in.", choices=CHUNK_SCHEMES
    )
    context: str = option(
        AUTO,
        "Context of a sentence that the model reads. document: as much of its document as fits. "
        "vote: the same, and predictions are the mean of several windows. auto: document if the "
        "file has borders of documents.",
        choices=CONTEXTS,
    )
    max_seq_length: int = option(
        128,
        "Maximum number of tokens of a window, [CLS] and [SEP] included. Longer sentences are read "
        "in parts.",
        minimum=3,
        common=True,
    )
    # A word at the border of a window would be tagged without any context.
    min_context: int = option(
        64,
        "Number of context tokens on either side of the scored part of a window; at most a quarter "
        "of the window.",
        minimum=0,
    )
    sentences_per_window: int | None = option(
        None,
        "Maximum number of sentences that a training window scores; 1 for one sentence per "
        "example, as in the paper.",
        minimum=1,
        default_text="as many as fit with their context",
    )
    votes: int = option(
        4,
        "With --context=vote, a new window begins after 1/votes of the length of a window.",
        minimum=2,
        only_with=(f"context={VOTE}",),
    )

    def check(self) -> None:
        super().check()
        if self.feature_based:
            self._check_feature_based()
        # A label with two numbers could not be written back.
        if len(set(self.label_names)) < len(self.label_names):
            raise UserError(f"--label_names={','.join(self.label_names)}: a name is there twice")

    def _check_feature_based(self) -> None:
        """Raises `UserError` for options that change or do without the encoder."""
        # These change the encoder, which must stay as it is: its activations are stored.
        fine_tuning_options = {
            "context=vote": self.context == VOTE,
            "teacher_checkpoint": bool(self.teacher_checkpoint),
            "bilstm_units": self.bilstm_units is not None,
            "lora_rank": self.is_chosen("lora_rank"),
        }
        for name, is_chosen in fine_tuning_options.items():
            if is_chosen:
                raise UserError(
                    f"--{name} is for fine-tuning: --feature_based leaves the encoder as it is"
                )
        if self.do_train and not self.init_checkpoint:
            raise UserError(
                "--feature_based takes the activations of a trained encoder: give --init_checkpoint"
            )

    def combinations(self) -> list[Self]:
        """Returns the options of all runs of a sweep.

        Values of --layers and --combine belong together: the first ones, the second ones etc.
        """
        if "layers" not in self.sweep:
            return super().combinations()
        sweep = dict(self.sweep)
        all_layers = sweep.pop("layers")
        all_combines = sweep.pop("combine")
        if not sweep:
            # A sweep needs an option: the only seed makes one run.
            sweep = {"seed": (self.seed,)}
        runs = []
        for layers, combine in zip(all_layers, all_combines, strict=True):
            # Directory names must be valid on every file system: no colon.
            suffix = "_".join(layers).replace(":", "_to_last")
            for run in self.replace(sweep=sweep).combinations():
                output_dir = f"{run.output_dir}_{combine}_{suffix}"
                runs.append(run.replace(layers=layers, combine=combine, output_dir=output_dir))
        return runs
