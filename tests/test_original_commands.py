"""The commands of google-research/bert's README and all flags of its scripts, at the commit
eedf5716 of 2020: names, defaults, meaning of words such as `--do_train=true`."""

import pytest

from bert_common.options import declared_options
from tests.flags import options_of_script
from tests.page_commands import parse_command

_DEVICES = {
    "use_tpu": False,
    "tpu_name": None,
    "tpu_zone": None,
    "gcp_project": None,
    "master": None,
    "num_tpu_cores": 8,
}
_TRAINING = {
    "bert_config_file": None,
    "output_dir": None,
    "init_checkpoint": None,
    "do_train": False,
    "train_batch_size": 32,
    "learning_rate": 5e-5,
    "save_checkpoints_steps": 1000,
    "iterations_per_loop": 1000,
    **_DEVICES,
}
_FINE_TUNING = {
    **_TRAINING,
    "vocab_file": None,
    "do_lower_case": True,
    "do_predict": False,
    "predict_batch_size": 8,
    "num_train_epochs": 3.0,
    "warmup_proportion": 0.1,
}
# Script → flag → default of the original.
_FLAGS = {
    "data_gen/create_pretraining_data.py": {
        "input_file": None,
        "output_file": None,
        "vocab_file": None,
        "do_lower_case": True,
        "do_whole_word_mask": False,
        "max_seq_length": 128,
        "max_predictions_per_seq": 20,
        "random_seed": 12345,
        "dupe_factor": 10,
        "masked_lm_prob": 0.15,
        "short_seq_prob": 0.1,
    },
    "run_pretraining.py": {
        **_TRAINING,
        "input_file": None,
        "max_seq_length": 128,
        "max_predictions_per_seq": 20,
        "do_eval": False,
        "eval_batch_size": 8,
        "num_train_steps": 100_000,
        "num_warmup_steps": 10_000,
        "max_eval_steps": 100,
    },
    "run_classifier.py": {
        **_FINE_TUNING,
        "data_dir": None,
        "task_name": None,
        "max_seq_length": 128,
        "do_eval": False,
        "eval_batch_size": 8,
    },
    "run_squad.py": {
        **_FINE_TUNING,
        "train_file": None,
        "predict_file": None,
        "max_seq_length": 384,
        "doc_stride": 128,
        "max_query_length": 64,
        "n_best_size": 20,
        "max_answer_length": 30,
        "verbose_logging": False,
        "version_2_with_negative": False,
        "null_score_diff_threshold": 0.0,
    },
    "extract_features.py": {
        "input_file": None,
        "output_file": None,
        "layers": (-1, -2, -3, -4),
        "bert_config_file": None,
        "max_seq_length": 128,
        "init_checkpoint": None,
        "vocab_file": None,
        "do_lower_case": True,
        "batch_size": 32,
        "use_tpu": False,
        "master": None,
        "num_tpu_cores": 8,
        "use_one_hot_embeddings": False,
    },
}
# Flags whose default is worked out here, as `--help` says: the casing is that of the checkpoint, a
# loop of steps takes a few seconds, an evaluation reads its whole file, and masks that are made
# while training need one copy.
_WORKED_OUT = {"do_lower_case", "iterations_per_loop", "dupe_factor", "max_eval_steps"}
_BASE = "/bert/uncased_L-12_H-768_A-12"
_MODEL = (
    f"--vocab_file={_BASE}/vocab.txt --bert_config_file={_BASE}/bert_config.json "
    f"--init_checkpoint={_BASE}/bert_model.ckpt"
)
_TPU = "--use_tpu=True --tpu_name=my-tpu"
# README's commands, with paths in place of its variables.
_COMMANDS = {
    "GLUE": (
        "run_classifier.py",
        "--task_name=MRPC --do_train=true --do_eval=true --data_dir=/glue/MRPC "
        f"{_MODEL} --max_seq_length=128 --train_batch_size=32 --learning_rate=2e-5 "
        "--num_train_epochs=3.0 --output_dir=/tmp/mrpc_output/",
    ),
    "prediction from a classifier": (
        "run_classifier.py",
        f"--task_name=MRPC --do_predict=true --data_dir=/glue/MRPC {_MODEL} --max_seq_length=128 "
        "--output_dir=/tmp/mrpc_output/",
    ),
    "SQuAD 1.1 on a GPU": (
        "run_squad.py",
        f"{_MODEL} --do_train=True --train_file=/squad/train-v1.1.json --do_predict=True "
        "--predict_file=/squad/dev-v1.1.json --train_batch_size=12 --learning_rate=3e-5 "
        "--num_train_epochs=2.0 --max_seq_length=384 --doc_stride=128 --output_dir=/tmp/squad/",
    ),
    "SQuAD 1.1 on a TPU": (
        "run_squad.py",
        f"{_MODEL} --do_train=True --train_file=/squad/train-v1.1.json --do_predict=True "
        "--predict_file=/squad/dev-v1.1.json --train_batch_size=24 --learning_rate=3e-5 "
        "--num_train_epochs=2.0 --max_seq_length=384 --doc_stride=128 "
        f"--output_dir=gs://bucket/squad_large/ {_TPU}",
    ),
    "SQuAD 2.0 with a threshold": (
        "run_squad.py",
        f"{_MODEL} --do_train=False --train_file=/squad/train-v2.0.json --do_predict=True "
        "--predict_file=/squad/dev-v2.0.json --train_batch_size=24 --learning_rate=3e-5 "
        "--num_train_epochs=2.0 --max_seq_length=384 --doc_stride=128 "
        f"--output_dir=gs://bucket/squad_large/ {_TPU} --version_2_with_negative=True "
        "--null_score_diff_threshold=-1.5",
    ),
    "features": (
        "extract_features.py",
        f"--input_file=/tmp/input.txt --output_file=/tmp/output.jsonl {_MODEL} "
        "--layers=-1,-2,-3,-4 --max_seq_length=128 --batch_size=8",
    ),
    "records": (
        "data_gen/create_pretraining_data.py",
        "--input_file=./sample_text.txt --output_file=/tmp/tf_examples.tfrecord "
        f"--vocab_file={_BASE}/vocab.txt --do_lower_case=True --max_seq_length=128 "
        "--max_predictions_per_seq=20 --masked_lm_prob=0.15 --random_seed=12345 --dupe_factor=5",
    ),
    "pre-training": (
        "run_pretraining.py",
        "--input_file=/tmp/tf_examples.tfrecord --output_dir=/tmp/pretraining_output "
        "--do_train=True --do_eval=True "
        f"--bert_config_file={_BASE}/bert_config.json --init_checkpoint={_BASE}/bert_model.ckpt "
        "--train_batch_size=32 --max_seq_length=128 --max_predictions_per_seq=20 "
        "--num_train_steps=20 --num_warmup_steps=10 --learning_rate=2e-5",
    ),
}


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_command_of_its_readme_is_understood(name, monkeypatch, tmp_path):
    script, arguments = _COMMANDS[name]
    # Inputs must exist; the model's files are looked for later.
    (tmp_path / "input.txt").touch()
    arguments = arguments.replace("/tmp/input.txt", str(tmp_path / "input.txt"))
    parse_command(script, arguments.split(), monkeypatch)


@pytest.mark.parametrize("script", _FLAGS)
def test_every_flag_and_default_is_the_originals(script):
    options = {}
    for option in declared_options(options_of_script(script)):
        options[option.name] = option
        options.update(dict.fromkeys(option.aliases, option))
    for name, default in _FLAGS[script].items():
        assert name in options, f"{script} --{name}"
        option = options[name]
        if name in _WORKED_OUT and option.default is None:
            assert option.default_text
        elif option.affects_result:
            # Other batches of predictions, for example, give the same predictions.
            assert option.default == default, f"{script} --{name}"
