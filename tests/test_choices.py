"""The choices of an option are the names of the table that it is looked up in."""

import pytest

from bert_common.options import declared_options
from bert_tf import plotting
from bert_tf.inference.options import FORMATS, TASKS, TFHUB
from bert_tf.runs.options import CALLBACKS, OPTIMIZERS
from bert_tf.tasks.multiple_choice import data as multiple_choice
from bert_tf.tasks.multiple_choice.options import CUSTOM
from bert_tf.training import devices
from modeling.checkpoints import convert
from modeling.config import DECAYS, LORA_LAYERS, POOLINGS, PRESETS
from modeling.optimizer import WarmupDecay
from tests.flags import options_of_script

# (script, option) → names in its table, and further names that are resolved before.
TABLES = {
    ("run_classifier", "optimizer"): (OPTIMIZERS.targets, ()),
    ("run_classifier", "lr_schedule"): (DECAYS, ()),
    ("run_classifier", "report_to"): (set(CALLBACKS.targets) - {"model_card"}, ()),
    ("run_classifier", "lora_layers"): (LORA_LAYERS, ("all",)),
    ("run_classifier", "distribution_strategy"): (devices._STRATEGY_NAMES, ("auto",)),
    ("run_classifier", "precision"): (devices._POLICIES, ("auto",)),
    ("extract_features", "precision"): (devices._POLICIES, ("auto",)),
    ("run_swag", "task_name"): (multiple_choice._FILES, (CUSTOM,)),
    ("run_sentence_embedding", "pooling"): (POOLINGS, ()),
    ("export_model", "format"): (set(FORMATS.targets) - {TFHUB}, ()),
    ("predict", "task"): (TASKS, ()),
    ("convert_checkpoint", "output_format"): (convert.FORMATS, ()),
    ("plot", "what"): (plotting._KINDS, ()),
    ("vocab/build_vocab", "model_size"): (PRESETS, ()),
}


@pytest.mark.parametrize(("script", "name"), TABLES)
def test_choices_are_the_names_of_their_table(script, name):
    table, others = TABLES[script, name]
    options = {
        option.name: option for option in declared_options(options_of_script(f"{script}.py"))
    }
    assert set(options[name].choices) == {*table, *others}


def test_a_choice_is_never_the_rest():
    """Every decay has a branch of its own, and a name without one is an error."""
    rates = {float(WarmupDecay(1.0, 10, 2, decay)(4)) for decay in DECAYS if decay != "wsd"}
    assert len(rates) == len(DECAYS) - 1
    unknown = WarmupDecay(1.0, 10)
    unknown.decay = "square"
    with pytest.raises(ValueError, match="square"):
        unknown(4)
