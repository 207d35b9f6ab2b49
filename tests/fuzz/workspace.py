"""Right inputs of every script, all of them tiny, and the command lines that read them: what
`mutations.py` spoils."""

import contextlib
import dataclasses
import gzip
import importlib
import itertools
import json
import pathlib
import re
import shutil
from collections.abc import Iterable, Sequence

from bert_common import cli
from bert_common.options import Options
from bert_tf.extras import adaptation
from bert_tf.extras.adaptation_plan import AdaptOptions
from bert_tf.extras.search import SearchOptions
from bert_tf.extras.search_index import run as search
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import run as classify
from bert_tf.tasks.question_answering.options import SquadConfig
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from tests.tiny import write_tiny

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
LENGTH, PREDICTIONS = 16, 3
# Below it files that are as right as those of the same names in the workspace, and others.
OTHERS = "others"
_TEXTS = (
    "the array is returned .",
    "a list is sorted .",
    "who is b ?",
    "the lists sorted . a b the array",
)


@dataclasses.dataclass(frozen=True)
class Command:
    """A right command line.

    Attributes:
      script: e.g. "data_gen/prepare_corpus.py".
      arguments: option → value, paths relative to the workspace.
      inputs: files that it reads, in the workspace.
      words: arguments that are no flags.
      exchanges: groups of files below `OTHERS` that may not stand in the place of those of the same
        names: the run or the index of the command was made from these.
      changing: inputs that may be others, but not from the opening of the weights on.
      before: arguments of earlier runs of the script, which come first.
      lost: files that a killed one of these would not have left.
      own: files that may change even if the command is refused.
    """

    script: str
    arguments: dict[str, str]
    inputs: tuple[str, ...]
    words: tuple[str, ...] = ()
    exchanges: tuple[tuple[str, ...], ...] = ()
    changing: tuple[str, ...] = ()
    before: tuple[dict[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    @property
    def entry(self) -> tuple[type[Options], str, str | None]:
        """What the script passes to `cli.run`: options, "module:function", field of the words."""
        call = re.search(
            r'cli\.run\((\w+), "([\w.:]+)"(?:, positional="(\w+)")?\)',
            (PROJECT / self.script).read_text("utf-8"),
        )
        module = importlib.import_module(self.script.removesuffix(".py").replace("/", "."))
        options, target, positional = call.groups()
        return getattr(module, options), target, positional


_TUNING = {
    "output_dir": "out",
    "init_checkpoint": "encoder",
    "do_train": "true",
    "num_train_epochs": "1",
    "train_batch_size": "4",
    "max_seq_length": "16",
}
_CORPUS = {"input_file": "corpus.txt", "num_workers": "1"}
_PRETRAINING = {
    "bert_config_file": "encoder/bert_config.json",
    "output_dir": "out",
    "do_train": "true",
    "num_train_steps": "1",
    "num_warmup_steps": "0",
    "train_batch_size": "4",
    "max_seq_length": str(LENGTH),
}
_SQUAD_LENGTHS = {"max_seq_length": "24", "doc_stride": "4", "max_query_length": "6"}
_MODEL = (
    "bert_config.json",
    "vocab.txt",
    "tokenizer_config.json",
    "ckpt-0.index",
    "ckpt-0.data-00000-of-00001",
)

_WEIGHTS = ("ckpt-0.index", "ckpt-0.data-00000-of-00001")
_INDEX = tuple(
    f"index/{name}" for name in ("index.json", "vectors.f32", "documents.jsonl", "offsets.i64")
)
# Of records and of a corpus that two machines make.
_SHARED_RECORDS = {
    **_CORPUS,
    "output_file": "shared@2",
    "vocab_file": "vocab.txt",
    "max_seq_length": str(LENGTH),
    "max_predictions_per_seq": str(PREDICTIONS),
    "dupe_factor": "1",
}
_FIRST, _SECOND = (f".shared-00000-of-00002.{number}-of-2.partial" for number in (1, 2))
_PREPARE_AND_WRITE = tuple({**_SHARED_RECORDS, "part": part} for part in ("1/2", "2/2", "2/2"))
_SHARED_CORPUS = {**_CORPUS, "input_file": "corpus.txt,pages.wet", "output_file": "shared.txt"}
_ADAPTATION = {
    "documents_dir": "handbook",
    "init_checkpoint": "masked",
    "general_file": "corpus.txt",
    "train_batch_size": "4",
    "max_seq_length": "16",
    "held_out_fraction": "0.5",
}
# Of an adaptation that is to be taken up again, and of one that lacks the verdict alone.
_ADAPTING = {**_ADAPTATION, "output_dir": "adapting", "num_train_steps": "1"}
_ADAPTED = {
    **_ADAPTATION,
    "output_dir": "adapted",
    "minutes": "1e-6",
    "train_file": "table.csv",
    "dev_file": "dev.csv",
}
_ADAPTED_FILES = tuple(
    f"adapted/{name}"
    for name in (
        "adapt.json",
        "corpus.txt",
        "held_out.txt",
        "corpus.tfrecord.stats.json",
        "speed/metrics.jsonl",
        "losses.jsonl",
        "classifier/eval_predictions.jsonl",
    )
)
_HANDBOOK = tuple(
    f"handbook/{name}"
    for name in ("notes.txt", "a/page.html", "a/page.md", "rows.jsonl", "list.json", "table.csv")
)
# Of a run that is to be taken up again.
_BEGUN = {
    **_TUNING,
    "output_dir": "begun",
    "do_eval": "true",
    "task_name": "custom",
    "train_file": "table.csv",
    "dev_file": "dev.csv",
    "text_a_column": "text",
    "label_column": "label",
    "teacher_checkpoint": "classification",
    "transfer_file": "table.jsonl",
}
_SENTENCES = tuple(
    f"sentences/{name}.json"
    for name in (
        "modules",
        "1_Pooling/config",
        "sentence_bert_config",
        "config",
        "tokenizer",
        "tokenizer_config",
    )
)
_RUN_STATE = tuple(
    f"tuning/run/{name}"
    for name in (
        "flags.json",
        "metrics.jsonl",
        "task.json",
        "checkpoint",
        "eval_results.json",
        "bert_config.json",
        "tokenizer_config.json",
        "best/best.json",
        "best/task.json",
        "best/checkpoint",
        "best/bert_config.json",
    )
)
_RESUMED = {
    "output_dir": "tuning/run",
    "do_train": "true",
    "do_eval": "true",
    "task_name": "custom",
    "train_file": "tuning/train.csv",
    "dev_file": "tuning/dev.csv",
    "text_a_column": "review",
    "label_column": "verdict",
    "bert_config_file": "tuning/bert_config.json",
    "vocab_file": "tuning/vocab.txt",
    "max_seq_length": "12",
    "train_batch_size": "8",
    "eval_batch_size": "8",
    "learning_rate": "3e-2",
    "num_train_epochs": "2",
    "save_checkpoints_steps": "4",
    "keep_checkpoint_max": "1",
    "seed": "7",
}


def _files_of(directory: str, *more: str) -> tuple[str, ...]:
    return tuple(f"{directory}/{name}" for name in (*_MODEL, *more))


COMMANDS = (
    Command("data_gen/prepare_corpus.py", {**_CORPUS, "output_file": "out.txt"}, ("corpus.txt",)),
    Command(
        "data_gen/prepare_corpus.py",
        {**_CORPUS, "input_file": "corpus.jsonl.gz", "output_file": "out.txt"},
        ("corpus.jsonl.gz",),
    ),
    Command(
        "data_gen/prepare_corpus.py",
        {**_CORPUS, "input_file": "pages.wet,articles.wiki", "output_file": "out.txt"},
        ("pages.wet", "articles.wiki"),
    ),
    Command(
        "data_gen/prepare_corpus.py",
        {**_SHARED_CORPUS, "part": "1/2"},
        tuple(
            f".shared.txt.{number}-of-2.partial/{name}"
            for number, text in ((1, "text-00000.txt"), (2, "text-00001.txt"))
            for name in ("manifest.json", "prepared.json", text)
        ),
        before=tuple({**_SHARED_CORPUS, "part": part} for part in ("1/2", "2/2")),
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {**_SHARED_RECORDS, "part": "1/2"},
        tuple(f"{_FIRST}/{name}.json" for name in ("manifest", "scan-00000", "run-000000")),
        before=_PREPARE_AND_WRITE[:2],
        lost=(f"{_FIRST}/prepared.json",),
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {**_SHARED_RECORDS, "part": "1/2"},
        (
            *(f"{_FIRST}/{name}.json" for name in ("prepared", "run-000000")),
            *(f"{_SECOND}/{name}.json" for name in ("manifest", "prepared", "written")),
        ),
        before=_PREPARE_AND_WRITE,
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {**_SHARED_RECORDS, "part": "2/2"},
        (f"{_SECOND}/part-00001-000000.json",),
        before=_PREPARE_AND_WRITE,
        lost=(f"{_SECOND}/written.json",),
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {
            **_CORPUS,
            "output_file": "out.tfrecord",
            "vocab_file": "vocab.txt",
            "max_seq_length": "16",
            "max_predictions_per_seq": "3",
            "dupe_factor": "2",
        },
        ("corpus.txt", "vocab.txt"),
    ),
    Command(
        "data_gen/prepare_corpus.py",
        {
            **_CORPUS,
            "output_file": "out.txt",
            "held_out_file": "held_out.txt",
            "held_out_fraction": "0.3",
            "part": "1/2",
        },
        ("corpus.txt",),
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {
            **_CORPUS,
            "output_file": "out.tfrecord@2",
            "vocab_file": "vocab.txt",
            "max_seq_length": "16",
            "max_predictions_per_seq": "3",
            "part": "2/2",
        },
        ("corpus.txt", "vocab.txt"),
    ),
    Command(
        "data_gen/read_folder.py",
        {"input_dir": "handbook", "output_file": "out.jsonl"},
        _HANDBOOK,
    ),
    Command(
        "vocab/build_vocab.py",
        {**_CORPUS, "output_dir": "out", "vocab_size": "200"},
        ("corpus.txt",),
    ),
    Command(
        "data_gen/convert_triviaqa.py",
        {"qa_file": "trivia.json", "evidence_dir": "evidence", "output_file": "out.json"},
        ("trivia.json", "evidence/a.txt"),
    ),
    Command(
        "make_glue_submission.py",
        {"input_dir": "glue", "output_file": "out.zip", "fill_missing": "true"},
        ("glue/RTE.tsv",),
    ),
    Command(
        "convert_checkpoint.py",
        {"input": "encoder", "output_format": "huggingface", "output": "out"},
        _files_of("encoder"),
    ),
    Command(
        "convert_checkpoint.py",
        {"input": "huggingface", "output_format": "original", "output": "out"},
        (
            "huggingface/config.json",
            "huggingface/model.safetensors",
            "huggingface/model_args.json",
            "huggingface/vocab.txt",
        ),
    ),
    Command(
        "run_pretraining.py",
        {
            **_PRETRAINING,
            "input_file": "train.tfrecord",
            "max_predictions_per_seq": str(PREDICTIONS),
        },
        ("train.tfrecord", "encoder/bert_config.json"),
    ),
    Command(
        "run_classifier.py",
        {
            **_TUNING,
            "task_name": "custom",
            "train_file": "table.csv",
            "text_a_column": "text",
            "label_column": "label",
        },
        ("table.csv", *_files_of("encoder")),
    ),
    Command(
        "run_classifier.py",
        {
            "output_dir": "out",
            "init_checkpoint": "classification",
            "do_predict": "true",
            "task_name": "custom",
            "test_file": "table.jsonl",
            "text_a_column": "text",
            "max_seq_length": "16",
        },
        ("table.jsonl", *_files_of("classification", "task.json")),
    ),
    Command(
        "run_squad.py",
        {**_TUNING, **_SQUAD_LENGTHS, "train_file": "squad.json"},
        ("squad.json", *_files_of("encoder")),
    ),
    Command(
        "run_squad.py",
        {
            "output_dir": "out",
            "init_checkpoint": "question_answering",
            "do_predict": "true",
            "predict_file": "squad.json",
        },
        ("squad.json", *_files_of("question_answering", "task.json")),
    ),
    Command(
        "run_classifier.py",
        {**_BEGUN, "num_train_epochs": "2"},
        (
            "table.csv",
            "dev.csv",
            "table.jsonl",
            *_files_of("classification", "task.json"),
            "begun/flags.json",
        ),
        exchanges=(
            ("table.csv",),
            ("dev.csv",),
            ("table.jsonl",),
            *(
                tuple(f"{name}/{part}" for part in _WEIGHTS)
                for name in ("encoder", "classification")
            ),
            ("begun/.teacher_outputs",),
            ("begun/best",),
            ("begun/best/best.json",),
            ("begun/task.json",),
        ),
    ),
    Command(
        "run_swag.py",
        {**_TUNING, "train_file": "swag.csv", "max_seq_length": "24"},
        ("swag.csv", *_files_of("encoder")),
    ),
    Command(
        "run_swag.py",
        {
            "output_dir": "out",
            "init_checkpoint": "choices",
            "do_predict": "true",
            "task_name": "custom",
            "test_file": "choices.jsonl",
            "question_column": "question",
            "choices_columns": "choices",
            "max_seq_length": "24",
        },
        ("choices.jsonl", *_files_of("choices", "task.json")),
    ),
    Command(
        "run_ner.py", {**_TUNING, "train_file": "tags.conll"}, ("tags.conll", *_files_of("encoder"))
    ),
    Command(
        "run_ner.py",
        {
            **_TUNING,
            "train_file": "prodigy.jsonl",
            "dev_file": "doccano.jsonl",
            "test_file": "label_studio.json",
            "do_eval": "true",
            "do_predict": "true",
        },
        ("prodigy.jsonl", "doccano.jsonl", "label_studio.json"),
    ),
    Command(
        "run_ner.py",
        {
            **_TUNING,
            "train_file": "tags.conll",
            "dev_file": "tags.conll",
            "feature_based": "true",
            "layers": "-1",
            "lstm_units": "4",
            "lstm_layers": "1",
        },
        ("tags.conll", *_files_of("encoder")),
    ),
    Command(
        "run_ner.py",
        {
            "output_dir": "out",
            "init_checkpoint": "tagger",
            "do_predict": "true",
            "test_file": "tags.jsonl",
            "max_seq_length": "16",
        },
        ("tags.jsonl", *_files_of("tagger", "task.json")),
    ),
    Command(
        "run_sentence_embedding.py",
        {
            **_TUNING,
            "task_name": "scored",
            "train_file": "pairs.csv",
            "text_a_column": "a",
            "text_b_column": "b",
            "label_column": "label",
        },
        ("pairs.csv", *_files_of("encoder")),
    ),
    Command(
        "run_sentence_embedding.py",
        {
            **_TUNING,
            "train_file": "flag_embedding.jsonl",
            "text_a_column": "query",
            "text_b_column": "pos",
            "negative_columns": "neg",
        },
        ("flag_embedding.jsonl",),
    ),
    Command(
        "run_sentence_embedding.py",
        {
            "output_dir": "out",
            "init_checkpoint": "embedding",
            "do_eval": "true",
            "queries_file": "beir/queries.jsonl",
            "documents_file": "beir/corpus.jsonl",
            "relevance_file": "beir/qrels.tsv",
        },
        ("beir/queries.jsonl", "beir/corpus.jsonl", "beir/qrels.tsv"),
    ),
    Command(
        "bert_tf/extras/search.py",
        {"init_checkpoint": "embedding", "documents_file": "lines.txt", "index_dir": "out"},
        ("lines.txt", *_files_of("embedding", "task.json")),
    ),
    Command(
        "bert_tf/extras/search.py",
        {
            "init_checkpoint": "embedding",
            "index_dir": "index",
            "input_file": "lines.txt",
            "output_file": "out.jsonl",
        },
        ("lines.txt", *_INDEX, *_files_of("embedding")),
        exchanges=(*((name,) for name in _INDEX), tuple(f"embedding/{name}" for name in _WEIGHTS)),
    ),
    Command(
        "run_pretraining.py",
        {**_PRETRAINING, "phases": f"{LENGTH}:1:packed.tfrecord", "vocab_file": "vocab.txt"},
        ("packed.tfrecord", "encoder/bert_config.json", "vocab.txt"),
    ),
    Command(
        "run_pretraining.py",
        {
            **_PRETRAINING,
            "do_train": "false",
            "do_eval": "true",
            "init_checkpoint": "masked",
            "input_file": "train.tfrecord",
            "max_predictions_per_seq": str(PREDICTIONS),
        },
        ("train.tfrecord", *_files_of("masked")),
    ),
    Command(
        "run_classifier.py",
        {
            **_TUNING,
            "task_name": "custom",
            "train_file": "rows.parquet",
            "text_a_column": "text",
            "label_column": "label",
            "id_column": "number",
            "optimizer": "lamb",
        },
        ("rows.parquet", *_files_of("encoder")),
    ),
    Command(
        "run_classifier.py",
        {
            **_TUNING,
            "task_name": "custom",
            "train_file": "several.tsv",
            "test_file": "rows.tsv",
            "do_predict": "true",
            "text_a_column": "text",
            "label_columns": "x,y",
            "id_column": "number",
        },
        ("several.tsv", "rows.tsv"),
    ),
    Command(
        "run_classifier.py",
        {
            **_TUNING,
            "task_name": "custom",
            "train_file": "rows.jsonl",
            "dev_fraction": "0.3",
            "do_eval": "true",
            "text_a_column": "text",
            "label_column": "label",
            "skip_bad_rows": "2",
        },
        ("rows.jsonl",),
    ),
    Command(
        "run_classifier.py",
        {
            **_TUNING,
            "task_name": "custom",
            "train_file": "chosen.jsonl",
            "text_a_column": "text",
            "label_column": "accept",
            "multi_label": "true",
        },
        ("chosen.jsonl",),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "classification",
            "input_file": "rows.parquet",
            "text_a_column": "text",
            "output_file": "out.csv",
        },
        ("rows.parquet", *_files_of("classification", "task.json")),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "classification",
            "input_file": "rows.tsv",
            "text_a_column": "text",
            "id_column": "number",
            "output_file": "out.jsonl",
        },
        ("rows.tsv",),
        changing=("rows.tsv",),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "begun",
            "input_file": "table.csv",
            "text_a_column": "text",
            "output_file": "out.csv",
        },
        ("table.csv", *(f"begun/best/{name}" for name in ("best.json", "task.json"))),
        exchanges=(("begun/best",), ("begun/best/best.json",), ("begun/best/task.json",)),
    ),
    Command(
        "convert_checkpoint.py",
        {
            "input": "tuning/run",
            "output_format": "original",
            "output": "out",
            "optimizer_state": "true",
        },
        tuple(
            f"tuning/run/{name}"
            for name in (
                "checkpoint",
                "bert_config.json",
                "tokenizer_config.json",
                "best/best.json",
            )
        ),
    ),
    Command(
        "convert_checkpoint.py",
        {"input": "encoder,others/encoder", "output_format": "native", "output": "out"},
        (*_files_of("encoder"), *_files_of("others/encoder")),
    ),
    Command("plot.py", {"output_dir": "out", "formats": "png"}, ("run/metrics.jsonl",), ("run",)),
    Command(
        "plot.py",
        {"output_dir": "out", "formats": "png", "what": "selection"},
        ("chosen/selection.json",),
        ("chosen",),
    ),
    Command(
        "bert_tf/extras/compare.py",
        {},
        (
            "evaluated/flags.json",
            "tuning/run/flags.json",
            "tuning/run/metrics.jsonl",
            "tuning/run/eval_results.json",
        ),
        ("evaluated", "tuning/run"),
    ),
    Command(
        "run_classifier.py",
        _RESUMED,
        (
            "tuning/train.csv",
            "tuning/dev.csv",
            "tuning/bert_config.json",
            "tuning/vocab.txt",
            *_RUN_STATE,
        ),
    ),
    Command(
        "predict.py",
        {"init_checkpoint": "tuning/run", "input_file": "lines.txt", "output_file": "out.jsonl"},
        _RUN_STATE,
    ),
    Command(
        "data_gen/create_pretraining_data.py",
        {
            **_CORPUS,
            "output_file": "records",
            "vocab_file": "vocab.txt",
            "max_seq_length": str(LENGTH),
            "max_predictions_per_seq": str(PREDICTIONS),
            "dupe_factor": "1",
        },
        ("records.stats.json", "records"),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "classification",
            "input_file": "lines.txt",
            "output_file": "out.jsonl",
        },
        ("lines.txt", *_files_of("classification", "task.json")),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "question_answering",
            "input_file": "questions.jsonl",
            "output_file": "out.jsonl",
            "max_seq_length": "20",
        },
        ("questions.jsonl", *_files_of("question_answering")),
    ),
    Command(
        "predict.py",
        {
            "init_checkpoint": "feature_tagger",
            "input_file": "lines.txt",
            "output_file": "out.jsonl",
        },
        ("lines.txt", *(f"feature_tagger/{name}" for name in (*_MODEL, "task.json", "best.json"))),
    ),
    Command(
        "extract_features.py",
        {
            "init_checkpoint": "encoder",
            "input_file": "lines.txt",
            "output_file": "out.jsonl",
            "max_seq_length": "16",
            "layers": "-1",
        },
        ("lines.txt", *_files_of("encoder")),
    ),
    Command(
        "fill_mask.py", {"init_checkpoint": "masked"}, _files_of("masked"), ("the [MASK] is .",)
    ),
    Command(
        "bert_tf/extras/text_loss.py",
        {
            "init_checkpoint": "masked,others/masked",
            "input_file": "corpus.txt,lines.txt",
            "output_file": "out.jsonl",
            "max_seq_length": "16",
        },
        ("corpus.txt", "lines.txt", *_files_of("masked")),
    ),
    Command(
        "bert_tf/extras/add_words.py",
        {
            "init_checkpoint": "masked",
            "input_file": "corpus.txt",
            "output_dir": "out",
            "min_count": "1",
        },
        ("corpus.txt", *_files_of("masked")),
    ),
    Command(
        "adapt.py",
        {**_ADAPTING, "output_dir": "out", "dry_run": "true"},
        _files_of("masked"),
    ),
    Command(
        "adapt.py",
        _ADAPTING,
        ("adapting/adapt.json", "corpus.txt", *_HANDBOOK, *_files_of("masked")),
        exchanges=(
            *((name,) for name in _HANDBOOK),
            tuple(f"masked/{name}" for name in _WEIGHTS),
            ("corpus.txt",),
        ),
        own=("adapting/adapt.json",),
    ),
    Command(
        "adapt.py",
        _ADAPTED,
        _ADAPTED_FILES,
        own=("adapted/adapt.json",),
    ),
    Command(
        "export_model.py",
        {"init_checkpoint": "classification", "export_dir": "out"},
        _files_of("classification", "task.json"),
    ),
    Command(
        "export_model.py",
        {
            "init_checkpoint": "tuning/run",
            "export_dir": "out",
            "format": "onnx",
            "quantize": "int8",
            "max_score_loss": "1",
            "dev_file": "tuning/dev.csv",
        },
        ("tuning/dev.csv", "tuning/run/best/flags.json", "tuning/run/best/task.json"),
    ),
    Command(
        "predict.py",
        {"init_checkpoint": "sentences", "input_file": "lines.txt", "output_file": "out.jsonl"},
        _SENTENCES,
    ),
)


def make_workspace(folder: pathlib.Path) -> None:
    """Writes the files that `COMMANDS` read, but for those of `add_runs`, into an existing, empty
    directory."""
    answers = SquadConfig(
        max_seq_length=24, doc_stride=4, max_query_length=6, version_2_with_negative=True
    ).to_task()
    for name, heads, task in (
        ("encoder", (), None),
        ("question_answering", ("question_answering",), answers),
        ("masked", ("masked_lm", "next_sentence"), None),
        (
            "choices",
            ("multiple_choice",),
            {
                "kind": "multiple_choice",
                "task_name": "custom",
                "max_seq_length": 24,
                "truncate": "end",
            },
        ),
        (
            "classification",
            ("classification",),
            {"kind": "classification", "labels": ["x", "y", "z"], "max_seq_length": 16},
        ),
        (
            "embedding",
            (),
            {
                "kind": "sentence_embedding",
                "pooling": "mean",
                "normalize": True,
                "max_seq_length": 16,
            },
        ),
        (
            "tagger",
            ("token_classification",),
            {
                "kind": "token_classification",
                "labels": ["O", "B-X", "I-X", "B-Y", "I-Y"],
                "max_seq_length": 16,
                "min_context": 2,
                "label_scheme": "iob2",
                "words": "basic",
            },
        ),
    ):
        for directory, seed in ((folder / name, 7), (folder / OTHERS / name, 8)):
            directory.mkdir(parents=True)
            write_tiny(directory, *heads, task=task, seed=seed)
    for name, output_format in (
        ("huggingface", "huggingface"),
        ("sentences", "sentence_transformers"),
    ):
        (folder / name).mkdir()
        write_tiny(folder / name, output_format=output_format)
    # As simpletransformers writes it.
    args = {"model_class": "ClassificationModel", "labels_map": {"x": 0}, "max_seq_length": 16}
    (folder / "huggingface/model_args.json").write_text(json.dumps(args))
    _write_texts(folder)
    for name, packed in (("records", False), ("train.tfrecord", False), ("packed.tfrecord", True)):
        generate(
            PretrainingDataOptions(
                input_file=str(folder / "corpus.txt"),
                output_file=str(folder / name),
                vocab_file=str(folder / "vocab.txt"),
                max_seq_length=LENGTH,
                max_predictions_per_seq=PREDICTIONS,
                dupe_factor=1,
                num_workers=1,
                packed=packed,
                dynamic_masking=packed,
            )
        )
    # Runs of earlier versions.
    earlier = PROJECT / "tests/fixtures/run_directories"
    shutil.copytree(earlier / "classification", folder / "tuning")
    shutil.copytree(earlier / "tagging_features/run/best", folder / "feature_tagger")


def add_runs(folder: pathlib.Path) -> None:
    """Adds what only commands with a model write: indexes and runs."""
    for directory in (folder, folder / OTHERS):
        search(
            SearchOptions(
                init_checkpoint=str(folder / "embedding"),
                documents_file=str(directory / "lines.txt"),
                index_dir=str(directory / "index"),
            )
        )
        with contextlib.chdir(directory):
            classify(
                cli.parse(
                    ClassificationOptions,
                    ["run_classifier.py", *(f"--{name}={value}" for name, value in _BEGUN.items())],
                )
            )
    with contextlib.chdir(folder):
        for arguments in (_ADAPTING, _ADAPTED):
            flags = [f"--{name}={value}" for name, value in arguments.items()]
            (folder / arguments["output_dir"]).mkdir(exist_ok=True)
            adaptation.begin(cli.parse(AdaptOptions, ["adapt.py", *flags]))


def _write_texts(folder: pathlib.Path) -> None:
    """Corpora, tables, questions; what runs of other kinds have left for plots and comparisons."""
    endings = ",".join(f"ending{number}" for number in range(4))
    tagged = [
        [
            (word, "B-X" if word == "list" else "I-X" if word == "sorted" and number == 1 else "O")
            for word in text.split()
        ]
        for number, text in enumerate(("the array .", "a list sorted .", "who is b"))
    ]
    context = " ".join(_TEXTS)
    runs = [
        {
            "learning_rate": rate,
            "train_batch_size": 16,
            "num_train_epochs": 2.0,
            "others": {},
            "seed": seed,
            "directory": "x",
            "metrics": {"accuracy": 1 - seed * rate},
            "degenerate": False,
        }
        for rate in (0.1, 0.2)
        for seed in (1, 2)
    ]
    contents = {
        **_annotated(_TEXTS),
        **_retrieval(_TEXTS),
        **_adapted(_TEXTS),
        **_marked(_TEXTS),
        "vocab.txt": (folder / "encoder/vocab.txt").read_text(),
        **_tables(_TEXTS, "xyz"),
        **{f"{OTHERS}/{name}": text for name, text in _tables(_TEXTS[::-1], "yzx").items()},
        "rows.tsv": _numbered_rows(_TEXTS * 3),
        f"{OTHERS}/rows.tsv": _numbered_rows(_TEXTS[::-1] * 3),
        "several.tsv": "number\ttext\tx\ty\n"
        + "".join(
            f"{row}\t{text}\t{row % 2}\t{row % 3 % 2}\n" for row, text in enumerate(_TEXTS * 2)
        ),
        "rows.jsonl": _json_lines(
            {"text": text, "label": "xyz"[row % 3]} for row, text in enumerate(_TEXTS * 6)
        ),
        "pairs.csv": "a,b,label\n"
        + "".join(
            f"{text},the list {number},{number % 2}\n" for number, text in enumerate(_TEXTS * 2)
        ),
        "swag.csv": f",video-id,fold-ind,startphrase,sent1,sent2,gold-source,{endings},label\n"
        + "".join(
            f"{number},v,{number},x,{text},a,gold,the list,b,is sorted,array,{number % 4}\n"
            for number, text in enumerate(_TEXTS)
        ),
        "choices.jsonl": _json_lines(
            {"question": text, "choices": ["the list", "b", "array"][: 2 + number % 2]}
            for number, text in enumerate(_TEXTS)
        ),
        "tags.conll": "-DOCSTART- O\n\n"
        + "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in tagged),
        "tags.jsonl": _json_lines(
            {"tokens": [word for word, _ in sentence]} for sentence in tagged
        ),
        "questions.jsonl": _json_lines(
            {"id": number, "question": "who is b ?", "context": context} for number in range(3)
        ),
        "squad.json": json.dumps(
            {
                "version": "1.1",
                "data": [
                    {
                        "title": "t",
                        "paragraphs": [
                            {
                                "context": context,
                                "qas": [
                                    {
                                        "id": str(number),
                                        "question": "who is sorted ?",
                                        "answers": [
                                            {"text": "list", "answer_start": context.index("list")}
                                        ],
                                    }
                                    for number in range(2)
                                ],
                            },
                            {
                                "context": "who is b .",
                                "qas": [
                                    {
                                        "id": "2",
                                        "question": "who ?",
                                        "answers": [{"text": "b", "answer_start": 7}],
                                    }
                                ],
                            },
                        ],
                    }
                ],
            }
        ),
        "trivia.json": json.dumps(
            {
                "Data": [
                    {
                        "QuestionId": "q1",
                        "Question": "who ?",
                        "Answer": {
                            "NormalizedAliases": ["list"],
                            "Aliases": ["list"],
                            "Value": "list",
                        },
                        "EntityPages": [{"Filename": "a.txt"}],
                        "SearchResults": [],
                    }
                ]
            }
        ),
        "evidence/a.txt": context,
        "glue/RTE.tsv": "index\tprediction\n"
        + "".join(f"{row}\tentailment\n" for row in range(3000)),
        "run/metrics.jsonl": _json_lines(
            {"step": step, "split": split, "loss": 1.0 / step, "accuracy": 0.5}
            for step in (1, 2, 3)
            for split in ("train", "eval")
        ),
        "chosen/selection.json": json.dumps(
            {"main_metric": "accuracy", "best": runs[1], "runs": runs}
        ),
        "evaluated/flags.json": json.dumps({"script": "run_classifier.py", "flags": {}}),
        "evaluated/eval_predictions.jsonl": _json_lines(
            {"label": "x", "probabilities": {"x": 0.6, "y": 0.4}, "true_label": label}
            for label in "xyx"
        ),
    }
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    rows = [line.split("\t") for line in contents["rows.tsv"].splitlines()]
    write_parquet(folder / "rows.parquet", rows)
    (folder / "corpus.jsonl.gz").write_bytes(
        gzip.compress(_json_lines([{"text": context}] * 8).encode())
    )


def _tables(texts: Sequence[str], labels: str) -> dict[str, str]:
    """Lines, and labeled and other rows of a run."""
    rows = "".join(f"{text},{labels[number % 3]}\n" for number, text in enumerate([*texts] * 2))
    # Repeated paragraphs are left out of some corpora.
    notes = [f"{' '.join(p)}\n{' '.join(p[1:])}" for p in itertools.permutations(texts)]
    documents = [{"text": text} for text in texts]
    return {
        "corpus.txt": "\n\n".join(["\n".join(texts)] * 8) + "\n",
        "handbook/notes.txt": "\n\n".join(notes) + "\n",
        "handbook/a/page.html": f"<h1>a</h1><p>{texts[0]}<p>{texts[1]}",
        "handbook/a/page.md": f"# a\n\n{texts[2]}\n\n* {texts[3]}\n",
        "handbook/rows.jsonl": _json_lines(documents),
        "handbook/list.json": json.dumps(documents),
        "handbook/table.csv": f"text\n{texts[1]}\n{texts[0]}\n",
        "lines.txt": "\n".join(texts) + "\n",
        "table.csv": f"text,label\n{rows}",
        "dev.csv": f"text,label\n{rows.replace('array', 'list')}",
        "table.jsonl": _json_lines({"text": text} for text in texts),
    }


def _annotated(texts: Sequence[str]) -> dict[str, str]:
    """Files of annotation tools: the first word of each text is an entity; texts of several
    classes."""
    examples = [(text, len(text.split()[0])) for text in texts]
    studio = [
        {
            "data": {"text": text},
            "annotations": [{"result": [{"value": {"start": 0, "end": end, "labels": ["X"]}}]}],
        }
        for text, end in examples
    ]
    return {
        "doccano.jsonl": _json_lines(
            {"id": number, "text": text, "label": [[0, end, "X"]]}
            for number, (text, end) in enumerate(examples)
        ),
        "prodigy.jsonl": _json_lines(
            {
                "_input_hash": 1,
                "text": text,
                "tokens": [{"text": text[:end], "start": 0, "end": end, "id": 0}],
                "spans": [{"start": 0, "end": end, "label": "X"}],
                "answer": "accept",
            }
            for text, end in examples
        ),
        "label_studio.json": json.dumps(studio),
        "chosen.jsonl": _json_lines(
            {"_input_hash": 1, "text": text, "accept": ["x", "y"][number % 2 :], "answer": "accept"}
            for number, text in enumerate([*texts] * 2)
        ),
    }


def _retrieval(texts: Sequence[str]) -> dict[str, str]:
    """Rows of FlagEmbedding, and queries, documents and judgments in the layout of BEIR."""
    rows = [{"_id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    queries = [{"_id": f"q{number}", "text": text} for number, text in enumerate(texts[:2])]
    judgments = [f"q{number}\td{number}\t{number + 1}\n" for number in range(2)]
    return {
        "flag_embedding.jsonl": _json_lines(
            {"query": text, "pos": [f"{text} b"], "neg": [*texts][: number % 3]}
            for number, text in enumerate(texts)
        ),
        "beir/queries.jsonl": _json_lines(queries),
        "beir/corpus.jsonl": _json_lines(rows),
        "beir/qrels.tsv": "query-id\tcorpus-id\tscore\n" + "".join(judgments),
    }


def _adapted(texts: Sequence[str]) -> dict[str, str]:
    """What the steps of an adaptation have left, one of a step."""
    losses = [
        {
            "checkpoint": checkpoint,
            "file": file,
            "document": document,
            "nats": 9.0,
            "shuffled_nats": 9.5,
        }
        for file in ("adapted/held_out.txt", "corpus.txt")
        for checkpoint in ("masked", "adapted/weights")
        for document in range(3)
    ]
    guesses = _json_lines(
        {"id": number, "label": "x", "true_label": label} for number, label in enumerate("xyx")
    )
    documents = "\n\n".join(["\n".join(texts)] * 9) + "\n"
    contents = {
        "documents.jsonl": "",
        "corpus.txt": documents,
        "held_out.txt": documents,
        "corpus.tfrecord.stats.json": json.dumps({"counts": {"instances": 8}}),
        "speed/ckpt-12.index": "",
        "speed/metrics.jsonl": _json_lines(
            {"step": step, "split": "train", "loss": 1.0, "examples_per_second": 9.5}
            for step in (6, 12)
        ),
        "weights/ckpt-1.index": "",
        "losses.jsonl": _json_lines(losses),
        "classifier_before/eval_predictions.jsonl": guesses,
        "classifier/eval_predictions.jsonl": guesses,
    }
    return {f"adapted/{name}": content for name, content in contents.items()}


def _marked(texts: Sequence[str]) -> dict[str, str]:
    """Pages of Common Crawl, and articles of WikiExtractor."""
    pages = [("warcinfo", "a: b")] + [("conversion", "\n".join(texts))] * 8
    return {
        "pages.wet": "".join(
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: {len(text)}\r\n\r\n{text}\r\n\r\n"
            for kind, text in pages
        ),
        "articles.wiki": f'<doc id="1" url="u" title="a">\na\n\n{texts[0]}\n</doc>\n' * 8,
    }


def _numbered_rows(texts: Sequence[str]) -> str:
    rows = [f"{row}\t{text}\t{'xyz'[row % 3]}\n" for row, text in enumerate(texts)]
    return "number\ttext\tlabel\n" + "".join(rows)


def _json_lines(values: Iterable[dict]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def write_parquet(path: pathlib.Path, rows: Sequence[Sequence[str | None]]) -> None:
    """Writes a header and rows; names may come twice."""
    import pyarrow
    import pyarrow.parquet

    columns = [
        pyarrow.array(list(column), pyarrow.string()) for column in zip(*rows[1:], strict=True)
    ]
    # Without rows there are still columns.
    columns = columns or [pyarrow.array([], pyarrow.string()) for _ in rows[0]]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, names=list(rows[0])), path)
