"""Checkpoints that the Model Garden wrote, and ours in its hands: the same outputs as its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.pretraining import BertForPreTraining
from tests.modeling.checkpoints import common, model_garden_process
from tests.modeling.common import SMALL, arrays, random_features

HEADS = {
    "pretraining": ("masked_lm", "next_sentence"),
    "encoder": (),
    "classification": ("classification",),
    "question_answering": ("question_answering",),
    "token_classification": ("token_classification",),
}
FEATURES = random_features(SMALL, 4, 16, 5)


@pytest.fixture(scope="module")
def garden(tmp_path_factory):
    """The folder with checkpoints and outputs of the Model Garden."""
    folder = tmp_path_factory.mktemp("garden")
    np.savez(
        folder / "inputs.npz",
        input_word_ids=FEATURES["input_ids"],
        input_mask=FEATURES["input_mask"],
        input_type_ids=FEATURES["segment_ids"],
        masked_lm_positions=FEATURES["masked_lm_positions"],
    )
    for name, heads in HEADS.items():
        (folder / f"ours-{name}").mkdir()
        write_checkpoint(
            "model_garden", str(folder / f"ours-{name}"), common.random_weights(*heads), SMALL
        )
    done = subprocess.run(
        [sys.executable, model_garden_process.__file__, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_USE_LEGACY_KERAS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def our_outputs(path, name):
    """Outputs of our model with the weights at `path`, by the Model Garden's names, and the
    report."""
    source = read_checkpoint(str(path))
    if name in ("pretrainer", "items", "trainer", "pretraining"):
        model = BertForPreTraining(source.config)
        report = load_weights(model, source)
        outputs = model(FEATURES)
        outputs = {
            "sequence_output": outputs["sequence_output"],
            "mlm_logits": outputs["masked_lm_logits"],
            "next_sentence": outputs["next_sentence_logits"],
        }
        return outputs, report
    kind = name.partition("_with")[0].removeprefix("scaffold_")
    model, report = common.load_into(path, *HEADS[kind.removeprefix("first_")])
    encoded = model.encoder(FEATURES["input_ids"], FEATURES["input_mask"], FEATURES["segment_ids"])
    if not model.heads:
        return {name: encoded[name] for name in ("sequence_output", "pooled_output")}, report
    names = ("start", "end") if kind == "question_answering" else ("logits",)
    return dict(zip(names, common.head_outputs(model, encoded), strict=True)), report


def assert_agree(outputs, garden, name):
    expected = arrays(garden / "outputs.npz")
    assert outputs
    for output, value in outputs.items():
        np.testing.assert_allclose(
            value, expected[f"{name}/{output}"], atol=1e-5, rtol=1e-5, err_msg=output
        )


@pytest.mark.parametrize(
    "name",
    [
        "pretrainer",
        "trainer",
        "encoder",
        "first_encoder",
        "scaffold_encoder",
        "classification",
        "classification_with_pooler",
        "question_answering",
        "token_classification",
    ],
)
def test_its_checkpoints_give_its_outputs(garden, name):
    source = read_checkpoint(str(garden / f"{name}.ckpt"))
    assert source.config == SMALL.from_dict({**SMALL.to_dict(), "initializer_range": 0.02})
    outputs, report = our_outputs(garden / f"{name}.ckpt", name)
    assert report.newly_initialized == []
    # Where a head has a pooler, the encoder's own is not used.
    unused = [name for name in report.unused if "_pooler_layer/" not in name]
    assert unused == []
    assert len(report.unused) == (
        2 if name in ("pretrainer", "trainer", "classification_with_pooler") else 0
    )
    assert_agree(outputs, garden, name)


def test_its_items_lack_the_next_sentence_matrix(garden):
    outputs, report = our_outputs(garden / "items.ckpt", "items")
    assert report.newly_initialized == [
        "cls/seq_relationship/output_weights",
        "cls/seq_relationship/output_bias",
    ]
    del outputs["next_sentence"]
    assert_agree(outputs, garden, "items")


@pytest.mark.parametrize(
    "name, way",
    [
        ("pretraining", 0),
        ("pretraining", 1),
        ("encoder", 0),
        ("first_encoder", 0),
        ("classification", 0),
        ("question_answering", 0),
        ("token_classification", 0),
    ],
)
def test_it_restores_ours_whole(garden, name, way):
    folder = garden / f"ours-{name.removeprefix('first_')}"
    common.assert_same(
        common.read_all(folder), common.random_weights(*HEADS[name.removeprefix("first_")])
    )
    outputs, _ = our_outputs(folder, name)
    if way == 1:
        # Its `checkpoint_items` do not have the matrix of next sentence.
        del outputs["next_sentence"]
    assert_agree(outputs, garden, f"ours-{name}-{way}")


def test_a_configuration_beside_it_is_checked(tmp_path):
    write_checkpoint("model_garden", str(tmp_path), common.random_weights(), SMALL)
    for key, value, message in [
        ("num_attention_heads", 4, "num_attention_heads is 4 there and 3 in the tensors"),
        ("intermediate_size", 24, "the configuration contradicts the tensors"),
    ]:
        SMALL.from_dict({**SMALL.to_dict(), key: value}).to_file(str(tmp_path / "bert_config.json"))
        common.assert_refused(tmp_path, message)


@pytest.mark.parametrize("name", ["FunnelTransformerEncoder", "AlbertEncoder"])
def test_encoders_whose_weights_have_the_places_of_a_berts_are_refused(garden, name):
    common.assert_refused(garden / f"{name}.ckpt", "is a checkpoint of an unknown kind")


def test_factorized_embeddings_are_refused_by_their_name(garden):
    common.assert_refused(garden / "factorized.ckpt", "hidden_size is 6", "factorized")
