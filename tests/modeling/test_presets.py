import pytest

from modeling.checkpoints.weights import original_names
from modeling.config import BertConfig
from modeling.encoder import BertEncoder
from modeling.memory import encoder_parameters
from modeling.presets import PRESETS
from modeling.pretraining import BertForPreTraining

# Parameters of encoder and pooler; a row for each number of layers, columns hidden 128, 256, 512, 768.
MINIATURES = {
    2: (4_385_920, 9_591_040, 22_458_880, 38_603_520),
    4: (4_782_464, 11_170_560, 28_763_648, 52_779_264),
    6: (5_179_008, 12_750_080, 35_068_416, 66_955_008),
    8: (5_575_552, 14_329_600, 41_373_184, 81_130_752),
    10: (5_972_096, 15_909_120, 47_677_952, 95_306_496),
    12: (6_368_640, 17_488_640, 53_982_720, 109_482_240),
}
OTHERS = {
    "bert-base-uncased": 109_482_240, "bert-base-cased": 108_310_272,
    "bert-large-uncased": 335_141_888, "bert-large-cased": 333_579_264,
    "tiny": 4_385_920, "mini": 11_170_560, "small": 28_763_648, "medium": 41_373_184,
    "base": 109_482_240, "large": 335_141_888,
}
COUNTS = {f"bert-L{layers}-H{hidden}": count for layers, counts in MINIATURES.items()
          for hidden, count in zip((128, 256, 512, 768), counts, strict=True)} | OTHERS


def test_every_preset_has_its_published_size():
  assert {name: encoder_parameters(config) for name, config in PRESETS.items()} == COUNTS


@pytest.mark.parametrize("name", ["tiny", "bert-L4-H128", "mini"])
def test_the_count_is_that_of_what_is_built(name):
  model = BertForPreTraining(PRESETS[name])
  model.build_weights()
  assert model.encoder.count_params() == encoder_parameters(PRESETS[name])
  assert len(original_names(model)) == len(model.weights)


def test_the_count_knows_every_size():
  # No two sizes alike, so that none can stand for another.
  config = BertConfig(vocab_size=31, hidden_size=6, num_hidden_layers=3, num_attention_heads=2, intermediate_size=11,
                      max_position_embeddings=17, type_vocab_size=5)
  assert BertEncoder(config).count_params() == encoder_parameters(config)


@pytest.mark.golden
def test_presets_are_the_released_configurations(golden):
  for name, file in {"tiny": "bert_tiny_uncased", "mini": "bert_mini_uncased", "small": "bert_small_uncased",
                     "medium": "bert_medium_uncased", "base": "bert_base_uncased",
                     "bert-base-uncased": "bert_base_uncased", "large": "bert_large_uncased",
                     "bert-large-uncased": "bert_large_uncased"}.items():
    released = BertConfig.from_file(str(golden / f"bert/configs/{file}.json"))
    assert {**PRESETS[name].to_dict(), **released.extra} == released.to_dict(), name


def test_the_table_of_the_documentation_is_true(project):
  text = (project / "docs/model.md").read_text(encoding="utf-8")
  for name, count in COUNTS.items():
    assert f"{count:,}" in text, f"docs/model.md does not tell the {count:,} parameters of {name}"
