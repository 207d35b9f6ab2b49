"""The steps of `adapt.py`: commands from a folder of documents to an exported model.

Input: the options and the opened weights. Output: commands, which `adaptation.py` runs.
"""

import importlib.util
import os
from typing import TYPE_CHECKING, NamedTuple

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, Options, option, option_class

if TYPE_CHECKING:
    from modeling.checkpoints.load import Checkpoint

# Text like that which the weights have read, beside the package in a checkout.
_SAMPLE = os.path.normpath(os.path.join(__file__, "../../../samples/corpus.txt.gz"))
# Peak learning rates by the width of a model: the recipe's 2e-5 to 5e-5 for 768, more for less.
_PRETRAINING_RATE = 0.0256
_FINE_TUNING_RATE = 0.0384
# Share of the steps for the head of weights that have none.
_HEAD_SHARE = 0.2
_SPEED_STEPS = 12


@option_class
class AdaptOptions(Options):
    """Adaptation to a domain."""

    documents_dir: str = option(
        None,
        "Folder of documents: text, Markdown, HTML, JSON lines, tables, Parquet.",
        required=True,
        path=DIRECTORY,
    )
    init_checkpoint: str = option(
        None, "Weights to adapt, in any format, with their vocabulary.", required=True, path=True
    )
    output_dir: str = option(None, "Directory of all files.", required=True, path=True)
    minutes: float = option(10.0, "Minutes of further pre-training.", above=0, maximum=1e6)
    general_file: str | None = option(
        None,
        "Text of the kind that the weights were trained on, a blank line between documents: what "
        "is forgotten is measured on it.",
        default_text="the project's sample of English stories, in a checkout",
        path=FILE,
    )
    text_field: str = option("text", "Field or column of the text in JSON, tables and Parquet.")
    added_words: int = option(
        0, "Maximum number of frequent words of the documents to add to the vocabulary.", minimum=0
    )
    held_out_fraction: float = option(
        0.1, "Fraction of the documents that the verdict is measured on.", above=0, maximum=0.9
    )
    train_file: str | None = option(
        None, "Labeled texts: the result is a classifier, and the verdict is about it.", path=FILE
    )
    dev_file: str | None = option(None, "Labeled texts for the verdict.", path=FILE)
    text_a_column: str = option("text", "Column of the text in the labeled files.")
    label_column: str = option("label", "Column of the label.")
    embeddings: bool = option(
        False, "Train sentence embeddings of the documents (SimCSE): the result is their encoder."
    )
    max_seq_length: int = option(128, "Number of tokens of an example.", minimum=16)
    train_batch_size: int = option(32, "Examples per step.", minimum=1)
    num_train_steps: int | None = option(
        None, "Number of training steps.", minimum=1, default_text="as many as --minutes allow"
    )
    learning_rate: float | None = option(
        None, "Peak learning rate.", above=0, default_text="2e-4 to 3e-5, by the model's width"
    )
    seed: int = option(12345, "Seed of all randomness.", minimum=0)
    dry_run: bool = option(False, "Show the commands, and write nothing.", affects_result=False)

    def check(self) -> None:
        super().check()
        if bool(self.train_file) != bool(self.dev_file):
            raise UserError("--train_file and --dev_file belong together: give both or neither")
        for name in ("init_checkpoint", "output_dir", "general_file"):
            path = getattr(self, name)
            if path and "," in path:
                raise UserError(
                    f"--{name}: {path} has a comma, which separates names in the commands of the "
                    "steps: choose another name"
                )
        folder = os.path.join(os.path.realpath(self.documents_dir), "")
        output = os.path.join(os.path.realpath(self.output_dir), "")
        if output.startswith(folder):
            raise UserError(
                f"--output_dir: {self.output_dir} is in --documents_dir, whose files are read: "
                "choose one outside"
            )
        if self.train_file and self.embeddings:
            raise UserError(
                "--embeddings and --train_file: one of them is the result, leave one out"
            )

    @property
    def general_text(self) -> str | None:
        """Path of the text of the old domain; None without one."""
        if self.general_file is None and os.path.exists(_SAMPLE):
            return os.path.relpath(_SAMPLE)
        return self.general_file


class Step(NamedTuple):
    """A command.

    Attributes:
      made: path that exists when the step is complete; "" if none shows it.
    """

    title: str
    script: str
    arguments: tuple[str, ...]
    made: str = ""


class Plan:
    """The steps of an adaptation.

    Attributes:
      num_steps: steps of the training; None before the speed is known.
      before: the weights that training begins with, and the trained ones are compared with.
    """

    def __init__(self, options: AdaptOptions, checkpoint: "Checkpoint"):
        self._options = options
        self._checkpoint = checkpoint
        self.num_steps = options.num_train_steps
        self.needs_head = "masked_lm" not in checkpoint.heads
        self.documents = self._path("documents.jsonl")
        self.corpus = self._path("corpus.txt")
        self.held_out = self._path("held_out.txt")
        self.records = self._path("corpus.tfrecord")
        self.losses = self._path("losses.jsonl")
        self.weights = self._path("weights")
        self.start = options.init_checkpoint
        # The commands name the vocabulary's file.
        if options.added_words or checkpoint.has_temporary_vocabulary:
            self.start = self._path("start")
        # A new word costs less than its pieces before any training, so these weights have it, too.
        self.before = self._path("head") if self.needs_head else self.start
        self.result = self.weights
        if options.train_file:
            self.result = self._path("classifier")
        elif options.embeddings:
            self.result = self._path("embeddings")

    def _path(self, name: str) -> str:
        return os.path.join(self._options.output_dir, name)

    def text(self) -> list[Step]:
        """Returns the steps from documents to sentences."""
        options = self._options
        return [
            Step(
                "Documents: the text of all files",
                "data_gen/read_folder.py",
                (
                    f"--input_dir={options.documents_dir}",
                    f"--output_file={self.documents}",
                    f"--text_field={options.text_field}",
                    "--on_bad_utf8=replace",
                ),
                self.documents,
            ),
            Step(
                "Corpus: one sentence per line, without repetitions; some documents are held out",
                "data_gen/prepare_corpus.py",
                (
                    f"--input_file={self.documents}",
                    f"--output_file={self.corpus}",
                    f"--held_out_file={self.held_out}",
                    f"--held_out_fraction={options.held_out_fraction}",
                    "--hard_wrapped=false",
                    "--remove_duplicates",
                    f"--seed={options.seed}",
                ),
                self.corpus,
            ),
        ]

    def examples(self) -> list[Step]:
        """Returns the steps from sentences to records."""
        options = self._options
        steps = []
        vocab_file = self._checkpoint.vocab_file
        if self.start != options.init_checkpoint:
            vocab_file = os.path.join(self.start, "vocab.txt")
        if options.added_words:
            steps.append(
                Step(
                    "Words of the documents that the vocabulary lacks",
                    "bert_tf/extras/add_words.py",
                    (
                        f"--init_checkpoint={options.init_checkpoint}",
                        f"--input_file={self.corpus}",
                        f"--num_words={options.added_words}",
                        f"--output_dir={self.start}",
                    ),
                    self.start,
                )
            )
        elif self._checkpoint.has_temporary_vocabulary:
            steps.append(
                Step(
                    "The weights with their vocabulary in a file",
                    "convert_checkpoint.py",
                    (
                        f"--input={options.init_checkpoint}",
                        f"--output={self.start}",
                        "--output_format=huggingface",
                    ),
                    self.start,
                )
            )
        do_lower_case = str(self._checkpoint.tokenizer.do_lower_case).lower()
        steps.append(
            Step(
                "Records, several sequences packed into a row",
                "data_gen/create_pretraining_data.py",
                (
                    f"--input_file={self.corpus}",
                    f"--output_file={self.records}",
                    f"--vocab_file={vocab_file}",
                    f"--do_lower_case={do_lower_case}",
                    "--packed",
                    "--dynamic_masking",
                    "--next_sentence_prediction=false",
                    f"--max_seq_length={options.max_seq_length}",
                    f"--max_predictions_per_seq={self._max_predictions}",
                    f"--random_seed={options.seed}",
                    "--resume",
                ),
                f"{self.records}.stats.json",
            )
        )
        return steps

    def speed(self) -> Step:
        """Returns a short training, which shows how many steps a minute has."""
        return self._pretraining(
            "The speed of training here",
            self.start,
            "speed",
            str(_SPEED_STEPS),
            f"--iterations_per_loop={_SPEED_STEPS // 2}",
        )

    def training(self) -> list[Step]:
        """Returns the steps of training and measuring."""
        options = self._options
        num_steps = "STEPS" if self.num_steps is None else str(self.num_steps)
        steps = []
        if options.train_file:
            # First, so that wrong labeled files are found before hours of training.
            first = self._classifier("before", options.init_checkpoint, "classifier_before")
            steps.append(first)
        if self.needs_head:
            layers = self._checkpoint.config.num_hidden_layers
            head_steps = "STEPS"
            if self.num_steps is not None:
                head_steps = str(max(int(_HEAD_SHARE * self.num_steps), 1))
                num_steps = str(max(self.num_steps - int(head_steps), 1))
            flags = ("--freeze_embeddings", f"--freeze_layers={layers}")
            steps.append(
                self._pretraining(
                    "The weights have no masked-LM head: one is trained on the frozen encoder",
                    self.start,
                    "head",
                    head_steps,
                    *flags,
                )
            )
        steps.append(self._pretraining("Further pre-training", self.before, "weights", num_steps))
        steps.append(
            Step(
                "Held-out documents and old text, before and after",
                "bert_tf/extras/text_loss.py",
                (
                    f"--init_checkpoint={self.before},{self.weights}",
                    f"--input_file={','.join(self.texts)}",
                    f"--output_file={self.losses}",
                    f"--max_seq_length={options.max_seq_length}",
                    f"--seed={options.seed}",
                ),
                self.losses,
            )
        )
        if options.train_file:
            steps.append(self._classifier("after", self.weights, "classifier"))
        return steps

    def last(self) -> list[Step]:
        """Returns the steps after a verdict that it was worth it."""
        options = self._options
        steps = []
        if options.embeddings:
            steps.append(
                Step(
                    "Sentence embeddings",
                    "run_sentence_embedding.py",
                    (
                        "--task_name=text",
                        f"--train_file={self.documents}",
                        "--text_a_column=text",
                        *self._fine_tuning(self.weights, self.result),
                        "--num_train_epochs=1",
                        # Two dropout masks are what tells a text from itself.
                        "--hidden_dropout_prob=0.1",
                        "--attention_probs_dropout_prob=0.1",
                    ),
                )
            )
        arguments = [f"--init_checkpoint={self.result}"]
        # Without the package the weights are written for transformers alone.
        if importlib.util.find_spec("onnx") is None:
            script = "convert_checkpoint.py"
            arguments[0] = f"--input={self.result}"
            library = "sentence_transformers" if options.embeddings else "huggingface"
            arguments += [f"--output_format={library}", f"--output={self.model}"]
        else:
            script = "export_model.py"
            arguments += ["--format=hub", f"--export_dir={self.model}"]
            if self.result == self.weights:
                arguments += ["--task=fill_mask", f"--max_seq_length={options.max_seq_length}"]
        title = "A directory that every client loads"
        steps.append(Step(title, script, tuple(arguments), self.model))
        return steps

    @property
    def texts(self) -> list[str]:
        """Held-out documents and, if there is one, the old text."""
        texts = [self.held_out]
        if self._options.general_text:
            texts.append(self._options.general_text)
        return texts

    @property
    def model(self) -> str:
        """Directory of the exported model."""
        return self._path("model")

    @property
    def _max_predictions(self) -> int:
        # A row is full of sequences, whose numbers of predictions are rounded up.
        return round(0.15 * self._options.max_seq_length) + 2

    def _rate(self, factor: float) -> str:
        return f"{factor / self._checkpoint.config.hidden_size:.1e}"

    def _pretraining(self, title: str, start: str, name: str, num_steps: str, *flags: str) -> Step:
        """Returns a training of so many steps; "STEPS" if their number is not known yet."""
        options = self._options
        rate = options.learning_rate
        return Step(
            title,
            "run_pretraining.py",
            (
                "--do_train",
                f"--init_checkpoint={start}",
                f"--input_file={self.records}",
                f"--output_dir={self._path(name)}",
                f"--num_train_steps={num_steps}",
                *flags,
                f"--num_warmup_steps={self._warmup(num_steps)}",
                f"--learning_rate={self._rate(_PRETRAINING_RATE) if rate is None else rate}",
                f"--train_batch_size={options.train_batch_size}",
                f"--max_seq_length={options.max_seq_length}",
                f"--max_predictions_per_seq={self._max_predictions}",
                "--next_sentence_prediction=false",
                f"--seed={options.seed}",
            ),
            # A run that was stopped has saved an earlier step, and ends well.
            os.path.join(self._path(name), f"ckpt-{num_steps}.index"),
        )

    @staticmethod
    def _warmup(num_steps: str) -> str:
        """Returns a tenth of the steps."""
        return str(int(num_steps) // 10) if num_steps.isdecimal() else f"{num_steps}/10"

    def _classifier(self, when: str, start: str, name: str) -> Step:
        options = self._options
        return Step(
            f"A classifier of the labeled texts, {when}",
            "run_classifier.py",
            (
                "--task_name=custom",
                f"--train_file={options.train_file}",
                f"--dev_file={options.dev_file}",
                f"--text_a_column={options.text_a_column}",
                f"--label_column={options.label_column}",
                "--do_eval",
                *self._fine_tuning(start, self._path(name)),
            ),
            os.path.join(self._path(name), "eval_predictions.jsonl"),
        )

    def _fine_tuning(self, start: str, directory: str) -> tuple[str, ...]:
        options = self._options
        return (
            "--do_train",
            f"--init_checkpoint={start}",
            f"--output_dir={directory}",
            f"--learning_rate={self._rate(_FINE_TUNING_RATE)}",
            f"--max_seq_length={options.max_seq_length}",
            f"--seed={options.seed}",
        )
