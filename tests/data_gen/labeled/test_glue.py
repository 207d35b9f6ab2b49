from pathlib import Path

import numpy as np
import pytest

from bert_common.errors import UserError
from data_gen.labeled import glue
from data_gen.labeled.glue import GLUE_TASKS, XNLI_LABELS, find_task, read_split
from tests.data_gen.labeled.common import refusal

# Split → examples, of the files as they are published.
SIZES = {
    "cola": {"train": 8551, "dev": 1043, "test": 1063},
    "sst-2": {"train": 67349, "dev": 872, "test": 1821},
    "mrpc": {"train": 3668, "dev": 408, "test": 1725},
    "sts-b": {"train": 5749, "dev": 1500, "test": 1379},
    "rte": {"train": 2490, "dev": 277, "test": 3000},
    "wnli": {"train": 635, "dev": 71, "test": 146},
    "qnli": {"dev": 5463, "test": 5463},
    "mnli": {"dev_matched": 9815},
    "ax": {"diagnostic": 1104},
}


def value_of(task, name, number):
    """A cell of a column; numbers differ from row to row."""
    if name == task.columns.label:
        return f"{number / 2}" if task.regression else task.labels[number % len(task.labels)]
    if name in (task.columns.text_a, task.columns.text_b):
        return f'Text "{number} of {name}'
    return str(10 * number) if name in ("index", "id") else f"{name} {number}"


def write_split(task, directory, split, num_rows=4, header=True, more=(), encode=str.encode):
    columns = task.headers[split]
    rows = [columns] * header + [
        [value_of(task, name, number) for name in columns] for number in range(num_rows)
    ]
    path = directory / f"{split}.tsv"
    path.write_bytes(encode("".join("\t".join(row) + "\n" for row in [*rows, *more])))
    return path


def refused_split(task, directory, split):
    return refusal(read_split, find_task(task), str(directory), split)


ALL_SPLITS = [(task, split) for task in GLUE_TASKS.values() for split in task.headers]


@pytest.mark.parametrize("header", [True, False], ids=["header", "no header"])
@pytest.mark.parametrize(
    "task,split", ALL_SPLITS, ids=[f"{task.name}-{split}" for task, split in ALL_SPLITS]
)
def test_every_layout(tmp_path, task, split, header):
    path = write_split(task, tmp_path, split, header=header)
    found = read_split(task, str(tmp_path), split)
    assert found.path == str(path)
    assert found.text_a == [f'Text "{number} of {task.columns.text_a}' for number in range(4)]
    second = task.columns.text_b
    assert found.text_b == (
        [f'Text "{number} of {second}' for number in range(4)] if second else None
    )
    if split in glue.test_splits(task):
        assert found.labels is None
    elif task.regression:
        np.testing.assert_array_equal(
            found.labels, np.array([0, 0.5, 1, 1.5], np.float32), strict=True
        )
    else:
        np.testing.assert_array_equal(
            found.labels, np.arange(4, dtype=np.int32) % len(task.labels), strict=True
        )
    has_ids = task.headers[split][0] in ("index", "id")
    assert found.ids == [str(10 * number if has_ids else number) for number in range(4)]


@pytest.mark.parametrize("name", SIZES)
def test_the_real_files(real_data, name):
    task = find_task(name)
    for split, size in SIZES[name].items():
        found = read_split(task, str(real_data / "glue"), split)
        assert len(found) == len(found.ids) == len(set(found.ids)) == size
        assert (found.text_b is not None) == (task.columns.text_b is not None) and found.notes == ()
        assert all(map(str.strip, found.text_a))
        if task.regression and found.labels is not None:
            assert 0 <= found.labels.min() < 0.5 and 4.5 < found.labels.max() <= 5
        elif found.labels is not None:
            assert set(found.labels.tolist()) == set(range(len(task.labels)))
        # The task's own folder will do as well.
        if split == "dev":
            assert (
                read_split(task, str(real_data / "glue" / task.folder), split).text_a
                == found.text_a
            )


def test_splits():
    assert glue.dev_splits(find_task("mnli")) == ("dev_matched", "dev_mismatched")
    assert glue.test_splits(find_task("mnli")) == ("test_matched", "test_mismatched")
    assert (glue.dev_splits(find_task("ax")), glue.test_splits(find_task("ax"))) == (
        (),
        ("diagnostic",),
    )
    for name in GLUE_TASKS.keys() - {"mnli", "ax"}:
        assert (glue.dev_splits(find_task(name)), glue.test_splits(find_task(name))) == (
            ("dev",),
            ("test",),
        )


def test_other_spellings_and_misspelled_tasks():
    for alias, name in (
        ("SST-2", "sst-2"),
        ("sst_2", "sst-2"),
        ("STSB", "sts-b"),
        ("CoLA", "cola"),
    ):
        assert find_task(alias) is GLUE_TASKS[name]
    for wrong, nearest in (("mprc", "mrpc"), ("sst", "sst-2")):
        assert refusal(find_task, wrong) == (
            f"--task_name={wrong} is unknown: did you mean {nearest}? Use one of cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, "
            "rte, wnli, ax"
        )


def test_missing_splits_and_files_of_something_else(tmp_path):
    assert refused_split("mrpc", tmp_path, "dev") == (
        f"--data_dir: {tmp_path} holds neither MRPC/dev.tsv nor dev.tsv"
    )
    assert refused_split("mnli", tmp_path, "dev") == (
        "mnli has no split 'dev': it has train, dev_matched, dev_mismatched, test_matched, test_mismatched"
    )
    path = write_split(find_task("rte"), tmp_path, "dev")
    for name in ("mrpc", "sst-2", "qnli"):
        message = refused_split(name, tmp_path, "dev")
        assert message.startswith(
            f"{path}:1: this is neither the header of {name} nor a row of it: the columns "
        )
        assert "'index', 'sentence1'" in message
    # A test file in place of the development file.
    write_split(find_task("rte"), tmp_path, "test").rename(path)
    assert "the columns 'sentence1', 'sentence2', 'label' are expected" in refused_split(
        "rte", tmp_path, "dev"
    )


def test_the_tasks_own_folder_comes_first(tmp_path):
    task = find_task("rte")
    write_split(task, tmp_path, "dev", num_rows=2)
    (tmp_path / "RTE").mkdir()
    path = write_split(task, tmp_path / "RTE", "dev", num_rows=3)
    assert read_split(task, str(tmp_path), "dev").path == str(path)
    (tmp_path / "diagnostic").mkdir()
    path = write_split(find_task("ax"), tmp_path / "diagnostic", "diagnostic")
    assert read_split(find_task("ax"), str(tmp_path), "diagnostic").path == str(path)


def test_columns_in_another_order_and_new_ones(tmp_path):
    (tmp_path / "dev.tsv").write_text(
        "label\tsource\tsentence2\tindex\tsentence1\nentailment\tnews\tb\t7\ta\n"
    )
    found = read_split(find_task("rte"), str(tmp_path), "dev")
    assert (found.text_a, found.text_b, found.ids, found.labels.tolist()) == (
        ["a"],
        ["b"],
        ["7"],
        [0],
    )


def test_tabs_in_a_test_file_cost_no_submission(tmp_path):
    path = write_split(find_task("rte"), tmp_path, "test", more=[["9", "a", "b", "c"]])
    assert read_split(find_task("rte"), str(tmp_path), "test").text_b[-1] == "b"
    write_split(find_task("rte"), tmp_path, "test", more=[["9", "a"]])
    assert refused_split("rte", tmp_path, "test").startswith(
        f"{path}:6: 3 columns expected, as in the first row, but 2"
    )


def test_broken_rows_of_qqp_are_left_out_and_counted(tmp_path):
    task = find_task("qqp")
    broken = [["7", "1", "2", "Why is it"], ["", "so?", "0"]]
    write_split(task, tmp_path, "train", num_rows=300, more=broken)
    found = read_split(task, str(tmp_path), "train")
    assert len(found) == 300 and "2 of 302 rows are left out: line" in found.notes[0]
    path = write_split(task, tmp_path, "train", num_rows=30, more=broken)
    assert refused_split("qqp", tmp_path, "train").startswith(f"{path}: 2 of 32 rows are bad")
    path = write_split(task, tmp_path, "test", num_rows=300, more=[["7", "why"]])
    assert refused_split("qqp", tmp_path, "test").startswith(f"{path}:302: 3 columns expected")


XNLI_HEADER = (
    "language\tgold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2\tpromptID\tpairID\tgenre"
)


def write_xnli(folder: Path, below: bool = False, rows: int = 6) -> str:
    """Training data in "zh"; development and test data in "en" and "zh"; `below` as the archives
    unpack."""
    training = folder / ("XNLI-MT-1.0/multinli" if below else "multinli")
    evaluation = folder / ("XNLI-1.0" if below else "")
    for one in (training, evaluation):
        one.mkdir(parents=True, exist_ok=True)
    names = ("contradictory", "entailment", "neutral")
    (training / "multinli.train.zh.tsv").write_text(
        "premise\thypo\tlabel\n"
        + "".join(f'the "book {row}\tis a film\t{names[row % 3]}\n' for row in range(rows))
    )
    for split in ("dev", "test"):
        (evaluation / f"xnli.{split}.tsv").write_text(
            XNLI_HEADER
            + "\n"
            + "".join(
                f"{language}\t{XNLI_LABELS[row % 3]}\t\t\t\t\t{language} premise {row}\tso it is\t1\t2\tx\n"
                for language in ("en", "zh")
                for row in range(rows)
            )
        )
    return str(folder)


@pytest.mark.parametrize("below", [False, True])
def test_xnli(tmp_path, below):
    folder = write_xnli(tmp_path, below)
    train = glue.read_xnli(folder, "train", ("zh",), XNLI_LABELS)["zh"]
    assert train.text_a[:2] == ['the "book 0', 'the "book 1'] and train.text_b[0] == "is a film"
    assert train.labels.tolist() == [0, 1, 2, 0, 1, 2] and train.ids[:2] == ["0", "1"]
    dev = glue.read_xnli(folder, "dev", ("zh",), XNLI_LABELS)
    assert list(dev) == ["zh"] and dev["zh"].text_a == [f"zh premise {row}" for row in range(6)]
    assert list(glue.read_xnli(folder, "test", ("all",), XNLI_LABELS)) == ["en", "zh"]
    both = glue.read_xnli(folder, "dev", ("zh", "en"), ("neutral", "entailment", "contradiction"))
    assert list(both) == ["zh", "en"] and both["en"].labels.tolist() == [2, 1, 0, 2, 1, 0]


def test_what_is_missing_of_xnli_is_named(tmp_path):
    folder = write_xnli(tmp_path)
    with pytest.raises(
        UserError, match=r"multinli.train.fr.tsv of XNLI is not there: looked for .*XNLI-MT-1.0"
    ):
        glue.read_xnli(folder, "train", ("fr",), XNLI_LABELS)
    with pytest.raises(
        UserError, match=r"xnli.dev.tsv has no examples in 'fr': the languages are en, zh"
    ):
        glue.read_xnli(folder, "dev", ("zh", "fr"), XNLI_LABELS)
    (tmp_path / "xnli.dev.tsv").write_text(XNLI_HEADER.replace("gold_label", "label") + "\n")
    with pytest.raises(UserError, match=r"xnli.dev.tsv:1: no column 'gold_label'"):
        glue.read_xnli(folder, "dev", ("zh",), XNLI_LABELS)
