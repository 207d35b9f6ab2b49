"""Writing checkpoints in every format that can be read.

Input: weights by their original names, in the original's shapes. Output: a directory with them, the configuration, and
the vocabulary where there is one.
"""

import os
from collections.abc import Collection, Mapping

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import write_companion_files
from modeling.checkpoints.sentence_transformers import SentenceVectors, write_vectors
from modeling.checkpoints.weight_shapes import heads_of, pooled_weights
from modeling.checkpoints.weights import ENCODER_PREFIX, HEADS
from modeling.config import BertConfig

_HUGGINGFACE, _NATIVE, _SENTENCES = "huggingface", "native", "sentence_transformers"
FORMATS = ("original", _HUGGINGFACE, "model_garden", _NATIVE, _SENTENCES)


def write_checkpoint(output_format: str, directory: str, weights: Mapping[str, np.ndarray], config: BertConfig,
                     vocab_file: str | None = None, do_lower_case: bool | None = None,
                     vocab_sha256: str | None = None, vectors: SentenceVectors | None = None) -> None:
  """Writes weights and what is needed to use them.

  Args:
    output_format: one of `FORMATS`.
    directory: an empty one, or one to be made; on any file system.
    weights: original name → float32 array, e.g. `weights.weight_values(model)`.
    config: of the model.
    vocab_file: copied as `vocab.txt`, unless None.
    do_lower_case: casing of the vocabulary; None where it is not known.
    vocab_sha256: fingerprint of a vocabulary that is known by it alone; else that of `vocab_file` is written.
    vectors: for sentence-transformers, how the vectors of a text become one; None for their mean.

  Raises:
    UserError: the disk is full, the directory can't be written, or the format can't say what the model is.
  """
  # Imported here, so that the names of the formats are known without TensorFlow.
  import tensorflow as tf

  from modeling.checkpoints import huggingface, model_garden, native, original, tokenizer_file

  writers = (original.write_original, huggingface.write_huggingface, model_garden.write_model_garden,
             native.write_native, huggingface.write_huggingface)
  left_out = without_place(output_format, weights, config)
  weights = {name: value for name, value in weights.items() if name not in left_out}
  try:
    files.make_directories(directory)
    dict(zip(FORMATS, writers, strict=True))[output_format](directory, weights, config)
  except (tf.errors.OpError, OSError) as error:
    # TensorFlow names the operation and its temporary file first, the reason last.
    reason = str(getattr(error, "message", None) or error).rpartition("; ")[2].partition(" [Op")[0]
    raise UserError(f"the weights can't be written in {os.path.dirname(directory) or '.'}: "
                    f"{' '.join(reason.split())}") from None
  more = {}
  if output_format == _SENTENCES:
    write_vectors(directory, vectors or SentenceVectors(), config.hidden_size, config.max_position_embeddings)
  if output_format in (_HUGGINGFACE, _SENTENCES) and vocab_file is not None:
    more = tokenizer_file.write_tokenizer(directory, vocab_file, do_lower_case is not False)
  write_companion_files(directory, config, vocab_file, do_lower_case, vocab_sha256, **more)


def without_place(output_format: str, tensors: Collection[str], config: BertConfig) -> list[str]:
  """Weights that a format has no place for: heads in sentence-transformers', and of left-to-right models in Hugging
  Face's.

  The latter's pooler reads the first token, which in such a model sees nothing but itself; ours reads the last. So the
  pooler and the next-sentence head are left out.

  Args:
    tensors: original names.

  Raises:
    UserError: the format can't say that a model is left-to-right, or computes something else for its head; or it has
      no place for a BiLSTM, or for the head that matters.
  """
  if output_format != _NATIVE and config.bilstm_units:
    raise UserError(f"the format {output_format!r} has no place for a BiLSTM between encoder and head: write "
                    f"{_NATIVE!r}, or a SavedModel with export_model.py")
  if output_format == _SENTENCES and not config.causal:
    return [name for name in tensors if not name.startswith(ENCODER_PREFIX)]
  if output_format == _NATIVE or not config.causal:
    return []
  if output_format != _HUGGINGFACE:
    raise UserError(f"the format {output_format!r} can't say that a model is left-to-right, and its programs would use "
                    f"it as bidirectional: write {_HUGGINGFACE!r} or {_NATIVE!r}")
  heads = [HEADS[name] for name in heads_of(tensors)]
  pooled = [head.title for head in heads if head.reads == "pooled_output" and head.name != "next_sentence"]
  if pooled or not any(head.reads == "sequence_output" for head in heads):
    what = f"model with a {pooled[0]}" if pooled else "encoder without a head"
    raise UserError(f"a left-to-right {what} can't be written in the format {_HUGGINGFACE!r}, whose pooler reads the "
                    f"first token, which sees nothing but itself, and ours the last: write {_NATIVE!r}")
  return pooled_weights(tensors)
