"""Writing checkpoints in every format, and converting one format to another, heads included,
verified bit for bit.

Input: weights by their original names, in the original's shapes. Output: a directory with them, the
configuration, and the vocabulary if there is one. `convert_checkpoint.py` makes flags of
`ConvertOptions`, which need no TensorFlow.
"""

import dataclasses
import functools
import os
import types
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError, listed, message_of
from bert_common.options import FILE, Options, option, option_class
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import (
    CheckpointReader,
    check_vocabulary,
    choose_casing,
    known_casing,
    read_task,
    settled_vocabulary,
    write_companion_files,
)
from modeling.checkpoints.named_weights import check_checkpoint_there
from modeling.checkpoints.sentence_vectors import (
    SentenceVectors,
    supported_vectors,
    vectors_of,
    write_vectors,
)
from modeling.checkpoints.weights import (
    ENCODER_PREFIX,
    FORMATS,
    HEADS,
    HUGGINGFACE,
    MODEL_GARDEN,
    NATIVE,
    ORIGINAL,
    SENTENCE_TRANSFORMERS,
    check_fits,
    first_few,
    format_notes,
    heads_of,
    missing_from_encoder,
    missing_place,
    model_shapes,
    pooled_weights,
)
from modeling.config import BertConfig


def write_checkpoint(
    output_format: str,
    directory: str,
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
    vocab_sha256: str | None = None,
    vectors: SentenceVectors | None = None,
    optimizer_state: Mapping[str, np.ndarray] | None = None,
    max_length: int | None = None,
    truncation_side: str | None = None,
) -> None:
    """Writes weights with their companion files.

    Args:
      output_format: one of `FORMATS`.
      directory: an empty one, or one to be made; on any file system.
      weights: original name → float32 array, e.g. `weights.weight_values(model)`.
      config: of the model.
      vocab_file: copied as `vocab.txt`, unless None.
      do_lower_case: casing of the vocabulary; None if unknown.
      vocab_sha256: fingerprint of the vocabulary, if there is no `vocab_file`.
      vectors: for sentence-transformers, the pooling of a text's tokens; None for their mean.
      optimizer_state: for native and original checkpoints, see `optimizer_state.read_state`.
      max_length: maximum number of tokens of an input; None for all positions.
      truncation_side: "left" if inputs that are too long keep their end; else their beginning.

    Raises:
      UserError: the directory can't be written, or the format has no place for the model.
    """
    # Imported here, so that the options are known without TensorFlow.
    import tensorflow as tf

    from modeling.checkpoints import huggingface, model_garden, tensorflow_files, tokenizer_file

    pad_id = Vocabulary.from_file(vocab_file).pad_id if vocab_file is not None else 0
    write_huggingface = functools.partial(huggingface.write_huggingface, pad_id=pad_id)
    state = {} if optimizer_state is None else optimizer_state
    # Sentence-transformers adds files to a directory of Hugging Face's.
    writers: dict[str, Callable[..., None]] = {
        ORIGINAL: functools.partial(tensorflow_files.write_original, state=state),
        MODEL_GARDEN: model_garden.write_model_garden,
        NATIVE: functools.partial(tensorflow_files.write_native, state=state),
        HUGGINGFACE: write_huggingface,
        SENTENCE_TRANSFORMERS: write_huggingface,
    }
    dropped = weights_without_place(output_format, weights, config)
    weights = {name: value for name, value in weights.items() if name not in dropped}
    try:
        files.make_directories(directory)
        writers[output_format](directory, weights, config)
    except (tf.errors.OpError, OSError) as error:
        # TensorFlow names the operation and its temporary file first, the reason last.
        reason = message_of(error).rpartition("; ")[2].partition(" [Op")[0]
        raise UserError(
            f"the weights can't be written in {os.path.dirname(directory) or '.'}: "
            f"{' '.join(reason.split())}"
        ) from None
    if output_format == SENTENCE_TRANSFORMERS:
        write_vectors(
            directory,
            SentenceVectors() if vectors is None else vectors,
            config.hidden_size,
            config.max_position_embeddings,
        )
    # Other programs read `vocab.txt`; only Hugging Face's have another tokenizer by default.
    if output_format in (HUGGINGFACE, SENTENCE_TRANSFORMERS) and vocab_file is not None:
        tokenizer_keys = tokenizer_file.write_tokenizer(
            directory, vocab_file, do_lower_case is not False
        )
    else:
        tokenizer_keys = {}
    if max_length is not None:
        tokenizer_keys["model_max_length"] = min(max_length, config.max_position_embeddings)
    if truncation_side is not None:
        tokenizer_keys["truncation_side"] = truncation_side
    write_companion_files(
        directory, config, vocab_file, do_lower_case, vocab_sha256, **tokenizer_keys
    )


def weights_without_place(
    output_format: str, tensors: Collection[str], config: BertConfig
) -> list[str]:
    """Returns the original names that a format has no place for: heads in sentence-transformers',
    pooler and next-sentence head of left-to-right models in Hugging Face's.

    Raises:
      UserError: more of the model would be lost.
    """
    title = missing_place(config, output_format)
    if title is not None:
        raise UserError(
            f"the format {output_format!r} has no place for {title}: write {NATIVE!r}, or a "
            "SavedModel with export_model.py"
        )
    # Its programs compare vectors of the encoder; they read no heads.
    if output_format == SENTENCE_TRANSFORMERS:
        return [name for name in tensors if not name.startswith(ENCODER_PREFIX)]
    if output_format != HUGGINGFACE or not config.causal:
        return []
    # Hugging Face's pooler reads the first token, which in a left-to-right model sees nothing but
    # itself, and ours the last.
    part = "encoder without a head"
    for name in heads_of(tensors):
        if HEADS[name].reads == "sequence_output":
            part = ""
    for name in heads_of(tensors):
        if HEADS[name].reads == "pooled_output" and name != "next_sentence":
            part = f"model with a {HEADS[name].title}"
    if part:
        raise UserError(
            f"a left-to-right {part} can't be written in the format {HUGGINGFACE!r}, whose pooler "
            "reads the first token, which sees nothing but itself, and ours the last: write "
            f"{NATIVE!r}"
        )
    return pooled_weights(tensors)


@option_class
class ConvertOptions(Options):
    """Conversion of a checkpoint"""

    input: str = option(
        None,
        "The checkpoint: a directory, a prefix, a .safetensors or an .h5 file, or a name, "
        "hf:OWNER/NAME or google:NAME. With several checkpoints of one model, separated by commas, "
        "their mean is written.",
        required=True,
        path=True,
        aliases=("init_checkpoint",),
    )
    output_format: str = option(None, "Format of the output.", required=True, choices=FORMATS)
    output: str = option(
        None, "Directory of the output; it must not exist.", required=True, path=True
    )
    bert_config_file: str | None = option(
        None,
        "Shape of the model, bert_config.json or config.json; usually found beside the input.",
        path=FILE,
    )
    vocab_file: str | None = option(
        None, "Vocabulary of the model; usually found beside the input.", path=FILE
    )
    do_lower_case: bool | None = option(
        None, "Casing of the vocabulary; usually found beside the input."
    )
    optimizer_state: bool = option(
        False,
        "Also convert the step and the slots of AdamW or LAMB, between native and original.",
    )

    def check(self) -> None:
        super().check()
        if self.optimizer_state:
            check_optimizer_state(self.input, self.output_format)
        files.refuse_existing(self.output, "output")

    def check_inputs(self) -> None:
        super().check_inputs()
        for path in paths_of(self.input):
            check_checkpoint_there(path)


def check_optimizer_state(input_path: str, output_format: str) -> None:
    """Raises `UserError` if there is no place for the optimizer's state, or several inputs."""
    if output_format not in (NATIVE, ORIGINAL):
        raise UserError(
            f"--optimizer_state: {output_format!r} has no place for it, {NATIVE!r} and "
            f"{ORIGINAL!r} have"
        )
    if len(paths_of(input_path)) > 1:
        raise UserError("--optimizer_state: a mean of several checkpoints has none")


def paths_of(checkpoints: str) -> list[str]:
    """Returns the checkpoints of a list with commas; an existing path may have commas in it."""
    if files.exists(checkpoints):
        return [checkpoints]
    return [path for path in checkpoints.split(",") if path]


def read_mean(paths: Sequence[str]) -> CheckpointReader:
    """Returns the mean of the weights of checkpoints of one model; of one checkpoint itself.

    Raises:
      UserError: they differ in configuration, vocabulary, casing, task, or names and shapes of
        tensors.
    """
    from modeling.checkpoints.load import read_checkpoint

    checkpoints = [read_checkpoint(path) for path in paths]
    first = checkpoints[0]
    if len(checkpoints) == 1:
        return first
    # Weights of different models have no meaningful mean, even if their shapes agree.
    expected = _properties(first)
    for checkpoint in checkpoints:
        for name, value in _properties(checkpoint).items():
            if value != expected[name]:
                raise UserError(
                    f"{checkpoint.description} has another {name} than {first.description}: a mean "
                    "is of checkpoints of one model"
                )

    tasks = [read_task(checkpoint) or {} for checkpoint in checkpoints]
    for key in ("kind", "labels", "label_scheme"):
        # Files of other programs and of earlier versions don't say all of it.
        if len({str(task[key]) for task in tasks if key in task}) > 1:
            names = ", ".join(checkpoint.description for checkpoint in checkpoints)
            raise UserError(
                f"{names} were fine-tuned for other {key}: a mean is of checkpoints of one model"
            )

    def read(name: str) -> np.ndarray:
        # The sum of many float32 numbers would lose digits.
        values = [checkpoint.read(name) for checkpoint in checkpoints]
        return np.asarray(np.mean(values, axis=0, dtype=np.float64), np.float32)

    names = ", ".join(checkpoint.description for checkpoint in checkpoints)
    return dataclasses.replace(first, description=f"the mean of {names}", read=read)


def _properties(checkpoint: CheckpointReader) -> dict[str, object]:
    """Returns the properties that checkpoints of one model have in common."""
    vocabulary: str | None
    if checkpoint.vocab_file:
        vocabulary = Vocabulary.from_file(checkpoint.vocab_file).fingerprint
    else:
        vocabulary = checkpoint.vocab_sha256
    config = checkpoint.config
    if config is not None:
        config = config.without_classifier_dropout()
    return {
        "configuration": config,
        "vocabulary": vocabulary,
        "casing": checkpoint.do_lower_case,
        "weights": dict(checkpoint.tensors),
    }


def convert(
    input_path: str,
    output_format: str,
    output: str,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
    texts: Mapping[str, str] = types.MappingProxyType({}),
    optimizer_state: bool = False,
) -> str:
    """Converts a checkpoint.

    Args:
      input_path: a path or name for `read_checkpoint`; several, separated by commas, see
        `read_mean`.
      output_format: one of `FORMATS`.
      output: a directory that does not exist, on any file system; it appears when it is complete.
      bert_config_file: configuration, the original's or Hugging Face's; None for the one beside the
        input.
      vocab_file: vocabulary; None for the one beside the input, if any.
      do_lower_case: its casing; None for the one beside the input.
      texts: name → content of further files of the output, such as a model card.
      optimizer_state: convert the slots of AdamW or LAMB and the step, too.

    Returns:
      a report: the input, tensors that are not in the output, and notes for the user.

    Raises:
      UserError: the input can't be read or lacks a part, configuration or vocabulary do not fit it,
        the format has no place for the model, or the output exists or can't be written.
    """
    # Imported here, so that --help and wrong flags answer at once.
    from modeling.checkpoints.load import config_for, read_checkpoint

    # Errors of the command line come before minutes of reading.
    files.refuse_existing(output, "output")
    if vocab_file is not None:
        files.check_readable(vocab_file, "vocab_file")
    source = read_mean(paths_of(input_path))
    config = config_for(source, bert_config_file)
    if config is None:
        raise UserError(
            f"{input_path}: there is no configuration beside the checkpoint: give "
            "--bert_config_file"
        )
    # Unlike `config_for` this includes the heads, which are written, too.
    check_fits(config, source.tensors, source.description)
    expected = model_shapes(config, source.tensors)
    missing = missing_from_encoder(expected, source.tensors)
    if missing:
        raise UserError(
            f"{source.description} does not hold the whole encoder: {first_few(missing)} not found"
        )
    vocab_file, do_lower_case, notes = _settle_vocabulary(vocab_file, do_lower_case, config, source)
    notes += format_notes(config, output_format)
    task = read_task(source) or {}
    notes += _task_notes(task, output_format)
    available = [name for name in expected if name in source.tensors]
    # Heads, if the format has no place for them.
    dropped = weights_without_place(output_format, available, config)
    if dropped:
        notes.append(f"there is no place for these in the output: {', '.join(dropped)}")
    if output_format == SENTENCE_TRANSFORMERS:
        # A pooling that this project can't compute could not be verified.
        vectors = supported_vectors(vectors_of(source))
    else:
        vectors = None
    weights = {}
    for name in available:
        if name not in dropped:
            weights[name] = source.read(name)
    state = _read_state(input_path, weights) if optimizer_state else None
    # The directory appears under its name only after the comparison.
    with files.new_directory(output, "output") as directory:
        write_checkpoint(
            output_format,
            directory,
            weights,
            config,
            vocab_file,
            do_lower_case,
            source.vocab_sha256,
            vectors,
            state,
            # A fine-tuned model has learned no later positions for its task.
            task.get("max_seq_length", source.max_length),
            source.truncation_side,
        )
        check_same(read_checkpoint(directory), weights)
        _check_same_state(directory, weights, state)
        for name, text in texts.items():
            with files.atomic_write(os.path.join(directory, name)) as file:
                file.write(text)
    report = _describe(source, expected, weights)
    for note in notes:
        report.append(f"note: {note}")
    report.append(f"wrote {output} ({output_format}), read back: every bit the same")
    return "\n".join(report)


def _task_notes(task: Mapping[str, object], output_format: str) -> list[str]:
    """Returns what the outputs of a fine-tuned model lack: `task.json` is not converted."""
    notes = []
    if task.get("long_texts") == "windows":
        notes.append("longer texts are cut by the output: only the run reads them in windows")
    if "pooling" in task and output_format != SENTENCE_TRANSFORMERS:
        notes.append(
            f"the pooling of the run, {task['pooling']}, is not in the output: "
            f"--output_format={SENTENCE_TRANSFORMERS} has it"
        )
    return notes


def _read_state(path: str, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the optimizer's state of a checkpoint of TensorFlow.

    Raises `UserError` for another checkpoint, or for several.
    """
    from modeling.checkpoints import optimizer_state, tensorflow_files

    prefix = tensorflow_files.find_prefix(path)
    if prefix is None:
        raise UserError(f"--optimizer_state: {path} is no checkpoint of TensorFlow")
    return optimizer_state.read_state(tensorflow_files.TensorBundle(prefix), weights)


def _check_same_state(
    directory: str, weights: Mapping[str, np.ndarray], state: dict[str, np.ndarray] | None
) -> None:
    """Compares the optimizer's state in the output with the expected one, if any, bit for bit."""
    if state is None:
        return
    written = _read_state(directory, weights)
    for name, value in state.items():
        if written[name].tobytes() != value.tobytes():
            raise RuntimeError(f"{name} in the output is not what was read")


def _describe(
    source: CheckpointReader,
    expected: Mapping[str, tuple[int, ...]],
    weights: Mapping[str, np.ndarray],
) -> list[str]:
    """Returns the lines of the report about the weights: in the output, missing, unused."""
    num_parameters = sum(value.size for value in weights.values())
    lines = [
        f"read {source.description}",
        f"encoder, heads: {listed(heads_of(weights))}; {len(weights)} tensors, "
        f"{num_parameters:,} parameters",
    ]
    absent = [name for name in expected if name not in source.tensors]
    if absent:
        lines.append(f"not in the input, so not in the output: {', '.join(absent)}")
    unused = sorted(set(source.tensors).difference(expected))
    if unused:
        lines.append(f"unused, not in the output: {', '.join(unused)}")
    return lines


def check_same(written: CheckpointReader, weights: dict[str, np.ndarray]) -> None:
    """Reads the output as any user would and compares it with the expected weights, bit for bit."""
    differing = sorted(set(written.tensors) ^ set(weights))
    for name, value in weights.items():
        # Bits are compared as integers: NaN differs from itself, and -0.0 equals 0.0.
        if name not in differing and not np.array_equal(
            written.read(name).view(np.uint32), value.view(np.uint32)
        ):
            differing.append(name)
    if differing:
        raise RuntimeError(f"the written checkpoint is not what was read: {first_few(differing)}")


def _settle_vocabulary(
    vocab_file: str | None, do_lower_case: bool | None, config: BertConfig, source: CheckpointReader
) -> tuple[str | None, bool | None, list[str]]:
    """Returns vocabulary and casing of the output, and notes for the user; raises `UserError` if
    they do not fit the weights."""
    if vocab_file is None:
        vocab_file = source.vocab_file
    notes = list(source.notes)
    if vocab_file is None:
        notes.append(
            "there is no vocab.txt beside the input, so none in the output: --vocab_file names one"
        )
        return None, choose_casing(do_lower_case, source), notes
    vocab_file = settled_vocabulary(vocab_file, source)
    vocabulary = Vocabulary.from_file(vocab_file)
    do_lower_case, casing_notes = known_casing(do_lower_case, source, vocabulary)
    notes += casing_notes
    entries = len(vocabulary)
    # More embeddings than tokens are common: tables are padded to a multiple of 8 or 64.
    if entries > config.vocab_size:
        raise UserError(
            f"{vocab_file} has {entries} entries, but the model's vocab_size is "
            f"{config.vocab_size}: give the --vocab_file that belongs to the checkpoint"
        )
    replaced = check_vocabulary(vocabulary, source)
    if replaced:
        notes.append(replaced)
    if entries < config.vocab_size:
        notes.append(
            f"{vocab_file} has {entries} entries, fewer than vocab_size {config.vocab_size}"
        )
    if do_lower_case is None:
        notes.append(
            "the casing of the vocabulary is unknown: --do_lower_case sets it; it will be taken "
            "for lower-cased"
        )
    return vocab_file, do_lower_case, notes
