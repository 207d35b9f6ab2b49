import numpy as np
import pytest

from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.sentence_embedding.task import run
from tests.bert_tf.tasks.sentence_embedding.toy_pairs import write_columns, write_model
from tests.processes import curve, run_here, started_two, tensors


@pytest.mark.processes
def test_two_processes_have_the_negatives_of_one_another(tmp_path):
    """Each of them has half of the candidates: with these alone loss, accuracy and weights would be
    others."""
    arguments = [
        f"--train_file={write_columns(tmp_path / 'train.csv', 36, 1)}",
        "--negative_columns=negative",
        f"--bert_config_file={write_model(tmp_path)}",
        "--do_train",
        "--max_seq_length=16",
        "--train_batch_size=8",
        "--learning_rate=3e-3",
        "--num_train_epochs=1",
        "--iterations_per_loop=2",
    ]
    with started_two(
        "run_sentence_embedding.py", tmp_path / "log", *arguments, f"--output_dir={tmp_path}/two"
    ) as both:
        run_here(SentenceEmbeddingOptions, run, *arguments, f"--output_dir={tmp_path}/alone")
        results = [script.end() for script in both]
    assert [status for status, _, _ in results] == [0, 0], results
    assert "2 processes" in results[0][1]
    found, expected = tensors(tmp_path / "two"), tensors(tmp_path / "alone")
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-4, err_msg=name)
    for one, other in zip(*(curve(tmp_path / name) for name in ("two", "alone")), strict=True):
        names = ("step", "loss", "accuracy", "gradient_norm")
        assert [one[name] for name in names] == pytest.approx(
            [other[name] for name in names], rel=1e-3
        )
