"""The options of `run_ner.py`."""

import dataclasses
from typing import NamedTuple, Self

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, Options, option
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import DistillationOptions, FineTuningOptions, HeadDropoutOptions
from data_gen.labelled.tag_schemes import CHUNK_SCHEMES, SCHEMES
from data_gen.labelled.tagged_files import FORMATS

AUTO, SENTENCE, DOCUMENT, VOTE = "auto", "sentence", "document", "vote"
CONTEXTS = (AUTO, SENTENCE, DOCUMENT, VOTE)
COMBINATIONS = ("concat", "sum", "weighted_sum")
# --layers: the rows of table 7.
ALL = "all"


class TableRow(NamedTuple):
    """A row of table 7 of the paper: values of --layers and --combine, and F1 on the development
    set of CoNLL-2003."""

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
_WITH_FEATURES = ("feature_based",)
# Defaults with --feature_based, of flags that are not given: Adam as in its paper.
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggedFileOptions(Options):
    """Files of tagged sentences."""

    data_dir: str | None = option(
        None,
        "Where the files are, under the names of CoNLL-2003: eng.train, eng.testa and eng.testb, or train, valid "
        "(or dev) and test with .txt, .conll or .jsonl.",
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
        "What is predicted, in place of the file in --data_dir; scored, too, where it has labels.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    format: str = option(
        "auto", "Of the files. auto: by their names, else columns (conll).", choices=FORMATS
    )
    word_column: str | None = option(
        None,
        "The column of the words: a number from 0, or a key in JSON lines.",
        default_text="the first; tokens",
    )
    label_column: str | None = option(
        None,
        "The column of the labels: a number, or a key in JSON lines.",
        default_text="the last; ner_tags or entities",
    )
    label_names: tuple[str, ...] = option(
        (), "What the labels of JSON lines mean where they are numbers."
    )
    tag_scheme: str = option(
        AUTO,
        "Of the files. auto: found out. plain: every word has a tag and there are no chunks, such as "
        "parts of speech.",
        choices=SCHEMES,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureOptions(Options):
    """A BiLSTM on fixed activations, with --feature_based."""

    feature_based: bool = option(
        False,
        "Leave the encoder as it is and train a BiLSTM on its activations, which are computed once and kept in "
        "--output_dir. If not given, --learning_rate is then 1e-3, --num_train_epochs 15, --max_grad_norm 5, "
        "--weight_decay 0, the schedule constant without warm-up, and Adam has its bias correction.",
    )
    layers: tuple[str, ...] = option(
        ("-4", "-3", "-2", "-1"),
        "Whose activations: numbers of layers from 1, -1 is the last one, 0 the embeddings. "
        "all: the six rows of table 7 of the paper, one after the other; the best on the development set predicts.",
        only_with=_WITH_FEATURES,
    )
    combine: str = option(
        "concat",
        "How several layers become one vector.",
        choices=COMBINATIONS,
        only_with=_WITH_FEATURES,
    )
    lstm_units: int = option(
        768,
        "Units of each direction of the BiLSTM.",
        minimum=1,
        maximum=10_000,
        only_with=_WITH_FEATURES,
    )
    lstm_layers: int = option(
        2, "Layers of the BiLSTM.", minimum=1, maximum=100, only_with=_WITH_FEATURES
    )
    activation_precision: str = option(
        "float16",
        "Of the activations that are kept.",
        choices=("float16", "float32"),
        only_with=_WITH_FEATURES,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenClassificationOptions(
    TaggedFileOptions,
    FeatureOptions,
    DistillationOptions,
    HeadDropoutOptions,
    DevelopmentSetOptions,
    FineTuningOptions,
):
    """Tags of words, such as named entities."""

    label_scheme: str = option("iob2", "What the model learns chunks in.", choices=CHUNK_SCHEMES)
    context: str = option(
        AUTO,
        "What is read with a sentence. document: what stands around it in its document, as much as fits. vote: the "
        "same, and predictions are the mean of several windows. auto: document where the file has borders of documents.",
        choices=CONTEXTS,
    )
    max_seq_length: int = option(
        128,
        "Most tokens that the model sees at once: [CLS], a token and [SEP] at least. Sentences that are longer are "
        "read in parts.",
        minimum=3,
        common=True,
    )
    min_context: int = option(
        64,
        "Tokens of context on either side of what a window scores; at most a quarter of the window.",
        minimum=0,
    )
    sentences_per_window: int | None = option(
        None,
        "Most sentences that a window of training scores; 1 is a sentence an example, as in the paper.",
        minimum=1,
        default_text="as many as fit beside their context",
    )
    votes: int = option(
        4,
        "With --context=vote: windows begin every 1/votes of their length.",
        minimum=2,
        only_with=(f"context={VOTE}",),
    )

    def check(self) -> None:
        super().check()
        given = {
            "context=vote": self.context == VOTE,
            "teacher_checkpoint": self.teacher_checkpoint,
            "bilstm_units": self.bilstm_units is not None,
            "lora_rank": self.is_chosen("lora_rank"),
        }
        for name in (name for name, is_given in given.items() if is_given and self.feature_based):
            raise UserError(
                f"--{name} is for fine-tuning: --feature_based leaves the encoder as it is"
            )
        if self.feature_based and self.do_train and not self.init_checkpoint:
            raise UserError(
                "--feature_based takes the activations of a trained encoder: give --init_checkpoint"
            )
        if self.label_names and len(set(self.label_names)) < len(self.label_names):
            raise UserError(f"--label_names={','.join(self.label_names)}: a name is there twice")

    def combinations(self) -> list[Self]:
        """As in every selection; of --layers and --combine the first values belong together, the
        second ones and so on."""
        if "layers" not in self.sweep:
            return super().combinations()
        others = {
            name: values for name, values in self.sweep.items() if name not in ("layers", "combine")
        }
        return [
            one.replace(
                layers=layers,
                combine=combine,
                output_dir=(
                    f"{one.output_dir}_{combine}_{'_'.join(layers).replace(':', '_to_last')}"
                ),
            )
            for layers, combine in zip(self.sweep["layers"], self.sweep["combine"], strict=True)
            for one in self.replace(sweep=others or {"seed": (self.seed,)}).combinations()
        ]
