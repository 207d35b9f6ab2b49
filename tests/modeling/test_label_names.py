import pytest

from modeling.config import label_names, with_label_names
from tests.tiny import CONFIG


def test_names_are_kept_where_hugging_face_looks_for_them():
  named = with_label_names(CONFIG, ["no", "yes"], "multi_label_classification")
  assert named.extra["id2label"] == {"0": "no", "1": "yes"} and named.extra["label2id"] == {"no": 0, "yes": 1}
  assert named.extra["problem_type"] == "multi_label_classification"
  again = with_label_names(named, [f"l{number}" for number in range(11)])
  assert "problem_type" not in again.extra
  # By number, and not as texts are sorted.
  assert label_names(again) == [f"l{number}" for number in range(11)]


@pytest.mark.parametrize("names", [None, ["a"], {"x": "a"}, {"-1": "a"}, {}])
def test_what_is_no_list_of_names_is_none(names):
  config = with_label_names(CONFIG, [])
  config.extra["id2label"] = names
  assert label_names(config) == []
