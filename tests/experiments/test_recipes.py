import json

import pytest

from bert_common import cli
from bert_common.errors import UserError
from bert_tf.vocabulary.building import ConfigOptions, write_config
from experiments.runner import recipes
from experiments.runner.experiment import COLUMNS, ExperimentOptions
from experiments.runner.jobs import Given
from modeling.config import BertConfig


def test_where_data_is(tmp_path):
    def found(column: str, **directories):
        return recipes.find(COLUMNS[column], ExperimentOptions(output_dir="x", **directories))

    nothing = str(tmp_path / "nothing")
    assert found("rte", glue_dir=nothing) == (None, f"{nothing}/RTE has no train.tsv and dev.tsv")
    assert found("swag") == (None, "--swag_dir was not given")
    assert found("swag", swag_dir=nothing) == (None, f"{nothing} has no train.csv and val.csv")
    assert "train-v1.1.json and no " in found("squad", squad_dir=nothing)[1]
    assert "no file for train" in found("ner", ner_dir=nothing)[1]
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_text("A\tO\n\nB\tO\n\n")
    assert found("ner_features", ner_dir=str(tmp_path)) == (
        {"train_file": Given(f"{tmp_path}/eng.train"), "dev_file": Given(f"{tmp_path}/eng.testa")},
        "",
    )
    # A plan needs none.
    plan, _ = recipes.find(COLUMNS["mnli"], ExperimentOptions(print_plan=True))
    assert plan == {"data_dir": Given("glue_dir/MNLI")}


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
