"""The table of tasks."""

import pytest

from bert_tf.inference.task_table import TASKS, task_class
from bert_tf.tasks.inference import TaskInference


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_class_that_says_what_it_takes(task):
  cls = task_class(task)
  assert issubclass(cls, TaskInference) and not cls.__abstractmethods__
  assert cls.layouts and cls.text_inputs and all(isinstance(name, str) for name in cls.text_inputs)
  assert len({(task_class(other).head, task_class(other).kinds) for other in TASKS}) == len(TASKS)


def test_the_table_lists_all_tasks(project):
  """Every class of a task that can be used for predictions is in `inference.py`, or beside it in `*_inference.py`."""
  found = {".".join(path.relative_to(project).with_suffix("").parts)
           for path in (project / "bert_tf/tasks").glob("*/*.py")
           if path.stem == "inference" or path.stem.endswith("_inference")}
  assert found == {target.partition(":")[0] for target in TASKS.values() if target.startswith("bert_tf.tasks.")}
