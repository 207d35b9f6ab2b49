"""The model of "BERT: Pre-training of Deep Bidirectional Transformers" (arXiv 1810.04805), as a
Keras 3 library.

    from modeling import BertForClassification
    model = BertForClassification.from_checkpoint("uncased_L-12_H-768_A-12", classes=2)

docs/keras.md is the guide. Shape letters, used in every docstring and after every
reshape:

  B  sequences in a batch          N  attention heads
  S  tokens in a sequence          D  units of one head, H / N
  P  predictions in a sequence     I  units of the feed-forward layer
  H  hidden units                  L  layers
  V  entries of the vocabulary     C  classes

A batch goes through `encoder` → a head:

    config.py                `BertConfig`: the sizes of a model; the published ones
    encoder.py               `BertEncoder`: embeddings, transformer layers, pooler
    attention.py             self-attention and its mask
    fused_attention.py       the same as a kernel of cuDNN, for training on GPUs
    layers.py                dense layer, LayerNorm, activations, initial weights
    dropout.py               dropout, by step and example
    recompute.py             gradient checkpointing
    xla.py                   forms of layers for functions that XLA compiles
    bilstm.py                BiLSTMs, between encoder and head and on fixed activations
    task_model.py            base class of the models: encoder, heads, Keras' ways to train
    fit.py                   losses that `fit` reports; refusals on several devices
    replicas.py              sums over the replicas of `tf.distribute`
    saving.py                `.keras` files; checkpoints as methods of models
    pretraining.py           masked LM and next sentence; next token of left-to-right models
    fine_tuning.py           classes of sequences and of tokens, answers, choices
    sentence_embedding.py    vectors of texts that are compared
    losses.py                cross-entropy, accuracy and sums over examples; distillation
    optimizer.py             learning rates; AdamW and LAMB for `fit`
    costs.py                 arithmetic and memory of a model
    checkpoints/             weights in files of every format
    preprocessing/           strings to ids, also in a graph

Names are imported at their first use, so that `modeling.config` costs no TensorFlow; `__init__.pyi`
lists them, for this and for editors and type checkers. Keras runs on TensorFlow unless
KERAS_BACKEND names another backend: docs/keras.md lists what works on which.
"""

import os

import lazy_loader

from bert_common import WrongEnvironment

# Keras reads the variable when it is first imported, which the lines below may cause.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


# Names in KerasHub and in Hugging Face's library → ours.
_OTHER_NAMES = {
    "BertBackbone": "BertEncoder",
    "BertModel": "BertEncoder",
    "BertClassifier": "BertForClassification",
    "BertTextClassifier": "BertForClassification",
    "BertForSequenceClassification": "BertForClassification",
    "BertForMaskedLM": "BertForPreTraining",
    "BertMaskedLM": "BertForPreTraining",
    "BertTokenizer": "Tokenizer",
    "BertTextClassifierPreprocessor": "BertPreprocessor",
}


def __getattr__(name: str):
    # An AttributeError would lose its words in `from modeling import ...`.
    if name in _OTHER_NAMES:
        raise ImportError(f"modeling has no {name}: it is {_OTHER_NAMES[name]} here")
    try:
        return _imported(name)
    except ModuleNotFoundError as error:
        if error.name != os.environ["KERAS_BACKEND"]:
            raise
        raise WrongEnvironment(
            f"KERAS_BACKEND={error.name}: {error.name} is not installed: "
            f"pip install {error.name}, or unset KERAS_BACKEND"
        ) from None
