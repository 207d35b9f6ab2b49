import pathlib

import pytest

from bert_tf.tasks.classification.task import run
from tests.bert_tf.tasks.classification.toy_task import own_task, write_csv, write_glue, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    for name, count, seed in (("train", 203, 1), ("dev", 45, 2), ("test", 21, 3)):
        write_csv(folder / f"{name}.csv", count, seed)
    write_glue(folder)
    return folder


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert run(own_task(folder, directory, do_train=True, do_eval=True, do_predict=True)) == 0
    return directory
