"""The network of "BERT: Pre-training of Deep Bidirectional Transformers" (arXiv 1810.04805), in Keras 3.

Shape letters, used in every docstring and after every reshape:

  B  sequences in a batch          N  attention heads
  S  tokens in a sequence          D  units of one head, H / N
  P  predictions in a sequence     I  units of the feed-forward layer
  H  hidden units                  L  layers
  V  entries of the vocabulary     C  classes

A batch goes through `embeddings` → `encoder` (→ `attention`, `dense`, `activations`, `normalization`, `dropout`) →
`heads`, all held together by `pretraining`. `config` says how large everything is, `checkpoints/` where the
weights come from.

Keras is told to run on TensorFlow unless KERAS_BACKEND already names another backend. The network itself
is written in `keras.ops` and gives its outputs under any of them; training, dropout and checkpoints need TensorFlow.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
