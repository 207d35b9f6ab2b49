"""Keys of other programs' files that choose what is read of a text are followed."""

import json
import math
import pathlib

import pytest
from safetensors.numpy import load_file, save_file

from bert_common.errors import UserError
from bert_tf.inference import features, fill_mask, predictor
from bert_tf.inference.fill_mask import FillMaskOptions
from bert_tf.inference.options import ExtractOptions, PredictOptions
from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from tests.golden.make_tokenizer_settings import tokenizer_file
from tests.tiny import TOKENS, write_tiny

LONG = "the array is returned. " * 3 + "a list is sorted who b"


def write_model(folder, head="classification", tokenizer=None, **config) -> str:
    """A directory of Hugging Face's with other keys in its files."""
    path = write_tiny(folder, head, output_format="huggingface")
    # With our steps it would be ours.
    (folder / "tokenizer.json").unlink()
    tokenizer = {"tokenizer_class": "BertTokenizer", **(tokenizer or {})}
    for name, changes in (("config.json", config), ("tokenizer_config.json", tokenizer)):
        values = json.loads((folder / name).read_text())
        values.pop("vocab_sha256", None)
        (folder / name).write_text(json.dumps({**values, **changes}))
    return path


def score(path: str, text: str, **options) -> dict:
    classifier = Predictor.from_checkpoint(path, "classification", **options)
    return classifier([text])[0]


@pytest.mark.parametrize("place", ["tokenizer_config.json", "tokenizer.json"])
def test_the_end_of_a_text_is_read(tmp_path, place):
    side = {"truncation_side": "left"} if place == "tokenizer_config.json" else {}
    path = write_model(tmp_path / "model", tokenizer=side)
    if not side:
        values = tokenizer_file(TOKENS, {"lowercase": True, "strip_accents": None}, [])
        values["truncation"] = {
            "direction": "Left",
            "max_length": 8,
            "strategy": "LongestFirst",
            "stride": 0,
        }
        (tmp_path / "model/tokenizer.json").write_text(json.dumps(values))
    expected = score(path, "sorted who b", max_seq_length=6)
    assert score(path, LONG, max_seq_length=6) == expected
    assert score(path, LONG, max_seq_length=6) != score(path, "the array is", max_seq_length=6)


def test_the_length_of_a_re_ranker_is_that_of_its_tokenizer(tmp_path):
    path = write_model(tmp_path / "model", "regression", {"model_max_length": 8})
    assert score(path, LONG) == score(path, LONG, max_seq_length=8)
    assert score(path, LONG) != score(path, LONG, max_seq_length=12)


@pytest.mark.parametrize("activation", ["Sigmoid", "Identity", "Tanh"])
def test_the_activation_of_sentence_transformers_6(tmp_path, activation):
    # Its config.json may still have the activation of an earlier version.
    former = {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}
    path = write_model(tmp_path / "model", "regression", **former)
    file = tmp_path / "model/config_sentence_transformers.json"
    name = f"torch.nn.modules.activation.{activation}"
    file.write_text(json.dumps({"activation_fn": name, "model_type": "CrossEncoder"}))
    if activation == "Tanh":
        with pytest.raises(UserError, match="the scores are taken through .*Tanh"):
            score(path, LONG)
        return
    # Exports and conversions write it where earlier versions look for it.
    config = read_checkpoint(path).config
    assert config.extra["sentence_transformers"] == {"activation_fn": name}
    found = score(path, LONG)["score"]
    file.unlink()
    with_sigmoid = score(path, LONG)["score"]
    if activation == "Sigmoid":
        assert found == with_sigmoid
    else:
        assert math.isclose(1 / (1 + math.exp(-found)), with_sigmoid, rel_tol=1e-5)


def test_untied_embeddings_concern_the_masked_lm_head_only(tmp_path):
    path = write_model(tmp_path / "a", tie_word_embeddings=False)
    assert score(path, "a list")["label"]
    path = write_model(tmp_path / "b", "masked_lm", tie_word_embeddings=False)
    with pytest.raises(UserError, match="tie_word_embeddings is False"):
        read_checkpoint(path)


def test_fewer_layers_and_no_mask_token_are_read(tmp_path):
    path = write_model(tmp_path / "model", tokenizer={"mask_token": None}, num_hidden_layers=2)
    vocab_file = tmp_path / "model/vocab.txt"
    vocab_file.write_text(vocab_file.read_text().replace("[MASK]", "[unused0]"))
    assert any("num_hidden_layers is 2" in note for note in open_checkpoint(path).notes)
    encoder = Predictor.from_checkpoint(path, "features")
    two_layers = encoder(["the array"])[0]["vector"]
    # The third layer reads what the second one gives.
    whole = Predictor.from_checkpoint(write_model(tmp_path / "whole"), "features", layer=1)
    assert two_layers == pytest.approx(whole(["the array"])[0]["vector"], abs=1e-6)
    path = write_model(tmp_path / "mlm", "masked_lm", tokenizer={"mask_token": None})
    (tmp_path / "mlm/vocab.txt").write_text(vocab_file.read_text())
    with pytest.raises(UserError, match=r"vocab.txt has no \[MASK\], which masked words need"):
        Predictor.from_checkpoint(path, "fill_mask")


def test_a_published_tagger_may_spell_its_tags_otherwise(tmp_path):
    names = {str(number): name for number, name in enumerate("O PER-B PER-I LOC-B LOC-I".split())}
    path = write_model(tmp_path / "model", "token_classification", id2label=names)
    tagger = Predictor.from_checkpoint(path, "token_classification")
    assert tagger.inference.labels == ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    assert "entities" in tagger(["the array is"])[0]


def test_lora_matrices_that_are_not_merged_are_named(tmp_path):
    path = write_model(tmp_path / "model", "classification")
    file = str(tmp_path / "model/model.safetensors")
    weights = load_file(file)
    name = "bert.encoder.layer.0.attention.self.query"
    weights[f"{name}.base_layer.weight"] = weights.pop(f"{name}.weight")
    save_file(weights, file)
    with pytest.raises(UserError, match=r"LoRA matrices .* save the result of model.merge_and_unl"):
        read_checkpoint(path)


def write_args(path: str, model_class: str, **values) -> None:
    """Writes `model_args.json` of simpletransformers."""
    args = {"labels_list": [], "labels_map": {}, "sliding_window": False, **values}
    pathlib.Path(path, "model_args.json").write_text(
        json.dumps({"model_class": model_class, "learning_rate": 4e-5, **args})
    )


def test_names_and_length_of_simpletransformers(tmp_path):
    numbered = {str(number): f"LABEL_{number}" for number in range(3)}
    path = write_model(tmp_path / "model", id2label=numbered)
    before = score(path, LONG, max_seq_length=8)["probabilities"].values()
    names = {"so": 2, "bad": 0, "good": 1}
    write_args(path, "ClassificationModel", labels_map=names, max_seq_length=8)
    found = score(path, LONG)["probabilities"]
    assert [*found] == ["bad", "good", "so"] and [*found.values()] == [*before]
    write_args(path, "ClassificationModel", labels_list=["x", "y", "z"])
    assert [*score(path, "a list")["probabilities"]] == ["x", "y", "z"]
    # A list of another model's classes, and names that are in the configuration.
    write_args(path, "ClassificationModel", labels_list=["x", "y"])
    assert [*score(path, "a list")["probabilities"]] == ["LABEL_0", "LABEL_1", "LABEL_2"]
    named = {"0": "bad", "1": "good", "2": "so"}
    path = write_model(tmp_path / "named", id2label=named)
    write_args(path, "ClassificationModel", labels_list=["x", "y", "z"])
    assert [*score(path, "a list")["probabilities"]] == ["bad", "good", "so"]


@pytest.mark.parametrize("output_format", ["native", "huggingface"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_conversion_keeps_the_length_and_the_part_that_is_read(tmp_path, output_format, side):
    path = write_model(tmp_path / "model", tokenizer={"truncation_side": side})
    write_args(path, "ClassificationModel", max_seq_length=8)
    converted = str(tmp_path / "converted")
    convert(path, output_format, converted)
    assert [*score(converted, LONG)["probabilities"].values()] == pytest.approx(
        [*score(path, LONG)["probabilities"].values()], rel=1e-6
    )


def test_several_classes_of_simpletransformers(tmp_path):
    path = write_model(
        tmp_path / "model", architectures=["BertForMultiLabelSequenceClassification"]
    )
    one = score(path, "a list")["probabilities"].values()
    write_args(path, "MultiLabelClassificationModel")
    several = score(path, "a list")
    odds = [value / (1 - value) for value in several["probabilities"].values()]
    assert [value / sum(odds) for value in odds] == pytest.approx([*one], rel=1e-3)
    assert "labels" in several


def test_what_is_odd_about_the_files_is_printed(tmp_path, capsys):
    path = write_model(tmp_path / "model", "masked_lm", flavor="sweet")
    lines = tmp_path / "lines"
    lines.write_text("the array\n")
    files = {
        "init_checkpoint": path,
        "input_file": str(lines),
        "output_file": str(tmp_path / "out"),
    }
    for command in (
        lambda: predictor.run(PredictOptions(task="features", **files)),
        lambda: features.run(ExtractOptions(**files)),
        lambda: fill_mask.run(FillMaskOptions(sentences=("a [MASK]",), init_checkpoint=path)),
    ):
        command()
        assert capsys.readouterr().err.count("note: ") >= 1


@pytest.mark.parametrize(
    ("key", "value"), [("max_seq_length", 0), ("labels_map", {"x": "y"}), ("labels_list", {})]
)
def test_odd_values_of_simpletransformers_are_named(tmp_path, key, value):
    path = write_model(tmp_path / "model")
    write_args(path, "ClassificationModel", **{key: value})
    with pytest.raises(UserError, match=f"model_args.json.*{key}"):
        read_checkpoint(path)


def test_a_file_of_another_program_is_no_matter(tmp_path):
    path = write_model(tmp_path / "model")
    before = read_checkpoint(path).max_length
    pathlib.Path(path, "model_args.json").write_text('{"max_seq_length": "auto"}')
    assert read_checkpoint(path).max_length == before


def test_windows_of_simpletransformers_are_mentioned(tmp_path):
    path = write_model(tmp_path / "model")
    write_args(path, "ClassificationModel", sliding_window=True, max_seq_length=8)
    assert any("sliding_window" in note for note in open_checkpoint(path).notes)
