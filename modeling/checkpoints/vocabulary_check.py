"""Whether a vocabulary is the one that a checkpoint's weights belong to.

Two vocabularies of the same size load without complaint, and every id then means another word. So wherever a checkpoint
meets a vocabulary that does not lie beside it, they are compared: by the vocabulary beside the weights, and by the
fingerprint that a run notes in `tokenizer_config.json`.
"""

from bert_common import files
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import TOKENIZER_CONFIG_FILE, Vocabulary, check_fingerprint, short
from modeling.checkpoints.companion_files import StoredWeights


def check_vocabulary(vocabulary: Vocabulary, checkpoint: StoredWeights | None, where: str = "--vocab_file",
                     remedy: str = "use that one") -> str | None:
  """Refuses a vocabulary that the weights do not belong to.

  Allowed is the custom of giving custom words to a release's [unused] entries, whose embeddings are untrained.

  Args:
    vocabulary: what is going to be used.
    checkpoint: the weights; None where there are none.
    where: what the vocabulary comes from, for errors: a flag, or words.
    remedy: what to do about another one, for errors.

  Returns:
    a line with the number of [unused] entries were replaced, or None.

  Raises:
    UserError: names both vocabularies and the first difference.
  """
  if checkpoint is None:
    return None
  fingerprint = checkpoint.vocab_sha256
  if fingerprint is not None and vocabulary.has_fingerprint(fingerprint):
    return None
  if checkpoint.vocab_file is None:
    if fingerprint is None:
      return None
    raise UserError(f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description} "
                    f"({short(fingerprint)} in its {TOKENIZER_CONFIG_FILE}): give the one that belongs to it")
  is_its_own = vocabulary.path is not None and files.same_file(vocabulary.path, checkpoint.vocab_file)
  own = vocabulary if is_its_own else Vocabulary.from_file(checkpoint.vocab_file)
  check_fingerprint(own, fingerprint)
  replaced = own.replaced_unused(vocabulary)
  if replaced is None:
    raise UserError(f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description}, which is "
                    f"{_named(own)}: {own.describe_difference(vocabulary)}: {remedy}, or take a checkpoint that "
                    "was trained with yours")
  return None if not replaced else (
      f"{vocabulary.path}: {replaced:,} [unused] entries of the checkpoint's vocabulary have tokens here, whose "
      "embeddings are untrained so far")


def _named(vocabulary: Vocabulary) -> str:
  return f"{vocabulary.path or 'the vocabulary'} (fingerprint {short(vocabulary.fingerprint)})"
