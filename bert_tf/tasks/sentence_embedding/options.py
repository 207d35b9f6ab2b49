"""The options of `run_sentence_embedding.py`."""

import dataclasses

from bert_common.errors import UserError
from bert_common.options import DIRECTORY, FILE, option
from bert_tf.evaluation.retrieval import RANKING_METRICS
from bert_tf.runs.development_sets import DevelopmentSetOptions
from bert_tf.runs.options import FineTuningOptions
from data_gen.labelled.tables import FORMATS
from modeling.config import POOLINGS

PAIRS, SCORED, TEXT, NLI, SQUAD, STS_B = "pairs", "scored", "text", "nli", "squad", "sts-b"
# Kinds of files whose examples belong together: a development set is searched.
SEARCHED = (PAIRS, NLI, SQUAD)
# Metrics of development sets with scores.
OF_SCORES = ("spearman", "pearson")
# For how many documents recall is computed.
RECALL_AT = (1, 5, 10)
# Where --label_column is not given.
LABEL_COLUMNS = {NLI: "gold_label", SCORED: "score"}
# Those of the loss of pairs, and those that have columns.
_PAIRED = tuple(f"task_name={name}" for name in (*SEARCHED, TEXT))
_COLUMNS = tuple(f"{of}={name}" for name in LABEL_COLUMNS for of in ("task_name", "dev_task_name"))
_HARD = (f"task_name={PAIRS}", f"dev_task_name={PAIRS}")
_TWO_COLUMNS = (*_HARD, *_COLUMNS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SentenceEmbeddingOptions(DevelopmentSetOptions, FineTuningOptions):
    """Sentence embeddings."""

    task_name: str = option(
        PAIRS,
        "What the training file has. pairs: texts that belong together, with hard negatives where these have "
        "columns. scored: pairs with a score, such as 0 or 1. text: texts alone, each seen under two dropout masks "
        "(SimCSE). nli: entailments are pairs, contradictions hard negatives. squad: questions and the paragraphs that "
        "answer them, in SQuAD's layout. sts-b: GLUE's STS-B.",
        choices=(PAIRS, SCORED, TEXT, NLI, SQUAD, STS_B),
        common=True,
    )
    dev_task_name: str | None = option(
        None,
        "What --dev_file, --eval_files and --test_file have.",
        choices=(PAIRS, SCORED, NLI, SQUAD, STS_B),
        default_text="--task_name",
        common=True,
    )
    data_dir: str | None = option(
        None,
        "GLUE's directory, for sts-b, where no files are named.",
        path=DIRECTORY,
        common=True,
        affects_result=False,
    )
    train_file: str | None = option(
        None, "What is trained on.", path=FILE, common=True, affects_result=False
    )
    dev_file: str | None = option(
        None,
        "What is evaluated on, while training and at the end.",
        path=FILE,
        common=True,
        affects_result=False,
    )
    test_file: str | None = option(
        None, "Pairs whose cosines are predicted.", path=FILE, common=True, affects_result=False
    )
    file_format: str = option(
        "auto", "Of one's own files. auto: by their extensions.", choices=FORMATS
    )
    text_a_column: str | None = option(
        None,
        "The column of the anchor, of a premise, or of texts alone; numbers, from 0, where there is no header.",
        default_text="sentence1; texts alone stand one a line",
    )
    text_b_column: str = option(
        "sentence2", "The column of what belongs to it.", only_with=_TWO_COLUMNS
    )
    negative_columns: tuple[str, ...] = option(
        (), "The columns of hard negatives; an empty field is none.", only_with=_HARD
    )
    label_column: str | None = option(
        None,
        "The column of scores or labels.",
        default_text="score; of nli gold_label",
        only_with=_COLUMNS,
    )
    queries_file: str | None = option(
        None,
        "Queries to evaluate retrieval on, with --documents_file and --relevance_file.",
        path=FILE,
    )
    documents_file: str | None = option(None, "The documents that are searched.", path=FILE)
    relevance_file: str | None = option(
        None,
        "TSV or CSV with a header: id of a query, id of a document that answers it, and optionally a grade.",
        path=FILE,
    )
    id_column: str = option(
        "_id", "The column of ids of queries and documents.", only_with=("queries_file",)
    )
    text_column: str = option("text", "The column of their texts.", only_with=("queries_file",))
    pooling: str | None = option(
        None,
        "A text's vector: the mean over all tokens, that of [CLS], or the maximum over all tokens.",
        choices=POOLINGS,
        default_text="as the checkpoint was trained, else mean",
        common=True,
    )
    normalize: bool = option(True, "Scale vectors to length 1.")
    highest_score: float = option(
        1.0,
        "By which scores are divided.",
        above=0,
        only_with=(f"task_name={SCORED}", f"dev_task_name={SCORED}"),
    )
    similarity_scale: float = option(
        20.0,
        "By which cosines are multiplied in the loss of pairs: 1 / temperature.",
        above=0,
        sweep=True,
        only_with=_PAIRED,
    )
    learning_rate: float = option(2e-5, "Peak learning rate.", above=0, sweep=True, common=True)
    max_seq_length: int = option(
        128,
        "Longer texts are truncated to so many tokens, [CLS] and [SEP] included.",
        minimum=3,
        common=True,
    )

    @property
    def evaluated_task(self) -> str:
        """What the development files have."""
        return self.dev_task_name or self.task_name

    @property
    def retrieval_files(self) -> dict[str, str]:
        """Flag → path of a retrieval set, empty without one."""
        names = ("queries_file", "documents_file", "relevance_file")
        return {name: path for name in names if (path := getattr(self, name))}

    def metric_names(self) -> dict[str, tuple[str, ...]]:
        """Set, "dev" or "retrieval" → the metrics by which weights may be chosen, as far as there
        are such sets."""
        ranking = (*RANKING_METRICS, *(f"recall_at_{k}" for k in RECALL_AT))
        of_task = {**dict.fromkeys(SEARCHED, ranking), SCORED: OF_SCORES, STS_B: OF_SCORES}
        has_dev = (
            self.dev_file or self.dev_fraction or (self.data_dir and self.evaluated_task == STS_B)
        )
        names = {"dev": of_task[self.evaluated_task]} if has_dev else {}
        return names | ({"retrieval": ranking} if self.retrieval_files else {})

    def check(self) -> None:
        super().check()
        if 0 < len(self.retrieval_files) < 3:
            raise UserError(
                f"--{next(iter(self.retrieval_files))}: --queries_file, --documents_file and --relevance_file "
                "belong together: give all three"
            )
        if self.dev_fraction and (self.evaluated_task != self.task_name or not self.train_file):
            raise UserError(
                "--dev_fraction holds out a part of --train_file: give one, and leave --dev_task_name out"
            )
        if self.evaluated_task == TEXT and (
            self.dev_file or self.dev_fraction or self.test_file or self.eval_files
        ):
            raise UserError(
                f"--task_name={TEXT}: texts alone can't be evaluated on: give --dev_task_name, e.g. {STS_B}, for "
                "what the other files have"
            )
        if (
            self.do_train
            and not self.train_file
            and not (self.task_name == STS_B and self.data_dir)
        ):
            raise UserError(
                f"--do_train with --task_name={self.task_name} needs --train_file"
                f"{' or --data_dir' if self.task_name == STS_B else ''}"
            )
        if self.do_eval and not self.metric_names():
            raise UserError(
                "--do_eval needs --dev_file, or --queries_file, --documents_file and --relevance_file"
            )
        if self.do_predict and not self.test_file:
            raise UserError("--do_predict needs --test_file: the pairs whose cosines are predicted")
