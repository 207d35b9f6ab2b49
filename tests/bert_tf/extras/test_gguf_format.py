import dataclasses
import json
import subprocess

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.weights import model_shapes
from tests.bert_tf.extras.common import TEXTS, export_to
from tests.bert_tf.extras.test_clients import SCRIPTS, installed
from tests.bert_tf.extras.test_onnx_format import CLASSES
from tests.tiny import CONFIG, write_tiny

gguf = pytest.importorskip("gguf")
WIDE = dataclasses.replace(CONFIG, hidden_size=64, intermediate_size=96)


@pytest.mark.parametrize(
    "quantize, size, cosine", [("none", 4, 1 - 1e-9), ("float16", 2, 0.9999), ("int8", 1.07, 0.999)]
)
def test_the_file(tmp_path, quantize, size, cosine):
    path = write_tiny(tmp_path / "in", config=WIDE)
    done = export_to(tmp_path / "out", path, "gguf", task="features", quantize=quantize)
    assert done.cosines.min() > cosine
    reader = gguf.GGUFReader(tmp_path / "out/model.gguf")
    assert reader.fields["general.architecture"].contents() == "bert"
    assert reader.fields["bert.pooling_type"].contents() == gguf.PoolingType.MEAN
    assert reader.fields["tokenizer.ggml.tokens"].contents()[:8] == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "\u2581the",
        "\u2581array",
        "\u2581is",
    ]
    assert reader.fields["tokenizer.ggml.tokens"].contents()[10] == "s"
    [matrix] = [one for one in reader.tensors if one.name == "blk.1.ffn_up.weight"]
    assert list(matrix.shape) == [64, 96] and matrix.n_bytes == pytest.approx(
        64 * 96 * size, rel=0.01
    )


@pytest.mark.parametrize(
    "heads, changes, options, message",
    [
        (
            ["classification"],
            {},
            {},
            "--task=classification has no place in it, only features and sentence_embedding",
        ),
        ([], {"hidden_act": "relu"}, {}, "llama.cpp computes BERT with GELU, not relu"),
        ([], {"causal": True}, {}, "a left-to-right model has no place in it"),
        ([], {}, {"pooling": "max"}, "--pooling=max has no place in it, only mean and cls"),
    ],
)
def test_what_has_no_place_is_refused(tmp_path, heads, changes, options, message):
    path = write_tiny(
        tmp_path / "in",
        *heads,
        task=CLASSES if heads else None,
        config=dataclasses.replace(CONFIG, **changes),
    )
    with pytest.raises(UserError, match=f"--format=gguf: {message}"):
        export_to(tmp_path / "out", path, "gguf", task=None if heads else "features", **options)
    assert not (tmp_path / "out").exists()


def llama(tmp_path, texts, count, checkpoint, **options):
    if not (installed("node_llama_cpp") / "node_modules").exists():
        pytest.skip("node_llama_cpp is not installed")
    export_to(tmp_path / "out", checkpoint, "gguf", task="features", **options)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    done = subprocess.run(
        [
            "node",
            "--input-type=module",
            "-e",
            (SCRIPTS / "llama.mjs").read_text(),
            str(tmp_path / "out/model.gguf"),
            str(tmp_path / "texts.json"),
            str(tmp_path / "answers.json"),
            str(count),
        ],
        cwd=installed("node_llama_cpp"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "answers.json").read_text())


@pytest.mark.processes
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_llama_gives_the_same_vectors(tmp_path, pooling):
    path = write_tiny(tmp_path / "in", config=WIDE)
    found = llama(tmp_path, TEXTS, len(TEXTS), path, pooling=pooling)["vectors"]
    expected = [
        one["vector"] for one in Predictor.from_checkpoint(path, "features", pooling=pooling)(TEXTS)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.processes
@pytest.mark.parametrize("casing, most", [("uncased", 298), ("cased", 56)])
def test_llama_has_the_same_tokens_but_for_those_of_the_page(
    tmp_path, golden, golden_set, casing, most
):
    """Some 5,000 lines of many scripts; docs/exports.md has what differs in the others."""
    vocabulary = Vocabulary.from_file(str(golden / f"bert/{casing}_vocab.txt"))
    config = dataclasses.replace(CONFIG, vocab_size=len(vocabulary))
    write_checkpoint(
        "native",
        str(tmp_path / "in"),
        {name: np.zeros(shape, np.float32) + 0.1 for name, shape in model_shapes(config).items()},
        config,
        vocabulary.path,
        casing == "uncased",
    )
    with open(golden_set / f"tokenization/tokenization_{casing}.jsonl", encoding="utf-8") as file:
        texts = [
            text
            for text in (json.loads(line)["text"] for line in file)
            if text.encode(errors="ignore").decode() == text
        ]
    found = llama(tmp_path, texts, 0, str(tmp_path / "in"))["tokens"]
    tokenizer = Tokenizer(vocabulary, casing == "uncased")
    differing = [
        text
        for text, ids in zip(texts, found, strict=True)
        if tokenizer.encode(text).tolist() != ids
    ]
    assert len(differing) <= most
    # Nothing of what people write in Latin letters, Greek but for a sigma, Cyrillic, Chinese or
    # Japanese.
    assert not [
        text for text in differing if text.isascii() and text.isprintable() and len(text) < 200
    ]
