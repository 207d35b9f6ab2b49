import functools
import gc
import itertools
import json
import os
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common import locks
from bert_common.errors import UserError
from bert_tf.runs import sweep
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.step import TrainingState
from modeling.checkpoints.load import load_weights, read_checkpoint
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from tests.bert_tf.training.common import ONE_LAYER, TINY, weights
from tests.full_disk import full_disk
from tests.refusals import assert_refused


class Run:
    """A network, its state and the manager of its checkpoints."""

    def __init__(
        self, directory, config=ONE_LAYER, interval=1, keep=5, seed=0, optimizer=True, number=0
    ):
        self.model = BertForPreTraining(config, seed=seed)
        self.state = TrainingState()
        self.state.run.assign(number)
        self.optimizer = AdamWeightDecay(raw_variables(self.model)) if optimizer else None
        variables = checkpoints.variables_of(self.model, self.state, self.optimizer)
        os.makedirs(directory, exist_ok=True)
        self.manager = checkpoints.CheckpointManager(
            variables, str(directory), self.state.step, interval, keep
        )

    def save_at(self, step, **kwargs):
        self.state.step.assign(step)
        self.state.examples.assign(8 * step)
        return self.manager.save(**kwargs)


def names(directory) -> list[str]:
    return sorted(os.listdir(directory))


def test_the_keys_of_a_checkpoint_stay_as_they_are(tmp_path):
    earlier = (
        pathlib.Path(__file__).resolve().parents[2] / "fixtures/run_directories/pretraining/run"
    )
    prefix = Run(tmp_path, BertConfig.from_file(str(earlier / "bert_config.json"))).save_at(3)
    readers = [tf.train.load_checkpoint(one) for one in (prefix, str(earlier / "ckpt-4"))]
    found, expected = (reader.get_variable_to_shape_map() for reader in readers)
    assert (
        found.pop("_CHECKPOINTABLE_OBJECT_GRAPH")
        == expected.pop("_CHECKPOINTABLE_OBJECT_GRAPH")
        == []
    )
    assert found == expected
    assert readers[0].get_tensor("examples/.ATTRIBUTES/VARIABLE_VALUE") == 24
    assert names(tmp_path) == ["checkpoint", "ckpt-3.data-00000-of-00001", "ckpt-3.index"]


def test_what_is_saved_is_restored(tmp_path):
    run, other = Run(tmp_path), Run(tmp_path, seed=1)
    run.optimizer.m[3].assign(run.optimizer.m[3] + 0.5)
    run.state.loss_scale.assign(8.0)
    assert other.manager.restore_or_initialize() is None
    run.save_at(7)
    other = Run(tmp_path, seed=1)
    assert other.manager.restore_or_initialize() == f"{tmp_path}/ckpt-7"
    for name, value in weights(run.model).items():
        np.testing.assert_array_equal(weights(other.model)[name], value)
    assert float(tf.reduce_min(other.optimizer.m[3])) == 0.5
    assert [int(other.state.step), int(other.state.examples), float(other.state.loss_scale)] == [
        7,
        56,
        8.0,
    ]
    # Evaluation needs no optimizer.
    assert Run(tmp_path, optimizer=False).manager.restore_or_initialize() == f"{tmp_path}/ckpt-7"


def test_checkpoints_are_made_at_multiples_and_the_newest_are_kept(tmp_path):
    run = Run(tmp_path, interval=2, keep=2)
    saved = [run.save_at(step) for step in range(1, 8)]
    assert [bool(prefix) for prefix in saved] == [False, True] * 3 + [False]
    assert run.save_at(7, check_interval=False) == f"{tmp_path}/ckpt-7"
    assert run.save_at(7, check_interval=False) is None
    assert [name for name in names(tmp_path) if name.endswith(".index")] == [
        "ckpt-6.index",
        "ckpt-7.index",
    ]
    everything = Run(tmp_path / "all", keep=0)
    for step in range(1, 8):
        everything.save_at(step)
    assert len([name for name in names(tmp_path / "all") if name.endswith(".index")]) == 7


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path):
    run = Run(tmp_path)
    run.save_at(1)
    before = names(tmp_path)
    with full_disk(20_000):
        assert_refused(
            lambda: run.save_at(2),
            "ckpt-2 could not be saved",
            str(tmp_path),
            "last good one",
            "ckpt-1",
            "free some space",
        )
    assert names(tmp_path) == before
    again = Run(tmp_path, seed=1)
    assert again.manager.restore_or_initialize() == f"{tmp_path}/ckpt-1"
    assert again.save_at(2) == f"{tmp_path}/ckpt-2"


@pytest.mark.parametrize("damage", ["cut", "flipped", "missing data", "missing index"])
def test_a_damaged_checkpoint_is_named(tmp_path, damage, capfd):
    run = Run(tmp_path)
    run.save_at(1)
    run.save_at(2)
    data = tmp_path / "ckpt-2.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1 << 5
    if damage in ("cut", "flipped"):
        data.write_bytes(content[:1000] if damage == "cut" else content)
    else:
        (data if damage == "missing data" else tmp_path / "ckpt-2.index").unlink()
    assert_refused(
        Run(tmp_path).manager.restore_or_initialize, "ckpt-2", "ckpt-1", "move ckpt-2.* out of"
    )
    # What the message proposes works.
    for path in tmp_path.glob("ckpt-2.*"):
        path.rename(tmp_path.parent / path.name)
    gc.collect()
    assert "WARNING" not in capfd.readouterr().err
    again = Run(tmp_path)
    assert again.manager.restore_or_initialize() == f"{tmp_path}/ckpt-1"
    assert again.save_at(2) == f"{tmp_path}/ckpt-2"
    assert Run(tmp_path).manager.restore_or_initialize() == f"{tmp_path}/ckpt-2"


def test_what_was_not_restored_is_never_replaced(tmp_path):
    Run(tmp_path).save_at(3)
    before = (tmp_path / "ckpt-3.data-00000-of-00001").read_bytes()
    other = Run(tmp_path, seed=1, keep=1)
    for step in (2, 3):
        with pytest.raises(
            UserError,
            match=rf"ckpt-{step} is not saved: .* holds ckpt-3, which this run has not restored",
        ):
            other.save_at(step)
    assert (tmp_path / "ckpt-3.data-00000-of-00001").read_bytes() == before


def test_what_is_not_finite_is_not_resumed_from(tmp_path):
    run = Run(tmp_path)
    run.optimizer.v[3].assign(run.optimizer.v[3] + np.inf)
    run.save_at(1)
    with pytest.raises(
        UserError, match=r"ckpt-1 can't be restored: optimizer/v/\S+ holds 16 values that are not f"
    ):
        Run(tmp_path).manager.restore_or_initialize()


def test_what_a_kill_leaves_is_removed(tmp_path):
    run = Run(tmp_path)
    run.save_at(1)
    run.save_at(2)
    (tmp_path / "best").mkdir()
    whole, best = names(tmp_path), tmp_path / "best"
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "kept").touch()
    # A checkpoint that is complete but for its last move; others of earlier versions and of
    # TensorFlow's own writer.
    (tmp_path / "ckpt-2_temp").mkdir()
    for step in (1, 2, 3, 4):
        (tmp_path / f"ckpt-{step}_temp").mkdir(exist_ok=True)
        (tmp_path / f"ckpt-{step}_temp/part-00000-of-00001.data-00000-of-00001").touch()
    (tmp_path / "ckpt-3.data-00000-of-00001").write_bytes(b"half")
    (tmp_path / "ckpt-4.data-00000-of-00001").write_bytes(b"half")
    (tmp_path / "ckpt-4.index").write_bytes((tmp_path / "ckpt-2.index").read_bytes()[:50])
    (best / "ckpt-4_temp").mkdir()
    for folder in (tmp_path, best):
        for name in (
            "checkpoint.tmp0123456789abcdef",
            ".flags.json.a1b2c3d4.bert-tf.tmp",
            ".probe.77",
        ):
            (folder / name).touch()
    (tmp_path / ".best.a1b2c3d4").mkdir()
    (tmp_path / ".best.a1b2c3d4/old").mkdir()
    (tmp_path / ".best.a1b2c3d5").symlink_to(outside)
    (tmp_path / ".mine").touch()
    checkpoints.remove_leftovers(str(tmp_path))
    (tmp_path / ".best.a1b2c3d5").unlink()
    assert names(outside) == ["kept"]
    assert names(tmp_path) == sorted([*whole, ".mine"]) and names(best) == []
    assert Run(tmp_path).manager.restore_or_initialize() == f"{tmp_path}/ckpt-2"


def test_another_task_is_refused(tmp_path):
    """A task without a head would restore whatever encoder is there, and write over what the other
    one left."""
    TINY.to_file(str(tmp_path / "bert_config.json"))
    Run(tmp_path, TINY).save_at(1)
    vectors = {"kind": "sentence_embedding", "pooling": "mean"}
    with pytest.raises(
        UserError, match="another task .kind is pre-training there and sentence_embedding here"
    ):
        run_directory.check_same_model(str(tmp_path), TINY, vectors)
    (tmp_path / "task.json").write_text('{"kind": "squad"}')
    run_directory.check_same_model(str(tmp_path), TINY, {"kind": "question_answering"})
    for other in (vectors, None):
        with pytest.raises(UserError, match="another task .kind is question_answering there"):
            run_directory.check_same_model(str(tmp_path), TINY, other)
    (tmp_path / "task.json").write_text(json.dumps(vectors))
    run_directory.check_same_model(str(tmp_path), TINY, vectors)
    with pytest.raises(UserError, match="another task .pooling is mean there and cls here"):
        run_directory.check_same_model(str(tmp_path), TINY, {**vectors, "pooling": "cls"})


def test_a_run_goes_on_with_another_dropout_of_its_head(tmp_path):
    task = {"kind": "classification"}
    (tmp_path / "task.json").write_text(json.dumps(task))
    path = str(tmp_path / "bert_config.json")
    TINY.to_file(path)
    Run(tmp_path, TINY).save_at(1)
    # Earlier versions did not write the rate, or that of a file which they did not apply.
    for before in (None, 0.3):
        TINY.with_classifier_dropout(before).to_file(path)
        for after in (0.4, 0.1, None):
            config = TINY.with_classifier_dropout(after)
            run_directory.check_same_model(str(tmp_path), config, task)


class Killed(BaseException):
    """From here on the process does nothing any more."""


def killed_after(monkeypatch, operations: int, function) -> bool:
    """Calls the function and lets it change the disk that many times; says whether it came to its
    end."""

    def counted(original):
        def call(*args, **kwargs):
            nonlocal operations
            if not operations:
                raise Killed
            operations -= 1
            return original(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("makedirs", "replace", "rmdir", "unlink", "remove"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            function()
        except Killed:
            return False
    return True


def test_killed_at_any_moment_of_saving(tmp_path, monkeypatch):
    run = Run(tmp_path / "first")
    variables = checkpoints.variables_of(run.model, run.state, run.optimizer)
    for operations in itertools.count():
        directory = str(tmp_path / f"killed{operations}")
        os.makedirs(directory)

        def manager(directory=directory):
            return checkpoints.CheckpointManager(variables, directory, run.state.step, 1, 1)

        run.state.step.assign(1)
        first = manager()
        first.save()
        run.state.step.assign(2)
        done = killed_after(monkeypatch, operations, first.save)
        checkpoints.remove_leftovers(directory)
        again = manager()
        restored = again.restore_or_initialize()
        assert restored in (
            [f"{directory}/ckpt-2"] if done else [f"{directory}/ckpt-1", f"{directory}/ckpt-2"]
        ), operations
        assert int(run.state.step) == int(restored[-1])
        run.state.step.assign(2)
        again.save()
        # The one before may have been about to be removed; the next one takes it along.
        run.state.step.assign(3)
        again.save()
        assert names(directory) == ["checkpoint", "ckpt-3.data-00000-of-00001", "ckpt-3.index"], (
            operations
        )
        if done:
            break
    assert operations > 5


# After a run that has gone back to an earlier checkpoint the weights that are replaced are of a
# later step.
@pytest.mark.parametrize("before", [1, 7])
def test_killed_at_any_moment_of_keeping_the_best(tmp_path, monkeypatch, before):
    run = BestRun(tmp_path / "first")
    for operations in itertools.count():
        directory = tmp_path / f"killed{operations}"
        directory.mkdir()

        def best(directory=directory):
            return checkpoints.BestCheckpoint(
                str(directory), run.model, run.state, "f1", run._describe
            )

        run.best = best()
        run.evaluate_at(before, 0.5)
        run.state.step.assign(2)
        done = killed_after(
            monkeypatch, operations, functools.partial(run.best.update, {"f1": 0.7})
        )
        checkpoints.remove_leftovers(str(directory))
        recorded = json.loads((directory / "best/best.json").read_text())["step"]
        assert read_checkpoint(str(directory)).description == f"{directory}/best/ckpt-{recorded}"
        # The evaluation that was interrupted is made up.
        run.best = best()
        assert run.evaluate_at(2, 0.7) in (False, not done)
        assert run.evaluate_at(3, 0.8)
        assert_best(directory, 3)
        if done:
            break
    assert operations > 5


class BestRun(Run):
    """A run that keeps its best weights, compared by F1."""

    def __init__(self, directory, **kwargs):
        super().__init__(directory, **kwargs)
        self.best = checkpoints.BestCheckpoint(
            str(directory), self.model, self.state, "f1", self._describe
        )

    def _describe(self, directory):
        run_directory.write_description(
            directory, "run.py", {}, ONE_LAYER, None, None, {"kind": "test"}
        )

    def evaluate_at(self, step, f1, **metrics):
        """Says whether the weights, all of them `step`, became the best ones."""
        self.state.step.assign(step)
        for variable in raw_variables(self.model).values():
            variable.assign(tf.fill(variable.shape, float(step)))
        return self.best.update({"f1": f1, **metrics})


def assert_best(directory, step):
    source = read_checkpoint(str(directory))
    assert names(directory / "best") == [
        "bert_config.json",
        "best.json",
        "checkpoint",
        f"ckpt-{step}.data-00000-of-00001",
        f"ckpt-{step}.index",
        "flags.json",
        "task.json",
    ]
    model = BertForPreTraining(source.config, seed=5)
    assert not load_weights(model, source).newly_initialized
    for name, value in weights(model).items():
        np.testing.assert_array_equal(value, step, err_msg=name)


def test_the_best_weights_are_kept(tmp_path):
    run = BestRun(tmp_path)
    assert run.best.record is None
    assert [run.evaluate_at(step, f1) for step, f1 in ((1, 0.0), (2, 0.5), (3, 0.5), (4, 0.4))] == [
        True,
        True,
        False,
        False,
    ]
    assert_best(tmp_path, 2)
    assert run.best.record == {"step": 2, "metric": "f1", "metrics": {"f1": 0.5}}
    assert json.loads((tmp_path / "best/best.json").read_text()) == run.best.record
    # Weights only: a third of what training needs.
    keys = tf.train.load_checkpoint(str(tmp_path / "best")).get_variable_to_shape_map()
    assert not [key for key in keys if key.startswith(("optimizer", "examples"))] and any(
        key.startswith("step/") for key in keys
    )


def test_the_best_weights_are_not_written_over_where_their_record_is_lost(tmp_path):
    BestRun(tmp_path).evaluate_at(2, 0.5)
    (tmp_path / "best/best.json").unlink()
    BestRun(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"step": 2, "split": "eval", "f1": 0.5}\n')
    with pytest.raises(
        UserError, match=r"best.json is missing, ckpt-2 is there: restore it, or move .*/best away"
    ):
        BestRun(tmp_path)


def test_the_best_of_several_runs_is_copied_whole_or_not_at_all(tmp_path):
    for name, step in (("a", 2), ("b", 4)):
        BestRun(tmp_path / name).evaluate_at(step, 0.5)
    for name, step in (("a", 2), ("b", 4), ("b", 4)):
        sweep.copy_best(str(tmp_path / name), str(tmp_path))
        copied = tmp_path / "best/copied.json"
        record = copied.read_bytes()
        copied.unlink()
        assert_best(tmp_path, step)
        copied.write_bytes(record)
    with pytest.raises(
        UserError, match="c/best is missing, the best weights of all runs: restore it, or move"
    ):
        sweep.copy_best(str(tmp_path / "c"), str(tmp_path))
    copied.unlink()
    assert_best(tmp_path, 4)
    assert_best(tmp_path / "a", 2)
    assert names(tmp_path) == ["a", "b", "best"]


def test_a_run_that_has_lost_its_directory_saves_and_removes_nothing(tmp_path):
    directory = tmp_path / "out"
    directory.mkdir()
    run = Run(directory, keep=1)
    with locks.directory_lock(str(directory), "busy"):
        run.save_at(1)
        directory.rename(tmp_path / "old")
        other = Run(directory)
        # Another run saves in its place, outside of this process's lock.
        shutil.copytree(tmp_path / "old", directory, dirs_exist_ok=True)
        before = names(directory)
        with pytest.raises(UserError, match=r"^\S*out was moved, removed or replaced") as caught:
            run.save_at(2)
        assert "\n" not in str(caught.value)
        assert names(directory) == before
        assert names(tmp_path / "old") == before
    assert other.manager.restore_or_initialize() == f"{directory}/ckpt-1"


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    Run(tmp_path, number=7).save_at(1)
    # One of them does not know what it is made from.
    for number in (7, 0):
        again = Run(tmp_path, seed=1, number=number)
        assert again.manager.restore_or_initialize() == f"{tmp_path}/ckpt-1"
    other = Run(tmp_path, seed=1, number=8)
    assert_refused(other.manager.restore_or_initialize, "ckpt-1", "another run")


def test_a_checkpoint_of_an_earlier_version_has_no_number(tmp_path):
    Run(tmp_path).save_at(1)
    assert Run(tmp_path, number=8).manager.restore_or_initialize() == f"{tmp_path}/ckpt-1"
