"""Options of `run_sentence_embedding.py`."""

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, option, option_class
from bert_tf.evaluation.retrieval import RANKING_METRICS
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import FineTuningOptions
from bert_tf.tasks.options import DataFileOptions, delimiter_option
from data_gen.labeled.row_formats import FORMATS
from modeling.config import POOLINGS

# Values of --task_name.
PAIRS = "pairs"
SCORED = "scored"
TEXT = "text"
NLI = "nli"
SQUAD = "squad"
STS_B = "sts-b"
# Files whose texts belong together; evaluation searches the right one among all.
SEARCHED = (PAIRS, NLI, SQUAD)
# Metrics of development sets with scores.
SCORE_METRICS = ("spearman", "pearson")
# Numbers of documents for which recall is computed.
RECALL_AT = (1, 5, 10)
# Defaults of --label_column.
LABEL_COLUMNS = {NLI: "gold_label", SCORED: "score"}
# Conditions of options: a loss that compares pairs, a label column, two text columns.
_PAIRED = tuple(f"task_name={name}" for name in (*SEARCHED, TEXT))
_IS_SCORED = (f"task_name={SCORED}", f"dev_task_name={SCORED}")
_LABELED = (*_IS_SCORED, f"task_name={NLI}", f"dev_task_name={NLI}")
_HARD_NEGATIVES = (f"task_name={PAIRS}", f"dev_task_name={PAIRS}")
_TWO_COLUMNS = (*_HARD_NEGATIVES, *_LABELED)


@option_class
class SentenceEmbeddingOptions(DataFileOptions, DevelopmentSetOptions, FineTuningOptions):
    """Sentence embeddings."""

    read_as_trained = ("max_seq_length", "normalize")

    task_name: str = option(
        PAIRS,
        "Content of the training file. pairs: texts that belong together, and columns of hard "
        "negatives, if any. scored: pairs with a score, such as 0 or 1. text: texts alone, each "
        "seen under two dropout masks (SimCSE). nli: entailments are pairs, contradictions hard "
        "negatives. squad: questions and the paragraphs that answer them, in SQuAD's layout. "
        "sts-b: GLUE's STS-B.",
        choices=(PAIRS, SCORED, TEXT, NLI, SQUAD, STS_B),
        common=True,
    )
    dev_task_name: str | None = option(
        None,
        "Content of --dev_file, --eval_files and --test_file.",
        choices=(PAIRS, SCORED, NLI, SQUAD, STS_B),
        default_text="--task_name",
        common=True,
    )
    data_dir: str | None = option(
        None,
        "GLUE's directory, for sts-b without file names.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    file_format: str = option(
        "auto", "Format of your own files. auto: by their extensions.", choices=FORMATS
    )
    delimiter: str | None = delimiter_option()
    text_a_column: str | None = option(
        None,
        "Column of the anchor, of a premise, or of texts alone; a number, from 0, for a file "
        "without a header.",
        default_text="sentence1; for texts alone, one text per line",
    )
    text_b_column: str = option(
        "sentence2", "Column of the text that belongs to the anchor.", only_with=_TWO_COLUMNS
    )
    negative_columns: tuple[str, ...] = option(
        (), "Columns of hard negatives; an empty field has none.", only_with=_HARD_NEGATIVES
    )
    # The default depends on the task, see `LABEL_COLUMNS`.
    label_column: str | None = option(
        None,
        "Column of scores or labels.",
        default_text="score; gold_label for nli",
        only_with=_LABELED,
    )
    queries_file: str | None = option(
        None,
        "Queries to evaluate retrieval on, with --documents_file and --relevance_file.",
        path=FILE,
    )
    documents_file: str | None = option(None, "Documents to search.", path=FILE)
    relevance_file: str | None = option(
        None,
        "TSV or CSV with a header: id of a query, id of a document that answers it, and optionally "
        "a grade.",
        path=FILE,
    )
    id_column: str = option(
        "_id", "Column of the ids of queries and documents.", only_with=("queries_file",)
    )
    text_column: str = option(
        "text", "Column of the texts of queries and documents.", only_with=("queries_file",)
    )
    # No default here: a checkpoint keeps the pooling it was trained with.
    pooling: str | None = option(
        None,
        "Vector of a text: the mean over all tokens, that of [CLS], or the maximum over all "
        "tokens.",
        choices=POOLINGS,
        default_text="as the checkpoint was trained, else mean",
        common=True,
    )
    normalize: bool = option(True, "Scale vectors to length 1.")
    highest_score: float = option(
        1.0,
        "Divisor of the scores.",
        above=0,
        only_with=_IS_SCORED,
    )
    # The default of sentence-transformers, a temperature of 0.05.
    similarity_scale: float = option(
        20.0,
        "Factor of the cosines in the loss of pairs: 1 / temperature.",
        above=0,
        sweep=True,
        only_with=_PAIRED,
    )
    # The learning rate of Sentence-BERT (Reimers and Gurevych, 2019).
    learning_rate: float = option(2e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    max_seq_length: int = option(
        128,
        "Maximum number of tokens of a text, [CLS] and [SEP] included; longer ones are truncated.",
        minimum=3,
        common=True,
    )

    @property
    def evaluated_task(self) -> str:
        """Content of the development files."""
        return self.task_name if self.dev_task_name is None else self.dev_task_name

    @property
    def retrieval_files(self) -> dict[str, str]:
        """Flag → path of a retrieval set, empty without one."""
        paths = {}
        for name in ("queries_file", "documents_file", "relevance_file"):
            if getattr(self, name):
                paths[name] = getattr(self, name)
        return paths

    def metric_names(self) -> dict[str, tuple[str, ...]]:
        """Returns set ("dev", "retrieval") → the metrics by which weights may be selected."""
        ranking_metrics = (*RANKING_METRICS, *(f"recall_at_{k}" for k in RECALL_AT))
        names = {}
        is_glue = bool(self.data_dir) and self.evaluated_task == STS_B
        if self.dev_file or self.dev_fraction or is_glue:
            # Scores are compared with cosines, pairs that belong together are searched.
            is_searched = self.evaluated_task in SEARCHED
            names["dev"] = ranking_metrics if is_searched else SCORE_METRICS
        if self.retrieval_files:
            names["retrieval"] = ranking_metrics
        return names

    def check(self) -> None:
        super().check()
        if 0 < len(self.retrieval_files) < 3:
            raise UserError(
                f"--{next(iter(self.retrieval_files))}: --queries_file, --documents_file and "
                "--relevance_file belong together: give all three"
            )
        if self.dev_fraction and (self.evaluated_task != self.task_name or not self.train_file):
            raise UserError(
                "--dev_fraction holds out a part of --train_file: give one, and leave "
                "--dev_task_name out"
            )
        has_dev_set = self.dev_file or self.dev_fraction or self.eval_files
        if self.evaluated_task == TEXT and (has_dev_set or self.test_file):
            raise UserError(
                f"--task_name={TEXT}: texts alone can't be evaluated on: give --dev_task_name, "
                f"e.g. {STS_B}, for the content of the other files"
            )
        if self.do_train and not self.train_file:
            if self.task_name != STS_B:
                raise UserError(f"--do_train with --task_name={self.task_name} needs --train_file")
            if not self.data_dir:
                raise UserError(
                    f"--do_train with --task_name={STS_B} needs --train_file or --data_dir"
                )
        if self.do_eval and not self.metric_names():
            raise UserError(
                "--do_eval needs --dev_file, --dev_fraction, or --queries_file, --documents_file "
                "and --relevance_file"
            )
        if self.do_predict and not self.test_file:
            raise UserError("--do_predict needs --test_file: the pairs whose cosines are predicted")
