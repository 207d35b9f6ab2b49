import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks.token_classification import feature_based
from bert_tf.tasks.token_classification.feature_based import (
    layer_numbers,
    run,
    stored_activations,
    words_of,
)
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.training import run_directory
from data_gen.labeled.word_windows import WordPieces, WordWindows, make_windows
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.companion_files import SUFFIX
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.load import load_weights, open_checkpoint
from modeling.checkpoints.weights import original_names
from modeling.encoder import BertEncoder
from tests.bert_tf.inference.stock_server import assert_served
from tests.bert_tf.tasks.token_classification.toy_names import (
    CONFIG,
    TOKENS,
    make_documents,
    write_conll,
)
from tests.full_disk import full_disk
from tests.processes import tensors

CACHE = ".activation_cache"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    (folder / "words.txt").write_text("\n".join(TOKENS) + "\n")
    for name, seed in (("model", 3), ("other_model", 4)):
        (folder / name).mkdir()
        weights = {
            name: np.asarray(one.value)
            for name, one in original_names(BertEncoder(CONFIG, seed=seed)).items()
        }
        write_checkpoint(
            "native", str(folder / name), weights, CONFIG, str(folder / "words.txt"), True
        )
    for name, count, seed in (("train", 60, 1), ("dev", 15, 2), ("test", 15, 3)):
        write_conll(folder / f"{name}.conll", make_documents(count, seed))
    return folder


def options(folder, output_dir, **changes) -> TokenClassificationOptions:
    given = dict(
        data_dir=str(folder),
        output_dir=str(output_dir),
        init_checkpoint=f"{folder}/model",
        do_train=True,
        do_eval=True,
        feature_based=True,
        lstm_units=12,
        lstm_layers=1,
        max_seq_length=40,
        num_train_epochs=8,
        learning_rate=0.02,
        train_batch_size=16,
        layers=("1", "-1"),
        combine="weighted_sum",
        seed=1,
    )
    given |= changes
    return TokenClassificationOptions(**given, given=frozenset(given))


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    assert run(options(folder, directory)) == 0
    return directory


@pytest.fixture
def finished(trained, tmp_path):
    """A copy, to be changed."""
    return shutil.copytree(trained, tmp_path / "run")


def cached(directory, name: str) -> np.ndarray:
    record = json_files.read(str(directory / CACHE / f"{name}.json"))
    made_from = record["sources"]
    return np.fromfile(directory / CACHE / f"{name}.bin", made_from["precision"]).reshape(
        made_from["words"], len(record["layers"]), made_from["hidden_size"]
    )


def test_it_learns_from_activations_that_are_kept(folder, trained):
    results = json_files.read(str(trained / "eval_results.json"))
    assert results["eval_f1"] > 0.5
    assert json_files.read(str(trained / "best/best.json"))["metrics"]["f1"] == results["eval_f1"]
    assert (trained / "dev_predictions.txt").exists() and (trained / "train").is_dir()
    flags = run_directory.read_flags(str(trained))
    # What is given, and what is not: the defaults of this kind of run.
    assert (flags["learning_rate"], flags["max_grad_norm"], flags["weight_decay"]) == (
        0.02,
        5.0,
        0.0,
    )
    assert (
        flags["optimizer_bias_correction"],
        flags["lr_schedule"],
        flags["warmup_proportion"],
    ) == (True, "constant", 0)
    # The first sentence's words, all of one sub-token, as the encoder sees them in the window of
    # their document.
    stored = cached(trained, "dev")
    opened = open_checkpoint(f"{folder}/model")
    encoder = BertEncoder(opened.config)
    load_weights(encoder, opened.source)
    document = (folder / "dev.conll").read_text().split("-DOCSTART-")[1]
    words = [line.split()[0] for line in document.splitlines()[1:] if line]
    ids = tf.constant([[TOKENS.index(word) for word in ["[CLS]", *words, "[SEP]"]]])
    outputs = encoder(ids)
    assert stored.dtype == np.float16
    for column in (0, 1):
        np.testing.assert_allclose(
            stored[: len(words), column], outputs[f"encoder_layer_{column}"][0, 1:-1], atol=2e-3
        )


def test_checkpoints_hold_encoder_and_tagger_and_train_the_tagger_only(folder, trained):
    for directory in (trained, trained / "best"):
        names = tensors(directory)
        assert f"heads/feature_tagger/lstm_0/forward/kernel{SUFFIX}" in names
        assert f"encoder/pooler/dense/kernel{SUFFIX}" in names
    assert {name.split("/")[2] for name in tensors(trained) if name.startswith("optimizer/")} == {
        "heads"
    }
    np.testing.assert_array_equal(
        *(
            tensors(one)[f"encoder/embeddings/word_embeddings{SUFFIX}"]
            for one in (trained, folder / "model")
        )
    )


def test_the_cache_knows_what_it_was_made_from(folder, finished, capsys):
    def computed(**changes) -> bool:
        capsys.readouterr()
        run(options(folder, finished, **changes))
        return "dev: activations of" in capsys.readouterr().out

    # Padding and the other flags of training change nothing; what the encoder reads does.
    assert not computed(train_batch_size=8, seed=2)
    assert computed(max_seq_length=30) and not computed(max_seq_length=30)
    assert computed(max_seq_length=30, activation_precision="float32")


def test_another_run_in_the_same_directory(folder, finished, capsys):
    """Scores of other data, of another encoder or another model are never shown as those of this
    one."""
    encoder = tensors(finished)[f"encoder/pooler/dense/kernel{SUFFIX}"]
    for changes, message in (
        ({"lstm_units": 9}, "--lstm_units=12, --lstm_units=9 is given"),
        ({"layers": ("2",)}, "--layers=1,-1, --layers=2 is given"),
        ({"label_scheme": "iobes"}, "holds checkpoints of another configuration .id2label"),
    ):
        with pytest.raises(UserError, match=message):
            run(options(folder, finished, **changes))
    renamed = finished.parent / "renamed"
    renamed.mkdir()
    for name in ("train", "dev"):
        (renamed / f"{name}.conll").write_text(
            (folder / f"{name}.conll").read_text().replace("PER", "HUM")
        )
    with pytest.raises(UserError, match="another configuration .id2label"):
        run(options(folder, finished, data_dir=str(renamed)))
    results = json_files.read(str(finished / "eval_results.json"))
    for changes, message in (
        ({"init_checkpoint": f"{folder}/other_model"}, "other start weights .*other_model"),
        ({"dev_file": f"{folder}/test.conll"}, "other development data in .*test.conll"),
    ):
        with pytest.raises(UserError, match=message):
            run(options(folder, finished, **changes))
    assert (
        run(
            options(
                folder,
                finished,
                do_train=False,
                init_checkpoint=None,
                dev_file=f"{folder}/test.conll",
            )
        )
        == 0
    )
    assert json_files.read(str(finished / "eval_results.json")) != results
    np.testing.assert_array_equal(
        tensors(finished)[f"encoder/pooler/dense/kernel{SUFFIX}"], encoder
    )


@pytest.fixture(scope="module")
def table(folder, tmp_path_factory):
    """All rows that the model has the layers for."""
    directory = tmp_path_factory.mktemp("table")
    assert (
        run(options(folder, directory, layers=("all",), num_train_epochs=1, do_predict=True)) == 0
    )
    return directory


def test_the_rows_of_table_7_are_a_selection(folder, table, capsys):
    found = json_files.read(str(table / "selection.json"))
    # This model has two layers: the rows of the last four are left out.
    assert [tuple(one["others"].values()) for one in found["runs"]] == [
        ("0", "concat"),
        ("-2", "concat"),
        ("-1", "concat"),
        ("1:", "weighted_sum"),
    ]
    # One cache for all of them.
    assert cached(table, "train").shape[1] == 3
    assert [path for path in table.rglob(CACHE)] == [table / CACHE]
    assert (table / "lr0.02_bs16_ep1_seed1_weighted_sum_1_to_last/eval_results.json").exists()
    assert (table / "test_predictions.txt").exists() and (table / "best/task.json").exists()
    assert run(options(folder, table, layers=("all",), num_train_epochs=1)) == 0
    printed = capsys.readouterr().out
    assert printed.count("finished already") == 4 and "activations of" not in printed
    # The best predicts without being trained again.
    assert run(options(folder, table, do_train=False, do_predict=True, layers=("all",))) == 0


def test_layers():
    assert layer_numbers(("-1", "1", "0"), 12) == (12, 1, 0) and layer_numbers(("1:",), 3) == (
        1,
        2,
        3,
    )
    with pytest.raises(UserError, match="there is no layer 3"):
        layer_numbers(("3",), 2)


@pytest.fixture(scope="module")
def of_sentences(folder, tmp_path_factory):
    """A run whose sentences are read alone, as those of predictions are."""
    directory = tmp_path_factory.mktemp("of_sentences")
    run(
        options(
            folder,
            directory,
            context="sentence",
            lstm_layers=2,
            layers=("0", "-1"),
            combine="concat",
            activation_precision="float32",
            do_predict=True,
        )
    )
    return directory


def predictions(path) -> tuple[list[list[str]], list[list[str]]]:
    sentences = [
        [line.split() for line in block.splitlines()]
        for block in path.read_text().strip().split("\n\n")
    ]
    return [[word for word, *_ in one] for one in sentences], [
        [guess for *_, guess in one] for one in sentences
    ]


def test_predictions_are_those_of_the_run(folder, of_sentences):
    predictor = Predictor.from_checkpoint(str(of_sentences))
    assert predictor.task == "token_classification_from_features"
    words, tags = predictions(of_sentences / "test_predictions.txt")
    results = predictor([{"tokens": sentence} for sentence in words])
    assert [result["tags"] for result in results] == tags
    assert any(result["entities"] for result in results)
    assert predictor([{"tokens": []}]) == [{"entities": [], "tags": []}]
    # The encoder is there, too, for whatever else.
    assert Predictor.from_checkpoint(str(of_sentences), "features").task == "features"


def test_a_run_of_an_earlier_version_predicts_as_it_did(project, tmp_path, folder):
    """The command is in tests/fixtures/README.md."""
    fixture = project / "tests/fixtures/run_directories/tagging_features"
    words, tags = predictions(fixture / "run/weighted_sum_2_1_seed1/test_predictions.txt")
    results = Predictor.from_checkpoint(str(fixture / "run"))(
        [{"tokens": sentence} for sentence in words]
    )
    assert [result["tags"] for result in results] == tags
    # It is evaluated, too.
    assert (
        run(
            options(
                folder,
                tmp_path / "out",
                init_checkpoint=str(fixture / "run"),
                do_train=False,
                do_eval=False,
                do_predict=True,
                context="sentence",
                test_file=str(fixture / "test.conll"),
            )
        )
        == 0
    )
    assert predictions(tmp_path / "out/test_predictions.txt")[1] == tags


def test_an_export_gives_what_predictions_give(folder, of_sentences, tmp_path):
    words = [
        [line.split()[0] for line in block.splitlines() if line and not line.startswith("-DOC")]
        for block in (folder / "test.conll").read_text().split("\n\n")
    ]
    texts = ["", *(" ".join(sentence) for sentence in words if sentence)]
    report = export(
        ExportOptions(init_checkpoint=str(of_sentences), export_dir=str(tmp_path / "1"))
    )
    assert report.max_difference < 1e-5
    assert_served(tmp_path / "1")
    outputs = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](
        text=tf.constant(texts)
    )
    found = 0
    for row, result in enumerate(Predictor.from_checkpoint(str(of_sentences))(texts)):
        spans = [(one["start"], one["end"], one["label"].encode()) for one in result["entities"]]
        assert spans == [
            tuple(outputs[name].numpy()[row, number] for name in ("start", "end", "label"))
            for number in range(len(spans))
        ]
        assert (outputs["start"].numpy()[row, len(spans) :] == -1).all()
        found += len(spans)
    assert found > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"combine": "sum"}, "does not fit this model: feature_tagger/lstm_0/forward/kernel is"),
        ({"combine": "mean"}, "combine in task.json is 'mean', one of concat, sum, weighted_sum"),
        ({"layers": [3]}, "layers in task.json is .3., a list of numbers of layers, 0 to 2"),
        ({"labels": ["O"]}, "must name . different labels"),
    ],
)
def test_files_that_do_not_belong_together(of_sentences, tmp_path, change, message):
    shutil.copytree(of_sentences / "best", tmp_path / "best")
    task = json_files.read(str(tmp_path / "best" / "task.json"))
    json_files.write(str(tmp_path / "best" / "task.json"), {**task, **change})
    with pytest.raises(UserError, match=message):
        Predictor.from_checkpoint(str(tmp_path / "best"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"do_train": False}, "lacks the names of its labels"),
        ({"context": "vote"}, "--context=vote is for fine-tuning"),
        ({"lora_rank": 4}, "--lora_rank is for fine-t"),
        ({"init_checkpoint": None}, "give --init_checkpoint"),
    ],
)
def test_what_does_not_fit_is_refused(folder, tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        run(options(folder, tmp_path, **changes))
    assert not os.listdir(tmp_path)


# The cache of activations: what is used and computed again.
LENGTHS = np.array([3, 0, 2, 7, 1, 5, 4])
HIDDEN, LAYERS = 4, (0, 2, 3)
MADE_FROM = {"encoder": "abc", "max_seq_length": 6}


@pytest.fixture
def windows(tmp_path, monkeypatch) -> WordWindows:
    monkeypatch.setattr(feature_based, "_WINDOWS_AT_ONCE", 2)
    count = int(LENGTHS.sum())
    pieces = WordPieces(np.full(count, 5, np.int32), np.ones(count, np.int64), 0)
    return make_windows(pieces, LENGTHS, None, Vocabulary([*SPECIAL_TOKENS, "a"]), max_seq_length=6)


def read(
    output_dir, windows, layers=(0, 3), fails_at=None, offset=0, **changes
) -> tuple[np.ndarray, int]:
    """The activations in the cache, and for how many windows the encoder was run: layer n of word w
    is w + n / 10."""
    seen = 0

    def compute(first: int, end: int) -> np.ndarray:
        nonlocal seen
        if fails_at is not None and end > fails_at:
            raise KeyboardInterrupt
        seen += end - first
        words = np.array(words_of(windows, first, end)) + offset
        values = words[:, None, None] + np.array(LAYERS)[:, None] / 10
        return np.broadcast_to(values, (len(words), len(LAYERS), HIDDEN)).astype(np.float32)

    found = stored_activations(
        str(output_dir),
        "dev",
        windows,
        layers,
        LAYERS,
        HIDDEN,
        {**MADE_FROM, **changes},
        "float32",
        compute,
        lambda line: None,
    )
    return found[np.arange(found.shape[0])], seen


@pytest.fixture
def expected(tmp_path, windows) -> np.ndarray:
    found, seen = read(tmp_path, windows)
    assert seen == len(windows) > 4 and found.shape == (LENGTHS.sum(), 2, HIDDEN)
    np.testing.assert_allclose(found[:, :, 1], np.arange(len(found))[:, None] + [0, 0.3])
    return found


def test_what_is_there_is_not_computed_again(tmp_path, windows, expected):
    for layers in ((0, 3), (3,), (3, 0)):
        found, seen = read(tmp_path, windows, layers)
        np.testing.assert_array_equal(found, expected[:, [(0, 3).index(layer) for layer in layers]])
        assert seen == 0


def test_activations_of_something_else_are_computed_again(tmp_path, windows, expected):
    assert read(tmp_path, windows, encoder="abd")[1] == len(windows)
    assert read(tmp_path, windows, encoder="abd")[1] == 0
    assert read(tmp_path, windows)[1] == len(windows)
    # Those of another encoder that were not finished are not taken for these.
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path, windows, encoder="abd", offset=100, fails_at=2)
    found, seen = read(tmp_path, windows)
    assert seen == len(windows)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "name, damage",
    [
        ("dev.bin", lambda old: old[:-7]),
        ("dev.bin", lambda old: old[:-1] + b"?"),
        ("dev.json", lambda old: b"{"),
        ("dev.json", lambda old: b'{"made_from": {"layers": [0, 3]}, "windows": 7}'),
    ],
)
def test_a_file_that_is_not_what_was_written_is_computed_again(
    tmp_path, windows, expected, name, damage
):
    path = tmp_path / ".activation_cache" / name
    path.write_bytes(damage(path.read_bytes()))
    found, seen = read(tmp_path, windows)
    assert seen == len(windows)
    np.testing.assert_array_equal(found, expected)


def test_a_disk_that_is_full_and_has_room_again(tmp_path, windows):
    with (
        full_disk(600),
        pytest.raises(UserError, match="activations can't be kept in .*dev.bin: File too large"),
    ):
        read(tmp_path, windows)
    found, seen = read(tmp_path, windows)
    assert seen == len(windows) and found[-1, 1, 0] == pytest.approx(LENGTHS.sum() - 1 + 0.3)
