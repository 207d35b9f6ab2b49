"""Opening a checkpoint of any format with all that belongs to it, and loading its weights into a
model.

    read_checkpoint(path)             → CheckpointReader: weights by name, and their companion files
    open_checkpoint(path, ...)        → Checkpoint: configuration, tokenizer and task, all checked
    load_weights(model, checkpoint)   → LoadReport
"""

import dataclasses
import glob
import importlib.util
import os
import re
import sys
from typing import TYPE_CHECKING

import numpy as np

from bert_common import files, json_files, locks
from bert_common.errors import UserError, listed, say
from bert_common.plugins import Plugins
from data_gen.tokenization.settings import TOKENIZER_FILE
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    BEST_RECORD,
    CONFIG_FILE,
    RUN_ID,
    SUFFIX,
    TASK_FILE,
    VOCAB_FILE,
    CheckpointReader,
    check_run_of_best,
    check_vocabulary,
    known_casing,
    read_task,
    read_task_file,
    settled_vocabulary,
    with_companion_files,
)
from modeling.checkpoints.named_weights import local_path, no_checkpoint
from modeling.checkpoints.sentence_vectors import (
    DenseLayer,
    SentenceVectors,
    encoder_directory,
    vectors_of,
    with_sentence_files,
)
from modeling.checkpoints.simple_transformers import with_simple_transformers
from modeling.checkpoints.tensorflow_files import (
    CHECKPOINT_NAME,
    SAVED_MODEL,
    TensorBundle,
    find_prefix,
    saved_model_of,
)
from modeling.checkpoints.weights import (
    BILSTM,
    ENCODER_PREFIX,
    FEATURE_TAGGER_PREFIX,
    HEADS,
    POOLER,
    check_fits,
    first_few,
    missing_from_encoder,
    names_of,
    original_names,
    show_shape,
)
from modeling.config import BertConfig

if TYPE_CHECKING:
    from data_gen.tokenization.tokenizer import Tokenizer

# Formats in TensorFlow's checkpoint files: `TensorBundle` → `CheckpointReader`, or None for another
# format.
# A SavedModel may hold an encoder of the Model Garden, so it comes before that.
BUNDLE_FORMATS = Plugins(
    "checkpoint format",
    {
        "saved_model": "modeling.checkpoints.saved_model:read_saved_model",
        "native": "modeling.checkpoints.tensorflow_files:read_native",
        "original": "modeling.checkpoints.tensorflow_files:read_original",
        "model_garden": "modeling.checkpoints.model_garden:read_model_garden",
    },
)
# KerasHub is optional, so formats are imported when they are needed, not with this module.
# Formats in files of their own: path → `CheckpointReader`; the names of their files tell them
# apart.
FILE_FORMATS = Plugins(
    "checkpoint format",
    {
        "huggingface": "modeling.checkpoints.huggingface:read_huggingface",
        "keras_hub": "bert_tf.extras.keras_hub:read_keras_hub",
    },
)
# Comparisons of a published tokenizer with ours, by the library that they need.
TOKENIZER_CHECKS = Plugins(
    "tokenizer check", {"tokenizers": "bert_tf.extras.tokenizer_check:check_tokenizer"}
)
# Files beside weights that belong to them: a changed one makes another model of the same weights.
_COMPANION = re.compile(
    r"(bert_|sentence_bert_|tokenizer_)?config\.json|vocab\.txt|(tokenizer|task|modules)\.json"
)
# Endings of files of weights; an index stands for several files.
_SAFETENSORS = ".safetensors"
_INDEX = ".safetensors.index.json"
_KERAS_HUB = ".weights.h5"
# One of several files of a model, which an index joins.
_PART = re.compile(r"-\d{5}-of-\d{5}\.(safetensors|h5)$")
# A variable of our encoder as Keras' layers name it: the key of somebody's own tf.train.Checkpoint.
_OWN_VARIABLE = re.compile(r"(^|/)layer_0/attention/query/_kernel" + re.escape(SUFFIX))
_H5 = ".h5"
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
# In the output directory of transformers' Trainer, beside the directories of its checkpoints.
_TRAINER_FILE = "training_args.bin"
_KERAS = ".keras"
# Files of an adapter of Hugging Face's peft: an update of weights that are elsewhere.
_ADAPTER_CONFIG = "adapter_config.json"
_ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
# Files below a directory, of whatever names, that show that the checkpoint is meant there.
_BELOW = ("*.index", "*.safetensors", "*.h5", SAVED_MODEL)


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """Weights that were loaded, newly initialized or unused, by the names of the original.

    Attributes:
      description: of the checkpoint.
      loaded: weights that model and checkpoint have in common.
      newly_initialized: weights of the model that the checkpoint lacks: they keep their initial
        values.
      unused: weights of the checkpoint that the model lacks.
    """

    description: str
    loaded: list[str]
    newly_initialized: list[str]
    unused: list[str]

    def describe(self) -> str:
        """Returns the report as a user reads it, a line for each kind."""
        lines = [f"loaded {len(self.loaded)} tensors from {self.description}"]
        if self.newly_initialized:
            names = ", ".join(_heads_as_one(self.newly_initialized))
            lines.append(f"newly initialized, not in the checkpoint: {names}")
        if self.unused:
            lines.append(f"unused, not in this model: {', '.join(_heads_as_one(self.unused))}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint with its configuration, tokenizer and task, before a model is built.

    Attributes:
      config: of the model.
      tokenizer: with the vocabulary and the casing that belong to it.
      source: the weights; None if the model starts from random ones.
      task: purpose of a fine-tuned model (`task.json`); None for others.
      notes: lines for the user about the files.
      vectors: pooling of a text's tokens, if the checkpoint has one, see `vectors_of`.
    """

    config: BertConfig
    tokenizer: "Tokenizer"
    source: CheckpointReader | None
    task: dict | None
    notes: tuple[str, ...] = ()
    vectors: SentenceVectors | None = None

    @property
    def task_settings(self) -> dict:
        """Content of `task.json`; empty for a model that was not fine-tuned."""
        return {} if self.task is None else self.task

    @property
    def length(self) -> int | None:
        """Number of tokens that texts are cut at, by the run or by published settings; None if
        nothing says it."""
        if "max_seq_length" in self.task_settings:
            # Position embeddings after the length of the fine-tuning were not trained for the task.
            length: int = self.task_settings["max_seq_length"]
            return length
        positions = self.config.max_position_embeddings
        if self.vectors is not None and self.vectors.max_seq_length:
            return min(self.vectors.max_seq_length, positions)
        limit = self.source.max_length if self.source is not None else None
        # Most tokenizers name the number of positions, which says nothing about the task.
        if self.vectors is not None or limit is None or limit >= positions:
            return None
        return limit

    @property
    def vocab_file(self) -> str | None:
        return self.tokenizer.vocabulary.path

    @property
    def has_temporary_vocabulary(self) -> bool:
        """Whether `vocab_file` was written for this process alone, out of another file."""
        return _is_temporary(str(self.vocab_file))

    @property
    def heads(self) -> list[str]:
        """Heads whose weights the checkpoint has, by the keys of `model.heads`."""
        return self.source.heads if self.source else []

    def say_notes(self) -> None:
        """Prints the notes to standard error, where answers are in standard output."""
        for note in self.notes:
            say(f"note: {note}", file=sys.stderr)


def read_checkpoint(path: str | os.PathLike[str]) -> CheckpointReader:
    """Opens a checkpoint of any format; its tensors are read later, one by one.

    Args:
      path: on any file system one of:

        - a directory of ours (of a fine-tuning run its best weights), or a `ckpt-N` prefix;
        - an original checkpoint: its prefix (`bert_model.ckpt`), one of its files, or its
          directory; the same of a Model Garden checkpoint;
        - a Hugging Face directory, its `.safetensors` file or the index of several, or the `.h5`
          file of its TensorFlow classes; a directory of sentence-transformers;
        - a preset directory of KerasHub, or its `.weights.h5`.

        Or released weights by name, which are downloaded once: `google:uncased_L-12_H-768_A-12`,
        `hf:google-bert/bert-base-uncased`, see `named_weights.py`. Configuration, vocabulary and
        casing are looked for beside the weights.

    Raises:
      UserError: none or several checkpoints are there, one is damaged or of an unknown format, or
        its configuration contradicts it.
    """
    with files.user_error(f"can't read {path}"):
        path = encoder_directory(_best_weights(local_path(os.fspath(path))))
        prefix = find_prefix(path)
        file = _file_of_weights(path, prefix)
        if file == prefix:
            weights = _read_bundle(file)
        elif file.endswith(_KERAS_HUB):
            # KerasHub has companion files of its own.
            return dataclasses.replace(FILE_FORMATS.load("keras_hub")(file), path=file)
        else:
            weights = FILE_FORMATS.load("huggingface")(file)
        # The original, the Model Garden and we have the same files beside the weights.
        folder = saved_model_of(file) or os.path.dirname(file) or "."
        weights = with_companion_files(weights, folder)
        weights = with_sentence_files(weights, folder)
        weights = with_simple_transformers(weights, folder)
        return dataclasses.replace(weights, path=file)


def _is_temporary(vocab_file: str) -> bool:
    return locks.TEMPORARY in vocab_file


def _shown_vocabulary(vocab_file: str, source: CheckpointReader | None) -> str:
    """Returns the user's file that a vocabulary comes from, for messages."""
    if source is not None and source.directory and _is_temporary(vocab_file):
        return os.path.join(source.directory, TOKENIZER_FILE)
    return vocab_file


def _best_weights(path: str) -> str:
    """Returns the best weights of a run directory, or of its directory `best`; any other path
    itself."""
    # A run directory also holds the last checkpoint, which may be worse than the best one.
    for directory in (os.path.join(path, BEST_DIRECTORY), path):
        record_file = os.path.join(directory, BEST_RECORD)
        if files.exists(record_file):
            step = json_files.read_object(record_file, {"step": int | None}).get("step")
            check_run_of_best(directory)
            # The record decides: a run that was killed may have left other weights beside it.
            prefix = os.path.join(directory, f"{CHECKPOINT_NAME}-{step}")
            if files.exists(f"{prefix}.index"):
                _check_run(prefix, read_task_file(os.path.join(directory, TASK_FILE)).get(RUN_ID))
                return prefix
            return directory
    return path


def _check_run(prefix: str, run_id: str | None) -> None:
    """Raises `UserError` if a checkpoint of best weights has not the id in their `task.json`."""
    # Runs of earlier versions have no id.
    if not run_id:
        return
    bundle = TensorBundle(prefix)
    key = RUN_ID + SUFFIX
    if key not in bundle.shapes or f"{int(bundle.read_as(key, np.dtype(np.int64))):016x}" != run_id:
        raise UserError(f"{prefix} is of another run than {TASK_FILE} beside it: restore it")


def _file_of_weights(path: str, prefix: str | None) -> str:
    """Returns the file of weights that a file or a directory means.

    Args:
      prefix: the TensorFlow checkpoint there, or None.

    Raises:
      UserError: none or several are there.
    """
    names = []
    if files.is_directory(path):
        names = [os.path.join(path, name) for name in files.list_directory(path)]
    elif files.exists(path):
        names = [path]
    _refuse_adapter(names)
    # MLX writes an index of a single file, too, which needs none.
    candidates = [
        name
        for name in names
        if name.endswith(_INDEX) and name.removesuffix(".index.json") not in names
    ]
    parts = tuple(name.removesuffix(_INDEX) + "-" for name in candidates)
    encoders = []
    h5_files = []
    for name in names:
        # An index stands for its parts.
        if name.endswith(_SAFETENSORS) and not name.startswith(parts):
            candidates.append(name)
        # In a preset of KerasHub the encoder's file leads to the others.
        if name.endswith("model" + _KERAS_HUB):
            encoders.append(name)
        if name.endswith(_H5):
            h5_files.append(name)
    # A directory with two formats is ambiguous: they may have been trained differently.
    if prefix is not None:
        candidates.append(prefix)
    # An .h5 file beside any of the others is the same model in transformers' older format.
    candidates = candidates or encoders or h5_files
    if not candidates:
        raise _nothing_to_read(path, names)
    _refuse_part(candidates[0])
    if len(candidates) > 1:
        raise UserError(
            f"{path} holds several checkpoints ({listed(candidates, os.path.basename)}): name the "
            f"one that is meant, e.g. {candidates[0]}"
        )
    return candidates[0]


def _refuse_part(file: str) -> None:
    """Raises `UserError` for one of several files of a model without the index that joins them."""
    if _PART.search(file) is None:
        return
    if file.endswith(_H5):
        remedy = (
            "files of transformers' TensorFlow classes are read as one only: "
            "from_pretrained(DIR).save_pretrained(NEW_DIR, max_shard_size='100GB')"
        )
    else:
        remedy = f"name the *{_INDEX} beside it, or its directory"
    raise UserError(f"{file} is a part of a model: {remedy}")


def _refuse_adapter(names: list[str]) -> None:
    """Raises `UserError` for files of an adapter, with the way to merge it into its model."""
    for name in names:
        if os.path.basename(name) in _ADAPTER_WEIGHTS:
            folder = os.path.dirname(name) or "."
            config_file = os.path.join(folder, _ADAPTER_CONFIG)
            base = json_files.read_object(config_file).get("base_model_name_or_path")
            raise UserError(
                f"{name} is an adapter (LoRA or alike), whose model"
                f"{f', {base},' if isinstance(base, str) else ''} is elsewhere: merge both by "
                "peft's AutoPeftModelForSequenceClassification (or the class of its task)"
                f".from_pretrained({folder!r}).merge_and_unload().save_pretrained(NEW_DIR)"
            )


def _nothing_to_read(path: str, names: list[str]) -> UserError:
    """Returns the error for a path without a checkpoint, from the files there."""
    if not names and not files.exists(path):
        return no_checkpoint(path)
    for name in names:
        if name.endswith(_PICKLES) and os.path.basename(name) != _TRAINER_FILE:
            return UserError(
                f"{path}: {os.path.basename(name)} is a pickle, which can run code when it is "
                "opened: it is not read. If you trust it, save it as safetensors: transformers' "
                "AutoModelForPreTraining.from_pretrained(DIR).save_pretrained(NEW_DIR)"
            )
        if name.endswith(_KERAS):
            return UserError(
                f"{name} is a Keras model: after `import modeling`, keras.models.load_model(FILE)"
                ".save_checkpoint(NEW_DIR) writes a checkpoint of a model of this library"
            )
    # A Trainer's output directory, a cache of the hub, TF-Hub's encoder with its preprocessor.
    below = _checkpoints_below(path)
    if below:
        return UserError(
            f"{path} holds no checkpoint itself: name the one below it that is meant, "
            f"{first_few(below)}"
        )
    return UserError(
        f"{path} holds no checkpoint: a directory with an .index, .safetensors or .h5 file, or the "
        "path of one, is expected"
    )


def _checkpoints_below(path: str) -> list[str]:
    """Returns the directories one and two levels below a path that seem to hold a checkpoint."""
    folders = set()
    for level in ("*", "*/*"):
        for pattern in _BELOW:
            for file in files.glob_files(f"{glob.escape(path)}/{level}/{pattern}"):
                folders.add(os.path.dirname(file))
    # The parts of a SavedModel or of a sentence encoder are not meant by themselves.
    return sorted(folder for folder in folders if os.path.dirname(folder) not in folders)


def _read_bundle(prefix: str) -> CheckpointReader:
    """Returns the weights of a TensorFlow checkpoint of any kind."""
    bundle = TensorBundle(prefix)
    if any(_OWN_VARIABLE.search(key) for key in bundle.shapes):
        raise UserError(
            f"{prefix} is a tf.train.Checkpoint of a model of this library, whose names are not "
            "fixed: restore it as it was saved, e.g. "
            "tf.train.Checkpoint(model=model).restore(PREFIX), then model.save_checkpoint(NEW_DIR)"
        )
    # Each reader knows its own keys and returns None for others.
    for name in BUNDLE_FORMATS.targets:
        weights = BUNDLE_FORMATS.load(name)(bundle)
        if weights is not None:
            return weights
    saved_model = saved_model_of(prefix)
    if saved_model is not None:
        raise UserError(
            f"{saved_model} is a SavedModel in which no encoder can be told by the names of the "
            "variables: take the checkpoint that it was exported from"
        )
    names = ", ".join(sorted(bundle.shapes)[:3])
    raise UserError(
        f"{prefix} is a checkpoint of an unknown kind (it holds {names}, ...): those of this "
        "project, of the original BERT and of the Model Garden can be read"
    )


def files_of(file: str) -> list[str]:
    """Returns the files of a checkpoint, by the `path` of its `CheckpointReader`: weights,
    configuration, vocabulary, task."""
    folder, name = os.path.split(file)
    # Data shards of a TensorFlow prefix, or the files of an index of safetensors.
    parts = (f"{name}.", f"{name.removesuffix(_INDEX)}-")
    paths = []
    for entry in files.list_directory(folder or os.curdir):
        if entry == name or entry.startswith(parts) or _COMPANION.fullmatch(entry):
            paths.append(os.path.join(folder, entry))
    return paths


def open_checkpoint(
    checkpoint: str | None,
    *,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
) -> Checkpoint:
    """Opens a checkpoint with all that belongs to it, or describes a model without weights.

    Args:
      checkpoint: a path or name for `read_checkpoint`; None for random weights, then
        `bert_config_file` is needed, and the vocabulary beside it is the default.
      bert_config_file, vocab_file: None for the files beside the checkpoint.
      do_lower_case: casing of the vocabulary; None for the checkpoint's, true if unknown.

    Raises:
      UserError: nothing can be read there, or configuration, vocabulary or casing are missing or do
        not fit.
    """
    from data_gen.tokenization.tokenizer import Tokenizer
    from data_gen.tokenization.vocabulary import Vocabulary

    source = read_checkpoint(checkpoint) if checkpoint else None
    config = config_for(source, bert_config_file)
    if config is None and source is None:
        raise UserError(
            "give --init_checkpoint, or --bert_config_file to start from random weights"
        )
    if config is None:
        raise UserError(
            f"{checkpoint}: there is no {CONFIG_FILE} beside the checkpoint: give "
            "--bert_config_file"
        )
    if vocab_file is None and source is not None:
        vocab_file = source.vocab_file
    # Before the first pre-training there are no weights yet: build_vocab.py writes both files.
    if vocab_file is None and bert_config_file:
        beside = os.path.join(os.path.dirname(bert_config_file), VOCAB_FILE)
        if files.exists(beside):
            vocab_file = beside
    if vocab_file is None:
        if checkpoint:
            where = f"{checkpoint}: there is no {VOCAB_FILE} beside the checkpoint"
        else:
            where = "there is no vocabulary"
        raise UserError(f"{where}: give --vocab_file")
    vocab_file = files.check_readable(vocab_file, "vocab_file")
    vocabulary = Vocabulary.from_file(settled_vocabulary(vocab_file, source))
    notes = list(source.notes) if source else []
    casing, casing_notes = known_casing(do_lower_case, source, vocabulary)
    notes += casing_notes
    tokenizer = Tokenizer(vocabulary, casing is not False)
    _check_published(source, tokenizer)
    # A larger id would be looked up beyond the embedding table.
    entries = len(vocabulary)
    shown_file = _shown_vocabulary(vocab_file, source)
    if entries > config.vocab_size:
        raise UserError(
            f"{shown_file} has {entries} entries, but vocab_size is {config.vocab_size} in the "
            "model's configuration: give the --vocab_file that belongs to the checkpoint"
        )
    # Tables are padded to a multiple of 8 or 64, for speed.
    if entries < config.vocab_size:
        notes.append(
            f"{shown_file} has {entries:,} entries of {config.vocab_size:,} in the model: the "
            "others never occur"
        )
    note = check_vocabulary(vocabulary, source, do_lower_case=tokenizer.do_lower_case)
    notes += [note] if note else []
    notes += _notes_on_layers(source, config)
    return Checkpoint(
        config=config,
        tokenizer=tokenizer,
        source=source,
        task=read_task(source),
        notes=tuple(notes),
        vectors=vectors_of(source),
    )


def _notes_on_layers(source: CheckpointReader | None, config: BertConfig) -> list[str]:
    """Returns a line if a checkpoint has more layers than the configuration; else none."""
    next_layer = f"{ENCODER_PREFIX}encoder/layer_{config.num_hidden_layers}/"
    if source is None or not any(name.startswith(next_layer) for name in source.tensors):
        return []
    return [
        f"num_hidden_layers is {config.num_hidden_layers}: the further layers of the checkpoint "
        "are unused"
    ]


def _check_published(source: CheckpointReader | None, tokenizer: "Tokenizer") -> None:
    """Compares our tokenizer with the library's, for a `tokenizer.json` of others.

    Raises:
      UserError: they differ.
    """
    # Our own directories have a fingerprint of the vocabulary.
    if source is None or source.directory is None or source.vocab_sha256 is not None:
        return
    if not files.exists(os.path.join(source.directory, TOKENIZER_FILE)):
        return
    # A vocabulary of the user has other words in the [unused] entries.
    if tokenizer.vocabulary.path != source.vocab_file:
        return
    if importlib.util.find_spec("tokenizers") is not None:
        TOKENIZER_CHECKS.load("tokenizers")(source.directory, tokenizer)


def config_for(
    checkpoint: CheckpointReader | None, bert_config_file: str | None
) -> BertConfig | None:
    """Returns the configuration to use weights with: the one in the file, else the one beside the
    weights, or None.

    The BiLSTM of a fine-tuned model stays, also if the file does not mention it.

    Raises:
      UserError: the file can't be read, contradicts the tensors, or makes a bidirectional model of
        a left-to-right one.
    """
    stored = config = checkpoint.config if checkpoint else None
    if bert_config_file:
        config = _read_config(bert_config_file)
    if config is None or checkpoint is None:
        return config
    # A model of wrong sizes might not fit in memory, so this comes before one is built.
    check_fits(config, checkpoint.tensors, checkpoint.description, encoder_only=True)
    if stored is None:
        return config
    if stored.causal and not config.causal:
        raise UserError(
            f"{bert_config_file} describes a bidirectional model, but {checkpoint.description} is "
            'left-to-right ("is_decoder": true in its configuration): leave out '
            "--bert_config_file, or give one that says so"
        )
    if config.bilstm_units:
        return config
    # Fine-tuning adds the key: the file of the encoder does not have it.
    return dataclasses.replace(config, bilstm_units=stored.bilstm_units)


def _read_config(path: str) -> BertConfig:
    """Returns the configuration in a file, the original's or Hugging Face's."""
    values = json_files.read(path)
    if isinstance(values, dict) and ("model_type" in values or "architectures" in values):
        # In Hugging Face's files "gelu" means the exact form, in the original's the tanh form.
        from modeling.checkpoints.huggingface import read_config

        return read_config(path).config
    return BertConfig.from_dict(values, path)


def load_weights(model, checkpoint: CheckpointReader) -> LoadReport:
    """Reads the weights that a model and a checkpoint have in common.

    Nothing is changed unless everything fits.

    Args:
      model: a `BertEncoder`, or a model with an `encoder` and `heads`; its variables must exist.
      checkpoint: from `read_checkpoint`.

    Raises:
      UserError: shapes differ, a weight of the encoder is missing, the checkpoint's head reads a
        BiLSTM that the model lacks, or the data are damaged.
    """
    variables = original_names(model)
    shapes = {name: tuple(variable.shape) for name, variable in variables.items()}
    # A configuration from elsewhere is the usual reason for a mismatch.
    remedy = "Use the bert_config.json that belongs to the checkpoint"
    wrong = []
    # All mismatches are reported together: one alone rarely shows the reason.
    for name, shape in shapes.items():
        stored = checkpoint.tensors.get(name, shape)
        if tuple(stored) != shape:
            wrong.append(f"{name} is {show_shape(stored)} there and {show_shape(shape)} here")
    if wrong:
        raise UserError(
            f"{checkpoint.description} does not fit this model: {first_few(wrong)}. {remedy}"
        )
    missing = missing_from_encoder(shapes, checkpoint.tensors)
    if missing:
        raise UserError(
            f"{checkpoint.description} does not hold the whole encoder of this model: "
            f"{first_few(missing)} not found. {remedy}"
        )
    # Everything is read before the first variable changes.
    values = {}
    has_head = False
    for name in variables:
        if name in checkpoint.tensors:
            values[name] = np.asarray(checkpoint.read(name), np.float32)
            has_head = has_head or not name.startswith(ENCODER_PREFIX)
    unused = set(checkpoint.tensors).difference(variables)
    # The shapes alone can't show this: a head may read as many units with and without a BiLSTM.
    if has_head and not unused.isdisjoint(names_of(BILSTM)):
        raise UserError(
            f"{checkpoint.description}: its head stands on a BiLSTM, which this model has not: "
            "use the bert_config.json that belongs to the checkpoint (bilstm_units)"
        )
    for name, value in values.items():
        variables[name].assign(value)
    return LoadReport(
        description=checkpoint.description,
        loaded=list(values),
        newly_initialized=[name for name in variables if name not in values],
        unused=sorted(unused),
    )


def load_with_head(model, opened: Checkpoint, head: str) -> LoadReport:
    """Loads the weights of a model that is used without training.

    Args:
      head: one of `HEADS`. It must be in the checkpoint, with the pooler or BiLSTM that it reads.
    """
    if opened.source is None:
        raise ValueError("a checkpoint is needed")
    report = load_weights(model, opened.source)
    # A head that is newly initialized would predict at random, without an error.
    needed = list(HEADS[head].weights)
    if opened.config.bilstm_units:
        needed += BILSTM
    elif HEADS[head].reads == "pooled_output":
        needed += POOLER
    for weight in needed:
        if weight.original in report.newly_initialized:
            raise UserError(
                f"{report.description} has no whole {HEADS[head].title} ({weight.original} is "
                "missing): take a checkpoint trained for this"
            )
    return report


def dense_layers(vectors: SentenceVectors, size: int) -> tuple[DenseLayer, ...]:
    """Reads the dense layers after the pooling of a sentence encoder.

    Args:
      size: of the pooled vectors.

    Raises:
      UserError: one has no `model.safetensors` (a `pytorch_model.bin` is a pickle, which is not
        read), or it is damaged, or its arrays do not fit.
    """
    if not vectors.dense:
        return ()
    from modeling.checkpoints.huggingface import WEIGHTS_FILE, SafetensorsFile

    layers = []
    for module in vectors.dense:
        path = os.path.join(module.directory, WEIGHTS_FILE)
        if not files.exists(path):
            raise UserError(
                f"{module.directory}, a Dense module, has no {WEIGHTS_FILE} (a pytorch_model.bin "
                "is a pickle, which is not read): save the model again with sentence-transformers"
            )
        file = SafetensorsFile(path)
        shape = tuple(file.shapes.get("linear.weight", ()))
        outputs = shape[0] if shape else 0
        # A module with "bias": false has none.
        bias_shape = tuple(file.shapes.get("linear.bias", (outputs,)))
        if shape != (outputs, size) or bias_shape != (outputs,) or not outputs:
            raise UserError(
                f"{path}: linear.weight of the shape [outputs, {size}] and linear.bias of "
                f"[outputs] are expected, not {list(shape)} and {list(bias_shape)}"
            )
        kernel = file.read("linear.weight").T
        bias = np.zeros(outputs, np.float32)
        if "linear.bias" in file.shapes:
            bias = file.read("linear.bias")
        size = outputs
        layers.append(DenseLayer(kernel, bias, module.activation))
    return tuple(layers)


def step_of(checkpoint: CheckpointReader | None) -> int:
    """Returns the updates that the weights of a checkpoint have seen, by its name, e.g. ckpt-1000;
    0 if unknown."""
    if checkpoint is None or checkpoint.path is None:
        return 0
    number = os.path.basename(checkpoint.path).rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def _heads_as_one(names: list[str]) -> list[str]:
    """Returns names of weights, with one entry for a whole head, e.g. "masked-LM head (5
    tensors)"."""
    groups = {head.title: names_of(head.weights) for head in HEADS.values()}
    groups["BiLSTM"] = names_of(BILSTM)
    groups["tagger on fixed activations"] = [
        name for name in names if name.startswith(FEATURE_TAGGER_PREFIX)
    ]
    # A line of hundreds of names would hide the few that matter.
    entries = list(names)
    for title, group in groups.items():
        if group and set(group) <= set(entries):
            entries = [name for name in entries if name not in group]
            entries.append(f"{title} ({len(group)} tensors)")
    return entries
