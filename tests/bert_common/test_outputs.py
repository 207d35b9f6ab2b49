import os
import pathlib
import re

import pytest

from bert_common import files, outputs
from bert_common.errors import UserError


def write(folder: pathlib.Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("kept")


def test_an_input_a_directory_and_a_device(tmp_path):
    write(tmp_path, "a.txt", "old.jsonl")
    (tmp_path / "b.txt").symlink_to("a.txt")
    files.register.begin()
    for path in ("c", f"{tmp_path}/a.txt", "/dev/null"):
        files.register.note(path, "input_file")
    for name in ("a.txt", "b.txt"):
        with pytest.raises(
            UserError, match=r"--output_file: .* is also --input_file, which would be lost"
        ):
            outputs.check_output_file(f"{tmp_path}/{name}", "output_file")
    with pytest.raises(UserError, match="is a directory"):
        outputs.check_output_file(str(tmp_path), "output_file")
    for path in ("/dev/null", f"{tmp_path}/new", f"{tmp_path}/old.jsonl", f"{tmp_path}/vocab.txt"):
        assert outputs.check_output_file(path, "output_file") == path


@pytest.mark.parametrize(
    "names",
    [
        (
            "bert_config.json",
            "vocab.txt",
            "modules.json",
            "model.safetensors",
            "ckpt-3.index",
            "config.json",
            "task.json",
            "bert_model.ckpt.data-00000-of-00001",
            "model.weights.h5",
            "checkpoint",
        ),
        ("flags.json", "inputs.json", "metrics.jsonl", "eval_results.json", "run_result.json"),
        ("vectors.f32", "offsets.i64", "documents.jsonl", "index.json"),
    ],
)
def test_parts_of_what_is_kept_are_not_replaced(tmp_path, names):
    write(tmp_path, *names)
    for name in names:
        with pytest.raises(
            UserError, match=f"--output_file: .*{name} is a part of a checkpoint, a run or an index"
        ):
            outputs.check_output_file(f"{tmp_path}/{name}", "output_file")


def test_names_that_others_have_too_are_free_where_they_stand_alone(tmp_path):
    write(tmp_path, "documents.jsonl", "index.json")
    for name in os.listdir(tmp_path):
        outputs.check_output_file(f"{tmp_path}/{name}", "output_file")
    # So is what the command writes itself, without weights beside it.
    write(tmp_path, "vocab.txt")
    outputs.check_output_file(f"{tmp_path}/vocab.txt", "output_dir", ("vocab.txt",))
    write(tmp_path, "bert_model.ckpt.index")
    with pytest.raises(UserError, match="vocab.txt is a part of a checkpoint"):
        outputs.check_output_file(f"{tmp_path}/vocab.txt", "output_dir", ("vocab.txt",))


def test_a_run_is_kept_apart_from_weights_of_others(tmp_path):
    outputs.check_run_directory(f"{tmp_path}/new/run", "output_dir")
    write(
        tmp_path,
        "ckpt-10.index",
        "ckpt-10.data-00000-of-00001",
        "flags.json",
        "bert_config.json",
        "notes.txt",
    )
    outputs.check_run_directory(str(tmp_path), "output_dir")
    for name in (
        "bert_model.ckpt.index",
        "model.safetensors",
        "tf_model.h5",
        "modules.json",
        "model.weights.h5",
    ):
        write(tmp_path / name, name)
        with pytest.raises(UserError, match=f"--output_dir: .*{re.escape(name)}"):
            outputs.check_run_directory(str(tmp_path / name), "output_dir")
    for path in (f"{tmp_path}/notes.txt", f"{tmp_path}/notes.txt/run"):
        with pytest.raises(UserError, match="--output_dir: can't write in .*Not a directory"):
            outputs.check_run_directory(path, "output_dir")
