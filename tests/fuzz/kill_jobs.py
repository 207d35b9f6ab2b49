"""The jobs that `kill.py` torments: what each command needs, and what of its output must always be
the same."""

import dataclasses
import functools
import http.server
import json
import os
import pathlib
import random
import shutil
import threading
from collections.abc import Callable, Mapping

import numpy as np


@dataclasses.dataclass(frozen=True)
class Job:
    """A command that writes into the current directory.

    Attributes:
      command: script and flags; the output is called `out` or begins with `out`.
      prepare: makes the inputs in a directory, which the commands find one level up.
      result: directory → what must be the same.
      workers: processes that do it together, with TF_CONFIG.
      machines: processes that share it by --part; the command is given until all is written.
      environment: variables for them.
      inputs: groups of files for which `add_others` makes others.
      steps: texts in the log, of which a signal waits for one, so that each of several commands
        meets as many.
    """

    command: tuple[str, ...]
    prepare: Callable[[pathlib.Path], None]
    result: Callable[[pathlib.Path], dict[str, object]]
    workers: int = 1
    machines: int = 1
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    inputs: tuple[tuple[str, ...], ...] = ()
    steps: tuple[str, ...] = ()


def _contents(directory: pathlib.Path) -> dict[str, object]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def _of_data(directory: pathlib.Path) -> dict[str, object]:
    contents = _contents(directory)
    statistics = json.loads(contents.pop("out.tfrecord.stats.json"))
    # Where the files are, when they were written, and how long it took.
    return contents | {
        name: value
        for name, value in statistics.items()
        if name not in ("run", "input_file", "output_file")
    }


def _results(run: pathlib.Path) -> dict[str, object]:
    from tests.processes import best_record

    names = (
        "eval_results.txt",
        "eval_results.json",
        "test_results.tsv",
        "predictions.jsonl",
    )
    found = {name: (run / name).read_bytes() for name in names if (run / name).exists()}
    return {**found, "best.json": best_record(run)}


def _of_run(directory: pathlib.Path, name: str = "out") -> dict[str, object]:
    """Weights and slots of the last and the best checkpoint, evaluations, results."""
    from tests.processes import curve, tensors

    run = directory / name
    found = {}
    for folder in filter(pathlib.Path.is_dir, (run, run / "best")):
        found |= {
            f"{folder.name}/{name}": value.tobytes() for name, value in tensors(folder).items()
        }
    found["evaluations"] = [line for line in curve(run) if line["split"] == "eval"]
    steps = [(line["split"], line["step"]) for line in curve(run)]
    found["steps reported twice"] = len(steps) - len(set(steps))
    return found | _results(run)


def _of_saved_model(directory: pathlib.Path) -> dict[str, object]:
    """Assets and weights; the graph's file numbers its functions as they come, and weights lie in
    any order."""
    import tensorflow as tf

    readers = [
        tf.train.load_checkpoint(str(path.with_suffix("")))
        for path in directory.rglob("variables/variables.index")
    ]
    weights = [
        reader.get_tensor(name)
        for reader in readers
        for name in reader.get_variable_to_shape_map()
        if "OBJECT_GRAPH" not in name
    ]
    assets = {name: content for name, content in _contents(directory).items() if "assets" in name}
    return assets | {"weights": sorted(value.tobytes() for value in weights)}


def _write_words(folder: pathlib.Path) -> None:
    from tests.tiny import TOKENS

    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    rng = random.Random(5)
    words = [token for token in TOKENS if token.isalpha()]
    (folder / "corpus.txt").write_text(
        "\n".join(
            " ".join(rng.choices(words, k=rng.randint(3, 12)))
            + (" .\n" if rng.random() < 0.1 else " .")
            for _ in range(20_000)
        )
        + "\n"
    )
    (folder / "lines.txt").write_text(
        "".join(" ".join(rng.choices(words, k=9)) + "\n" for _ in range(2000))
    )


def _write_records(folder: pathlib.Path) -> None:
    from tests.bert_tf.training.common import ONE_LAYER, write_records

    write_records(folder / "train.tfrecord", 300)
    write_records(folder / "dev.tfrecord", 30, 300)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))


def _write_records_where_nothing_locks(folder: pathlib.Path) -> None:
    """As `_write_records`, and a module that takes the locks away from processes that find it."""
    _write_records(folder)
    (folder / "no_locks").mkdir()
    (folder / "no_locks/sitecustomize.py").write_text(
        "import fcntl\n"
        "def no_lock(*arguments):\n"
        "    raise OSError(95, 'Operation not supported')\n"
        "fcntl.flock = fcntl.lockf = no_lock\n"
    )


def _write_packed(folder: pathlib.Path) -> None:
    """Records of two lengths whose tokens are masked while they are read."""
    from data_gen.options import PretrainingDataOptions
    from data_gen.pretraining.generation import generate
    from tests.tiny import CONFIG

    _write_words(folder)
    CONFIG.to_file(str(folder / "bert_config.json"))
    lines = (folder / "corpus.txt").read_text().splitlines(keepends=True)
    (folder / "corpus.txt").write_text("".join(lines[:1200]))
    for length in (16, 24):
        generate(
            PretrainingDataOptions(
                input_file=str(folder / "corpus.txt"),
                output_file=str(folder / f"packed{length}.tfrecord"),
                vocab_file=str(folder / "vocab.txt"),
                max_seq_length=length,
                max_predictions_per_seq=4,
                dupe_factor=1,
                num_workers=1,
                packed=True,
                dynamic_masking=True,
            )
        )


def _write_examples(folder: pathlib.Path) -> None:
    from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model

    write_model(folder)
    for name, count, seed in (("train", 300, 1), ("dev", 30, 2), ("test", 30, 3)):
        write_csv(folder / f"{name}.csv", count, seed)


def _write_teacher(folder: pathlib.Path) -> None:
    from bert_common import json_files
    from modeling.fine_tuning import BertForClassification
    from tests.bert_tf.tasks.classification.toy_task import MODEL

    _write_examples(folder)
    BertForClassification(MODEL, 2, seed=3).save_checkpoint(str(folder / "teacher"), "native")
    (folder / "teacher/vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    json_files.write(
        str(folder / "teacher/task.json"),
        {"kind": "classification", "labels": ["no", "yes"], "max_seq_length": 16},
    )


def _write_teacher_and_rows(folder: pathlib.Path) -> None:
    from tests.bert_tf.tasks.classification.toy_task import write_csv

    _write_teacher(folder)
    write_csv(folder / "rows.csv", 6000, 4)


def _write_pairs(folder: pathlib.Path) -> None:
    from tests.bert_tf.tasks.sentence_embedding.toy_pairs import write_columns, write_model

    write_model(folder)
    for name, count, seed in (("train", 300, 1), ("dev", 30, 2), ("test", 30, 3)):
        write_columns(folder / f"{name}.csv", count, seed)


def _write_sentences(folder: pathlib.Path) -> None:
    from modeling.checkpoints.convert import write_checkpoint
    from modeling.checkpoints.weights import original_names
    from modeling.encoder import BertEncoder
    from tests.bert_tf.tasks.token_classification.toy_names import (
        CONFIG,
        make_documents,
        write_conll,
        write_model,
    )

    write_model(folder)
    write_checkpoint(
        "native",
        str(folder / "model"),
        {
            name: np.asarray(one.value)
            for name, one in original_names(BertEncoder(CONFIG, seed=3)).items()
        },
        CONFIG,
        str(folder / "vocab.txt"),
        True,
    )
    for name, count, seed in (("train", 400, 1), ("dev", 40, 2), ("test", 40, 3)):
        write_conll(folder / f"{name}.conll", make_documents(count, seed))


def _of_run_and_caches(directory: pathlib.Path) -> dict[str, object]:
    caches = {
        name: content for name, content in _contents(directory).items() if name.startswith("out/.")
    }
    return _of_run(directory) | caches


def _write_checkpoint(folder: pathlib.Path, *heads: str, task: dict | None = None) -> None:
    from tests.tiny import write_tiny

    _write_words(folder)
    write_tiny(folder / "model", *heads, task=task)


def _write_masked_lm(folder: pathlib.Path) -> None:
    _write_checkpoint(folder, "masked_lm")


def _write_three(folder: pathlib.Path) -> None:
    from tests.tiny import write_tiny

    for seed, name in enumerate(("first", "second", "third")):
        write_tiny(folder / name, "masked_lm", "next_sentence", seed=seed)


def _write_embedder(folder: pathlib.Path) -> None:
    _write_checkpoint(
        folder,
        task={
            "kind": "sentence_embedding",
            "pooling": "mean",
            "normalize": True,
            "max_seq_length": 16,
        },
    )


def _serve_release(folder: pathlib.Path) -> None:
    """A server that plays Google's storage, until the process ends."""
    from modeling.checkpoints.named_weights import MIRROR_VARIABLE
    from tests.tiny import write_tiny

    (folder / "release").mkdir()
    write_tiny(folder / "release", "masked_lm", "next_sentence", output_format="original")
    shutil.make_archive(str(folder / "2020_02_20/uncased_L-2_H-128_A-2"), "zip", folder / "release")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0),
        functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder)),
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ[MIRROR_VARIABLE] = f"http://127.0.0.1:{server.server_port}"


def _write_corpus(folder: pathlib.Path) -> None:
    """A text and the names of people and places, for a whole experiment."""
    import gzip

    project = pathlib.Path(__file__).resolve().parents[2]
    (folder / "text.txt").write_bytes(
        gzip.decompress((project / "samples/corpus.txt.gz").read_bytes())[:60_000]
    )
    for split in ("train", "dev"):
        (folder / f"{split}.conll").write_text(
            "Ada\tB-person\nwrote\tO\nit\tO\n\nOslo\tB-place\n\n" * 6
        )


def _write_documents(folder: pathlib.Path) -> None:
    """Documents, and weights of others whose vocabulary is in `tokenizer.json` alone."""
    from tests.tiny import write_tiny

    _write_words(folder)
    lines = (folder / "corpus.txt").read_text().splitlines(keepends=True)
    (folder / "documents").mkdir()
    (folder / "documents/text.txt").write_text("".join(lines[:600]))
    (folder / "old.txt").write_text("".join(lines[600:700]))
    write_tiny(folder / "model", "masked_lm", output_format="huggingface")
    (folder / "model/vocab.txt").unlink()


def _of_adaptation(directory: pathlib.Path) -> dict[str, object]:
    """All that follows from the inputs alone, but for records and what runs report."""
    out = directory / "out"
    names = ("corpus.txt", "held_out.txt", "losses.jsonl", "verdict.json")
    found: dict[str, object] = {name: (out / name).read_bytes() for name in names}
    return found | _contents(out / "start") | _of_run(out, "weights")


def _of_experiment(directory: pathlib.Path) -> dict[str, object]:
    found = json.loads((directory / "out/table7.json").read_text())
    jobs = sorted(path.parent.name for path in directory.glob("out/jobs/*/job.json"))
    return {"rows": found["rows"], "jobs": jobs}


def _of_runs(directory: pathlib.Path) -> dict[str, object]:
    """The single runs of a selection, and what was made of them."""
    found = {}
    for path in sorted((directory / "out").rglob("metrics.jsonl")):
        # The runs lie at different depths: `_of_run` looks into a directory called out.
        run = path.parent
        found |= {
            f"{run.relative_to(directory)}/{name}": value
            for name, value in _of_run(run.parent, run.name).items()
        }
    return found | _results(directory / "out")


_PRETRAINING = (
    "run_pretraining.py",
    "--do_train",
    "--do_eval",
    "--eval_file=../dev.tfrecord",
    "--bert_config_file=../bert_config.json",
    "--max_seq_length=16",
    "--max_predictions_per_seq=3",
    "--train_batch_size=8",
    "--learning_rate=1e-3",
    "--num_train_steps=120",
    "--num_warmup_steps=10",
    "--save_checkpoints_steps=4",
    "--eval_steps=30",
    "--iterations_per_loop=2",
    "--keep_checkpoint_max=3",
    "--output_dir=out",
)
_TUNING = (
    "--bert_config_file=../bert_config.json",
    "--do_train",
    "--do_eval",
    "--train_batch_size=8",
    "--save_checkpoints_steps=5",
    "--eval_steps=10",
    "--iterations_per_loop=5",
    "--output_dir=out",
)
_REVIEWS = (
    "run_classifier.py",
    *_TUNING,
    "--do_predict",
    "--task_name=custom",
    "--train_file=../train.csv",
    "--dev_file=../dev.csv",
    "--test_file=../test.csv",
    "--text_a_column=review",
    "--label_column=verdict",
    "--max_seq_length=16",
)
_DATA = (
    "data_gen/create_pretraining_data.py",
    "--input_file=../corpus.txt",
    "--output_file=out.tfrecord@3",
    "--vocab_file=../vocab.txt",
    "--max_seq_length=32",
    "--max_predictions_per_seq=5",
    "--num_workers=2",
)


def add_others(folder: pathlib.Path, inputs: tuple[tuple[str, ...], ...]) -> None:
    """Writes, below `others`, files of the same sizes as the inputs and with other contents: lines
    and records in another order, weights of another sign."""
    import tensorflow as tf

    for name in (name for group in inputs for name in group):
        path, other = folder / name, folder / "others" / name
        other.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".tfrecord":
            records = list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
            with tf.io.TFRecordWriter(str(other)) as writer:
                for record in (*records[len(records) // 2 :], *records[: len(records) // 2]):
                    writer.write(record)
        elif path.suffix == ".index":
            reader = tf.train.load_checkpoint(str(path.with_suffix("")))
            tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
            tf.raw_ops.SaveV2(
                prefix=str(other.with_suffix("")),
                tensor_names=list(tensors),
                shape_and_slices=[""] * len(tensors),
                tensors=[
                    -value if getattr(value, "dtype", None) == np.float32 else value
                    for value in tensors.values()
                ],
            )
        elif not other.exists():
            first, *lines = path.read_bytes().splitlines(keepends=True)
            half = len(lines) // 2
            other.write_bytes(b"".join([first, *lines[half:], *lines[:half]]))


def _weights(directory: str) -> tuple[str, ...]:
    return f"{directory}/ckpt-0.index", f"{directory}/ckpt-0.data-00000-of-00001"


def _export(*flags: str, prepare: Callable[[pathlib.Path], None] = _write_masked_lm) -> Job:
    return Job(
        ("export_model.py", "--init_checkpoint=../model", "--export_dir=out", *flags),
        prepare,
        _contents if any(flag.startswith("--format=") for flag in flags) else _of_saved_model,
    )


JOBS = {
    "pretraining": Job(
        (*_PRETRAINING, "--input_file=../train.tfrecord"),
        _write_records,
        _of_run,
        inputs=(("train.tfrecord",), ("dev.tfrecord",)),
    ),
    "lease": Job(
        (*_PRETRAINING, "--input_file=../train.tfrecord"),
        _write_records_where_nothing_locks,
        _of_run,
        environment={"PYTHONPATH": "../no_locks"},
    ),
    "workers": Job(
        (
            *_PRETRAINING,
            "--input_file=../train.tfrecord",
            "--train_batch_size=12",
            "--eval_batch_size=12",
        ),
        _write_records,
        _of_run,
        workers=3,
    ),
    "finetuning": Job(
        (*_REVIEWS, "--learning_rate=1e-3", "--num_train_epochs=3"),
        _write_examples,
        _of_run,
        inputs=(("train.csv",), ("dev.csv",), ("test.csv",)),
    ),
    "early_stopping": Job(
        (
            *_REVIEWS,
            "--learning_rate=1e-2",
            "--num_train_epochs=30",
            "--early_stopping_patience=3",
            "--best_metric=accuracy",
        ),
        _write_examples,
        _of_run,
    ),
    "two_workers": Job(
        (*_REVIEWS, "--learning_rate=1e-3", "--num_train_epochs=2"),
        _write_examples,
        _of_run,
        workers=2,
    ),
    "phases": Job(
        (
            "run_pretraining.py",
            "--do_train",
            "--do_eval",
            "--phases=16:0.5:../packed16.tfrecord,24:0.5:../packed24.tfrecord",
            "--eval_file=../packed*.tfrecord",
            "--bert_config_file=../bert_config.json",
            "--vocab_file=../vocab.txt",
            "--optimizer=lamb",
            "--masked_lm_prob=0.3,0.15",
            "--train_batch_size=8",
            "--learning_rate=1e-3",
            "--num_train_steps=40",
            "--num_warmup_steps=10",
            "--save_checkpoints_steps=5",
            "--eval_steps=20",
            "--iterations_per_loop=5",
            "--output_dir=out",
        ),
        _write_packed,
        _of_run,
    ),
    "selection": Job(
        (
            *_REVIEWS,
            "--learning_rate=1e-3,1e-2",
            "--num_train_epochs=1",
            "--seed=1,2",
            "--lora_rank=2",
        ),
        _write_examples,
        _of_runs,
    ),
    "sweep": Job(
        (*_REVIEWS, "--learning_rate=1e-3,1e-2", "--train_batch_size=8,16", "--num_train_epochs=1"),
        _write_examples,
        _of_runs,
    ),
    "distillation": Job(
        (
            *_REVIEWS,
            "--learning_rate=1e-3",
            "--num_train_epochs=1",
            "--teacher_checkpoint=../teacher",
            "--transfer_file=../test.csv",
        ),
        _write_teacher,
        _of_run_and_caches,
        inputs=(("train.csv",), ("test.csv",), _weights("teacher")),
    ),
    "features": Job(
        (
            "run_ner.py",
            "--feature_based",
            "--data_dir=..",
            "--init_checkpoint=../model",
            "--do_train",
            "--do_eval",
            "--do_predict",
            "--max_seq_length=40",
            "--train_batch_size=16",
            "--lstm_units=12",
            "--layers=1,-1",
            "--num_train_epochs=3",
            "--save_checkpoints_steps=10",
            "--iterations_per_loop=5",
            "--output_dir=out",
        ),
        _write_sentences,
        _of_run_and_caches,
        inputs=(("train.conll",), _weights("model")),
    ),
    "embeddings": Job(
        (
            "run_sentence_embedding.py",
            *_TUNING,
            "--do_predict",
            "--train_file=../train.csv",
            "--dev_file=../dev.csv",
            "--test_file=../test.csv",
            "--negative_columns=negative",
            "--max_seq_length=16",
            "--learning_rate=1e-3",
            "--num_train_epochs=2",
            "--gradient_accumulation_steps=2",
        ),
        _write_pairs,
        _of_run,
    ),
    "data": Job((*_DATA, "--resume"), _write_words, _of_data, inputs=(("corpus.txt",),)),
    "parts": Job(_DATA, _write_words, _of_data, machines=2),
    "convert": Job(
        (
            "convert_checkpoint.py",
            "--input=../model",
            "--output_format=huggingface",
            "--output=out",
        ),
        _write_masked_lm,
        _contents,
        inputs=(_weights("model"),),
    ),
    "average": Job(
        (
            "convert_checkpoint.py",
            "--input=../first,../second,../third",
            "--output_format=native",
            "--output=out",
        ),
        _write_three,
        _contents,
    ),
    "download": Job(
        (
            "convert_checkpoint.py",
            "--input=google:uncased_L-2_H-128_A-2",
            "--output_format=huggingface",
            "--output=out",
        ),
        _serve_release,
        _contents,
        environment={"XDG_CACHE_HOME": "cache", "MPLCONFIGDIR": "../matplotlib"},
    ),
    "saved_model": _export(),
    "tfhub": _export("--api=tfhub"),
    "onnx": _export("--format=onnx"),
    "hub": _export("--format=hub", "--quantize=int8"),
    "extract": Job(
        (
            "extract_features.py",
            "--init_checkpoint=../model",
            "--input_file=../lines.txt",
            "--output_file=out.jsonl",
            "--layers=-1",
            "--max_seq_length=16",
        ),
        _write_masked_lm,
        _contents,
        inputs=(("lines.txt",), _weights("model")),
    ),
    "predict": Job(
        (
            "predict.py",
            "--init_checkpoint=../teacher",
            "--input_file=../rows.csv",
            "--text_a_column=review",
            "--output_file=out.csv",
        ),
        _write_teacher_and_rows,
        _contents,
        inputs=(("rows.csv",), _weights("teacher")),
    ),
    "search": Job(
        (
            "bert_tf/extras/search.py",
            "--init_checkpoint=../model",
            "--documents_file=../lines.txt",
            "--index_dir=out",
        ),
        _write_embedder,
        _contents,
        inputs=(("lines.txt",), _weights("model")),
    ),
    "vocab": Job(
        (
            "vocab/build_vocab.py",
            "--input_file=../corpus.txt",
            "--vocab_size=170",
            "--output_dir=out",
            "--num_workers=2",
        ),
        _write_words,
        _contents,
        inputs=(("corpus.txt",),),
    ),
    "adaptation": Job(
        (
            "adapt.py",
            "--documents_dir=../documents",
            "--init_checkpoint=../model",
            "--general_file=../old.txt",
            "--output_dir=out",
            "--held_out_fraction=0.3",
            "--num_train_steps=20",
            "--train_batch_size=8",
            "--max_seq_length=16",
        ),
        _write_documents,
        _of_adaptation,
        inputs=(("documents/text.txt",), ("old.txt",)),
        # The third writes the vocabulary of weights of others.
        steps=tuple(f"=== {number}. " for number in range(1, 7)),
    ),
    "experiment": Job(
        (
            "experiments/table7.py",
            "--scale=toy",
            "--output_dir=out",
            "--corpus=../text.txt",
            "--ner_dir=..",
            "--seeds=1",
            "--jobs=2",
        ),
        _write_corpus,
        _of_experiment,
    ),
}
