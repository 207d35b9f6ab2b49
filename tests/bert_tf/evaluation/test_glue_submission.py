import os
import zipfile

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.evaluation.glue_submission import (
    SUBMISSION_FILES,
    describe_submission,
    make_submission,
    read_submission_file,
    submission_name,
    write_submission_file,
)
from data_gen.labeled.glue import GLUE_TASKS
from data_gen.labeled.glue import test_splits as splits_of


def _write(folder, name: str) -> str:
    """A valid file for the task, with every class."""
    expected = SUBMISSION_FILES[name]
    os.makedirs(folder, exist_ok=True)
    path = str(folder / name)
    if expected.labels is None:
        values = np.linspace(0, 5, expected.num_examples)
    else:
        values = [
            expected.labels[number % len(expected.labels)]
            for number in range(expected.num_examples)
        ]
    write_submission_file(path, range(expected.num_examples), values, expected.labels is None)
    return path


def _members(path) -> dict[str, list[str]]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode().splitlines() for name in archive.namelist()}


def test_each_split_without_labels_has_its_file():
    tasks = {
        submission_name(task.folder, split): task
        for task in GLUE_TASKS.values()
        for split in splits_of(task)
    }
    assert set(tasks) == set(SUBMISSION_FILES)
    for name, expected in SUBMISSION_FILES.items():
        assert set(expected.labels or ()) == set(tasks[name].labels)
        assert (expected.labels is None) == tasks[name].regression


@pytest.mark.parametrize(
    "name, path",
    [
        ("CoLA.tsv", "CoLA/test.tsv"),
        ("SST-2.tsv", "SST-2/test.tsv"),
        ("MRPC.tsv", "MRPC/test.tsv"),
        ("STS-B.tsv", "STS-B/test.tsv"),
        ("QNLI.tsv", "QNLI/test.tsv"),
        ("RTE.tsv", "RTE/test.tsv"),
        ("WNLI.tsv", "WNLI/test.tsv"),
        ("AX.tsv", "AX/diagnostic.tsv"),
    ],
)
def test_sizes_and_indices_are_those_of_the_test_sets(real_data, name, path):
    with open(real_data / "glue" / path, encoding="utf-8-sig") as file:
        column = [line.split("\t")[0] for line in file][1:]
    assert column == [str(number) for number in range(SUBMISSION_FILES[name].num_examples)]


@pytest.mark.parametrize(
    "name, column",
    [("CoLA.tsv", 1), ("SST-2.tsv", 1), ("MRPC.tsv", 0), ("RTE.tsv", 3), ("WNLI.tsv", 3)],
)
def test_constants_are_the_majority_of_the_training_sets(real_data, name, column):
    with open(
        real_data / "glue" / name.removesuffix(".tsv") / "train.tsv", encoding="utf-8-sig"
    ) as file:
        labels = [line.rstrip("\n").split("\t")[column] for line in file][
            0 if name == "CoLA.tsv" else 1 :
        ]
    expected = SUBMISSION_FILES[name]
    assert set(labels) == set(expected.labels)
    assert expected.constant == max(expected.labels, key=labels.count)


def test_similarities_are_clipped(tmp_path):
    path = tmp_path / "STS-B.tsv"
    write_submission_file(
        str(path),
        range(5),
        np.array([-0.3, 5.7, 2.71828, -0.0, 4.9996], np.float32),
        regression=True,
    )
    assert (
        path.read_text() == "index\tprediction\n0\t0.000\n1\t5.000\n2\t2.718\n3\t0.000\n4\t5.000\n"
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_network_that_diverged_is_told(tmp_path, bad):
    with pytest.raises(UserError, match="prediction 1 is .* diverged"):
        write_submission_file(
            str(tmp_path / "STS-B.tsv"), range(3), [1.0, bad, bad], regression=True
        )
    assert not os.listdir(tmp_path)


def test_a_complete_submission(tmp_path):
    paths = {
        name: _write(tmp_path / "runs" / name.lower() / "best", name) for name in SUBMISSION_FILES
    }
    entries = make_submission([str(tmp_path / "runs")], str(tmp_path / "glue.zip"))
    assert {entry.name: entry.source for entry in entries} == paths
    members = _members(tmp_path / "glue.zip")
    assert list(members) == list(SUBMISSION_FILES)
    for name, path in paths.items():
        with open(path) as file:
            assert members[name] == file.read().splitlines()
    table = describe_submission(entries).splitlines()
    assert len(table) == 12
    assert (
        "9,796  contradiction: 3266, entailment: 3265, neutral: 3265" in table[6]
        and paths["MNLI-m.tsv"] in table[6]
    )
    assert "0.0000 to 5.0000, mean 2.5000" in table[4]


def test_missing_tasks(tmp_path):
    _write(tmp_path / "cola", "CoLA.tsv")
    entries = make_submission([str(tmp_path / "cola")], str(tmp_path / "glue.zip"))
    members = _members(tmp_path / "glue.zip")
    assert list(members) == ["CoLA.tsv", "WNLI.tsv"]
    assert members["WNLI.tsv"] == ["index\tprediction", *(f"{number}\t0" for number in range(146))]
    table = describe_submission(entries)
    assert table.count("MISSING") == 9 and table.count("constant") == 1
    # The same predictions make the same bytes.
    make_submission([str(tmp_path / "cola")], str(tmp_path / "again.zip"))
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "glue.zip").read_bytes()
    wnli = _write(tmp_path / "wnli", "WNLI.tsv")
    directories = [str(tmp_path / "cola"), str(tmp_path / "wnli")]
    entries = make_submission(directories, str(tmp_path / "glue.zip"), fill_missing=True)
    assert [entry.source for entry in entries if entry.source] == [
        str(tmp_path / "cola" / "CoLA.tsv"),
        wnli,
    ]
    with zipfile.ZipFile(tmp_path / "glue.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    for name, expected in SUBMISSION_FILES.items():
        read = read_submission_file(str(tmp_path / "unzipped" / name), expected)
        assert len(set(read)) == (2 if name in ("CoLA.tsv", "WNLI.tsv") else 1)


def test_two_files_for_one_task(tmp_path):
    for run in ("a", "b"):
        _write(tmp_path / run, "RTE.tsv")
    with pytest.raises(UserError, match=r"two files for RTE.tsv: .*a/RTE.tsv and .*b/RTE.tsv"):
        make_submission([str(tmp_path)], str(tmp_path / "glue.zip"))
    assert not (tmp_path / "glue.zip").exists()
    make_submission([str(tmp_path / "a"), f"{tmp_path}/b/../a"], str(tmp_path / "glue.zip"))


@pytest.mark.parametrize(
    "name, change, message",
    [
        (
            "RTE.tsv",
            lambda lines: ["id\tlabel", *lines[1:]],
            r"RTE.tsv:1: the header is 'id\\tlabel'",
        ),
        (
            "RTE.tsv",
            lambda lines: lines[:-1],
            "has 2,999 predictions, the test set has 3,000 examples",
        ),
        (
            "RTE.tsv",
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            "RTE.tsv:2: index '1' where 0 is expected",
        ),
        (
            "RTE.tsv",
            lambda lines: [*lines[:5], "4\tneutral", *lines[6:]],
            "RTE.tsv:6: the prediction is 'neutral', it",
        ),
        (
            "RTE.tsv",
            lambda lines: [*lines[:5], "4", *lines[6:]],
            "RTE.tsv:6: 1 columns, 2 are expected",
        ),
        (
            "STS-B.tsv",
            lambda lines: [lines[0], "0\tnan", *lines[2:]],
            "STS-B.tsv:2: .* 'nan', it must be a number from 0",
        ),
        (
            "STS-B.tsv",
            lambda lines: [lines[0], "0\t5.001", *lines[2:]],
            "STS-B.tsv:2: the prediction is '5.001'",
        ),
    ],
)
def test_files_that_the_server_would_refuse(tmp_path, name, change, message):
    path = tmp_path / name
    _write(tmp_path, name)
    text = "\n".join(change(path.read_text().splitlines())) + "\n"
    path.write_text(text)
    before = b"an older zip"
    (tmp_path / "glue.zip").write_bytes(before)
    with pytest.raises(UserError, match=message):
        make_submission([str(tmp_path)], str(tmp_path / "glue.zip"))
    assert (tmp_path / "glue.zip").read_bytes() == before
