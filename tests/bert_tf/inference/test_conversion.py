import os
import shutil

import numpy as np
import pytest

from bert_common import cli, json_files
from bert_tf.inference.conversion import run
from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.convert import ConvertOptions
from modeling.checkpoints.weights import HEADS
from tests.tiny import write_tiny


@pytest.fixture
def fixture_run(project, tmp_path):
    """A function: name → a copy of an earlier version's run directory."""
    return lambda name: str(
        shutil.copytree(project / f"tests/fixtures/run_directories/{name}/run", tmp_path / "run")
    )


def converted(source, tmp_path, output_format="huggingface"):
    output = str(tmp_path / "for_others")
    run(
        cli.parse(
            ConvertOptions,
            [
                "convert_checkpoint.py",
                f"--input={source}",
                f"--output_format={output_format}",
                f"--output={output}",
            ],
        )
    )
    return output


def read_card(directory):
    hub = pytest.importorskip("huggingface_hub")
    return hub.ModelCard.load(os.path.join(directory, "README.md"))


def load_pipeline(task, directory):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("transformers").pipeline(task, directory)


def test_a_classifier_with_its_scores(fixture_run, tmp_path):
    source = fixture_run("classification")
    flags = json_files.read(f"{source}/flags.json")
    flags["flags"]["init_checkpoint"] = "google:uncased_L-12_H-768_A-12"
    json_files.write(f"{source}/best/flags.json", flags)
    output = converted(source, tmp_path)
    card = read_card(output)
    assert (
        card.data.pipeline_tag == "text-classification" and card.data.library_name == "transformers"
    )
    assert card.data.base_model == "google-bert/bert-base-uncased"
    assert "from the weights `google:uncased_L-12_H-768_A-12` by `run_classifier.py`" in card.text
    assert "| `eval_accuracy` | 0.75 |" in card.text and "best/" not in card.text
    ours = Predictor.from_checkpoint(source)(["w1 w2"])[0]
    theirs = load_pipeline("text-classification", output)("w1 w2", top_k=None)
    assert {one["label"] for one in theirs} == {"negative", "positive"}
    assert theirs[0]["label"] == ours["label"]
    np.testing.assert_allclose(theirs[0]["score"], max(ours["probabilities"].values()), atol=1e-5)


def test_paths_of_the_machine_are_not_in_the_card(fixture_run, tmp_path):
    source = fixture_run("question_answering")
    flags = json_files.read(f"{source}/flags.json")
    flags["flags"] |= {
        "init_checkpoint": "/home/someone/secret/bert",
        "predict_file": "/home/someone/secret/dev.json",
    }
    json_files.write(f"{source}/best/flags.json", flags)
    output = converted(source, tmp_path)
    text = open(f"{output}/README.md").read()
    assert "`bert`" in text and "secret" not in text
    assert read_card(output).data.pipeline_tag == "question-answering"


@pytest.mark.parametrize("head", [*HEADS, None])
def test_the_program_of_the_card_runs(tmp_path, head, monkeypatch, capsys):
    write_tiny(tmp_path / "tiny", *([head] if head else []))
    text = read_card(converted(tmp_path / "tiny", tmp_path)).text
    load_pipeline("feature-extraction", str(tmp_path / "for_others"))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(text.partition("```python\n")[2].partition("```")[0], {})
    assert capsys.readouterr().out


def test_only_that_format_has_a_card(tmp_path):
    write_tiny(tmp_path / "tiny", "masked_lm")
    assert not os.path.exists(
        os.path.join(converted(tmp_path / "tiny", tmp_path, "original"), "README.md")
    )


def test_sentence_vectors_with_a_card_whose_program_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sentence_transformers")
    output = converted(write_tiny(tmp_path / "in", "masked_lm"), tmp_path, "sentence_transformers")
    card = read_card(output)
    assert (card.data.library_name, card.data.pipeline_tag) == (
        "sentence-transformers",
        "sentence-similarity",
    )
    assert "no place for these in the output: cls/predictions" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    exec(card.text.split("```python\n")[1].split("```")[0], {})
    assert "tensor([[1.0000" in capsys.readouterr().out
