import dataclasses
import json

import pytest

from modeling import PRESETS, BertConfig, BertEncoder
from modeling.config import label_names, with_label_names
from modeling.costs import encoder_parameters
from tests.refusals import assert_refused
from tests.tiny import CONFIG


def test_defaults_are_the_originals():
    assert BertConfig(vocab_size=30522).to_dict() == {
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "type_vocab_size": 16,
        "initializer_range": 0.02,
    }


def test_unknown_keys_survive_reading_and_writing(tmp_path):
    # As in the released Chinese and multilingual models.
    values = {
        "vocab_size": 21128,
        "hidden_size": 96,
        "num_attention_heads": 6,
        "hidden_dropout_prob": 0,
        "directionality": "bidi",
        "pooler_size_per_head": 128,
        "layer_norm_eps": 1e-5,
    }
    before = tmp_path / "bert_config.json"
    before.write_text(json.dumps(values))
    config = BertConfig.from_file(str(before))
    assert (config.hidden_size, config.head_size, config.hidden_dropout_prob) == (96, 16, 0)
    assert config.layer_norm_epsilon == 1e-5
    assert config.extra == {"directionality": "bidi", "pooler_size_per_head": 128}
    after = tmp_path / "written.json"
    config.to_file(str(after))
    assert values.items() <= json.loads(after.read_text()).items()
    assert BertConfig.from_file(str(after)) == config


@pytest.mark.parametrize(
    "change, message",
    [
        ({"num_attention_heads": 5}, "hidden_size 768"),
        ({"hidden_size": "768"}, "hidden_size is '768'"),
        ({"num_hidden_layers": True}, "num_hidden_layers is True"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"hidden_act": "swish"}, "hidden_act 'swish'"),
        ({"hidden_act": None}, "hidden_act is None"),
        (
            {"hidden_dropout_prob": 0.999999},
            "hidden_dropout_prob is 0.999999",
        ),
        (
            {"hidden_dropout_prob": float("nan")},
            "hidden_dropout_prob is nan",
        ),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers is 1000000"),
        ({"initializer_range": -0.02}, "initializer_range is -0.02"),
        ({"layer_norm_eps": 0}, "layer_norm_eps is 0"),
    ],
)
def test_a_wrong_value_is_named_with_its_file(tmp_path, change, message):
    path = tmp_path / "bert_config.json"
    path.write_text(json.dumps({"vocab_size": 100, **change}))
    assert_refused(lambda: BertConfig.from_file(str(path)), f"{path}: {message}")


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"hidden_size": 768}', '"vocab_size"'),
        ("[1, 2]", "JSON object"),
        ('{\n"vocab_size": }', ":2:"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path, text, message):
    (tmp_path / "bert_config.json").write_text(text)
    assert_refused(lambda: BertConfig.from_file(str(tmp_path / "bert_config.json")), message)


# Parameters of encoder and pooler; a row for each number of layers, columns hidden 128, 256, 512,
# 768.
MINIATURES = {
    2: (4_385_920, 9_591_040, 22_458_880, 38_603_520),
    4: (4_782_464, 11_170_560, 28_763_648, 52_779_264),
    6: (5_179_008, 12_750_080, 35_068_416, 66_955_008),
    8: (5_575_552, 14_329_600, 41_373_184, 81_130_752),
    10: (5_972_096, 15_909_120, 47_677_952, 95_306_496),
    12: (6_368_640, 17_488_640, 53_982_720, 109_482_240),
}
OTHERS = {
    "bert-base-uncased": 109_482_240,
    "bert-base-cased": 108_310_272,
    "bert-large-uncased": 335_141_888,
    "bert-large-cased": 333_579_264,
    "tiny": 4_385_920,
    "mini": 11_170_560,
    "small": 28_763_648,
    "medium": 41_373_184,
    "base": 109_482_240,
    "large": 335_141_888,
}
COUNTS = {
    f"bert-L{layers}-H{hidden}": count
    for layers, counts in MINIATURES.items()
    for hidden, count in zip((128, 256, 512, 768), counts, strict=True)
} | OTHERS


def test_every_preset_has_its_published_size():
    assert {name: encoder_parameters(config) for name, config in PRESETS.items()} == COUNTS


def test_the_count_knows_every_size():
    # No two sizes alike, so that none can stand for another.
    config = BertConfig(
        vocab_size=31,
        hidden_size=6,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=11,
        max_position_embeddings=17,
        type_vocab_size=5,
    )
    assert BertEncoder(config).count_params() == encoder_parameters(config)


@pytest.mark.golden
def test_presets_are_the_released_configurations(golden):
    for name, file in {
        "tiny": "bert_tiny_uncased",
        "mini": "bert_mini_uncased",
        "small": "bert_small_uncased",
        "medium": "bert_medium_uncased",
        "base": "bert_base_uncased",
        "bert-base-uncased": "bert_base_uncased",
        "large": "bert_large_uncased",
        "bert-large-uncased": "bert_large_uncased",
    }.items():
        released = BertConfig.from_file(str(golden / f"bert/configs/{file}.json"))
        assert {**PRESETS[name].to_dict(), **released.extra} == released.to_dict(), name


def test_the_table_of_the_documentation_is_true(project):
    text = (project / "docs/model.md").read_text(encoding="utf-8")
    for name, count in COUNTS.items():
        assert f"{count:,}" in text, (
            f"docs/model.md does not contain the {count:,} parameters of {name}"
        )


def test_names_are_kept_where_hugging_face_looks_for_them():
    named = with_label_names(CONFIG, ["no", "yes"], "multi_label_classification")
    assert named.extra["id2label"] == {"0": "no", "1": "yes"} and named.extra["label2id"] == {
        "no": 0,
        "yes": 1,
    }
    assert named.extra["problem_type"] == "multi_label_classification"
    again = with_label_names(named, [f"l{number}" for number in range(11)])
    assert "problem_type" not in again.extra
    # By number, and not as texts are sorted.
    assert label_names(again) == [f"l{number}" for number in range(11)]


def test_new_names_are_no_scores_of_a_re_ranker():
    for key in ("sentence_transformers", "sbert_ce_default_activation_function"):
        scores = dataclasses.replace(CONFIG, extra={key: "torch.nn.Sigmoid"})
        assert key not in with_label_names(scores, ["no", "yes"]).extra
