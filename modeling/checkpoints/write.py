"""Writing checkpoints in every format that can be read.

Input: weights by their original names, in the original's shapes. Output: a directory with them, the configuration, and
the vocabulary where there is one.
"""

import os
from collections.abc import Mapping

import numpy as np

from common import files
from common.errors import UserError
from modeling.checkpoints.companion_files import write_companion_files
from modeling.config import BertConfig

FORMATS = ("original", "huggingface", "model_garden", "native")


def write_checkpoint(output_format: str, directory: str, weights: Mapping[str, np.ndarray], config: BertConfig,
                     vocab_file: str | None = None, do_lower_case: bool | None = None,
                     vocab_sha256: str | None = None) -> None:
  """Writes weights and what is needed to use them.

  Args:
    output_format: one of `FORMATS`.
    directory: an empty one, or one to be made; on any file system.
    weights: original name → float32 array, e.g. `weights.weight_values(model)`.
    config: of the model.
    vocab_file: copied as `vocab.txt`, unless None.
    do_lower_case: casing of the vocabulary; None where it is not known.
    vocab_sha256: fingerprint of a vocabulary that is known by it alone; else that of `vocab_file` is written.

  Raises:
    UserError: the disk is full, the directory can't be written, or the format has no names for these heads.
  """
  # Imported here, so that the names of the formats are known without TensorFlow.
  import tensorflow as tf

  from modeling.checkpoints import huggingface, model_garden, native, original

  writers = (original.write_original, huggingface.write_huggingface, model_garden.write_model_garden,
             native.write_native)
  try:
    files.make_directories(directory)
    dict(zip(FORMATS, writers, strict=True))[output_format](directory, weights, config)
  except (tf.errors.OpError, OSError) as error:
    # TensorFlow names the operation and its temporary file first, the reason last.
    reason = str(getattr(error, "message", None) or error).rpartition("; ")[2].partition(" [Op")[0]
    raise UserError(f"the weights can't be written in {os.path.dirname(directory) or '.'}: "
                    f"{' '.join(reason.split())}") from None
  write_companion_files(directory, config, vocab_file, do_lower_case, vocab_sha256)
