"""The table of tasks."""

import os

import pytest

from inference.tasks import TASKS, task_class
from tasks.inference import TaskInference


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_class_that_says_what_it_takes(task):
  cls = task_class(task)
  assert issubclass(cls, TaskInference) and not cls.__abstractmethods__
  assert cls.layouts and cls.text_inputs and all(isinstance(name, str) for name in cls.text_inputs)
  assert len({task_class(other).head for other in TASKS}) == len(TASKS)


def test_the_table_lists_all_tasks(project):
  """Every package of a task that can be used for predictions."""
  found = {f"tasks.{name}.inference" for name in os.listdir(project / "tasks")
           if (project / "tasks" / name / "inference.py").exists()}
  assert found == {target.partition(":")[0] for target in TASKS.values() if target.startswith("tasks.")}
