"""Files of strangers: refused in one line, soon, and before memory is asked for."""

import gzip
import json
import os
import pathlib
import re
import time

import h5py
import numpy as np
import pytest
from safetensors.numpy import save_file

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints import sentence_vectors
from modeling.checkpoints.huggingface import H5File, SafetensorsFile

_PROJECT = pathlib.Path(__file__).resolve().parents[3]
_EXECUTES = re.compile(
    r"^\s*import pickle|pickle\.load|allow_pickle=True|safe_mode=False|torch\.load", re.MULTILINE
)


def _unallocated(path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (12_000_000, 768), np.float32, chunks=(1024, 768))


def _hardly_allocated(path) -> None:
    with h5py.File(path, "w") as file:
        data = file.create_dataset(
            "w", (12_000_000, 768), np.float32, chunks=(16, 768), compression="gzip"
        )
        data[0] = 1.0


def _many_groups(path) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        for number in range(10_500):
            file.create_group(f"g{number}")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_unallocated, r"w is \[12000000, 768\], 36,864,000,000 bytes, of which the file has"),
        (_hardly_allocated, "36,864,000,000 bytes, of which the file has"),
        (_many_groups, "holds 10,001 tensors"),
    ],
)
def test_arrays_that_are_not_in_the_file(tmp_path, write, message):
    path = tmp_path / "tf_model.h5"
    write(path)
    with pytest.raises(UserError, match=message):
        H5File(str(path))


def test_packed_arrays_are_read(tmp_path):
    path = str(tmp_path / "a.h5")
    values = np.random.default_rng(0).normal(size=(500, 64)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("w", data=values, compression="gzip")
        file.create_dataset("zeros", data=np.zeros((300, 300), np.float32), compression="gzip")
        file.create_dataset("empty", data=h5py.Empty("f"))
    assert np.array_equal(H5File(path).read("w"), values)
    assert not H5File(path).read("zeros").any()


def test_three_hundred_thousand_names(tmp_path):
    path = tmp_path / "model.safetensors"
    header = {
        f"t{number}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        for number in range(300_000)
    }
    content = json.dumps(header).encode()
    path.write_bytes(len(content).to_bytes(8, "little") + content)
    started = time.process_time()
    with pytest.raises(UserError, match="holds 300,000 tensors"):
        SafetensorsFile(str(path))
    assert time.process_time() - started < len(content) / 2**20
    index = tmp_path / "model.safetensors.index.json"
    json_files.write(str(index), {"weight_map": {name: f"{name}.safetensors" for name in header}})
    with pytest.raises(UserError, match="holds 300,000 tensors"):
        SafetensorsFile(str(index))


def test_kilobytes_that_unpack_to_more_than_memory_should_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "config.json"
    path.write_bytes(gzip.compress(b" " * (8 << 20), 9))
    assert os.path.getsize(path) < 10_000
    with pytest.raises(UserError, match="unpacks to more than 1 MiB, 100 times its size"):
        json_files.read(str(path))
    path.write_bytes(gzip.compress(b'{"a": 1}'))
    assert json_files.read(str(path)) == {"a": 1}


@pytest.mark.parametrize(
    "folder", ["../../other", "/etc", "1_Pooling/../..", "..\\other", "gs://b"]
)
def test_modules_stay_in_their_directory(tmp_path, folder):
    rows = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": folder, "type": "sentence_transformers.models.Pooling"},
    ]
    (tmp_path / "modules.json").write_text(json.dumps(rows))
    with pytest.raises(UserError, match=r"modules\.json: .* leads out of the directory"):
        sentence_vectors.encoder_directory(str(tmp_path))


@pytest.mark.parametrize("name", ["model.safetensors", "tf_model.h5"])
def test_a_file_that_is_exchanged_between_its_header_and_its_numbers(tmp_path, name):
    path = tmp_path / name
    for number in range(2):
        target = path if not number else tmp_path / "other"
        if name.endswith(".h5"):
            with h5py.File(target, "w") as file:
                file["w"] = np.full(3, number, np.float32)
        else:
            save_file({"w": np.full(3, number, np.float32)}, target)
    reader = (H5File if name.endswith(".h5") else SafetensorsFile)(str(path))
    assert reader.read("w").tolist() == [0, 0, 0]
    (tmp_path / "other").rename(path)
    with pytest.raises(UserError, match=f"{name} has changed while it was read"):
        reader.read("w")


def test_nothing_executes_a_file_that_is_data():
    """The project neither unpickles nor switches off Keras' checks."""
    found = []
    for package in ("bert_common", "bert_tf", "data_gen", "modeling"):
        for path in (_PROJECT / package).rglob("*.py"):
            if _EXECUTES.search(path.read_text("utf-8")):
                found.append(str(path))
    assert not found
