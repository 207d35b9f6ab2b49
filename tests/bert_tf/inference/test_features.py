import gzip
import io
import json
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference import features
from bert_tf.inference.features import extract, layer_outputs
from bert_tf.inference.options import ExtractOptions
from bert_tf.training.devices import set_up
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.encoder import BertEncoder
from tests.modeling.common import arrays
from tests.tiny import CONFIG, TOKENS, write_tiny

LINES = [
    "The array is returned .",
    "",
    "who ? ||| the lists ||| a",
    "sorted " * 30,
    "a",
    "  the [MASK]\t",
    "unheard",
    "the list ||| " + "array " * 40,
    "b ||| \x00",
    "is ||| ",
]
# By hand; of the long ones, what is left of 9 tokens.
TOKENS_OF_LINES = [
    "[CLS] the array is returned . [SEP]",
    "[CLS] [SEP]",
    # Of two bars, the last one separates.
    "[CLS] who ? [UNK] [UNK] [UNK] the list ##s [SEP] a [SEP]",
    "[CLS] sort ##ed sort ##ed sort ##ed sort [SEP]",
    "[CLS] a [SEP]",
    "[CLS] the [ mask ] [SEP]",
    "[CLS] [UNK] [SEP]",
    "[CLS] the list [SEP] array array array array [SEP]",
    "[CLS] b [SEP]",
    "[CLS] is [UNK] [UNK] [UNK] [SEP]",
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(checkpoint):
    encoder = BertEncoder(CONFIG)
    load_weights(encoder, read_checkpoint(checkpoint))
    return encoder


def run(tmp_path, checkpoint, name="out.jsonl", lines=LINES, **kwargs):
    source = tmp_path / "lines.txt"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return extract_to(tmp_path / name, checkpoint, source, **{"batch_size": 3, **kwargs})


def extract_to(output, checkpoint, source, **kwargs):
    """What the command does after it has read its flags."""
    options = ExtractOptions(
        input_file=str(source),
        output_file=str(output),
        init_checkpoint=checkpoint,
        **{"max_seq_length": 12, **kwargs},
    )
    options.check()
    return extract(options, set_up("none", "float32", "false"))


def test_defaults_give_way_to_a_small_model(tmp_path, checkpoint, capsys):
    defaults = {"layers": ExtractOptions.layers, "max_seq_length": ExtractOptions.max_seq_length}
    run(tmp_path, checkpoint, lines=["a"], **defaults)
    (features, *_) = read(tmp_path / "out.jsonl")[0]["features"]
    assert [layer["index"] for layer in features["layers"]] == list(
        range(-1, -1 - CONFIG.num_hidden_layers, -1)
    )
    error = capsys.readouterr().err
    assert "note: --layers is" in error
    assert f"note: --max_seq_length is {CONFIG.max_position_embeddings}, which is all" in error


def test_an_input_that_ends_too_early_is_named(tmp_path, checkpoint):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"the array\n" * 99)[:-9])
    options = ExtractOptions(
        input_file=str(path), output_file=str(tmp_path / "out"), init_checkpoint=checkpoint
    )
    with pytest.raises(UserError, match=r"can't read .*lines.gz: damaged or cut off"):
        extract(options, set_up("none", "float32", "false"))
    assert not (tmp_path / "out").exists()


def test_arrays_are_not_compressed_again(tmp_path, checkpoint):
    with pytest.raises(UserError, match=r"--output_file=.*out.npz.gz: .* as .npz only"):
        run(tmp_path, checkpoint, "out.npz.gz")


def read(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def alone(encoder, tokens: list[str], layer: int) -> np.ndarray:
    """The vectors of a line that is alone in its batch, [S, H]."""
    segments = (
        np.cumsum([token == "[SEP]" for token in tokens]) - [token == "[SEP]" for token in tokens]
    ) > 0
    ids = np.array([[TOKENS.index(token) for token in tokens]])
    outputs = encoder(ids, None, segments[None].astype(np.int32))
    return outputs[f"encoder_layer_{layer % CONFIG.num_hidden_layers}"][0].numpy()


def test_json_lines_are_those_of_the_lines_one_by_one(tmp_path, checkpoint, encoder):
    lines, count, truncated = run(tmp_path, checkpoint, layers=(-1, 0), max_seq_length=9)
    output = read(tmp_path / "out.jsonl")
    assert (lines, truncated) == (10, 3)
    assert [line["linex_index"] for line in output] == list(range(10))
    expected = [*TOKENS_OF_LINES]
    expected[2] = "[CLS] who ? [UNK] [UNK] [UNK] [SEP] a [SEP]"
    assert [
        " ".join(feature["token"] for feature in line["features"]) for line in output
    ] == expected
    assert count == sum(len(line.split()) for line in expected)
    for line, tokens in zip(output, expected, strict=True):
        for number, layer in enumerate((-1, 0)):
            assert {feature["layers"][number]["index"] for feature in line["features"]} == {layer}
            values = [feature["layers"][number]["values"] for feature in line["features"]]
            np.testing.assert_allclose(values, alone(encoder, tokens.split(), layer), atol=1e-5)
            assert all(value == round(value, 6) for vector in values for value in vector)


def test_the_layout_is_the_original_s(tmp_path, checkpoint):
    run(tmp_path, checkpoint, lines=["a"], layers=(-2,))
    text = (tmp_path / "out.jsonl").read_text()
    assert text.startswith(
        '{"linex_index": 0, "features": [{"token": "[CLS]", "layers": [{"index": -2, "values": ['
    )
    assert text.endswith("]}]}]}\n") and text.count("\n") == 1


@pytest.mark.parametrize("pooling", ["none", "cls", "mean"])
def test_arrays_hold_the_same_for_any_chunks(tmp_path, checkpoint, encoder, pooling, monkeypatch):
    lines = [line for line in LINES if "sorted" not in line and "array array" not in line]
    monkeypatch.setattr(features, "_LINES_AT_ONCE", 5)
    # Two layers of twelve vectors.
    monkeypatch.setattr(features, "_BYTES_AT_ONCE", 2 * 12 * 4 * CONFIG.hidden_size)
    run(tmp_path, checkpoint, "parts.npz", lines, layers=(-1, 1), pooling=pooling)
    run(tmp_path, checkpoint, "parts.jsonl", lines, layers=(-1, 1), pooling=pooling)
    data, output = arrays(tmp_path / "parts.npz"), read(tmp_path / "parts.jsonl")
    expected = [
        line for line in TOKENS_OF_LINES if "sort" not in line and "array array" not in line
    ]
    lengths = [len(tokens.split()) for tokens in expected]
    assert data["row_lengths"].tolist() == lengths and data["row_lengths"].dtype == np.int64
    for number, layer in enumerate((-1, 1)):
        vectors = [alone(encoder, tokens.split(), layer) for tokens in expected]
        if pooling == "none":
            assert [TOKENS[id] for id in data["input_ids"]] == " ".join(expected).split()
            vectors, written = (
                np.concatenate(vectors),
                [
                    feature["layers"][number]["values"]
                    for line in output
                    for feature in line["features"]
                ],
            )
        else:
            vectors = [vector[0] if pooling == "cls" else vector.mean(axis=0) for vector in vectors]
            written = [line["layers"][number]["values"] for line in output]
            assert "input_ids" not in data and [list(line) for line in output] == [
                ["linex_index", "layers"]
            ] * len(output)
        np.testing.assert_allclose(data[f"layer_{layer}"], vectors, atol=1e-5)
        np.testing.assert_allclose(written, vectors, atol=1e-5)
        assert data[f"layer_{layer}"].dtype == np.float32


def test_no_lines_give_no_features(tmp_path, checkpoint):
    (tmp_path / "none.txt").touch()
    for name in ("out.npz", "out.jsonl"):
        assert extract_to(tmp_path / name, checkpoint, tmp_path / "none.txt", layers=(-1,)) == (
            0,
            0,
            0,
        )
    assert arrays(tmp_path / "out.npz")["layer_-1"].shape == (0, 12)
    assert (tmp_path / "out.jsonl").read_text() == ""


@pytest.mark.golden
def test_hidden_states_of_transformers(golden):
    folder = golden / "hf" / "question_answering"
    data = arrays(folder / "inputs_outputs.npz")
    source = read_checkpoint(str(folder))
    encoder = BertEncoder(source.config)
    load_weights(encoder, source)
    features = {
        ours: tf.constant(data[theirs], tf.int32)
        for ours, theirs in [
            ("input_ids", "input_ids"),
            ("input_mask", "attention_mask"),
            ("segment_ids", "token_type_ids"),
        ]
    }
    outputs = layer_outputs(encoder, (0, -1, -2), "none")(features)
    for layer, theirs in {0: 0, -1: 1, -2: 0}.items():
        np.testing.assert_allclose(
            outputs[f"layer_{layer}"], data[f"encoder_layer_{theirs}"], atol=2e-5
        )


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"layers": (0, 3)}, "there is no layer 3: the model has 3, 0 to 2, or -3 to -1"),
        ({"max_seq_length": 25}, "--max_seq_length 25 is longer than the .*'s position table"),
        ({"pooling": "sum"}, "--pooling=sum is unknown"),
        ({"name": "."}, "is a directory"),
        (
            {"lines": ["fine", "broken \udcff"]},
            "lines.txt:2: the byte 0xff is not UTF-8",
        ),
    ],
)
def test_what_is_refused_leaves_the_output_as_it_was(tmp_path, checkpoint, kwargs, message):
    (tmp_path / "out.jsonl").write_text("earlier")
    lines = kwargs.pop("lines", ["a"])
    (tmp_path / "lines.txt").write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=message):
        extract_to(
            tmp_path / kwargs.pop("name", "out.jsonl"),
            checkpoint,
            tmp_path / "lines.txt",
            **{"layers": (-1,), **kwargs},
        )
    assert (tmp_path / "out.jsonl").read_text() == "earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"out.jsonl", "lines.txt"}


def test_standard_input(tmp_path, checkpoint, monkeypatch):
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"the\r\nlists")))
    assert extract_to(tmp_path / "out.jsonl", checkpoint, "-", layers=(-1,))[0] == 2
    assert [
        [feature["token"] for feature in line["features"]] for line in read(tmp_path / "out.jsonl")
    ] == [["[CLS]", "the", "[SEP]"], ["[CLS]", "list", "##s", "[SEP]"]]


@pytest.mark.parametrize("name", ["out.npz", "out.jsonl"])
def test_another_file_system(tmp_path, checkpoint, name):
    run(tmp_path, checkpoint, name, layers=(-1, 0))
    folder = f"ram://{name}"
    with tf.io.gfile.GFile(f"{folder}/lines.txt", "w") as file:
        file.write("\n".join(LINES) + "\n")
    extract_to(f"{folder}/{name}", checkpoint, f"{folder}/lines.txt", batch_size=3, layers=(-1, 0))
    with tf.io.gfile.GFile(f"{folder}/{name}", "rb") as file:
        (tmp_path / f"copy.{name}").write_bytes(file.read())
    assert not [path for path in tf.io.gfile.listdir(folder) if path.endswith(".tmp")]
    if name.endswith("npz"):
        expected, found = arrays(tmp_path / name), arrays(tmp_path / f"copy.{name}")
        assert sorted(found) == sorted(expected)
        assert all(np.array_equal(found[member], expected[member]) for member in expected)
    else:
        assert read(tmp_path / f"copy.{name}") == read(tmp_path / name)
    with pytest.raises(UserError, match="ram://nothing does not exist"):
        extract_to(f"{folder}/x", checkpoint, "ram://nothing")
