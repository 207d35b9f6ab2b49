"""Serialization of layers and models for Keras, and the checkpoints of every format as methods of
them.

`.keras` files hold the constructor's arguments and the weights; checkpoints are those of
`modeling/checkpoints/`.
"""

import dataclasses
import os
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import keras

from bert_common.errors import UserError
from modeling.config import BertConfig, with_label_names

register = keras.saving.register_keras_serializable(package="bert")
# Name of a loss → "kind" of a task in `task.json`, where they differ.
_KINDS = {"multi_label": "multi_label_classification", "span": "question_answering"}


def needs_tensorflow(what: str) -> None:
    """Raises `UserError` where Keras runs on another backend, on which `what` does not work."""
    if (backend := keras.backend.backend()) != "tensorflow":
        raise UserError(
            f"{what} needs Keras' TensorFlow backend, found {backend!r}: unset KERAS_BACKEND"
        )


class WithArguments:
    """Serialization of what has the arguments of its constructor, which a subclass names, as
    attributes."""

    _arguments: tuple[str, ...]

    def get_config(self) -> dict:
        """The arguments of the constructor."""
        layer: Any = super()
        return {**layer.get_config(), **{name: getattr(self, name) for name in self._arguments}}


class Configured(WithArguments):
    """Serialization of the layers and models that are made of a `BertConfig`, besides
    `_arguments`."""

    config: BertConfig
    _arguments: tuple[str, ...] = ("seed",)

    def get_config(self) -> dict:
        """The same, with the `BertConfig` as a plain dict."""
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """The inverse of `get_config`."""
        make: Any = cls
        return make(**{**config, "config": BertConfig.from_dict(config["config"])})


class Checkpointed(Configured):
    """`from_checkpoint` and `save_checkpoint` of the encoder and of the models."""

    # Found beside the weights, for `save_checkpoint`: vocabulary, casing, and what the head is for
    # (`task.json`).
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    task: Mapping[str, Any] = types.MappingProxyType({})

    @property
    def causal(self) -> bool:
        """Whether the model attends to the left only."""
        return self.config.causal

    @classmethod
    def from_checkpoint(
        cls, path: str | os.PathLike[str], *, bert_config_file: str | None = None, **kwargs
    ) -> Self:
        """A model with the weights of a checkpoint of any format, its head included where the
        checkpoint has it.

        A head that is not in the checkpoint, or has another number of classes than asked for, is
        newly initialised, and a warning of one line says so; the same for a pooler that Hugging
        Face's models without one lack.

        Args:
          path: a run directory or checkpoint of ours, or a checkpoint of the original, of the Model
            Garden or of Hugging Face (safetensors), or released weights by name,
            "hf:google-bert/bert-base-uncased" or "google:uncased_L-12_H-768_A-12"; see
            `modeling.checkpoints.load.read_checkpoint`.
          bert_config_file: the configuration; None where it is found beside the checkpoint.
          kwargs: of the constructor, such as `seed` and `dtype`. `classes` may be left out where
            the checkpoint has the head.

        Raises:
          UserError: nothing can be read there, the configuration is missing or does not fit, a
            weight of the encoder is missing, or the number of classes is unknown.
        """
        from modeling.checkpoints.companion_files import read_task
        from modeling.checkpoints.load import config_for, load_weights, read_checkpoint
        from modeling.checkpoints.weights import original_names

        checkpoint = read_checkpoint(path)
        config = config_for(checkpoint, bert_config_file)
        if config is None:
            raise UserError(
                f"{path}: there is no bert_config.json beside the checkpoint: give bert_config_file"
            )
        if "classes" in cls._arguments and kwargs.get("classes") is None:
            kwargs["classes"] = next(map(checkpoint.classes, getattr(cls, "_heads", ())), None)
            if kwargs["classes"] is None:
                raise UserError(
                    f"{checkpoint.description} has no head for this task: give classes, the number of classes, for "
                    "a newly initialised one"
                )
        make: Any = cls
        model = make(config, **kwargs)
        shapes = {name: tuple(variable.shape) for name, variable in original_names(model).items()}
        usable = {
            name: shape
            for name, shape in checkpoint.tensors.items()
            if name.startswith("bert/") or tuple(shape) == shapes.get(name, tuple(shape))
        }
        missing = load_weights(
            model, dataclasses.replace(checkpoint, tensors=usable)
        ).newly_initialised
        if missing:
            warnings.warn(
                f"newly initialised, not in {checkpoint.description}: {', '.join(missing)}",
                stacklevel=2,
            )
        model.vocab_file, model.do_lower_case = checkpoint.vocab_file, checkpoint.do_lower_case
        if not missing and [*getattr(model, "heads", ())] == checkpoint.heads:
            model.task = read_task(checkpoint) or {}
        return model

    def save_checkpoint(
        self,
        directory: str,
        format: str = "native",
        *,
        vocab_file: str | None = None,
        do_lower_case: bool | None = None,
        labels: Sequence[str] | None = None,
        max_seq_length: int | None = None,
    ) -> None:
        """Writes the weights, with configuration and vocabulary beside them, for other programs;
        LoRA updates are merged.

        Args:
          directory: must not exist; it appears when it is complete.
          format: "native" (what the run scripts' --init_checkpoint takes), "original",
            "huggingface", "model_garden" or "sentence_transformers".
          vocab_file, do_lower_case: None for those of the checkpoint that the model came from, if
            it did.
          labels, max_seq_length: names of the head's classes, and the most tokens of the texts that
            it was trained on, for predictions and exports; None for those of the checkpoint whose
            head the model has.

        Raises:
          UserError: an unknown format, the directory exists or can't be written, or there are not
            as many labels as classes.
        """
        from bert_common import files, json_files
        from modeling.checkpoints.companion_files import TASK_FILE
        from modeling.checkpoints.convert import FORMATS, write_checkpoint
        from modeling.checkpoints.weights import weight_values

        if format not in FORMATS:
            raise UserError(
                f"format={format!r} is unknown: use one of {', '.join(sorted(FORMATS))}"
            )
        if files.exists(directory):
            raise UserError(
                f"{directory} exists: name a directory that does not, the checkpoint becomes one"
            )
        config, given = (
            self.config,
            {"labels": labels and [*labels], "max_seq_length": max_seq_length},
        )
        task = {**self.task, **{name: value for name, value in given.items() if value is not None}}
        if labels is not None:
            classes = getattr(self, "classes", 0) if "classes" in self._arguments else 0
            if len({*labels}) != classes:
                raise UserError(
                    f"labels are {len({*labels})} different names, the model has {classes} classes"
                )
            config = with_label_names(config, labels, config.extra.get("problem_type"))
        if max_seq_length is not None:
            config.check_sequence_length(max_seq_length, "max_seq_length")
        with files.new_directory(directory, "directory") as temporary:
            write_checkpoint(
                format,
                temporary,
                weight_values(self),
                config,
                vocab_file or self.vocab_file,
                self.do_lower_case if do_lower_case is None else do_lower_case,
            )
            if task:
                kinds = [
                    _KINDS.get(loss.name, loss.name) for loss in getattr(self, "head_losses", ())
                ]
                json_files.write(
                    os.path.join(temporary, TASK_FILE), ({"kind": kinds[0]} if kinds else {}) | task
                )
