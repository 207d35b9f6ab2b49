"""Options that all tasks share: combinations, and the configuration with other dropout rates."""

import os

from tasks.classification.options import ClassificationOptions
from tests.tiny import CONFIG


def test_directories_of_a_selection_name_what_has_several_values():
  options = ClassificationOptions(task_name="mrpc", output_dir="out", weight_decay=0.1)
  one_rate = options.replace(sweep={"learning_rate": (1e-5, 2e-5)}).combinations()
  assert [os.path.basename(one.output_dir) for one in one_rate] == ["lr1e-05_bs32_ep3_seed12345",
                                                                     "lr2e-05_bs32_ep3_seed12345"]
  assert {one.weight_decay for one in one_rate} == {0.1}
  others = options.replace(sweep={"lr_schedule": ("cosine", "constant"), "hidden_dropout_prob": (0.0, 0.2)})
  assert [(os.path.basename(one.output_dir), one.lr_schedule, one.hidden_dropout_prob)
          for one in others.combinations()][1:3] == [
      ("lr5e-05_bs32_ep3_seed12345_lr_schedulecosine_hidden_dropout_prob0.2", "cosine", 0.2),
      ("lr5e-05_bs32_ep3_seed12345_lr_scheduleconstant_hidden_dropout_prob0", "constant", 0.0)]


def test_dropout_rates_are_those_of_the_configuration_unless_given():
  options = ClassificationOptions(task_name="mrpc", output_dir="out")
  assert options.adapt(CONFIG) == CONFIG
  adapted = options.replace(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.3).adapt(CONFIG)
  assert (adapted.hidden_dropout_prob, adapted.attention_probs_dropout_prob) == (0.0, 0.3)
  assert adapted.hidden_size == CONFIG.hidden_size
