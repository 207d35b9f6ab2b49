"""Opening a checkpoint of any format with all that belongs to it, and loading its weights into a
model.

read_checkpoint(path)               → StoredWeights: weights by name, and what lies beside them
open_checkpoint(path, ...)          → Checkpoint: configuration, tokenizer and task too, all checked
load_weights(model, checkpoint)     → LoadReport
"""

import dataclasses
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.plugins import Plugins
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    BEST_RECORD,
    CONFIG_FILE,
    VOCAB_FILE,
    SentenceVectors,
    StoredWeights,
    check_vocabulary,
    chosen_casing,
    encoder_directory,
    read_best_record,
    read_task,
    vectors_of,
    with_companion_files,
)
from modeling.checkpoints.tensorflow_files import (
    CHECKPOINT_NAME,
    Bundle,
    find_prefix,
    latest_checkpoint,
)
from modeling.checkpoints.weights import (
    BILSTM,
    ENCODER_PREFIX,
    FEATURE_TAGGER_PREFIX,
    HEADS,
    POOLER,
    check_fits,
    missing_from_encoder,
    original_names,
    show_shape,
    some,
)
from modeling.config import BertConfig

if TYPE_CHECKING:
    from data_gen.tokenization.tokenizer import Tokenizer

# Formats in TensorFlow's checkpoint files: Bundle → `StoredWeights`, or None where it is another
# one.
BUNDLE_FORMATS = Plugins(
    "checkpoint format",
    {
        "native": "modeling.checkpoints.tensorflow_files:read_native",
        "original": "modeling.checkpoints.tensorflow_files:read_original",
        "model_garden": "modeling.checkpoints.model_garden:read_model_garden",
    },
)
# Formats in files of their own: path → `StoredWeights`; the names of their files tell them apart.
FILE_FORMATS = Plugins(
    "checkpoint format",
    {
        "huggingface": "modeling.checkpoints.huggingface:read_huggingface",
        "keras_hub": "bert_tf.extras.keras_hub:read_keras_hub",
    },
)
# What lies beside weights and belongs to them.
_COMPANION = re.compile(
    r"(bert_|sentence_bert_|tokenizer_)?config\.json|vocab\.txt|(tokenizer|task|modules)\.json"
)
# What the names of their files end with; of several files of weights and their index the index
# counts.
_SAFETENSORS, _INDEX, _KERAS_HUB, _H5 = (
    ".safetensors",
    ".safetensors.index.json",
    ".weights.h5",
    ".h5",
)
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """Weights by the names of the original: of the model those that were loaded, and those that the
    checkpoint does not have, which keep their initial values; of the checkpoint the unused, which
    the model does not have."""

    description: str
    loaded: list[str]
    newly_initialised: list[str]
    unused: list[str]

    def describe(self) -> str:
        """The report as a user reads it, a line for each kind."""
        lines = [f"loaded {len(self.loaded)} tensors from {self.description}"]
        if self.newly_initialised:
            lines.append(
                f"newly initialised, not in the checkpoint: {', '.join(_whole_heads(self.newly_initialised))}"
            )
        if self.unused:
            lines.append(f"unused, not in this model: {', '.join(_whole_heads(self.unused))}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint with its configuration, tokenizer and task, before a model is built.

    Attributes:
      config: of the model.
      tokenizer: with the vocabulary and the casing that belong to it.
      source: the weights; None where the model starts from random ones.
      task: what a fine-tuned model is for (`task.json`); None for others.
      notes: what the user should know about the vocabulary, line by line.
      vectors: pooling of a text's tokens, where the checkpoint has one, see `vectors_of`.
    """

    config: BertConfig
    tokenizer: "Tokenizer"
    source: StoredWeights | None
    task: dict | None
    notes: tuple[str, ...] = ()
    vectors: SentenceVectors | None = None

    @property
    def vocab_file(self) -> str | None:
        return self.tokenizer.vocabulary.path

    @property
    def heads(self) -> list[str]:
        """The heads that the checkpoint has weights of, by the keys of `model.heads`."""
        return self.source.heads if self.source else []


def read_checkpoint(path: str | os.PathLike[str]) -> StoredWeights:
    """Looks into a checkpoint.

    Args:
      path: a directory of ours (of a fine-tuning run its best weights are taken), one of its
        `ckpt-N` prefixes; an original checkpoint: its prefix (`bert_model.ckpt`), one of its files,
        or the directory it is in; the same of a Model Garden checkpoint; a Hugging Face directory,
        its `.safetensors` file or the index of several, or the `.h5` file of its TensorFlow
        classes; a directory of sentence-transformers; a preset directory of KerasHub, or its
        `.weights.h5`. Configuration, vocabulary and casing are looked for beside it. On any file
        system. Or released weights by name, which are downloaded once:
        `google:uncased_L-12_H-768_A-12`, `hf:google-bert/bert-base-uncased`, see
          `named_weights.py`.

    Raises:
      UserError: none or several are there, one is damaged or of an unknown format, or its
        configuration contradicts it.
    """
    from modeling.checkpoints.named_weights import local_path, no_checkpoint

    with files.user_error(f"can't read {path}"):
        path = local_path(os.fspath(path))
        # Of a run, or of its best weights, that in the record: a run that was killed may have left
        # others beside it.
        for directory in (os.path.join(path, BEST_DIRECTORY), path):
            if files.exists(record_file := os.path.join(directory, BEST_RECORD)):
                step = json_files.read_object(record_file, {"step": int | None}).get("step")
                best = os.path.join(directory, f"{CHECKPOINT_NAME}-{step}")
                path = best if files.exists(f"{best}.index") else directory
                break
        path = encoder_directory(path)
        prefix, found = find_prefix(path), _files_of_weights(path)
        candidates = (
            [*found[_SAFETENSORS], *([] if prefix is None else [prefix])]
            or found[_KERAS_HUB]
            or found[_H5]
        )
        if len(candidates) > 1:
            raise UserError(
                f"{path} holds several checkpoints ({', '.join(map(os.path.basename, candidates))}): name the "
                f"one that is meant, e.g. {candidates[0]}"
            )
        if not candidates:
            if not files.exists(path):
                raise no_checkpoint(path)
            there = (
                files.list_directory(path) if files.is_directory(path) else [os.path.basename(path)]
            )
            if pickle := next((name for name in there if name.endswith(_PICKLES)), None):
                raise UserError(
                    f"{path}: {pickle} is a pickle, which can run code when it is opened: it is not read. Where "
                    "you trust it, save it as safetensors: transformers' AutoModelForPreTraining.from_pretrained("
                    "DIR).save_pretrained(NEW_DIR)"
                )
            raise UserError(
                f"{path} holds no checkpoint: a directory with an .index, .safetensors or .h5 file, or the path "
                "of one, is expected"
            )
        (file,) = candidates
        # Only the first of its readers would get what is in it.
        if not files.is_remote(file) and (
            special := next(filter(files.is_special, files_of(file)), None)
        ):
            raise UserError(f"{special} is a pipe or a device: a file is expected")
        if file in found[_KERAS_HUB]:
            return dataclasses.replace(FILE_FORMATS.load("keras_hub")(file), path=file)
        if file != prefix:
            weights = FILE_FORMATS.load("huggingface")(file)
        else:
            bundle = Bundle(file)
            weights = next(
                filter(
                    None, (BUNDLE_FORMATS.load(name)(bundle) for name in BUNDLE_FORMATS.targets)
                ),
                None,
            )
            if weights is None:
                names = ", ".join(sorted(bundle.shapes)[:3])
                raise UserError(
                    f"{prefix} is a checkpoint of an unknown kind (it holds {names}, ...): those of this project, "
                    "of the original BERT and of the Model Garden can be read"
                )
        return dataclasses.replace(
            with_companion_files(weights, os.path.dirname(file) or "."), path=file
        )


def files_of(file: str) -> list[str]:
    """The files of a checkpoint, by the `path` of its `StoredWeights`: weights, configuration,
    vocabulary, task."""
    folder, name = os.path.split(file)
    parts = f"{name}.", f"{name.removesuffix(_INDEX)}-"
    return [
        os.path.join(folder, one)
        for one in files.list_directory(folder or os.curdir)
        if one == name or one.startswith(parts) or _COMPANION.fullmatch(one)
    ]


def _files_of_weights(path: str) -> dict[str, list[str]]:
    """Ending → the files of weights that a file or a directory may mean, but for TensorFlow's."""
    is_directory = files.is_directory(path)
    names = files.list_directory(path) if is_directory else [path] if files.exists(path) else []
    indices = [name for name in names if name.endswith(_INDEX)]
    parts = tuple(name.removesuffix(_INDEX) + "-" for name in indices)
    safetensors = [
        name
        for name in names
        if name.endswith(_SAFETENSORS) and not (parts and name.startswith(parts))
    ]
    # Of a preset of KerasHub the encoder's file leads to the others.
    keras_hub = [
        name
        for name in names
        if name.endswith(f"model{_KERAS_HUB}" if is_directory else _KERAS_HUB)
    ]
    h5 = [name for name in names if name.endswith(_H5)]
    return {
        ending: [os.path.join(path, name) if is_directory else name for name in some]
        for ending, some in (
            (_SAFETENSORS, indices + safetensors),
            (_KERAS_HUB, keras_hub),
            (_H5, h5),
        )
    }


def open_checkpoint(
    checkpoint: str | None,
    *,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
) -> Checkpoint:
    """Opens a checkpoint with all that belongs to it, or describes a model without weights.

    Args:
      checkpoint: whatever `read_checkpoint` reads; None for random weights, then `bert_config_file`
        is needed, and the vocabulary is found beside it where not given.
      bert_config_file, vocab_file: None where they are found beside the checkpoint.
      do_lower_case: casing of the vocabulary; None for that of the checkpoint, true where it is
        unknown.

    Raises:
      UserError: nothing can be read there, or configuration, vocabulary or casing are missing or do
        not fit.
    """
    from data_gen.tokenization.tokenizer import Tokenizer

    source = read_checkpoint(checkpoint) if checkpoint else None
    config = config_for(source, bert_config_file)
    if config is None:
        raise UserError(
            f"{checkpoint}: there is no {CONFIG_FILE} beside the checkpoint: give --bert_config_file"
            if source
            else "give --init_checkpoint, or --bert_config_file to start from random weights"
        )
    beside = os.path.join(os.path.dirname(bert_config_file), VOCAB_FILE) if bert_config_file else ""
    vocab_file = (
        vocab_file
        or (source.vocab_file if source else None)
        or (beside if files.exists(beside) else None)
    )
    if vocab_file is None:
        where = (
            f"{checkpoint}: there is no {VOCAB_FILE} beside the checkpoint"
            if checkpoint
            else "there is no vocabulary"
        )
        raise UserError(f"{where}: give --vocab_file")
    tokenizer = Tokenizer.from_file(
        files.check_readable(vocab_file, "vocab_file"),
        chosen_casing(do_lower_case, source) is not False,
    )
    if len(tokenizer.vocabulary) != config.vocab_size:
        raise UserError(
            f"{vocab_file} has {len(tokenizer.vocabulary)} entries, but vocab_size is {config.vocab_size} in "
            "the model's configuration: give the --vocab_file that belongs to the checkpoint"
        )
    note = check_vocabulary(tokenizer.vocabulary, source)
    return Checkpoint(
        config=config,
        tokenizer=tokenizer,
        source=source,
        task=read_task(source),
        notes=(note,) if note else (),
        vectors=vectors_of(source),
    )


def config_for(checkpoint: StoredWeights | None, bert_config_file: str | None) -> BertConfig | None:
    """The configuration to use weights with: the one that is given, else the one that was found
    beside them, or None.

    The BiLSTM of a fine-tuned model stays, also where the file that is given does not mention it.

    Raises:
      UserError: the file can't be read, contradicts the tensors, or makes a bidirectional model of
        a left-to-right one.
    """
    beside = checkpoint.config if checkpoint else None
    config = beside
    if bert_config_file:
        values = json_files.read(bert_config_file)
        if isinstance(values, dict) and {"model_type", "architectures"} & {*values}:
            # Hugging Face's, whose "gelu" means the exact form, that of the original the tanh form.
            from modeling.checkpoints.huggingface import read_config

            config = read_config(bert_config_file)[0]
        else:
            config = BertConfig.from_dict(values, bert_config_file)
    if config and checkpoint:
        # Before a model of these sizes is built.
        check_fits(config, checkpoint.tensors, checkpoint.description, encoder_only=True)
    if config is None or not bert_config_file:
        return config
    if checkpoint and beside and beside.causal and not config.causal:
        raise UserError(
            f"{bert_config_file} describes a bidirectional model, but {checkpoint.description} is "
            'left-to-right ("is_decoder": true in its configuration): leave out --bert_config_file, or give '
            "one that says so"
        )
    # A file without that key says nothing of a BiLSTM, which fine-tuning adds.
    return dataclasses.replace(
        config, bilstm_units=config.bilstm_units or (beside.bilstm_units if beside else 0)
    )


def load_weights(model, checkpoint: StoredWeights) -> LoadReport:
    """Reads the weights a model and a checkpoint have in common.

    Nothing is changed unless everything fits.

    Args:
      model: a `BertEncoder`, or a model with an `encoder` and `heads`; its variables must exist.
      checkpoint: from `read_checkpoint`.

    Raises:
      UserError: shapes differ, a weight of the encoder is missing, the head stands on a BiLSTM that
        the model has not, or the data are damaged.
    """
    variables = original_names(model)
    shapes = {name: tuple(variable.shape) for name, variable in variables.items()}
    wrong = [
        f"{name} is {show_shape(checkpoint.tensors[name])} there and {show_shape(shape)} here"
        for name, shape in shapes.items()
        if name in checkpoint.tensors and tuple(checkpoint.tensors[name]) != shape
    ]
    if wrong:
        raise UserError(
            f"{checkpoint.description} does not fit this model: {some(wrong)}. "
            "Use the bert_config.json that belongs to the checkpoint"
        )
    missing = missing_from_encoder(shapes, checkpoint.tensors)
    if missing:
        raise UserError(
            f"{checkpoint.description} does not hold the whole encoder of this model: "
            f"{some(missing)} not found. Use the bert_config.json that belongs to the checkpoint"
        )
    loaded = [name for name in variables if name in checkpoint.tensors]
    lost = {weight.original for weight in BILSTM if weight.original in checkpoint.tensors} - {
        *variables
    }
    if lost and not all(name.startswith(ENCODER_PREFIX) for name in loaded):
        raise UserError(
            f"{checkpoint.description}: its head stands on a BiLSTM, which this model has not: use the "
            "bert_config.json that belongs to the checkpoint (bilstm_units)"
        )
    values = {name: np.asarray(checkpoint.read(name), np.float32) for name in loaded}
    for name, value in values.items():
        variables[name].assign(value)
    return LoadReport(
        description=checkpoint.description,
        loaded=loaded,
        newly_initialised=[name for name in variables if name not in checkpoint.tensors],
        unused=sorted(name for name in checkpoint.tensors if name not in variables),
    )


def load_with_head(model, opened: Checkpoint, head: str) -> LoadReport:
    """`load_weights` of a model that is to be used as it is: its head, one of `HEADS`, and the
    pooler or BiLSTM that this reads must be in the checkpoint."""
    if opened.source is None:
        raise ValueError("a checkpoint is needed")
    report = load_weights(model, opened.source)
    between = (
        BILSTM
        if opened.config.bilstm_units
        else POOLER
        if HEADS[head].reads == "pooled_output"
        else []
    )
    needed = HEADS[head].weights + between
    missing = [weight.original for weight in needed if weight.original in report.newly_initialised]
    if missing:
        raise UserError(
            f"{report.description} has no whole {HEADS[head].title} ({missing[0]} is missing): take a "
            "checkpoint trained for this"
        )
    return report


def step_of(checkpoint: StoredWeights | None) -> int:
    """Updates that the weights of a checkpoint have seen, from its directory; 0 where it is
    unknown."""
    if checkpoint is None or checkpoint.directory is None:
        return 0
    number = (latest_checkpoint(checkpoint.directory) or "").rpartition("-")[2]
    return read_best_record(checkpoint.directory).get(
        "step", int(number) if number.isdecimal() else 0
    )


def _whole_heads(names: list[str]) -> list[str]:
    """Names of weights, those of a whole head as one entry, e.g. "masked-LM head (5 tensors)"."""
    shown = list(names)
    heads = {head.title: [weight.original for weight in head.weights] for head in HEADS.values()}
    heads |= {
        "BiLSTM": [weight.original for weight in BILSTM],
        "tagger on fixed activations": [
            name for name in names if name.startswith(FEATURE_TAGGER_PREFIX)
        ],
    }
    for title, its_names in heads.items():
        if its_names and {*its_names} <= {*shown}:
            shown = [name for name in shown if name not in its_names] + [
                f"{title} ({len(its_names)} tensors)"
            ]
    return shown
