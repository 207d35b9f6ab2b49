import json
import os
import re

import numpy as np
import pytest
import tensorflow as tf
from tensorboard import plugin_util
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import api_pb2

from bert_tf.report import rasters
from bert_tf.report.numbers import Bin
from bert_tf.report.tensorboard import TensorBoard, write_session
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.callbacks import RunEnd, RunStart
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


def test_tables_and_pictures_are_those_of_the_report(tmp_path):
    """An evaluation alone writes them; TensorBoard makes pages of them without their markup."""
    names = ["a|b", "<i>x</i>"]
    rows = []
    for number, (true, label) in enumerate(((0, 0), (0, 0), (0, 1), (1, 1))):
        probabilities = {names[label]: 0.75, names[1 - label]: 0.25}
        example = {"id": str(number), "text_a": "<b>*some*</b>\ntext", "true_label": names[true]}
        rows.append({**example, "label": names[label], "probabilities": probabilities})
    (tmp_path / "eval_predictions.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    options = ClassificationOptions(task_name="mrpc", output_dir=str(tmp_path), do_eval=True)
    # The second start takes the place of the first.
    for _ in range(2):
        callback = TensorBoard()
        callback.on_run_begin(RunStart(options, str(tmp_path), False, 5, print))
        callback.on_run_end(RunEnd(5, {}, {}, None))
    accumulator = plugin_event_accumulator.EventAccumulator(str(tmp_path / "eval"))
    accumulator.Reload()
    values = {}
    for tag in accumulator.Tags()["tensors"]:
        (event,) = accumulator.Tensors(tag)
        assert event.step == 5
        values[tag] = tf.make_ndarray(event.tensor_proto)
    # Width, height, pictures.
    picture = tf.io.decode_png(values["predictions/confusion_matrix"][2]).numpy()
    assert (rasters.confusion(np.array([[1, 0], [1, 2]])) == picture).all()
    assert "predictions/reliability" in values
    page = plugin_util.markdowns_to_safe_html(
        values["predictions/most_confident_errors"].reshape(-1), "".join
    )
    cells = re.findall("<td>(.*?)</td>", page)
    assert cells == ["2", r"&lt;b&gt;*some*&lt;/b&gt;\ntext", "a|b", "&lt;i&gt;x&lt;/i&gt;", "0.75"]


def test_rasters():
    matrix = rasters.confusion(np.array([[4, 0, 0], [1, 3, 0], [0, 0, 0]]))
    cell = len(matrix) // 3
    colors = matrix[cell // 2 :: cell, cell // 2 :: cell].astype(int)
    # Green is certain, red is rare, white is nothing.
    assert colors[0, 0, 1] > colors[0, 0, 0]
    assert colors[1, 0, 0] > colors[1, 0, 1]
    assert colors[2].min() > 200
    picture = rasters.reliability([Bin(0.75, 0.25, 3)])
    rows, columns = np.nonzero((picture == rasters._RIGHT).all(axis=2))
    assert (rows.mean() / len(picture), columns.mean() / len(picture)) == pytest.approx(
        (0.75, 0.75), abs=0.01
    )
