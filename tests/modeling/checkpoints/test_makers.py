"""Weights as other programs write them: a row for each maker of docs/checkpoints.md, "Mine was made
by". They are read as the weights that they are, or lead on in one line."""

import json
import re

import h5py
import numpy as np
import pytest
import tensorflow as tf

from modeling import BertForClassification
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import config_for, open_checkpoint, read_checkpoint
from modeling.checkpoints.weights import MODEL_GARDEN, all_weights
from tests.modeling.checkpoints.common import assert_same, random_weights, write_huggingface
from tests.modeling.common import SMALL
from tests.refusals import assert_refused
from tests.tiny import TOKENS

WEIGHTS = random_weights(pooler=True)
UNPOOLED = {name: value for name, value in WEIGHTS.items() if "pooler" not in name}
# Original name without its layer → keras-bert's layer and the last part of its weight's name.
_KERAS_BERT = {
    "bert/embeddings/word_embeddings": ("Embedding-Token", "embeddings"),
    "bert/embeddings/token_type_embeddings": ("Embedding-Segment", "embeddings"),
    "bert/embeddings/position_embeddings": ("Embedding-Position", "embeddings"),
    "bert/embeddings/LayerNorm/gamma": ("Embedding-Norm", "gamma"),
    "bert/embeddings/LayerNorm/beta": ("Embedding-Norm", "beta"),
    "attention/self/query/kernel": ("MultiHeadSelfAttention", "_Wq"),
    "attention/self/query/bias": ("MultiHeadSelfAttention", "_bq"),
    "attention/self/key/kernel": ("MultiHeadSelfAttention", "_Wk"),
    "attention/self/key/bias": ("MultiHeadSelfAttention", "_bk"),
    "attention/self/value/kernel": ("MultiHeadSelfAttention", "_Wv"),
    "attention/self/value/bias": ("MultiHeadSelfAttention", "_bv"),
    "attention/output/dense/kernel": ("MultiHeadSelfAttention", "_Wo"),
    "attention/output/dense/bias": ("MultiHeadSelfAttention", "_bo"),
    "attention/output/LayerNorm/gamma": ("MultiHeadSelfAttention-Norm", "gamma"),
    "attention/output/LayerNorm/beta": ("MultiHeadSelfAttention-Norm", "beta"),
    "intermediate/dense/kernel": ("FeedForward", "_W1"),
    "intermediate/dense/bias": ("FeedForward", "_b1"),
    "output/dense/kernel": ("FeedForward", "_W2"),
    "output/dense/bias": ("FeedForward", "_b2"),
    "output/LayerNorm/gamma": ("FeedForward-Norm", "gamma"),
    "output/LayerNorm/beta": ("FeedForward-Norm", "beta"),
    "bert/pooler/dense/kernel": ("NSP-Dense", "kernel"),
    "bert/pooler/dense/bias": ("NSP-Dense", "bias"),
}
# The same of the Model Garden's variables.
_GARDEN = [
    ("bert/embeddings/word_embeddings", "word_embeddings/embeddings"),
    ("bert/embeddings/token_type_embeddings", "type_embeddings/embeddings"),
    ("bert/embeddings/position_embeddings", "position_embedding/embeddings"),
    ("bert/embeddings/LayerNorm", "embeddings/layer_norm"),
    ("bert/encoder/layer_", "transformer/layer_"),
    ("attention/output/LayerNorm", "self_attention_layer_norm"),
    ("attention/output/dense", "self_attention/attention_output"),
    ("attention/self", "self_attention"),
    ("output/LayerNorm", "output_layer_norm"),
    ("intermediate/dense", "intermediate"),
    ("output/dense", "output"),
    ("bert/pooler/dense", "pooler_transform"),
]


def keras_bert_name(name):
    match = re.match(r"bert/encoder/layer_(\d+)/(.+)", name)
    layer, leaf = _KERAS_BERT[match[2] if match else name]
    if match:
        layer = f"Encoder-{int(match[1]) + 1}-{layer}"
    if leaf.startswith("_"):
        leaf = layer + leaf
    return f"{layer}/{layer}/{leaf}:0"


def bert_for_tf2_name(name):
    if name.endswith("_embeddings"):
        return f"bert/{name}/embeddings:0"
    return f"bert/{name.replace('intermediate/dense', 'intermediate')}:0"


def garden_name(name):
    for theirs, ours in _GARDEN:
        name = name.replace(theirs, ours)
    return name


def transformers_name(name):
    name = re.sub(r"layer_(\d+)", r"layer_._\1", name)
    name = name.replace("word_embeddings", "word_embeddings/weight")
    name = re.sub(r"(token_type|position)_embeddings$", r"\1_embeddings/embeddings", name)
    return f"tf_bert_for_sequence_classification/{name}"


def write_h5(path, weights, name_of):
    with h5py.File(path, "w") as file:
        for name, value in weights.items():
            file[name_of(name)] = value
        file["dense_7/dense_7/kernel:0"] = np.zeros((12, 3), np.float32)
        file["optimizer_weights/Adam/iterations:0"] = np.int64(3)


def write_saved_model(path, weights, name_of):
    """A SavedModel with a layer of the user's own, an optimizer's counter, and a vocabulary."""
    module = tf.Module()
    module.all = [tf.Variable(value, name=name_of(name)) for name, value in weights.items()]
    module.own = [tf.Variable(np.zeros((12, 3), np.float32), name="dense/kernel")] * 2
    module.iterations = tf.Variable(3, name="iterations", dtype=tf.int64)
    module.do_lower_case = tf.Variable(True, trainable=False)
    words = path.parent / "vocab.txt"
    words.write_text("\n".join([*TOKENS, *(f"w{n}" for n in range(50 - len(TOKENS)))]) + "\n")
    module.vocab_file = tf.saved_model.Asset(str(words))
    tf.saved_model.save(module, str(path))
    words.unlink()


def garden_weights():
    rows = all_weights(2)
    return {
        name: rows[name].from_original(value, MODEL_GARDEN, 3) for name, value in WEIGHTS.items()
    }


@pytest.mark.parametrize(
    "maker, weights, name_of",
    [
        ("keras-bert", WEIGHTS, keras_bert_name),
        ("bert-for-tf2", UNPOOLED, bert_for_tf2_name),
    ],
)
def test_h5_files_of_keras_2(tmp_path, maker, weights, name_of):
    write_h5(tmp_path / "model.h5", weights, name_of)
    SMALL.to_file(str(tmp_path / "bert_config.json"))
    source = read_checkpoint(str(tmp_path))
    assert source.config == SMALL
    assert "dense_7/dense_7/kernel:0" in source.tensors
    assert_same({name: source.read(name) for name in weights}, weights)
    convert(str(tmp_path), "huggingface", str(tmp_path / "out"))


@pytest.mark.parametrize(
    "maker, weights, name_of, knows_heads",
    [
        ("TF-Hub", garden_weights(), garden_name, True),
        ("transformers", WEIGHTS, transformers_name, False),
        ("our --api=tfhub", WEIGHTS, str, False),
        ("keras-bert", WEIGHTS, lambda name: keras_bert_name(name)[:-2], False),
        ("bert-for-tf2", UNPOOLED, lambda name: bert_for_tf2_name(name)[:-2], False),
    ],
)
def test_saved_models(tmp_path, maker, weights, name_of, knows_heads):
    path = tmp_path / "model"
    write_saved_model(path, weights, name_of)
    source = read_checkpoint(str(path))
    assert source.do_lower_case is True
    assert source.vocab_file == str(path / "assets/vocab.txt")
    assert_same({name: source.read(name) for name in weights}, {n: WEIGHTS[n] for n in weights})
    if knows_heads:
        assert source.config.num_attention_heads == 3
        assert open_checkpoint(str(path)).tokenizer.vocabulary.size == 50
    else:
        assert source.config is None
        SMALL.to_file(str(tmp_path / "sizes.json"))
        assert config_for(source, str(tmp_path / "sizes.json")) == SMALL


def test_two_encoders_in_a_saved_model_are_not_guessed_between(tmp_path):
    doubled = {**WEIGHTS, **{f"second/{name}": value for name, value in WEIGHTS.items()}}
    write_saved_model(tmp_path / "model", doubled, str)
    assert_refused(lambda: read_checkpoint(str(tmp_path / "model")), "are both bert/", "by itself")


def adapter(path):
    path.mkdir()
    (path / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "base_model_name_or_path": "google-bert/bert-base-cased"})
    )
    (path / "adapter_model.safetensors").write_bytes(b"")


def pickled_adapter(path):
    adapter(path)
    (path / "adapter_model.safetensors").rename(path / "adapter_model.bin")


def trainer_output(path):
    path.mkdir()
    (path / "training_args.bin").write_bytes(b"")
    write_huggingface(path / "checkpoint-500", WEIGHTS)
    (path / "checkpoint-500" / "optimizer.pt").write_bytes(b"")


def hub_cache(path):
    (path / "snapshots").mkdir(parents=True)
    write_huggingface(path / "snapshots" / "0a1b2c", WEIGHTS)


def pruned(path):
    write_huggingface(path, WEIGHTS, pruned_heads={"0": [1]})


def keras_file(path):
    path.mkdir()
    BertForClassification(SMALL, 2).save(path / "model.keras")


def keras_weights(path):
    path.mkdir()
    BertForClassification(SMALL, 2).save_weights(path / "own.weights.h5")


def pickle_file(path):
    path.mkdir()
    (path / "pytorch_model.bin").write_bytes(b"")


def other_saved_model(path):
    module = tf.Module()
    module.weight = tf.Variable(1.0)
    tf.saved_model.save(module, str(path))


@pytest.mark.parametrize(
    "make, words",
    [
        (adapter, ["is an adapter", "google-bert/bert-base-cased", "merge_and_unload()"]),
        (pickled_adapter, ["adapter_model.bin is an adapter", "merge_and_unload()"]),
        (trainer_output, ["name the one below it", "model/checkpoint-500"]),
        (hub_cache, ["name the one below it", "model/snapshots/0a1b2c"]),
        (pruned, ["pruned_heads"]),
        (keras_file, ["keras.models.load_model(FILE)", "save_checkpoint(NEW_DIR)"]),
        (keras_weights, ["of this library", "model.load_weights(FILE)"]),
        (pickle_file, ["is a pickle", "save_pretrained(NEW_DIR)"]),
        (other_saved_model, ["SavedModel in which no encoder", "exported from"]),
    ],
)
def test_what_can_not_be_read_leads_on(tmp_path, make, words):
    make(tmp_path / "model")
    assert_refused(lambda: read_checkpoint(str(tmp_path / "model")), *words)


def test_what_the_messages_advise_works(tmp_path):
    trainer_output(tmp_path / "out")
    assert_same(
        {n: read_checkpoint(str(tmp_path / "out/checkpoint-500")).read(n) for n in WEIGHTS}, WEIGHTS
    )
    import keras

    keras_file(tmp_path / "own")
    model = keras.models.load_model(tmp_path / "own/model.keras")
    model.save_checkpoint(str(tmp_path / "new"))
    assert read_checkpoint(str(tmp_path / "new")).heads == ["classification"]


def test_the_page_names_the_makers(project):
    page = (project / "docs/checkpoints.md").read_text(encoding="utf-8")
    section = page.partition("## Mine was made by")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(rows) >= 14
    for maker in ("keras-bert", "bert-for-tf2", "TF-Hub", "peft", "MLPerf", "LaBSE", "Trainer"):
        assert maker in section


def test_our_own_export_for_tfhub_is_a_checkpoint(tmp_path):
    from bert_tf.inference.export import export
    from bert_tf.inference.options import ExportOptions
    from tests.tiny import CONFIG, write_tiny

    path = write_tiny(tmp_path / "in")
    export(ExportOptions(init_checkpoint=path, export_dir=str(tmp_path / "out"), api="tfhub"))
    exported = read_checkpoint(str(tmp_path / "out/encoder"))
    source = read_checkpoint(path)
    assert exported.config == CONFIG and exported.fingerprint() == source.fingerprint()
    assert open_checkpoint(str(tmp_path / "out/encoder")).tokenizer.do_lower_case
