"""The model of "BERT: Pre-training of Deep Bidirectional Transformers" (arXiv 1810.04805), as a Keras 3 library.

    from modeling import BertForClassification
    model = BertForClassification.from_checkpoint("uncased_L-12_H-768_A-12", classes=2)

docs/keras.md shows what can be done with it. Shape letters, used in every docstring and after every reshape:

  B  sequences in a batch          N  attention heads
  S  tokens in a sequence          D  units of one head, H / N
  P  predictions in a sequence     I  units of the feed-forward layer
  H  hidden units                  L  layers
  V  entries of the vocabulary     C  classes

A batch goes through `embeddings` → `encoder` (→ `attention`, `layers`, `dropout`) → a head, held together by
`pretraining`, `classification`, `question_answering`, `multiple_choice` or `token_classification`. `config` says how
large everything is, `checkpoints/` where the weights come from, `preprocessing/` turns strings into ids.

Names are imported when they are first asked for, so that `modeling.config` costs no TensorFlow. Keras is told to run
on TensorFlow unless KERAS_BACKEND already names another backend. The model itself is written in `keras.ops` and gives
its outputs under any of them; exact dropout, checkpoints and tokenizing layers need TensorFlow.
"""

import importlib
import os

import bert_tf.common  # noqa: F401  (tells TensorFlow to be quiet)

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

# Public name → module it is in.
_EXPORTS = {
    "BertConfig": "modeling.config",
    "PRESETS": "modeling.presets",
    "BertEncoder": "modeling.encoder",
    "freeze_embeddings": "modeling.encoder",
    "freeze_layers": "modeling.encoder",
    "BertForPreTraining": "modeling.pretraining",
    "BertForCausalLm": "modeling.causal_lm",
    "BertForClassification": "modeling.classification",
    "BertForQuestionAnswering": "modeling.question_answering",
    "BertForMultipleChoice": "modeling.multiple_choice",
    "BertForTokenClassification": "modeling.token_classification",
    "CrossEntropy": "modeling.losses",
    "Accuracy": "modeling.losses",
    "BertAdamW": "modeling.optimizer",
    "WarmupDecay": "modeling.optimizer",
    "WarmupLinearDecay": "modeling.optimizer",
    "Tokenizer": "data_gen.tokenization.tokenizer",
    "BertPreprocessor": "modeling.preprocessing.preprocessor",
}

__all__ = list(_EXPORTS)


def __getattr__(name: str):
  if name not in _EXPORTS:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
  return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
  return [*globals(), *__all__]
