"""The scripts that jobs run: their options, and what they call. For checking commands, and for running them in tests.

What stands in the last line of each script; a test compares.
"""

import importlib
from collections.abc import Callable

from bert_tf.common.options import Options

# Script → module:class of its options, module:function of its work.
SCRIPTS = {
    "data_gen/extract_docstrings.py": ("data_gen.options:DocstringOptions", "data_gen.text.docstrings:run"),
    "data_gen/prepare_corpus.py": ("data_gen.options:CorpusOptions", "data_gen.text.corpus_preparation:run"),
    "data_gen/convert_triviaqa.py": ("data_gen.options:TriviaQaOptions", "data_gen.labelled.triviaqa:run"),
    "data_gen/create_pretraining_data.py": (
        "data_gen.options:PretrainingDataOptions", "data_gen.pretraining.generation:run"),
    "vocab/build_vocab.py": ("bert_tf.vocabulary.building:VocabularyOptions", "bert_tf.vocabulary.building:run"),
    "run_pretraining.py": (
        "bert_tf.tasks.pretraining.options:PretrainingOptions",
        "bert_tf.tasks.pretraining.task:run"),
    "run_classifier.py": (
        "bert_tf.tasks.classification.options:ClassificationOptions",
        "bert_tf.tasks.classification.task:run"),
    "run_squad.py": (
        "bert_tf.tasks.question_answering.options:SquadOptions",
        "bert_tf.tasks.question_answering.task:run"),
    "run_swag.py": (
        "bert_tf.tasks.multiple_choice.options:MultipleChoiceOptions",
        "bert_tf.tasks.multiple_choice.task:run"),
    "run_ner.py": (
        "bert_tf.tasks.token_classification.options:TokenClassificationOptions",
        "bert_tf.tasks.token_classification.task:run"),
    "make_glue_submission.py": (
        "bert_tf.evaluation.glue_submission:SubmissionOptions",
        "bert_tf.evaluation.glue_submission:run"),
    "experiments/write_config.py": (
        "bert_tf.vocabulary.model_config:ConfigOptions", "bert_tf.vocabulary.model_config:write_config"),
    "experiments/split_dev_set.py": (
        "data_gen.labelled.dev_split:SplitOptions", "data_gen.labelled.dev_split:split"),
}


def options_class(script: str) -> type[Options]:
  """The options of a script."""
  return _found(SCRIPTS[script][0])


def target(script: str) -> Callable[[Options], int | None]:
  """What a script calls with its options."""
  return _found(SCRIPTS[script][1])


def _found(name: str) -> object:
  module, _, attribute = name.partition(":")
  return getattr(importlib.import_module(module), attribute)
