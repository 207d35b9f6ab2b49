"""Each option that affects results reaches the object that acts on it.

A run is built, not trained: a flag that is read nowhere, or stored and never passed on, shows in
the objects of the run.
"""

import numpy as np
import pytest

from bert_common.options import declared_options
from bert_tf.runs import run as driver
from bert_tf.runs.options import FineTuningOptions, HeadDropoutOptions, LoraOptions
from bert_tf.runs.record import RunRecord
from bert_tf.runs.trainer import Trainer
from bert_tf.tasks.classification.task import ClassificationTask
from tests.bert_tf.tasks.classification.toy_task import own_task, write_csv, write_model


def _schedule(trainer):
    return trainer.task.schedule().get_config()


def _optimizer(name):
    return lambda trainer: getattr(trainer.weights.optimizer, name)


def _config(name):
    return lambda trainer: getattr(trainer.weights.model.encoder.config, name)


def _trained_variables(trainer):
    return trainer.weights.optimizer.names


def _initial_weights(trainer):
    return np.asarray(trainer.weights.model.encoder.weights[0]).tobytes()


# Option → a value that is not the default, and what must differ in a run with it.
PROBES = {
    "precision": ("bfloat16", lambda trainer: trainer.devices.dtype),
    "train_batch_size": (5, lambda trainer: trainer.phases[0].batch_size),
    "learning_rate": (1e-3, _schedule),
    "lr_schedule": ("cosine", _schedule),
    "decay_proportion": ({"decay_proportion": 0.3, "lr_schedule": "wsd"}, _schedule),
    "weight_decay": (0.3, _optimizer("decay_rates")),
    "max_grad_norm": (0.25, _optimizer("clip_norm")),
    "hidden_dropout_prob": (0.3, _config("hidden_dropout_prob")),
    "attention_probs_dropout_prob": (0.3, _config("attention_probs_dropout_prob")),
    "seed": (7, _initial_weights),
    "optimizer": ("lamb", lambda trainer: type(trainer.weights.optimizer)),
    "optimizer_betas": ((0.8, 0.9), _optimizer("betas")),
    "optimizer_bias_correction": (True, _optimizer("bias_correction")),
    "freeze_embeddings": (True, _trained_variables),
    "freeze_layers": (1, _trained_variables),
    "lora_rank": (2, _trained_variables),
    "lora_alpha": (
        {"lora_rank": 2, "lora_alpha": 9.0},
        lambda trainer: trainer.task.options.lora["lora_alpha"],
    ),
    "lora_layers": ({"lora_rank": 2, "lora_layers": ("key",)}, _trained_variables),
    "num_train_epochs": (4.0, _schedule),
    "warmup_proportion": (0.5, _schedule),
    "layerwise_lr_decay": (0.5, _optimizer("rate_factors")),
    "eval_steps": (3, lambda trainer: trainer.task.evaluation_interval()),
    "best_metric": ("macro_f1", lambda trainer: trainer.task.main_metric),
    "early_stopping_patience": (2, lambda trainer: trainer.task.options.early_stopping_patience),
    "bilstm_units": (4, _config("bilstm_units")),
    "max_train_examples": (20, _schedule),
    "original_batches": (True, _schedule),
    "classifier_dropout": (0.4, lambda trainer: trainer.weights.model.head_dropout),
}
# Options for predictions, whose effect the tests of classes of data show.
ELSEWHERE = {
    "skip_bad_rows",
    "dev_fraction",
    "split_seed",
    "max_eval_examples",
    "max_predict_examples",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    write_csv(folder / "train.csv", 43, 1)
    write_csv(folder / "dev.csv", 8, 2)
    return folder


def _trainer(folder, output_dir, **changes) -> Trainer:
    options = own_task(folder, output_dir, do_train=True, test_file=None, **changes)
    task = ClassificationTask(options)
    return Trainer(task, driver.set_up_devices(options), lambda line: None, RunRecord(options))


def test_every_option_has_a_probe():
    for group in (FineTuningOptions, LoraOptions, HeadDropoutOptions):
        for option in declared_options(group):
            if option.affects_result:
                assert option.name in PROBES or option.name in ELSEWHERE, (
                    f"--{option.name} affects results: add what it changes in a run to PROBES"
                )


@pytest.fixture(scope="module")
def default(folder, tmp_path_factory):
    return _trainer(folder, tmp_path_factory.mktemp("default"))


@pytest.mark.parametrize("name", PROBES)
def test_it_changes_its_object(folder, default, tmp_path, name):
    value, probe = PROBES[name]
    options = {option.name for option in declared_options(FineTuningOptions)}
    options |= {option.name for option in declared_options(HeadDropoutOptions)}
    if name not in options:
        pytest.skip(f"there is no --{name}")
    changes = value if isinstance(value, dict) else {name: value}
    changed = _trainer(folder, tmp_path, **changes)
    expected = probe(default) if not name.startswith("lora_alpha") else None
    found = probe(changed)
    if isinstance(found, np.ndarray):
        assert not np.array_equal(found, expected)
    else:
        assert found != expected
