import dataclasses
import pathlib

import pytest

from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.task import run
from tests.bert_tf.training.common import LENGTH, ONE_LAYER, PREDICTIONS, VOCAB, write_records
from tests.refusals import assert_refused


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> pathlib.Path:
    """Records, a configuration and a vocabulary."""
    folder = tmp_path_factory.mktemp("data")
    write_records(folder / "train-0.tfrecord", 20)
    write_records(folder / "train-1.tfrecord.gz", 9, 20)
    write_records(folder / "dev.tfrecord", 11, 29)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))
    (folder / "vocab.txt").write_text(
        "".join(
            f"{word}\n"
            for word in (
                "[PAD]",
                "[UNK]",
                "[CLS]",
                "[SEP]",
                "[MASK]",
                *(f"word{number}" for number in range(VOCAB - 5)),
            )
        )
    )
    return folder


def make_options(data: pathlib.Path, output_dir: pathlib.Path, **changes) -> PretrainingOptions:
    return PretrainingOptions(
        **{
            **dict(
                input_file=f"{data}/train-*",
                eval_file=f"{data}/dev.tfrecord",
                bert_config_file=f"{data}/bert_config.json",
                output_dir=str(output_dir),
                max_seq_length=LENGTH,
                max_predictions_per_seq=PREDICTIONS,
                do_train=True,
                train_batch_size=4,
                eval_batch_size=4,
                learning_rate=0.01,
                num_train_steps=6,
                num_warmup_steps=2,
                save_checkpoints_steps=2,
                keep_checkpoint_max=2,
                jit_compile="false",
            ),
            **changes,
        }
    )


@pytest.fixture
def options(data, tmp_path) -> PretrainingOptions:
    return make_options(data, tmp_path / "out")


@pytest.fixture
def refused(options):
    """(parts, changes of the options) → asserts that the run ends with one line that contains the
    parts."""
    return lambda *parts, **changes: assert_refused(
        lambda: run(dataclasses.replace(options, **changes)), *parts
    )
