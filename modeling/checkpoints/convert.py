"""Writing checkpoints in every format, and turning one format into another, heads included, proved
bit for bit.

Input: weights by their original names, in the original's shapes. Output: a directory with them, the
configuration, and the vocabulary where there is one. `convert_checkpoint.py` makes flags of
`ConvertOptions`, which need no TensorFlow.
"""

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from bert_common.options import FILE, Options, option
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.checkpoints.companion_files import (
    SentenceVectors,
    StoredWeights,
    check_vocabulary,
    chosen_casing,
    known_vectors,
    vectors_of,
    write_companion_files,
    write_vectors,
)
from modeling.checkpoints.named_weights import check_checkpoint_there
from modeling.checkpoints.weights import (
    ENCODER_PREFIX,
    HEADS,
    check_fits,
    heads_of,
    missing_from_encoder,
    model_shapes,
    pooled_weights,
    some,
)
from modeling.config import BertConfig

_HUGGINGFACE, _NATIVE, _SENTENCES = "huggingface", "native", "sentence_transformers"
FORMATS = ("original", _HUGGINGFACE, "model_garden", _NATIVE, _SENTENCES)


def write_checkpoint(
    output_format: str,
    directory: str,
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
    vocab_sha256: str | None = None,
    vectors: SentenceVectors | None = None,
) -> None:
    """Writes weights and what is needed to use them.

    Args:
      output_format: one of `FORMATS`.
      directory: an empty one, or one to be made; on any file system.
      weights: original name → float32 array, e.g. `weights.weight_values(model)`.
      config: of the model.
      vocab_file: copied as `vocab.txt`, unless None.
      do_lower_case: casing of the vocabulary; None where it is not known.
      vocab_sha256: fingerprint of a vocabulary that is known by it alone; else that of `vocab_file`
        is written.
      vectors: for sentence-transformers, how the vectors of a text become one; None for their mean.

    Raises:
      UserError: the directory can't be written, or the format can't say what the model is.
    """
    # Imported here, so that the names of the formats are known without TensorFlow.
    import tensorflow as tf

    from modeling.checkpoints import huggingface, model_garden, tensorflow_files, tokenizer_file

    writers = {
        "original": tensorflow_files.write_original,
        "model_garden": model_garden.write_model_garden,
        _NATIVE: tensorflow_files.write_native,
        **dict.fromkeys((_HUGGINGFACE, _SENTENCES), huggingface.write_huggingface),
    }
    left_out = without_place(output_format, weights, config)
    weights = {name: value for name, value in weights.items() if name not in left_out}
    try:
        files.make_directories(directory)
        writers[output_format](directory, weights, config)
    except (tf.errors.OpError, OSError) as error:
        # TensorFlow names the operation and its temporary file first, the reason last.
        reason = (
            str(getattr(error, "message", None) or error).rpartition("; ")[2].partition(" [Op")[0]
        )
        raise UserError(
            f"the weights can't be written in {os.path.dirname(directory) or '.'}: "
            f"{' '.join(reason.split())}"
        ) from None
    more = {}
    if output_format == _SENTENCES:
        write_vectors(
            directory,
            vectors or SentenceVectors(),
            config.hidden_size,
            config.max_position_embeddings,
        )
    if output_format in (_HUGGINGFACE, _SENTENCES) and vocab_file is not None:
        more = tokenizer_file.write_tokenizer(directory, vocab_file, do_lower_case is not False)
    write_companion_files(directory, config, vocab_file, do_lower_case, vocab_sha256, **more)


def without_place(output_format: str, tensors: Collection[str], config: BertConfig) -> list[str]:
    """Of the original names those that a format has no place for: heads in sentence-transformers',
    and of left-to-right models in Hugging Face's pooler and next-sentence head: its pooler reads
    the first token, which in such a model sees nothing but itself, and ours the last. Raises
    `UserError` where more of the model would be lost."""
    if output_format != _NATIVE and config.bilstm_units:
        raise UserError(
            f"the format {output_format!r} has no place for a BiLSTM between encoder and head: write "
            f"{_NATIVE!r}, or a SavedModel with export_model.py"
        )
    if output_format == _SENTENCES and not config.causal:
        return [name for name in tensors if not name.startswith(ENCODER_PREFIX)]
    if output_format == _NATIVE or not config.causal:
        return []
    if output_format != _HUGGINGFACE:
        raise UserError(
            f"the format {output_format!r} can't say that a model is left-to-right, and its programs would use "
            f"it as bidirectional: write {_HUGGINGFACE!r} or {_NATIVE!r}"
        )
    heads = [HEADS[name] for name in heads_of(tensors)]
    pooled = [
        head.title
        for head in heads
        if head.reads == "pooled_output" and head.name != "next_sentence"
    ]
    if pooled or not any(head.reads == "sequence_output" for head in heads):
        what = f"model with a {pooled[0]}" if pooled else "encoder without a head"
        raise UserError(
            f"a left-to-right {what} can't be written in the format {_HUGGINGFACE!r}, whose pooler reads the "
            f"first token, which sees nothing but itself, and ours the last: write {_NATIVE!r}"
        )
    return pooled_weights(tensors)


# Format → what the code that it comes from makes of the exact GELU, and of another epsilon than the
# original's.
_LIMITS = {
    "original": (
        "the original's code has only the tanh form of GELU and refuses it",
        "the original's code does not look at it and takes 1e-12",
    ),
    "model_garden": (
        "set it in the Model Garden's encoder, whose default is the tanh form of GELU",
        "the Model Garden's encoders always take 1e-12",
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """Conversion of a checkpoint"""

    input: str = option(
        None,
        "The checkpoint: a directory, a prefix, a .safetensors or an .h5 file, or a name, hf:OWNER/NAME or "
        "google:NAME. Of several of one model, separated by commas, the mean is written.",
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
        "The model's shape, bert_config.json or config.json; usually found beside the input.",
        path=FILE,
    )
    vocab_file: str | None = option(None, "Vocabulary; usually found beside the input.", path=FILE)
    do_lower_case: bool | None = option(
        None, "Casing of the vocabulary; usually found beside the input."
    )

    def check(self) -> None:
        super().check()
        files.refuse_existing(self.output, "output")

    def check_inputs(self) -> None:
        super().check_inputs()
        for path in paths_of(self.input):
            check_checkpoint_there(path)


def paths_of(checkpoints: str) -> list[str]:
    """The checkpoints of a list with commas; a path that is there may have commas in it."""
    return (
        [checkpoints]
        if files.exists(checkpoints)
        else [path for path in checkpoints.split(",") if path]
    )


def read_mean(paths: Sequence[str]) -> StoredWeights:
    """The mean of the weights of checkpoints of one model; of one checkpoint itself. Refuses those
    that differ in configuration, vocabulary, casing, or the names and shapes of tensors."""
    from modeling.checkpoints.load import read_checkpoint

    first, *others = checkpoints = [read_checkpoint(path) for path in paths]
    if not others:
        return first

    expected, *facts = [
        {
            "configuration": one.config,
            "vocabulary": Vocabulary.from_file(one.vocab_file).fingerprint
            if one.vocab_file
            else one.vocab_sha256,
            "casing": one.do_lower_case,
            "weights": dict(one.tensors),
        }
        for one in checkpoints
    ]
    for other, found in zip(others, facts, strict=True):
        if differing := [what for what, value in found.items() if value != expected[what]]:
            raise UserError(
                f"{other.description} has another {differing[0]} than {first.description}: a mean is of "
                "checkpoints of one model"
            )
    return dataclasses.replace(
        first,
        description=f"the mean of {', '.join(one.description for one in checkpoints)}",
        read=lambda name: np.asarray(
            np.mean([one.read(name) for one in checkpoints], 0, np.float64), np.float32
        ),
    )


def convert(
    input_path: str,
    output_format: str,
    output: str,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Converts a checkpoint, and reports what was read, what is not in the output, and what its
    user should know.

    Args:
      input_path: whatever `read_checkpoint` reads; several, separated by commas, see `read_mean`.
      output_format: one of `FORMATS`.
      output: a directory that does not exist, on any file system; it appears when it is complete.
      bert_config_file: configuration, the original's or Hugging Face's; None where it is found
        beside the input.
      vocab_file: vocabulary; None where it is found beside the input, or none is to be written.
      do_lower_case: its casing; None where it is found beside the input.
      texts: name → content of further files of the output, such as a model card.

    Raises:
      UserError: the input can't be read or lacks a part, configuration or vocabulary do not fit it,
        the format can't say what the model is, or the output exists or can't be written.
    """
    # Imported here, so that --help and wrong flags answer at once.
    from modeling.checkpoints.load import config_for, read_checkpoint

    files.refuse_existing(output, "output")
    if vocab_file is not None:
        files.check_readable(vocab_file, "vocab_file")
    source = read_mean(paths_of(input_path))
    config = config_for(source, bert_config_file)
    if config is None:
        raise UserError(
            f"{input_path}: there is no configuration beside the checkpoint: give --bert_config_file"
        )
    check_fits(config, source.tensors, source.description)
    expected = model_shapes(config, source.tensors)
    missing = missing_from_encoder(expected, source.tensors)
    if missing:
        raise UserError(
            f"{source.description} does not hold the whole encoder: {some(missing)} not found"
        )
    vocab_file = vocab_file or source.vocab_file
    do_lower_case = chosen_casing(do_lower_case, source)
    notes = _vocabulary_notes(vocab_file, do_lower_case, config, source)
    about_gelu, about_epsilon = _LIMITS.get(output_format, ("", ""))
    if about_gelu and config.hidden_act == "gelu_erf":
        notes.append(f"hidden_act is {config.hidden_act}: {about_gelu}")
    if about_epsilon and config.layer_norm_epsilon != 1e-12:
        notes.append(f"layer_norm_eps is {config.layer_norm_epsilon}: {about_epsilon}")
    carried = [name for name in expected if name in source.tensors]
    if left_out := without_place(output_format, carried, config):
        notes.append(
            "the pooler and what stands on it are not in the output: Hugging Face's reads the first token, which "
            "in a left-to-right model sees nothing but itself, and ours the last"
            if output_format == "huggingface"
            else f"there is no place for these in a directory of sentence-transformers: {', '.join(left_out)}"
        )
    vectors = (
        known_vectors(vectors_of(source)) if output_format == "sentence_transformers" else None
    )
    weights = {name: source.read(name) for name in carried if name not in left_out}
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
        )
        check_same(read_checkpoint(directory), weights)
        for name, text in (texts or {}).items():
            with files.atomic_write(os.path.join(directory, name)) as file:
                file.write(text)
    parameters = sum(value.size for value in weights.values())
    # Of the encoder and its heads; and what is in no BERT.
    missing = [name for name in expected if name not in carried]
    unused = sorted(name for name in source.tensors if name not in expected)
    return "\n".join(
        [
            f"read {source.description}",
            f"encoder, heads: {', '.join(heads_of(weights)) or 'none'}; {len(weights)} tensors, {parameters:,} parameters",
            *([f"not in the input, so not in the output: {', '.join(missing)}"] if missing else []),
            *([f"unused, not in the output: {', '.join(unused)}"] if unused else []),
            *(f"note: {note}" for note in notes),
            f"wrote {output} ({output_format}), read back: every bit the same",
        ]
    )


def check_same(written: StoredWeights, weights: dict[str, np.ndarray]) -> None:
    """Reads the output as any user would and compares it with what should be in it, bit for bit."""
    differing = sorted(name for name in {*written.tensors} ^ {*weights})
    differing += [
        name
        for name, value in weights.items()
        if name not in differing
        and not np.array_equal(written.read(name).view(np.uint32), value.view(np.uint32))
    ]
    if differing:
        raise RuntimeError(f"the written checkpoint is not what was read: {some(differing)}")


def _vocabulary_notes(
    vocab_file: str | None, do_lower_case: bool | None, config: BertConfig, source: StoredWeights
) -> list[str]:
    if vocab_file is None:
        return [
            "there is no vocab.txt beside the input, so none in the output: --vocab_file names one"
        ]
    vocabulary = Vocabulary.from_file(vocab_file)
    entries = len(vocabulary)
    if entries > config.vocab_size:
        raise UserError(
            f"{vocab_file} has {entries} entries, but the model's vocab_size is {config.vocab_size}: "
            "give the --vocab_file that belongs to the checkpoint"
        )
    replaced = check_vocabulary(vocabulary, source)
    notes = [replaced] if replaced else []
    if entries < config.vocab_size:
        notes.append(
            f"{vocab_file} has {entries} entries, fewer than vocab_size {config.vocab_size}"
        )
    if do_lower_case is None:
        notes.append(
            "the casing of the vocabulary is unknown: --do_lower_case sets it; it will be "
            "taken for lower-cased"
        )
    return notes
