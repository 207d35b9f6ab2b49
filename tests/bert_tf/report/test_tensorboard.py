import os

import tensorflow as tf
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import api_pb2

from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.callbacks import RunStart
from bert_tf.report.tensorboard import TensorBoard, write_session
from tests.bert_tf.training.hparams_page import read_hparams_page


def test_runs_are_rows_with_what_they_report(tmp_path):
    for name, epochs, seconds in (("one", 3.0, 40.0), ("two", 2.5, None)):
        with tf.summary.create_file_writer(str(tmp_path / name / "eval")).as_default(step=7):
            tf.summary.scalar("quality/accuracy", epochs / 10)
        values = {
            "num_train_epochs": epochs,
            "learning_rate": 1e-4,
            "train_batch_size": 16,
            "recompute": True,
            "lora_layers": ("query", "value"),
        }
        for _ in range(2):
            write_session(
                str(tmp_path / name), values, 100.0, seconds and 100.0 + seconds, {"accuracy": 0.5}
            )
        assert sorted(os.listdir(tmp_path / name)) == ["eval", "events.out.tfevents.hparams"]
    experiment, groups = read_hparams_page(tmp_path)
    assert [(info.name.group, info.name.tag) for info in experiment.metric_infos] == [
        ("", "best/accuracy"),
        ("eval", "quality/accuracy"),
    ]
    found = {group.sessions[0].name: group for group in groups}
    one = {
        name: value.string_value or value.bool_value or value.number_value
        for name, value in found["one"].hparams.items()
    }
    assert one == {
        "num_train_epochs": 3.0,
        "learning_rate": 1e-4,
        "train_batch_size": 16,
        "recompute": True,
        "lora_layers": "query,value",
    }
    assert [value.value for value in found["two"].sessions[0].metric_values] == [0.5, 0.25]
    statuses = [found[name].sessions[0].status for name in ("one", "two")]
    assert statuses == [api_pb2.STATUS_SUCCESS, api_pb2.STATUS_UNKNOWN]


def test_a_resumed_run_has_every_step_once(tmp_path):
    """TensorBoard forgets the steps after the checkpoint, which are computed again."""
    options = ClassificationOptions(task_name="mrpc", output_dir=str(tmp_path), do_train=True)

    def write(first, last, resumed_from):
        callback = TensorBoard()
        callback.on_run_begin(RunStart(options, str(tmp_path), True, resumed_from, print))
        for step in range(first, last + 1):
            callback.on_report(step, {"loss": float(resumed_from)})
        for writer in callback._writers.values():
            writer.close()

    write(1, 7, 0)
    # A run takes longer than this test. Files of events are read in the order of their names, which
    # have the time in seconds.
    for file in (tmp_path / "train").iterdir():
        file.rename(file.with_name("events.out.tfevents.1000000000.first.v2"))
    # The checkpoint was that of step 4.
    write(5, 9, 4)
    # What TensorBoard's pages are made from; another class of this name forgets scalars only.
    accumulator = plugin_event_accumulator.EventAccumulator(str(tmp_path / "train"))
    accumulator.Reload()
    (tag,) = accumulator.Tags()["tensors"]
    events = accumulator.Tensors(tag)
    assert [event.step for event in events] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert float(tf.make_ndarray(events[4].tensor_proto)) == 4.0
