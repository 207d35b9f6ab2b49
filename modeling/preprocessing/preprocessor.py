"""A Keras layer from strings to the ids that the encoder reads, for `tf.data` and for the inside of
a model.

    preprocessor = BertPreprocessor("vocab.txt", max_seq_length=64)
    preprocessor(["no it is not ."])                       # one text each
    preprocessor((["is this right ?"], ["no it is not ."]))  # pairs

Input: strings [B]; output: "input_ids", "input_mask" and "segment_ids", int32 [B, S].
"""

import os
import weakref
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, pack
from modeling.saving import needs_tensorflow, register

# Among the assets of a `.keras` file. JSON keeps every token as it is, also one with white space
# around it.
_VOCABULARY_FILE = "vocabulary.json"
# Fingerprint → vocabulary of the layers there are.
_VOCABULARIES: weakref.WeakValueDictionary[str, Vocabulary] = weakref.WeakValueDictionary()


@register
class BertPreprocessor(keras.layers.Layer):
    """Tokenizes texts or pairs and packs them: [CLS] a [SEP], or [CLS] a [SEP] b [SEP].

    The ids are those of `Tokenizer` and of the fine-tuning scripts. The vocabulary is saved in a
    `.keras` file, which needs no `vocab.txt`. Under other backends than TensorFlow it works in a
    `tf.data` pipeline, or on strings, and gives tensors of TensorFlow; not within a model.

    Args:
      vocabulary: a `Tokenizer`, a `Vocabulary`, the path of a `vocab.txt` or the tokens in the
        order of their ids; None until Keras loads a saved one.
      do_lower_case: lower-case and strip accents; None for what the `Tokenizer` does, else true.
      max_seq_length: longer texts and pairs are truncated, of a pair always the longer text.
      pad_to_max_length: S is `max_seq_length` for every batch; else the length of the longest row.
      special_tokens: "[MASK]" and the like in a text, written exactly so, are those tokens.

    Raises:
      UserError: the vocabulary can't be read or lacks a special token, or there is no room for a
        token.

    Examples:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world"]
        preprocessor = BertPreprocessor(tokens, max_seq_length=8)
        preprocessor(["Hello world", "hello"])["input_ids"]               # [[2, 5, 6, 3], [2, 5, 3,
        0]], padded to 8
    """

    def __init__(
        self,
        vocabulary,
        do_lower_case: bool | None = None,
        *,
        max_seq_length: int = 128,
        pad_to_max_length: bool = False,
        special_tokens: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if max_seq_length < 3:
            raise UserError(
                f"max_seq_length is {max_seq_length}: it must be at least 3, for [CLS], a token and [SEP]"
            )
        if isinstance(vocabulary, Tokenizer):
            do_lower_case = vocabulary.do_lower_case if do_lower_case is None else do_lower_case
            vocabulary = vocabulary.vocabulary
        elif isinstance(vocabulary, str):
            vocabulary = Vocabulary.from_file(vocabulary)
        elif vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary(vocabulary)
        self.do_lower_case = do_lower_case is not False
        self.max_seq_length = max_seq_length
        self.pad_to_max_length = pad_to_max_length
        self.special_tokens = special_tokens
        # Of the vocabulary that a file's assets must have.
        self._saved_fingerprint: str | None = None
        self._set_vocabulary(vocabulary)
        # XLA knows no strings.
        self.supports_jit = False

    def _set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        self.vocabulary: Any = vocabulary
        self.tokenizer: Any = None
        if vocabulary is not None:
            self.tokenizer = GraphTokenizer(vocabulary, self.do_lower_case, self.special_tokens)
            _VOCABULARIES[vocabulary.fingerprint] = vocabulary

    @classmethod
    def from_checkpoint(cls, path: str, **kwargs) -> "BertPreprocessor":
        """With the vocabulary and the casing beside a checkpoint of any format; lower-cased where
        it is unknown.

        Args:
          path: as for `BertEncoder.from_checkpoint`.
          kwargs: of the constructor.

        Raises:
          UserError: there is no checkpoint, no vocabulary beside it, or another one than it was
            trained with.
        """
        from modeling.checkpoints.companion_files import check_vocabulary
        from modeling.checkpoints.load import read_checkpoint

        checkpoint = read_checkpoint(path)
        if checkpoint.vocab_file is None:
            raise UserError(
                f"{path}: there is no vocab.txt beside the checkpoint: use BertPreprocessor with the path of one"
            )
        vocabulary = Vocabulary.from_file(checkpoint.vocab_file)
        check_vocabulary(vocabulary, checkpoint)
        return cls(vocabulary, **{"do_lower_case": checkpoint.do_lower_case, **kwargs})

    def __call__(self, texts, *args, **kwargs):
        """As `call`, also for lists and arrays of Python strings."""
        if keras.backend.backend() != "tensorflow":
            if isinstance(texts, keras.KerasTensor):
                needs_tensorflow("BertPreprocessor within a model")
            return self.call(_as_tensors(texts))
        return super().__call__(_as_tensors(texts), *args, **kwargs)

    def call(self, texts) -> dict:
        """Strings → ids.

        Args:
          texts: string [B] or [B, 1], UTF-8; for pairs a tuple or list of two such tensors. An
            empty second text counts as none.

        Returns:
          int32 "input_ids", "input_mask" (1 for tokens, 0 for padding) and "segment_ids", each [B,
          S].

        Raises:
          UserError: the layer was made from a configuration alone, and there is no vocabulary.
        """
        if self.vocabulary is None:
            raise UserError(
                "this BertPreprocessor has no vocabulary: load the model from its .keras file, which has it, or "
                "make the layer with one"
            )
        pair = texts if isinstance(texts, (list, tuple)) else [texts]
        ids = [self.tokenizer(tf.reshape(text, [-1])).ids for text in pair]
        return pack(
            ids[0],
            ids[1] if len(ids) > 1 else None,
            self.max_seq_length,
            self.vocabulary,
            width=self.max_seq_length if self.pad_to_max_length else None,
        )

    def compute_output_spec(self, texts, *args, **kwargs) -> dict:
        """Shapes and types of `call`, which a saved model needs before its vocabulary is loaded."""
        first = texts[0] if isinstance(texts, (list, tuple)) else texts
        shape = (first.shape[0], self.max_seq_length if self.pad_to_max_length else None)
        return {
            name: keras.KerasTensor(shape, "int32")
            for name in ("input_ids", "input_mask", "segment_ids")
        }

    def get_config(self) -> dict:
        """The arguments of the constructor, of the vocabulary its fingerprint only; Keras saves the
        tokens beside it."""
        fingerprint = None if self.vocabulary is None else self.vocabulary.fingerprint
        return {
            **super().get_config(),
            "vocab_sha256": fingerprint,
            "do_lower_case": self.do_lower_case,
            "max_seq_length": self.max_seq_length,
            "pad_to_max_length": self.pad_to_max_length,
            "special_tokens": self.special_tokens,
        }

    @classmethod
    def from_config(cls, config: dict) -> "BertPreprocessor":
        """The inverse of `get_config`, with the vocabulary of that fingerprint where this process
        has it, for clones.

        Files of earlier versions have the tokens in the configuration.

        Raises:
          UserError: the vocabulary is something else than tokens: whoever made a file does not
            choose what it reads.
        """
        config = dict(config)
        tokens, fingerprint = config.pop("vocabulary", None), config.pop("vocab_sha256", None)
        if tokens is None:
            layer = cls(_VOCABULARIES.get(fingerprint), **config)
            layer._saved_fingerprint = fingerprint
            return layer
        return cls(
            Vocabulary(_checked_tokens(tokens, "the configuration of a BertPreprocessor")), **config
        )

    def save_assets(self, directory: str) -> None:
        """Called by Keras for a `.keras` file."""
        if self.vocabulary is not None:
            json_files.write(os.path.join(directory, _VOCABULARY_FILE), self.vocabulary.tokens)

    def load_assets(self, directory: str) -> None:
        """Called by Keras for a `.keras` file; those of earlier versions have nothing there.

        Raises:
          UserError: it is damaged, or another vocabulary than that of the configuration.
        """
        path = os.path.join(directory, _VOCABULARY_FILE)
        if not files.exists(path):
            return
        vocabulary = Vocabulary(_checked_tokens(json_files.read(path), path))
        if self._saved_fingerprint not in (None, vocabulary.fingerprint):
            raise UserError(
                f"{_VOCABULARY_FILE} in the file is not the vocabulary that the model was saved with: every id "
                "would mean another word"
            )
        self._set_vocabulary(vocabulary)


def _checked_tokens(tokens: object, where: str) -> list[str]:
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise UserError(
            f"{where}: the tokens of the vocabulary are expected, as a list; the path of a file is not read"
        )
    return tokens


def _as_tensors(texts):
    """Strings in Python as tensors: a list of strings is a batch, a tuple or list of anything else
    a pair."""
    if isinstance(texts, (list, tuple)):
        if not all(isinstance(text, (str, bytes)) for text in texts):
            if len(texts) != 2:
                raise UserError(
                    f"texts are a batch of strings, or a pair of two batches; this is a list of {len(texts)}"
                )
            return [_as_tensors(text) for text in texts]
        return tf.constant(texts, tf.string)
    return tf.constant(texts) if isinstance(texts, np.ndarray) else texts
