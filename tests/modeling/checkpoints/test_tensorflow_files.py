import functools
import json
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.checkpoints import remove_leftovers
from modeling import BertForClassification, BertForPreTraining, BertForQuestionAnswering
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.load import load_weights, open_checkpoint, read_checkpoint
from modeling.checkpoints.tensorflow_files import (
    LoraWeights,
    TensorBundle,
    checkpoint_of,
    latest_checkpoint,
    lora_matrices,
    weight_variables,
)
from modeling.checkpoints.weights import native_path, original_names
from modeling.encoder import BertEncoder
from tests import refusals
from tests.modeling.checkpoints.common import (
    FORMATS_OF_ALL_HEADS,
    assert_same,
    random_weights,
    read_all,
)
from tests.modeling.common import SMALL, arrays, random_features

INDEX, DATA = "ckpt-6.index", "ckpt-6.data-00000-of-00001"
# Shards of two, as a program for several hosts writes them.
FIRST, SECOND = "ckpt-6.data-00000-of-00002", "ckpt-6.data-00001-of-00002"
MISSING_INDEX = "ckpt-6.index is missing, {} is there: restore it, or move ckpt-6.* out of the directory to resume from"
STATES = [
    None,
    b"",
    b"\xff",
    b'model_checkpoint_path: "ckpt-4"\n',
    b'model_checkpoint_path: "ckpt-6"\n',
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    variables = {native_path(name): tf.Variable(value) for name, value in random_weights().items()}
    for step in (4, 6):
        checkpoint_of(variables).write(str(folder / f"ckpt-{step}"))
    SMALL.to_file(str(folder / "bert_config.json"))
    return folder


@pytest.fixture(params=STATES, ids=repr)
def directory(saved, tmp_path, request):
    """A copy of it, with every kind of the file `checkpoint`, which must not matter."""
    copy = shutil.copytree(saved, tmp_path / "run")
    if request.param is not None:
        (copy / "checkpoint").write_bytes(request.param)
    return copy


def leave(directory, names) -> None:
    """Of ckpt-6 only these names; "half" cuts a file, a name of a shard of two has the whole data
    in it."""
    contents = {path.name: path.read_bytes() for path in directory.glob("ckpt-6*")}
    for name in contents:
        (directory / name).unlink()
    for name in names:
        path = directory / name.removesuffix(" half")
        path.parent.mkdir(exist_ok=True)
        content = contents[INDEX if "index" in name else DATA]
        path.write_bytes(content[:40] if name.endswith("half") else content)


# What is there of ckpt-6 → the checkpoint that is taken, or the words of the refusal.
REMAINS = [
    ([INDEX, DATA], "ckpt-6"),
    ([], "ckpt-4"),
    # A copy that was not complete: never passed over, and nothing removed.
    ([DATA], MISSING_INDEX.format(DATA) + " ckpt-4"),
    ([FIRST, SECOND], MISSING_INDEX.format(FIRST) + " ckpt-4"),
    ([SECOND], MISSING_INDEX.format(SECOND) + " ckpt-4"),
    ([INDEX], "ckpt-6.data-00000-of-00001 is missing"),
    ([INDEX, FIRST], "ckpt-6.data-00001-of-00002 is missing: the checkpoint has 2 data files"),
    ([INDEX, SECOND], "ckpt-6.data-00000-of-00002 is missing: the checkpoint has 2 data files"),
    ([f"{INDEX} half", DATA], "ckpt-6.index can't be read as a checkpoint"),
    # Another checkpoint of this name was there before.
    ([INDEX, DATA, SECOND], "ckpt-6"),
    # What TensorFlow writes into before it renames: no data yet, or none any more.
    ([f"{DATA}.tempstate1234567890"], "ckpt-4"),
    ([INDEX, DATA, f"{DATA}.tempstate1234567890", f"{INDEX}.tempstate1234567890"], "ckpt-6"),
    # A writer that was killed before, between and after its renames, and one of earlier versions
    # while it wrote.
    ([f"ckpt-6_temp/{DATA}"], "ckpt-4"),
    ([f"ckpt-6_temp/{INDEX}", DATA], "ckpt-4"),
    ([f"ckpt-6_temp/{SECOND}", f"ckpt-6_temp/{INDEX}", FIRST], "ckpt-4"),
    (["ckpt-6_temp/part-00000-of-00001.index", INDEX, DATA], "ckpt-6"),
    (["ckpt-6_temp/part-00000-of-00001.index", f"{INDEX} half", DATA], "ckpt-4"),
]


def test_a_checkpoint_is_found_by_the_name_that_the_original_would_give_it(directory):
    found = read_checkpoint(str(directory / "model.ckpt-4"))
    assert found.description == str(directory / "ckpt-4")


@pytest.mark.parametrize(
    "names, expected", REMAINS, ids=[" ".join(names) or "nothing" for names, _ in REMAINS]
)
def test_what_is_left_of_a_checkpoint(directory, names, expected):
    leave(directory, names)
    there = sorted(path.name for path in directory.iterdir())
    if expected.startswith("ckpt") and " " not in expected:
        for _ in range(2):
            assert (
                latest_checkpoint(str(directory))
                == read_checkpoint(str(directory)).description
                == str(directory / expected)
            )
            remove_leftovers(str(directory))
        assert expected == "ckpt-6" or not (directory / DATA).exists()
        return
    for read in (
        read_checkpoint,
        lambda path: TensorBundle(latest_checkpoint(path)),
        remove_leftovers,
    ):
        if read is remove_leftovers and "is missing, " not in expected:
            # It says nothing of a checkpoint that has its index.
            remove_leftovers(str(directory))
            continue
        refusals.assert_refused(functools.partial(read, str(directory)), expected)
    assert sorted(path.name for path in directory.iterdir()) == there


def test_half_a_checkpoint_without_an_earlier_one(saved, tmp_path):
    shutil.copy(saved / DATA, tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-4"\n')
    with pytest.raises(
        UserError, match=r"ckpt-6\.index is missing, .* out of the directory to start again"
    ):
        read_checkpoint(str(tmp_path))
    with pytest.raises(UserError, match=r"ckpt-6\.index is missing"):
        read_checkpoint(str(tmp_path / DATA))
    (tmp_path / DATA).rename(tmp_path / "bert_model.ckpt.data-00000-of-00001")
    (tmp_path / "checkpoint").unlink()
    with pytest.raises(UserError, match=r"bert_model\.ckpt\.index is missing"):
        read_checkpoint(str(tmp_path))


KERNEL = "bert/encoder/layer_1/output/dense/kernel"
OUTPUT = {
    "native": "ckpt-0",
    "original": "bert_model.ckpt",
    "model_garden": "bert_model.ckpt",
    "huggingface": "model.safetensors",
}


def written(folder, form, weights) -> str:
    write_checkpoint(form, str(folder), weights, SMALL)
    return str(folder)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("form", FORMATS_OF_ALL_HEADS)
def test_what_is_not_finite_is_named_with_its_file(tmp_path, form, value):
    weights = random_weights()
    weights[KERNEL][3, 2:4] = value
    source = read_checkpoint(written(tmp_path / "model", form, weights))
    refusals.assert_refused(
        lambda: source.read(KERNEL), "output", "holds 2 values that are not finite", OUTPUT[form]
    )
    assert np.isfinite(source.read("bert/pooler/dense/bias")).all()


@pytest.mark.parametrize(
    "path", ["gone://bucket/x", "gone://bucket/x.h5", "gone://bucket/x.safetensors"]
)
def test_a_file_system_that_is_unknown(path):
    for load in (
        open_checkpoint,
        BertEncoder.from_checkpoint,
        lambda path: open_checkpoint(None, bert_config_file=path),
    ):
        refusals.assert_refused(
            functools.partial(load, path),
            f"can't read {path}: TensorFlow knows no file system gone://",
        )


@pytest.mark.parametrize("key, value", [("hidden_size", 3 * 10**7), ("num_hidden_layers", 10**4)])
@pytest.mark.parametrize("form", FORMATS_OF_ALL_HEADS)
@pytest.mark.parametrize("place", ["beside", "given"])
def test_a_configuration_is_compared_before_anything_is_built(tmp_path, form, key, value, place):
    directory = written(tmp_path / "model", form, random_weights())
    given = str(tmp_path / "bert_config.json") if place == "given" else None
    path = given or os.path.join(
        directory, {"huggingface": "config.json"}.get(form, "bert_config.json")
    )
    sizes = SMALL.to_dict() if given else json.loads(open(path).read())
    with open(path, "w") as file:
        json.dump(sizes | {key: value}, file)
    for load in (open_checkpoint, BertEncoder.from_checkpoint):
        refusals.assert_refused(
            functools.partial(load, directory, bert_config_file=given),
            "contradicts the tensors",
            str(tmp_path),
        )


# Run directories of an earlier version: tests/fixtures/README.md.
EARLIER = pathlib.Path(__file__).resolve().parents[2] / "fixtures/run_directories"


def with_step(model):
    return checkpoint_of({**weight_variables(model), "step": tf.Variable(7, dtype=tf.int64)})


def values(model):
    return {name: variable.numpy() for name, variable in original_names(model).items()}


@pytest.mark.parametrize(
    "strategy", [tf.distribute.get_strategy, lambda: tf.distribute.MirroredStrategy(["CPU:0"])]
)
def test_weights_come_back(tmp_path, strategy):
    with strategy().scope():
        model = BertForPreTraining(SMALL, seed=1)
    prefix = with_step(model).write(str(tmp_path / "ckpt-7"))
    restored, loaded = BertForPreTraining(SMALL, seed=2), BertForPreTraining(SMALL, seed=3)
    with_step(restored).read(prefix).assert_consumed()
    assert_same(values(restored), values(model))
    report = load_weights(loaded, read_checkpoint(prefix))
    assert_same(values(loaded), values(model))
    assert (report.loaded, report.newly_initialized, report.unused) == (
        [*original_names(model)],
        [],
        [],
    )


MODELS = {
    "pretraining": (BertForPreTraining, "ckpt-4"),
    "classification": (lambda config: BertForClassification(config, 2), "best/ckpt-4"),
    "question_answering": (BertForQuestionAnswering, "best/ckpt-8"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_of_an_earlier_version_is_read_and_restored(name, tmp_path):
    make_model, prefix = MODELS[name]
    prefix = str(EARLIER / name / "run" / prefix)
    expected = arrays(EARLIER / name / "weights.npz")
    assert_same(read_all(EARLIER / name / "run"), expected)

    source = read_checkpoint(str(EARLIER / name / "run"))
    models = make_model(source.config), make_model(source.config)
    report = load_weights(models[0], source)
    assert (report.newly_initialized, report.unused) == ([], [])
    checkpoint_of(weight_variables(models[1])).read(prefix).assert_existing_objects_matched()
    for model in models:
        assert_same(values(model), expected)

    def weight_keys(prefix):
        return {
            key
            for key in tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
            if key.startswith(("encoder/", "heads/"))
        }

    assert weight_keys(with_step(models[0]).write(str(tmp_path / "ckpt-1"))) == weight_keys(prefix)


def test_the_optimizers_slots_of_an_earlier_version_lie_at_the_native_paths():
    found = {
        key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")
        for key in tf.train.load_checkpoint(
            str(EARLIER / "pretraining/run/ckpt-4")
        ).get_variable_to_shape_map()
    }
    paths = {native_path(name) for name in arrays(EARLIER / "pretraining/weights.npz")}
    assert found - {"_CHECKPOINTABLE_OBJECT_GRAPH"} == {
        *paths,
        *(f"optimizer/{slot}/{path}" for slot in "mv" for path in paths),
        "step",
        "examples",
        "loss_scale",
        "steps_since_overflow",
        "save_counter",
    }


def test_a_head_of_a_later_version_is_unused(tmp_path):
    model = BertForPreTraining(SMALL, seed=1)
    head = {"heads/paraphrase/output_weights": tf.Variable([[1.0, 2.0]])}
    prefix = checkpoint_of({**weight_variables(model), **head}).write(str(tmp_path / "ckpt-1"))
    source = read_checkpoint(prefix)
    assert load_weights(BertForPreTraining(SMALL, seed=2), source).unused == [
        "heads/paraphrase/output_weights"
    ]
    assert source.read("heads/paraphrase/output_weights").tolist() == [[1.0, 2.0]]


FEATURES = random_features(SMALL, 4, 10, predictions=3)


def adapted(seed: int) -> BertForClassification:
    """With updates that are not 0."""
    model = BertForClassification(SMALL, 3, seed=seed)
    model.encoder.enable_lora(2, lora_alpha=3.0, layers="all")
    rng = np.random.default_rng(seed)
    for variable in lora_matrices(model).values():
        variable.assign(rng.normal(0, 0.05, variable.shape))
    return model


def test_merged_and_unmerged_compute_the_same(tmp_path):
    model = adapted(1)
    lora = LoraWeights(model)
    lora.merge()
    prefix = checkpoint_of({**weight_variables(model), **lora.variables}).write(
        str(tmp_path / "ckpt-3")
    )
    checkpoint = read_checkpoint(prefix)
    merged = BertForClassification(SMALL, 3, seed=2)
    report = load_weights(merged, checkpoint)
    assert report.unused == [] and report.newly_initialized == []
    np.testing.assert_allclose(merged(FEATURES), model(FEATURES), rtol=0, atol=2e-6)
    # Who resumes has all as it was, and what a seed begins with does not count.
    resumed = adapted(4)
    load_weights(resumed, checkpoint)
    LoraWeights(resumed).load(prefix)
    np.testing.assert_array_equal(resumed(FEATURES), model(FEATURES))
    for name, variable in lora_matrices(model).items():
        np.testing.assert_array_equal(lora_matrices(resumed)[name], variable, err_msg=name)


def test_a_checkpoint_without_updates_is_refused(tmp_path):
    prefix = checkpoint_of(weight_variables(BertForClassification(SMALL, 3))).write(
        str(tmp_path / "ckpt-3")
    )
    with pytest.raises(
        UserError, match="there is no lora/encoder/layer_0/attention/self/query/kernel"
    ):
        LoraWeights(adapted(1)).load(prefix)


# Optimizer of TensorFlow 1 → endings of its slots' names, and its counters.
SLOTS = {
    "AdamWeightDecay": (("adam_m", "adam_v"), ("global_step",)),
    "LAMB": (("LAMB", "LAMB_1"), ("global_step", "beta1_power", "beta2_power")),
    "Adam": (("Adam", "Adam_1"), ("global_step", "beta1_power", "beta2_power")),
    "Momentum": (("Momentum",), ("global_step",)),
    "Adafactor": (("vr", "vc"), ("global_step", "loss_scale/current_scale")),
}


@pytest.mark.parametrize("optimizer", SLOTS)
def test_slots_and_counters_of_any_optimizer_of_tensorflow_1_are_no_weights(tmp_path, optimizer):
    endings, counters = SLOTS[optimizer]
    weights = random_weights("masked_lm", "next_sentence")
    stored = dict(weights)
    for name, value in weights.items():
        for ending in endings:
            stored[f"{name}/{ending}"] = np.zeros_like(value)
    for name in counters:
        stored[name] = np.int64(3) if name == "global_step" else np.float32(0.9)
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "model.ckpt-28252"),
        tensor_names=list(stored),
        shape_and_slices=[""] * len(stored),
        tensors=list(map(tf.constant, stored.values())),
    )
    SMALL.to_file(str(tmp_path / "bert_config.json"))
    assert_same(read_all(tmp_path), weights)
    assert open_checkpoint_fits(tmp_path)


def open_checkpoint_fits(path) -> bool:
    """Whether a pre-training model takes every tensor."""
    report = load_weights(BertForPreTraining(SMALL), read_checkpoint(str(path)))
    return not report.newly_initialized and not report.unused
