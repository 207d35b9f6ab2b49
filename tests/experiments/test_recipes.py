import json

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_tf.vocabulary.building import ConfigOptions, write_config
from experiments.runner import recipes
from experiments.runner.experiment import COLUMNS, ExperimentOptions
from modeling.config import BertConfig


def test_where_data_is(tmp_path):
    def find(column: str, **directories):
        options = ExperimentOptions(output_dir="x", **directories)
        return recipes.find_data(COLUMNS[column], options)

    nothing = str(tmp_path / "nothing")
    assert "nothing/RTE" in find("rte", glue_dir=nothing)[1]
    assert "--swag_dir" in find("swag")[1]
    assert "train-v1.1.json" in find("squad", squad_dir=nothing)[1]
    assert find("ner_features", ner_dir=str(tmp_path)) == ({"data_dir": str(tmp_path)}, "")
    # A plan needs no data.
    flags, problem = recipes.find_data(COLUMNS["mnli"], ExperimentOptions(print_plan=True))
    assert flags == {"data_dir": "glue_dir/MNLI"} and not problem


def test_a_configuration_for_a_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    command = [
        "x",
        f"--vocab_file={tmp_path / 'vocab.txt'}",
        f"--output_dir={tmp_path}",
        "--num_hidden_layers=2",
        "--hidden_size=12",
        "--num_attention_heads=3",
        "--hidden_dropout_prob=0",
    ]
    write_config(cli.parse(ConfigOptions, command))
    config = BertConfig.from_file(str(tmp_path / "bert_config.json"))
    assert (config.vocab_size, config.intermediate_size, config.num_attention_heads) == (6, 48, 3)
    assert config.hidden_dropout_prob == 0 and not config.causal
    write_config(cli.parse(ConfigOptions, [*command, "--causal"]))
    assert json.loads((tmp_path / "bert_config.json").read_text())["is_decoder"] is True
    with pytest.raises(UserError, match="not a multiple"):
        write_config(cli.parse(ConfigOptions, [*command, "--num_attention_heads=5"]))
