"""Short turns of the programs that are measured by default."""

import importlib.util
import re

import pytest

from benchmarks import pretraining_step
from benchmarks.pretraining_step import PretrainingStepOptions, main
from bert_common import gpus
from bert_common.errors import UserError
from tests.benchmarks.common import CONFIG

PEERS = {"pytorch_gathered": "transformers"}


def test_the_command(capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setattr(pretraining_step, "find_config", lambda size, vocab_size: CONFIG)
    monkeypatch.setattr(pretraining_step, "_MATMUL_SIZES", {"cpu": 64})
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    programs = ("ours", "ours_recomputed", "model_garden", *peers)
    main(
        PretrainingStepOptions(
            batch_size=2,
            max_seq_length=16,
            vocab_size=60,
            repetitions=2,
            steps=1,
            one_process=True,
            programs=programs,
        )
    )
    printed = capsys.readouterr().out
    assert "batch 2, 16 tokens, 3 predictions, vocabulary 60, float32" in printed
    for name in programs:
        assert re.search(
            rf"^{name} +[1-9][\d.,]* +\S+ to \S+ +[\d,]+ +\d+% +-?[\d,]+ +[\d.]+x",
            printed,
            re.MULTILINE,
        ), printed
    if len(peers) < len(PEERS):
        pytest.skip(
            "PyTorch or transformers is not installed (pip install --group peers); the others ran"
        )


def test_a_gpu_is_expected_where_one_is_asked_for(monkeypatch):
    monkeypatch.setattr(gpus, "read_driver", lambda: None)
    with pytest.raises(UserError, match="there is no GPU"):
        PretrainingStepOptions(device="gpu").set_up_device()


def test_bad_input():
    with pytest.raises(UserError, match="--size=L99-H1 is unknown"):
        main(PretrainingStepOptions(size="L99-H1"))
    with pytest.raises(UserError, match="max_position_embeddings is 512"):
        main(PretrainingStepOptions(max_seq_length=513))
