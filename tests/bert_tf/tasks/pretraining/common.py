"""What the tests of pre-training runs assert in several files."""

import dataclasses

import pytest

from bert_common.errors import UserError
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.task import run


def refused(options: PretrainingOptions, *parts: str, **changes) -> str:
  """Asserts that the run ends with one line that contains the parts."""
  with pytest.raises(UserError) as error:
    run(dataclasses.replace(options, **changes))
  message = str(error.value)
  assert "\n" not in message
  for part in parts:
    assert part in message, message
  return message
