"""Our exports in the hands of transformers, where it is installed (pip install --group peers)."""

import os

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from modeling import BertConfig, BertForCausalLm, BertForPreTraining
from modeling.checkpoints.convert import convert, write_checkpoint
from modeling.checkpoints.load import load_weights, read_checkpoint
from tests.modeling.checkpoints.common import (
    WithHeads,
    assert_same,
    head_outputs,
    random_weights,
    read_all,
)
from tests.modeling.common import SMALL, random_features

FEATURES = random_features(SMALL, 6, 16, 5)
CONFIGS = [
    SMALL,
    BertConfig(**{**SMALL.to_dict(), "hidden_act": "gelu_erf"}, layer_norm_epsilon=1e-5),
]


def export(folder, *heads, config=SMALL, pooler=True):
    os.makedirs(folder)
    write_checkpoint(
        "huggingface", str(folder), random_weights(*heads, config=config, pooler=pooler), config
    )
    model = BertForPreTraining(config) if "masked_lm" in heads else WithHeads(config, *heads)
    load_weights(model, read_checkpoint(str(folder)))
    return folder, model


def theirs(auto_class, folder, **kwargs):
    """Outputs of the class that transformers chooses; every weight of it must be in the file."""
    model, info = auto_class.from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager", **kwargs
    )
    assert not info["missing_keys"] and not info["mismatched_keys"], info
    inputs = {
        "input_ids": FEATURES["input_ids"],
        "attention_mask": FEATURES["input_mask"],
        "token_type_ids": FEATURES["segment_ids"],
    }
    if auto_class is transformers.AutoModelForMultipleChoice:
        inputs = {name: value.reshape(2, 3, -1) for name, value in inputs.items()}
    with torch.no_grad():
        outputs = model.eval()(
            **{name: torch.tensor(value, dtype=torch.long) for name, value in inputs.items()}
        )
    return (
        type(model).__name__,
        {name: value.numpy() for name, value in outputs.items() if hasattr(value, "numpy")},
        info,
    )


def encoded(model):
    return model.encoder(FEATURES["input_ids"], FEATURES["input_mask"], FEATURES["segment_ids"])


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=["tanh gelu", "erf gelu, another epsilon"])
def test_pretraining_and_masked_lm(tmp_path, config):
    folder, model = export(tmp_path / "a", "masked_lm", "next_sentence", config=config)
    everywhere = np.broadcast_to(np.arange(16, dtype=np.int32), (6, 16))
    ours = model({**FEATURES, "masked_lm_positions": everywhere})
    name, outputs, info = theirs(transformers.AutoModelForPreTraining, folder)
    assert name == "BertForPreTraining" and not info["unexpected_keys"]
    assert_close(outputs["prediction_logits"], ours["masked_lm_logits"])
    assert_close(outputs["seq_relationship_logits"], ours["next_sentence_logits"])
    name, outputs, _ = theirs(transformers.AutoModelForMaskedLM, folder)
    assert name == "BertForMaskedLM"
    assert_close(outputs["logits"], ours["masked_lm_logits"])
    folder, _ = export(tmp_path / "b", "masked_lm", pooler=False, config=config)
    assert not theirs(transformers.AutoModelForMaskedLM, folder)[2]["unexpected_keys"]


def test_a_left_to_right_model(tmp_path):
    config = BertConfig(**SMALL.to_dict(), causal=True)
    native = tmp_path / "native"
    os.makedirs(native)
    write_checkpoint(
        "native", str(native), random_weights("masked_lm", "next_sentence", config=config), config
    )
    done = convert(str(native), "huggingface", str(tmp_path / "a"))
    assert "there is no place for these in the output: bert/pooler/" in done
    assert "encoder, heads: masked_lm; " in done
    name, outputs, info = theirs(transformers.AutoModelForCausalLM, tmp_path / "a")
    assert name == "BertLMHeadModel" and not info["unexpected_keys"]
    assert_close(
        outputs["logits"],
        BertForCausalLm.from_checkpoint(str(native))(FEATURES)["next_token_logits"],
    )
    # What it saves again is read as what it is.
    transformers.BertLMHeadModel.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "b")
    assert read_checkpoint(str(tmp_path / "b")).config.causal
    assert_same(read_all(tmp_path / "b"), read_all(tmp_path / "a"))
    folder, model = export(tmp_path / "c", "token_classification", pooler=False, config=config)
    assert_close(
        theirs(transformers.AutoModelForTokenClassification, folder)[1]["logits"],
        head_outputs(model, encoded(model))[0],
    )


def test_classification_with_label_names(tmp_path):
    folder, model = export(tmp_path / "a", "classification")
    name, outputs, info = theirs(transformers.AutoModelForSequenceClassification, folder)
    assert name == "BertForSequenceClassification" and not info["unexpected_keys"]
    assert_close(outputs["logits"], head_outputs(model, encoded(model))[0])
    labels = BertConfig(
        **SMALL.to_dict(), extra={"id2label": {"0": "no", "1": "yes", "2": "maybe"}}
    )
    folder, _ = export(tmp_path / "b", "classification", config=labels)
    assert transformers.AutoConfig.from_pretrained(folder).id2label == {
        0: "no",
        1: "yes",
        2: "maybe",
    }


@pytest.mark.parametrize(
    "head, kind, pooler, outputs",
    [
        ("question_answering", "QuestionAnswering", False, ("start_logits", "end_logits")),
        ("token_classification", "TokenClassification", False, ("logits",)),
        ("multiple_choice", "MultipleChoice", True, ("logits",)),
    ],
    ids=str,
)
def test_heads(tmp_path, head, kind, pooler, outputs):
    folder, model = export(tmp_path / "a", head, pooler=pooler)
    name, found, info = theirs(getattr(transformers, f"AutoModelFor{kind}"), folder)
    assert name == f"BertFor{kind}" and not info["unexpected_keys"]
    for output, ours in zip(outputs, head_outputs(model, encoded(model)), strict=True):
        assert_close(found[output], ours)


@pytest.mark.parametrize(
    "heads, pooler, class_name",
    [
        ((), True, "BertModel"),
        (("masked_lm", "next_sentence"), True, "BertForPreTraining"),
        (("masked_lm",), False, "BertForMaskedLM"),
        (("next_sentence",), True, "BertForNextSentencePrediction"),
        (("classification",), True, "BertForSequenceClassification"),
        (("question_answering",), False, "BertForQuestionAnswering"),
        (("token_classification",), False, "BertForTokenClassification"),
        (("multiple_choice",), True, "BertForMultipleChoice"),
    ],
    ids=str,
)
def test_what_it_saves_again_is_read_to_the_bit(tmp_path, heads, pooler, class_name):
    weights = random_weights(*heads, pooler=pooler)
    folder, _ = export(tmp_path / "a", *heads, pooler=pooler)
    model = getattr(transformers, class_name).from_pretrained(folder)
    model.save_pretrained(tmp_path / "b")
    assert_same(read_all(tmp_path / "b"), weights)
    model.save_pretrained(tmp_path / "c", max_shard_size="2KB")
    assert len(list((tmp_path / "c").glob("*.safetensors"))) > 1
    assert_same(read_all(tmp_path / "c"), weights)
    convert(str(tmp_path / "c"), "native", str(tmp_path / "d"))
    assert_same(read_all(tmp_path / "d"), weights)


def test_the_tokenizer_that_it_saves_is_read(tmp_path, golden):
    vocab_file = golden / "bert/cased_vocab.txt"
    config = BertConfig(**{**SMALL.to_dict(), "vocab_size": 28996, "hidden_size": 3})
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_checkpoint("huggingface", str(tmp_path / name), random_weights(config=config), config)
    write_checkpoint(
        "huggingface",
        str(tmp_path / "a"),
        random_weights(config=config),
        config,
        str(vocab_file),
        False,
    )
    transformers.AutoTokenizer.from_pretrained(tmp_path / "a").save_pretrained(tmp_path / "b")
    source = read_checkpoint(str(tmp_path / "b"))
    assert open(source.vocab_file, "rb").read() == vocab_file.read_bytes()
    assert source.do_lower_case is False
