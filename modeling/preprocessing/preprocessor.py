"""A Keras layer from strings to the ids that the encoder reads, for `tf.data` and within a model.

    preprocessor = BertPreprocessor("vocab.txt", max_seq_length=64)
    preprocessor(["no it is not ."])                         # single texts
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
from data_gen.tokenization.settings import AddedToken
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, pack
from modeling.saving import needs_tensorflow, register

# File among the assets of a `.keras` file. JSON keeps every token as it is, also one with white
# space around it.
_VOCABULARY_FILE = "vocabulary.json"
# Fingerprint → vocabulary of the existing layers, so that Keras can clone a layer.
_VOCABULARIES: weakref.WeakValueDictionary[str, Vocabulary] = weakref.WeakValueDictionary()


@register
class BertPreprocessor(keras.layers.Layer):
    """Tokenizes texts or pairs and packs them: [CLS] a [SEP], or [CLS] a [SEP] b [SEP].

    `Tokenizer` and the fine-tuning scripts give the same ids. The vocabulary is saved in a `.keras`
    file, which needs no `vocab.txt`. Under other backends than TensorFlow it works in a
    `tf.data` pipeline, or on strings, and gives tensors of TensorFlow; not within a model.

    Args:
      vocabulary: a `Tokenizer`, a `Vocabulary`, the path of a `vocab.txt` or the tokens in the
        order of their ids; None until Keras loads a saved one.
      do_lower_case: lower-case and, unless the vocabulary's files say otherwise, strip accents;
        None for the setting of the `Tokenizer`, else true.
      max_seq_length: longer texts and pairs are truncated, of a pair always the longer text.
      pad_to_max_length: S is `max_seq_length` for every batch; else the length of the longest row.
      special_tokens: "[MASK]" and the like, written exactly so in a text, are those tokens.

    Raises:
      UserError: the vocabulary can't be read or lacks a special token, or `max_seq_length` leaves
        no room for a token.

    Examples:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world"]
        preprocessor = BertPreprocessor(tokens, max_seq_length=8)
        ids = preprocessor(["Hello world", "hello"])["input_ids"]
        ids.shape                                                         # (2, 4)
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
                f"max_seq_length is {max_seq_length}: it must be at least 3, for [CLS], a token "
                "and [SEP]"
            )
        if isinstance(vocabulary, Tokenizer):
            if do_lower_case is None:
                do_lower_case = vocabulary.do_lower_case
            vocabulary = vocabulary.vocabulary
        elif isinstance(vocabulary, str):
            vocabulary = Vocabulary.from_file(vocabulary)
        elif vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary(vocabulary)
        self.do_lower_case = do_lower_case is not False
        self.max_seq_length = max_seq_length
        self.pad_to_max_length = pad_to_max_length
        self.special_tokens = special_tokens
        # Settings of the vocabulary, which the configuration of a saved layer has.
        self._strip_accents: bool | None = None
        self._added_tokens: list[AddedToken] = []
        # Fingerprint of the vocabulary that the assets of a `.keras` file must have.
        self._saved_fingerprint: str | None = None
        self._set_vocabulary(vocabulary)
        # XLA does not support strings.
        self.supports_jit = False

    def _set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        # Untracked by Keras: a vocabulary is no variable, and is saved among the assets.
        self.vocabulary: Any = vocabulary
        self.tokenizer: Any = None
        if vocabulary is not None:
            self._strip_accents = vocabulary.strip_accents
            self._added_tokens = vocabulary.added_tokens
            self.tokenizer = GraphTokenizer(vocabulary, self.do_lower_case, self.special_tokens)
            _VOCABULARIES[vocabulary.fingerprint] = vocabulary

    @classmethod
    def from_checkpoint(cls, path: str, **kwargs) -> "BertPreprocessor":
        """Returns a layer with the vocabulary and the casing beside a checkpoint of any format.

        It lower-cases if the casing is unknown.

        Args:
          path: as for `BertEncoder.from_checkpoint`.
          kwargs: of the constructor.

        Raises:
          UserError: there is no checkpoint, or no vocabulary beside it, or not the one it was
            trained with.
        """
        from modeling.checkpoints.companion_files import check_vocabulary, known_casing
        from modeling.checkpoints.load import read_checkpoint

        checkpoint = read_checkpoint(path)
        if checkpoint.vocab_file is None:
            raise UserError(
                f"{path}: there is no vocab.txt beside the checkpoint: use BertPreprocessor with "
                "the path of one"
            )
        vocabulary = Vocabulary.from_file(checkpoint.vocab_file)
        # Another vocabulary of the same size would give wrong ids without any error.
        check_vocabulary(vocabulary, checkpoint)
        do_lower_case, _ = known_casing(None, checkpoint, vocabulary)
        kwargs.setdefault("do_lower_case", do_lower_case)
        return cls(vocabulary, **kwargs)

    def __call__(self, texts, *args, **kwargs):
        """Calls the layer; also on lists and arrays of Python strings."""
        if keras.backend.backend() == "tensorflow":
            return super().__call__(_as_tensors(texts), *args, **kwargs)
        # Other backends have no string tensors.
        if isinstance(texts, keras.KerasTensor):
            needs_tensorflow("BertPreprocessor within a model")
        return self.call(_as_tensors(texts))

    def call(self, texts) -> dict:
        """Tokenizes a batch.

        Args:
          texts: string [B] or [B, 1], UTF-8; for pairs a tuple or list of two such tensors. An
            empty second text counts as none.

        Returns:
          int32 "input_ids", "input_mask" (1 for tokens, 0 for padding) and "segment_ids", each [B,
          S].

        Raises:
          UserError: the layer was created from a configuration alone, without a vocabulary.
        """
        if self.vocabulary is None:
            raise UserError(
                "this BertPreprocessor has no vocabulary: load the model from its .keras file, "
                "which has it, or make the layer with one"
            )
        if not isinstance(texts, (list, tuple)):
            texts = [texts]
        ids = [self.tokenizer(tf.reshape(text, [-1])).ids for text in texts]
        # A list of one batch holds single texts.
        second = ids[1] if len(ids) > 1 else None
        return pack(
            ids[0], second, self.max_seq_length, self.vocabulary, width=self._fixed_length()
        )

    def _fixed_length(self) -> int | None:
        """Returns S if all batches have the same, else None."""
        return self.max_seq_length if self.pad_to_max_length else None

    def compute_output_spec(self, texts, *args, **kwargs) -> dict:
        """Returns shapes and types of `call`, needed before a saved vocabulary is loaded."""
        if isinstance(texts, (list, tuple)):
            texts = texts[0]
        # `call` itself can't be traced without a vocabulary.
        shape = (texts.shape[0], self._fixed_length())
        spec = {}
        for name in ("input_ids", "input_mask", "segment_ids"):
            spec[name] = keras.KerasTensor(shape, "int32")
        return spec

    def get_config(self) -> dict:
        """Returns the constructor's arguments, with a fingerprint in place of the vocabulary.

        Keras saves the tokens among the assets.
        """
        return {
            **super().get_config(),
            "vocab_sha256": None if self.vocabulary is None else self.vocabulary.fingerprint,
            **self._tokenizer_settings(),
            "do_lower_case": self.do_lower_case,
            "max_seq_length": self.max_seq_length,
            "pad_to_max_length": self.pad_to_max_length,
            "special_tokens": self.special_tokens,
        }

    def _tokenizer_settings(self) -> dict:
        """Returns the vocabulary's settings that differ from the usual ones, for `get_config`."""
        settings: dict[str, Any] = {}
        if self._strip_accents is not None:
            settings["strip_accents"] = self._strip_accents
        if self._added_tokens:
            settings["added_tokens"] = [token._asdict() for token in self._added_tokens]
        return settings

    @classmethod
    def from_config(cls, config: dict) -> "BertPreprocessor":
        """Returns a layer from the result of `get_config`, with the vocabulary of that fingerprint
        if a layer of this process has it, for clones.

        Files of earlier versions have the tokens in the configuration.

        Raises:
          UserError: the vocabulary is not a list of tokens. A path is refused: the author of a file
            must not decide which files are read.
        """
        config = dict(config)
        tokens = config.pop("vocabulary", None)
        fingerprint = config.pop("vocab_sha256", None)
        if tokens is not None:
            tokens = _checked_tokens(tokens, "the configuration of a BertPreprocessor")
            return cls(Vocabulary(tokens), **config)
        strip_accents = config.pop("strip_accents", None)
        added_tokens = [AddedToken(**token) for token in config.pop("added_tokens", ())]
        known = _VOCABULARIES.get(fingerprint)
        if known is None:
            vocabulary = None
        else:
            vocabulary = Vocabulary(known.tokens, None, strip_accents, added_tokens)
        layer = cls(vocabulary, **config)
        layer._strip_accents = strip_accents
        layer._added_tokens = added_tokens
        # Keras loads the assets after the constructor: `load_assets` compares the fingerprints.
        layer._saved_fingerprint = fingerprint
        return layer

    def save_assets(self, directory: str) -> None:
        """Writes the vocabulary into a `.keras` file; called by Keras."""
        if self.vocabulary is not None:
            json_files.write(os.path.join(directory, _VOCABULARY_FILE), self.vocabulary.tokens)

    def load_assets(self, directory: str) -> None:
        """Reads the vocabulary of a `.keras` file; called by Keras.

        Raises:
          UserError: it is damaged, or not the vocabulary of the configuration.
        """
        path = os.path.join(directory, _VOCABULARY_FILE)
        # Files of earlier versions have no such asset.
        if not files.exists(path):
            return
        vocabulary = Vocabulary(
            _checked_tokens(json_files.read(path), path),
            strip_accents=self._strip_accents,
            added_tokens=self._added_tokens,
        )
        if self._saved_fingerprint not in (None, vocabulary.fingerprint):
            raise UserError(
                f"{_VOCABULARY_FILE} in the file is not the vocabulary that the model was saved "
                "with: every id would mean another word"
            )
        self._set_vocabulary(vocabulary)


def _checked_tokens(tokens: object, where: str) -> list[str]:
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise UserError(
            f"{where}: the tokens of the vocabulary are expected, as a list; the path of a file is "
            "not read"
        )
    return tokens


def _as_tensors(texts):
    """Converts Python strings to tensors.

    A list or tuple of strings is a batch; one of anything else is a pair of batches.
    """
    # Keras' own conversion has no strings on other backends.
    if isinstance(texts, np.ndarray):
        return tf.constant(texts)
    if not isinstance(texts, (list, tuple)):
        return texts
    if all(isinstance(text, (str, bytes)) for text in texts):
        return tf.constant(texts, tf.string)
    if len(texts) != 2:
        raise UserError(
            "texts are a batch of strings, or a pair of two batches; this is a list of "
            f"{len(texts)}"
        )
    return [_as_tensors(text) for text in texts]
