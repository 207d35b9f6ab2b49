"""Short turns of the programs that are measured by default."""

import importlib.util
import re

import numpy as np
import pytest

from benchmarks import pretraining_step
from benchmarks.pretraining_step import PretrainingStepOptions, main, random_batch
from bert_common import gpus, json_files
from bert_common.errors import UserError
from modeling.config import BertConfig

CONFIG = BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                    max_position_embeddings=16)
PEERS = {"pytorch_gathered": "transformers", "keras_hub": "keras_hub"}


def test_the_command(tmp_path, capsys, monkeypatch):
  monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
  monkeypatch.setattr(pretraining_step, "find_config", lambda size, vocab_size: CONFIG)
  monkeypatch.setattr(pretraining_step, "_MATMUL_SIZES", {"cpu": 64})
  peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
  programs = ("ours", "ours_recomputed", "model_garden", *peers)
  main(PretrainingStepOptions(batch_size=2, max_seq_length=16, vocab_size=60, repetitions=2, steps=1, one_process=True,
                              programs=programs, json_file=str(tmp_path / "results.jsonl")))
  printed = capsys.readouterr().out
  assert "batch 2, 16 tokens, 3 predictions, vocabulary 60, float32" in printed
  for name in programs:
    assert re.search(rf"^{name} +[1-9][\d.,]* +\S+ to \S+ +[\d,]+ +\d+% +-?[\d,]+ +[\d.]+x", printed,
                     re.MULTILINE), printed
  results = json_files.read_objects(str(tmp_path / "results.jsonl"))
  assert [(one["program"], "start_seconds" in one) for one in results] == [
      *((name, True) for name in ("matmul", *programs)), *((name, False) for name in ("matmul", *programs))]
  assert results[-1]["sequences/s"] > 0 and results[-1]["ms/step"] > 0 and results[-1]["of peak"] > 0
  if len(peers) < len(PEERS):
    pytest.skip("PyTorch, transformers or KerasHub are not installed (pip install --group peers); the others ran")


def test_programs_on_a_gpu():
  options = PretrainingStepOptions(device="gpu")
  assert options.chosen_precision == "bfloat16" and "pytorch_compiled" in options.chosen_programs
  assert all(name in pretraining_step.PROGRAMS for name in options.chosen_programs)


def test_a_gpu_is_expected_where_one_is_asked_for(monkeypatch):
  monkeypatch.setattr(gpus, "read_driver", lambda: None)
  with pytest.raises(UserError, match="there is no GPU"):
    PretrainingStepOptions(device="gpu").set_up_device()


def test_unused_predictions_are_left_out_of_the_labels():
  pytest.importorskip("transformers", reason="transformers is not installed (pip install --group peers)")
  from benchmarks.pytorch_peers import masked_labels

  batch = random_batch(2, 16, 3, 60)
  batch["masked_lm_weights"][1, 1:] = 0.0
  assert (masked_labels(batch) == -100).tolist() == [[False] * 3, [False, True, True]]
  np.testing.assert_array_equal(masked_labels(batch)[0], batch["masked_lm_ids"][0])


def test_bad_input():
  with pytest.raises(UserError, match="--size=L99-H1 is unknown"):
    main(PretrainingStepOptions(size="L99-H1"))
  with pytest.raises(UserError, match="--attention_dropout=0"):
    main(PretrainingStepOptions(programs=("ours_xla", "ours_fused_xla")))
  with pytest.raises(UserError, match="--precision=bfloat16"):
    main(PretrainingStepOptions(programs=("ours_fused_xla",), attention_dropout=0.0))
  with pytest.raises(UserError, match="max_position_embeddings is 512"):
    main(PretrainingStepOptions(max_seq_length=513))
