
import pytest

from bert_common.errors import UserError
from bert_tf.training.reports import TRAIN, Reports
from bert_tf.training.run_directory import read_metrics
from tests.full_disk import full_disk


def test_a_disk_that_is_full_is_one_line(tmp_path):
  reports = Reports(str(tmp_path), True, 0, print)
  reports.text(TRAIN, "flags", "a", 0)
  with full_disk(2000):
    for _ in range(2):
      with pytest.raises(UserError, match="TensorBoard's files can't be written in .*/train: File too large") as error:
        reports.text(TRAIN, "flags", "b" * 4000, 1)
      assert "\n" not in str(error.value)


def test_only_the_chief_writes(tmp_path):
  Reports(str(tmp_path), False, 0, print).text(TRAIN, "flags", "a", 0)
  assert list(tmp_path.iterdir()) == []


def test_an_evaluation_is_written_once_however_often_it_is_made(tmp_path):
  metrics = {"loss": 1 / 3, "perplexity": float("nan")}
  Reports(str(tmp_path), True, 0, print).evaluation(4, metrics)
  again = Reports(str(tmp_path), True, 4, print)
  again.evaluation(4, metrics)
  again.evaluation(4, metrics)
  assert len(read_metrics(str(tmp_path))) == 1
  # On other examples, say.
  again.evaluation(4, {**metrics, "loss": 0.5})
  assert [line["loss"] for line in read_metrics(str(tmp_path))] == [0.3333333, 0.5]
