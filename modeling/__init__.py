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

Names are imported when they are first asked for, so that `modeling.config` costs no TensorFlow; `__init__.pyi` lists
them, for this and for editors and type checkers. Keras is told to run on TensorFlow unless KERAS_BACKEND already names
another backend. The model itself is written in `keras.ops` and gives its outputs under any of them; exact dropout,
checkpoints and tokenizing layers need TensorFlow.
"""

import os

import lazy_loader

import bert_tf.common  # noqa: F401  (tells TensorFlow to be quiet)

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
