"""Pages that can be walked: their commands run in order, at small sizes, on the project's
samples."""

import dataclasses
import gzip
import json
import pathlib
import shutil

import pytest

from tests.page_commands import (
    PROJECT,
    blocks,
    commands,
    differences,
    outputs_of_page,
    run_page,
)
from tests.tiny import CONFIG, write_tiny

# What makes the runs short. The lengths fit the stand-in for released weights, which has 64
# positions.
SIZES = {
    "held_out_fraction": "0.3",
    "vocab_size": "400",
    "max_seq_length": "48",
    "max_query_length": "16",
    "doc_stride": "16",
    "max_predictions_per_seq": "4",
    "dupe_factor": "1",
    "num_train_steps": "2",
    "num_warmup_steps": "1",
    "eval_steps": "2",
    "train_batch_size": "4",
    "num_train_epochs": "1",
    "learning_rate": "1e-3",
}
TUTORIAL, RELEASED = "docs/tutorial.md", "docs/checkpoints.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the pages find in the current directory: the samples, cut short, and stand-ins for what
    one downloads."""
    folder = tmp_path_factory.mktemp("pages")
    samples = folder / "samples"
    samples.mkdir()
    for path in (PROJECT / "samples").iterdir():
        if path.suffix == ".gz":
            sections = gzip.decompress(path.read_bytes()).decode().split("\n\n")
            # All of them, for some are put aside; their first two paragraphs each.
            text = "\n\n".join("\n".join(section.split("\n")[:2]) for section in sections)
            (samples / path.name).write_bytes(gzip.compress(text.encode()))
        elif path.suffix == ".csv":
            (samples / path.name).write_text(
                "".join(path.read_text().splitlines(keepends=True)[:9])
            )
        elif path.is_dir():
            shutil.copytree(path, samples / path.name)
        elif path.suffix == ".json":
            content = json.loads(path.read_text())
            (samples / path.name).write_text(json.dumps(content | {"data": content["data"][:3]}))
    _released_weights(folder)
    return folder


def _released_weights(folder: pathlib.Path) -> None:
    # As if they had been downloaded.
    released = folder / "cache/bert-tf/2018_10_18/uncased_L-12_H-768_A-12"
    released.parent.mkdir(parents=True)
    write_tiny(
        released,
        "masked_lm",
        output_format="original",
        config=dataclasses.replace(CONFIG, max_position_embeddings=64),
    )
    mrpc = folder / "glue/MRPC"
    mrpc.mkdir(parents=True)
    row = "{}\t1\t2\tthe list is sorted .\tthe array is returned .\n"
    for name, start in (("train", "Quality"), ("dev", "Quality"), ("test", "index")):
        (mrpc / f"{name}.tsv").write_text(
            f"{start}\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
            + "".join(row.format(number if name == "test" else number % 2) for number in range(6))
        )
    for name in ("train", "dev"):
        (folder / f"{name}-v2.0.json").write_text(
            json.dumps(
                {
                    "version": "v2.0",
                    "data": [
                        {
                            "title": "A",
                            "paragraphs": [
                                {
                                    "context": "the list is sorted . a list is returned .",
                                    "qas": [
                                        {
                                            "id": "1",
                                            "question": "who is sorted ?",
                                            "is_impossible": False,
                                            "answers": [{"text": "the list", "answer_start": 0}],
                                        },
                                        {
                                            "id": "2",
                                            "question": "a b ?",
                                            "is_impossible": True,
                                            "answers": [],
                                        },
                                    ],
                                }
                            ],
                        }
                    ],
                }
            )
        )


@pytest.mark.pages
def test_the_samples(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = run_page(TUTORIAL, SIZES)
    assert len(done) == len(
        commands("".join(content for language, content in blocks(TUTORIAL) if language == "bash"))
    )
    run_page("README.md", SIZES)
    run_page("docs/keras.md", SIZES, title="Python API")
    for path in (
        "pretrained/checkpoint",
        "from_python/eval_results.json",
        "reviews/test_results.tsv",
        "served/reviews/1/saved_model.pb",
        "questions/predictions.json",
        "vectors.npz",
        "index/vectors.f32",
        "classifier.keras",
    ):
        assert (folder / "output" / path).exists(), path


@pytest.mark.pages
def test_released_weights_glue_and_squad(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    if not (folder / "output/corpus.txt").exists():
        (folder / "output").mkdir()
        (folder / "output/corpus.txt").write_text(
            "the list is sorted .\nthe array is returned .\n\n" * 20
        )
    run_page(RELEASED, SIZES)
    for path in ("mrpc/MRPC.tsv", "squad/predictions.json", "for_transformers/model.safetensors"):
        assert (folder / "output" / path).exists(), path
    flags = json.loads((folder / "output/squad/flags.json").read_text())["flags"]
    assert flags["init_checkpoint"] == "google:uncased_L-12_H-768_A-12"
    assert (
        "from the weights `google:uncased_L-12_H-768_A-12`"
        in (folder / "output/squad/README.md").read_text()
    )


@pytest.mark.parametrize("page", ["README.md", TUTORIAL, RELEASED])
def test_commands_can_be_typed_as_they_are(page):
    for language, content in blocks(page):
        assert "…" not in content and "..." not in content, content
        assert language == "python" or all(
            words[0] in ("python", "echo", "mkdir") for words in commands(content)
        )


@pytest.mark.pages
@pytest.mark.parametrize("page", ["README.md", TUTORIAL])
def test_printed_lines_are_todays(page, tmp_path, monkeypatch):
    shutil.copytree(PROJECT / "samples", tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    outputs = outputs_of_page(page)
    assert len(outputs) > 2
    problems = [problem for shown, printed in outputs for problem in differences(shown, printed)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "shown, problem",
    [
        ("step 75: accuracy 0.95, loss 0.13\nwrote it (9 s)", None),
        ("…\nwrote it (1 min)", "not printed"),
        ("…\nwrote it (1 s)", None),
        ("step 75: accuracy 0.90, loss 0.13\n…", "accuracy 0.90 is 0.94"),
        ("step 75: accuracy 0.94, loss 0.12\n…", "loss 0.12 is 0.1301"),
        ("step 76: accuracy 0.94, loss 0.13\n…", "not printed"),
        ("step 75: accuracy 0.94, loss 0.13", "not printed"),
        ("wrote it (1 s)", "not printed"),
    ],
)
def test_differences_from_a_page(shown, problem):
    printed = "step 75: accuracy 0.9400, loss 0.1301\ntraining: 9% 1/9\nwrote it (2.5 s)\n"
    problems = differences(shown, printed)
    assert not problems if problem is None else problem in problems[0]
