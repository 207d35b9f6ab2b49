import dataclasses
import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.phases import find_phases
from bert_tf.tasks.pretraining.task import PretrainingTask, run
from data_gen.pretraining.record_writer import RecordWriter
from tests.bert_tf.training.common import LENGTH, ONE_LAYER, PREDICTIONS, write_records
from tests.bert_tf.training.packed import pack_features, sequences_of


def write_packed(path, masks: bool, most: int = 4, count: int = 60) -> None:
    length = np.random.default_rng(1).integers(4, LENGTH + 1, count)
    schema, rows = pack_features(
        sequences_of(length, LENGTH, PREDICTIONS, ONE_LAYER.vocab_size), most
    )
    schema = schema if masks else dataclasses.replace(schema, max_predictions_per_seq=0)
    path.write_bytes(RecordWriter(schema, ONE_LAYER.vocab_size).encode(rows))


@pytest.fixture(scope="module")
def data(data):
    write_records(data / "plain", 20)
    write_records(data / "short", 20, length=12, predictions=2)
    write_packed(data / "packed", masks=True)
    write_packed(data / "open", masks=False)
    (data / "bare").mkdir()
    shutil.copy(data / "bert_config.json", data / "bare")
    return data


@pytest.fixture
def options(options, data) -> PretrainingOptions:
    return options.replace(
        input_file=f"{data}/packed",
        eval_file=None,
        vocab_file=f"{data}/vocab.txt",
        do_eval=True,
        train_batch_size=8,
        num_train_steps=8,
        save_checkpoints_steps=1000,
        keep_checkpoint_max=5,
    )


def test_other_batch_sizes_need_no_other_reading_of_the_records(options, data, monkeypatch):
    options = options.replace(
        input_file=None, phases=f"12x6:0.5:{data}/short,{LENGTH}:0.5:{data}/packed"
    )
    changed = options.replace(train_batch_size=9, eval_batch_size=21)
    expected = PretrainingTask(changed)
    task = PretrainingTask(options)
    monkeypatch.setattr("bert_tf.tasks.pretraining.data.check_records", None)
    resized = task.with_options(changed)
    assert resized.options == expected.options
    phases = [
        [
            (phase.batch_size, phase.first_record, phase.groups, phase.flops, phase.options)
            for phase in one.phases()
        ]
        for one in (resized, expected)
    ]
    assert phases[0] == phases[1]
    assert [phase[0] for phase in phases[0]] == [6, 9]
    # The task of the first options stays as it is.
    assert [phase.batch_size for phase in task.phases()] == [6, 8]


@pytest.mark.parametrize("name", ["packed", "open"])
def test_packed_records_are_found_out(options, data, capsys, name):
    options = dataclasses.replace(options, input_file=f"{data}/{name}", eval_file=f"{data}/{name}")
    (phase,) = find_phases(options, ONE_LAYER)
    rows, sequences = phase.train_records.sampled
    assert sequences == 60 and rows == phase.train_records.files.num_examples < 60
    assert np.mean(phase.batch_sizes().sizes) * sequences / rows == pytest.approx(8, rel=0.01)
    assert run(options) == 0
    output = capsys.readouterr().out
    assert (
        f"{rows} rows of {LENGTH} tokens with about 60 examples packed in them, {sequences / rows:.2f} each"
        in output
    )
    assert (
        f"8 steps of 8 examples in {8 * rows / sequences:.1f} rows" in output
        and "evaluation on 60 examples" in output
    )
    results = json.loads((pathlib.Path(options.output_dir) / "eval_results.json").read_text())
    assert 0 < results["masked_lm_loss"] < 10 and results["global_step"] == 8


def test_training_masks_anew_what_is_evaluated_with_masks_of_its_own(options, data):
    options = dataclasses.replace(
        options, input_file=f"{data}/open", eval_file=f"{data}/plain", masking="100,0,0"
    )
    (phase,) = find_phases(options, ONE_LAYER)
    assert (phase.train_records.schema.has_masks, phase.eval_records.schema.has_masks) == (
        False,
        True,
    )
    assert run(options) == 0
    with pytest.raises(UserError, match="--masking: the records of --eval_file are masked already"):
        find_phases(dataclasses.replace(options, do_train=False), ONE_LAYER)


def assert_same_weights(*checkpoints: pathlib.Path) -> None:
    first, second = map(tf.train.load_checkpoint, map(str, checkpoints))
    for name in first.get_variable_to_shape_map():
        if name.endswith("VARIABLE_VALUE") and not name.startswith(("save_counter", "run_id")):
            np.testing.assert_array_equal(
                second.get_tensor(name), first.get_tensor(name), err_msg=name
            )


def test_a_share_of_predictions_that_falls(options, data, tmp_path):
    """A resumed run is the same; records must have room for the first share."""
    options = dataclasses.replace(
        options,
        input_file=f"{data}/open",
        masked_lm_prob=(0.19, 0.06),
        num_train_steps=6,
        do_eval=False,
        save_checkpoints_steps=3,
        output_dir=str(tmp_path / "whole"),
    )
    assert run(options) == 0
    shutil.copytree(
        tmp_path / "whole", tmp_path / "half", ignore=shutil.ignore_patterns("ckpt-6.*")
    )
    assert run(options.replace(output_dir=str(tmp_path / "half"))) == 0
    assert_same_weights(tmp_path / "whole/ckpt-6", tmp_path / "half/ckpt-6")
    with pytest.raises(
        UserError,
        match=r"--masked_lm_prob=0.3 predicts up to 5 of 16 tokens: give "
        r"--max_predictions_per_seq=5",
    ):
        find_phases(options.replace(masked_lm_prob=(0.3, 0.15)), ONE_LAYER)


def test_phases_follow_each_other(options, data):
    options = dataclasses.replace(
        options,
        input_file=None,
        phases=f"12x6:0.25:{data}/short, {LENGTH}:0.75:{data}/packed",
        eval_file=f"{data}/plain,{data}/short",
    )
    options.check()
    first, second = find_phases(options, ONE_LAYER)
    assert (first.first_step, first.last_step, second.first_step, second.last_step) == (0, 2, 2, 8)
    assert first.options.train_batch_size == 6 and first.options.max_predictions_per_seq == 2
    assert (
        second.options.train_batch_size == 8
        and second.first_record == 12 == second.batch_sizes().first
    )
    assert [phase.eval_records.files.paths for phase in (first, second)] == [
        (f"{data}/short",),
        (f"{data}/plain",),
    ]


def test_the_groups_of_files_belong_to_the_run(options, tmp_path, monkeypatch):
    for number in range(4):
        write_packed(tmp_path / f"packed-{number}", masks=True, count=30 + number)
    options = dataclasses.replace(
        options,
        input_file=f"{tmp_path}/packed-*",
        do_eval=False,
        num_train_steps=6,
        save_checkpoints_steps=3,
        output_dir=str(tmp_path / "whole"),
    )
    assert run(options.replace(input_groups=2)) == 0
    shutil.copytree(tmp_path / "whole", tmp_path / "twice")
    for path in (tmp_path / "twice").glob("ckpt-6.*"):
        path.unlink()
    resumed = options.replace(output_dir=str(tmp_path / "twice"))
    assert run(resumed) == 0
    assert_same_weights(tmp_path / "whole/ckpt-6", tmp_path / "twice/ckpt-6")
    # As it was begun, where nothing is said.
    assert find_phases(resumed, ONE_LAYER)[0].groups == 2
    with pytest.raises(UserError, match="--input_groups=4: the run in .* was begun with 2"):
        find_phases(resumed.replace(input_groups=4), ONE_LAYER)
    new = options.replace(output_dir=str(tmp_path / "new"))
    for changes, message in [
        ({"input_groups": 5}, "there are 4 record files, and each group needs one"),
        ({"input_groups": 3}, "--train_batch_size=8 can't be divided by it"),
    ]:
        with pytest.raises(UserError, match=message):
            find_phases(new.replace(**changes), ONE_LAYER)
    # By the number of processes, where that is possible.
    for processes, groups in ((2, 1), (3, 1), (4, 4), (8, 1)):
        workers = [f"host{number}:2222" for number in range(processes)]
        monkeypatch.setenv(
            "TF_CONFIG",
            json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}}),
        )
        assert find_phases(new, ONE_LAYER)[0].groups == groups
    assert find_phases(new.replace(distribution_strategy="none"), ONE_LAYER)[0].groups == 1
    monkeypatch.setenv(
        "TF_CONFIG",
        json.dumps(
            {"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 0}}
        ),
    )
    with pytest.raises(
        UserError,
        match="--input_groups=2, with which the run was begun: 3 processes can't share them",
    ):
        find_phases(resumed.replace(output_dir=str(tmp_path / "whole")), ONE_LAYER)


def test_one_schedule_goes_over_all_phases(options, data, tmp_path):
    options = dataclasses.replace(
        options,
        input_file=None,
        phases=f"12:0.25:{data}/short,16:0.25:{data}/plain,16:0.5:{data}/packed",
        do_eval=False,
        iterations_per_loop=1,
        num_train_steps=12,
        num_warmup_steps=4,
    )
    assert run(options) == 0
    lines = map(
        json.loads, (pathlib.Path(options.output_dir) / "metrics.jsonl").read_text().splitlines()
    )
    rates = {line["step"]: line["learning_rate"] for line in lines if "learning_rate" in line}
    # Of the update that made a step: warm-up to 0.01 over 4 steps, then linearly to 0 at 12
    # (optimization.py of the original), although the phases begin at 0, 3 and 6.
    expected = {
        step: 0.01 * ((step - 1) / 4 if step <= 4 else (12 - (step - 1)) / 12)
        for step in range(1, 13)
    }
    assert rates == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"input_file": "{data}/plain,{data}/packed"},
            "{data}/packed is packed, others are unpacked: read them in two runs",
        ),
        (
            {"input_file": "{data}/open,{data}/packed"},
            "is packed, others are packed, without masks",
        ),
        ({"train_batch_size": 1}, "--train_batch_size=1 is less than the 1."),
        ({"max_seq_length": 12}, "was made with max_seq_length=16, but --max_seq_length is 12"),
        ({"masking": "100,0,0"}, "--masking: the records of --input_file are masked already"),
        (
            {
                "input_file": "{data}/open",
                "vocab_file": None,
                "bert_config_file": "{data}/bare/bert_config.json",
            },
            "have no masks, and their vocabulary is unknown",
        ),
        ({"phases": "16:1:{data}/packed"}, "--input_file and --phases contradict each other"),
        ({"input_file": None}, "--input_file or --phases must be given"),
        (
            {"input_file": None, "phases": "16:0.5:{data}/packed"},
            "the shares add up to 0.5, they must add up to 1",
        ),
        ({"input_file": None, "phases": "16:x:{data}/packed"}, "LENGTH:SHARE:RECORDS is expected"),
        (
            {"input_file": None, "phases": f"16:{'9' * 5000}:{{data}}/packed"},
            "the shares add up to inf",
        ),
        (
            {"input_file": None, "phases": "16:0.99:{data}/packed,16:0.01:{data}/packed"},
            "has no step of --num_train_steps=8",
        ),
        (
            {"input_file": None, "phases": "12:1:{data}/packed"},
            "was made with max_seq_length=16, not 12",
        ),
        (
            {"input_file": None, "phases": "16:1:{data}/packed", "eval_file": "{data}/short"},
            "--eval_file has no records of 16 tokens",
        ),
    ],
)
def test_what_is_refused(refused, data, changes, message):
    changes = {
        name: value.format(data=data) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    refused(message.format(data=data), **changes)


def test_records_of_another_vocabulary_are_refused_in_every_phase(refused, data, tmp_path):
    write_records(tmp_path / "other", 5, vocab_size=500)
    refused(
        "belong to different vocabularies",
        input_file=None,
        phases=f"16:0.5:{data}/packed,16:0.5:{tmp_path}/other",
    )
