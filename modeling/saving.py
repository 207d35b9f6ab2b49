"""Serialization of layers and models for Keras; checkpoints of every format as their methods.

`.keras` files hold the constructor's arguments and the weights; checkpoints have the format of
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
# Ways of KerasHub and of Hugging Face's library to load a model; with Keras' way to quantize one,
# the names that only raise an error.
_PRESETS = ("from_preset", "from_pretrained")
_RAISING = (*_PRESETS, "quantize")
# Name of a loss → "kind" of a task in `task.json`, where they differ.
_KINDS = {"multi_label": "multi_label_classification", "span": "question_answering"}


def needs_tensorflow(feature: str) -> None:
    """Raises `UserError` if Keras runs on another backend, on which a feature does not work."""
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise UserError(
            f"{feature} needs Keras' TensorFlow backend, found {backend!r}: unset KERAS_BACKEND"
        )


def check_config(model_class: type, config: object) -> None:
    """Raises `UserError` unless a constructor's first argument is a `BertConfig`."""
    if isinstance(config, BertConfig):
        return
    name = model_class.__name__
    raise UserError(
        f"{name}(config): a BertConfig is expected, found {type(config).__name__}: "
        f"{name}.from_checkpoint(path) reads configuration and weights, "
        "BertConfig.from_file(path) a configuration"
    )


class WithArguments:
    """Serialization of Keras objects by the arguments of their constructor.

    A subclass names the arguments; it has an attribute of each name.
    """

    _arguments: tuple[str, ...]

    def get_config(self) -> dict:
        """Returns the arguments of the constructor."""
        layer: Any = super()
        config = layer.get_config()
        for name in self._arguments:
            config[name] = getattr(self, name)
        return config


# Attribute of variables that stay frozen, as LoRA trains in their place.
KEPT_BY_LORA = "kept_by_lora"


class Configured(WithArguments):
    """Serialization of layers and models with a `BertConfig`, in addition to `_arguments`."""

    config: BertConfig
    _arguments: tuple[str, ...] = ("seed",)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "trainable":
            super().__setattr__(name, value)
            return
        # On TensorFlow Keras does nothing for the value that there is, even if parts differ.
        whole: Any = self
        for layer in whole._flatten_layers():
            object.__setattr__(layer, name, value)
        for variable in whole.weights:
            if hasattr(variable, KEPT_BY_LORA):
                variable.trainable = False

    def get_config(self) -> dict:
        """Returns the arguments of the constructor, with the `BertConfig` as a plain dict."""
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config: dict) -> Self:
        """Returns a layer or model from the result of `get_config`."""
        make: Any = cls
        return make(**{**config, "config": BertConfig.from_dict(config["config"])})


class Checkpointed(Configured):
    """`from_checkpoint` and `save_checkpoint` of the encoder and of the models."""

    # Companion files of the checkpoint that the model was read from, for `save_checkpoint`:
    # vocabulary, casing, and the task of the head (`task.json`).
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    task: Mapping[str, Any] = types.MappingProxyType({})

    def __init__(self, **kwargs):
        default = keras.config.dtype_policy().name
        # Keras' default follows `floatx` of the user's keras.json, which is for other models.
        if kwargs.get("dtype") is None and default == keras.config.floatx():
            kwargs["dtype"] = "float32"
        super().__init__(**kwargs)

    @property
    def causal(self) -> bool:
        """Whether every position attends to the left only."""
        return self.config.causal

    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        *,
        bert_config_file: str | None = None,
        seed: int = 0,
        dtype: Any = None,
        **kwargs,
    ) -> Self:
        """Returns a model with the weights of a checkpoint of any format, its head included.

        A head that is not in the checkpoint, or has another number of classes than asked for, is
        newly initialized, and a warning of one line says so; the same for a pooler that the model
        reads, which some of Hugging Face's models lack.

        Args:
          path: a run directory or checkpoint of ours, or a checkpoint of the original, of the Model
            Garden or of Hugging Face (safetensors), or released weights by name,
            "hf:google-bert/bert-base-uncased" or "google:uncased_L-12_H-768_A-12"; see
            `modeling.checkpoints.load.read_checkpoint`.
          bert_config_file: the configuration; None for the one beside the checkpoint.
          seed: of new weights and of Keras' dropout.
          dtype: Keras dtype or policy.
          kwargs: further arguments of the constructor. `classes` may be omitted if the checkpoint
            has the head.

        Raises:
          UserError: nothing can be read there, the configuration is missing or does not fit, a
            weight of the encoder is missing, or the number of classes is unknown.
        """
        return cls._from_checkpoint(path, bert_config_file, seed, dtype, kwargs)

    @classmethod
    def _from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        bert_config_file: str | None,
        seed: int,
        dtype: Any,
        kwargs: dict[str, Any],
    ) -> Self:
        """Does the work of `from_checkpoint`, whose caller the warning is for."""
        # Imported here: layers and models do without the code of the checkpoint formats.
        from modeling.checkpoints.companion_files import read_task
        from modeling.checkpoints.load import config_for, load_weights, read_checkpoint
        from modeling.checkpoints.weights import original_names, unread_pooler

        checkpoint = read_checkpoint(path)
        config = config_for(checkpoint, bert_config_file)
        # Sizes can't be derived from the weights alone: the number of heads is not among them.
        if config is None:
            raise UserError(
                f"{path}: there is no bert_config.json beside the checkpoint: give bert_config_file"
            )
        if "classes" in cls._arguments and kwargs.get("classes") is None:
            kwargs["classes"] = _stored_classes(checkpoint, getattr(cls, "_heads", {}))
        make: Any = cls
        model = make(config, seed=seed, dtype=dtype, **kwargs)
        variables = original_names(model)
        usable = {}
        for name, shape in checkpoint.tensors.items():
            # A head with another number of classes is left out; a wrong encoder is an error.
            fits = name not in variables or tuple(shape) == tuple(variables[name].shape)
            if fits or name.startswith("bert/"):
                usable[name] = shape
        report = load_weights(model, dataclasses.replace(checkpoint, tensors=usable))
        unread = unread_pooler(model)
        missing = [name for name in report.newly_initialized if name not in unread]
        # A warning, not an error: a new head is the normal case before fine-tuning.
        if missing:
            warnings.warn(
                f"newly initialized, not in {checkpoint.description}: {', '.join(missing)}",
                stacklevel=3,
            )
        model.vocab_file = checkpoint.vocab_file
        model.do_lower_case = checkpoint.do_lower_case
        # The task belongs to the checkpoint's head.
        if not missing and list(getattr(model, "heads", ())) == checkpoint.heads:
            model.task = read_task(checkpoint) or {}
        return model

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _RAISING]

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
        """Writes the weights, configuration and vocabulary for other programs; merges LoRA updates.

        Args:
          directory: must not exist; it appears when it is complete.
          format: "native" (for --init_checkpoint of the run scripts), "original", "huggingface",
            "model_garden" or "sentence_transformers".
          vocab_file, do_lower_case: None for the checkpoint's that the model was read from.
          labels, max_seq_length: names of the head's classes, and the maximum number of tokens of
            the texts that it was trained on, for predictions and exports; None for the values of
            the checkpoint whose head the model has.

        Raises:
          UserError: an unknown format, the directory exists or can't be written, or there are not
            as many labels as classes.
        """
        from bert_common import files, json_files
        from modeling.checkpoints.companion_files import TASK_FILE
        from modeling.checkpoints.convert import FORMATS, write_checkpoint
        from modeling.checkpoints.weights import weight_values

        if format not in FORMATS:
            formats = ", ".join(sorted(FORMATS))
            raise UserError(f"format={format!r} is unknown: use one of {formats}")
        if files.exists(directory):
            raise UserError(
                f"{directory} exists: name a directory that does not, the checkpoint becomes one"
            )
        config = self.config
        task = dict(self.task)
        if labels is not None:
            classes = getattr(self, "classes", 0) if "classes" in self._arguments else 0
            num_labels = len(set(labels))
            if num_labels != classes:
                raise UserError(
                    f"labels are {num_labels} different names, the model has {classes} classes"
                )
            # Hugging Face's programs read the names from the configuration, ours from `task.json`.
            config = with_label_names(config, labels, config.extra.get("problem_type"))
            task["labels"] = list(labels)
        if max_seq_length is not None:
            config.check_sequence_length(max_seq_length, "max_seq_length")
            task["max_seq_length"] = max_seq_length
        # False is a setting, too, so `or` would not do.
        if do_lower_case is None:
            do_lower_case = self.do_lower_case
        # A killed process leaves no half-written checkpoint: the directory appears when complete.
        with files.new_directory(directory, "directory") as temporary:
            write_checkpoint(
                format,
                temporary,
                weight_values(self),
                config,
                vocab_file or self.vocab_file,
                do_lower_case,
            )
            if task:
                losses = getattr(self, "head_losses", ())
                if losses:
                    kind = _KINDS.get(losses[0].name, losses[0].name)
                    task = {"kind": kind, **task}
                json_files.write(os.path.join(temporary, TASK_FILE), task)


def _refuse_preset(cls, *args, **kwargs):
    """Raises `UserError`: other libraries' way to load a model is `from_checkpoint` here."""
    raise UserError(
        f"there are no presets: {cls.__name__}.from_checkpoint takes a path, "
        '"google:uncased_L-12_H-768_A-12" or "hf:OWNER/NAME"'
    )


# Set here, so that editors do not offer names that only raise an error.
for _name in _PRESETS:
    setattr(Checkpointed, _name, classmethod(_refuse_preset))


def _stored_classes(checkpoint, heads: Mapping[str, str]) -> int:
    """Returns the number of classes of the checkpoint's head for one of the model's heads.

    Raises:
      UserError: the checkpoint has no such head.
    """
    for head in heads:
        classes = checkpoint.classes(head)
        if classes is not None:
            return classes
    raise UserError(
        f"{checkpoint.description} has no head for this task: give classes, the number of "
        "classes, for a newly initialized one"
    )
