"""Fills [MASK]s with the masked-LM head of a checkpoint.

  python fill_mask.py --init_checkpoint=DIR "The [MASK] of the array is returned."
  python fill_mask.py --init_checkpoint=DIR < sentences.txt      # one a line

The checkpoint is a run directory of run_pretraining.py, one of its ckpt-N prefixes, an original bert_model.ckpt with
bert_config.json and vocab.txt beside it, a Hugging Face directory or a checkpoint of the Model Garden.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli
from common.errors import UserError

FLAGS = flags.FLAGS

flags.DEFINE_string("init_checkpoint", None, "The checkpoint.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; usually found beside the checkpoint.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary; usually found beside the checkpoint.")
flags.DEFINE_integer("top_k", 5, "Candidates for each mask.", lower_bound=1)


def main(argv) -> None:
  cli.require_flags(init_checkpoint=FLAGS.init_checkpoint)
  texts = argv[1:] or [line.strip() for line in sys.stdin if line.strip()]
  if not texts:
    raise UserError('no sentence: give one, e.g. "Paris is the [MASK] of France."')
  for text in texts:
    if "[MASK]" not in text:
      raise UserError(f"there is no [MASK] in {text!r}")
  # Imported late, so that --help and wrong flags answer at once.
  from inference import fill_mask

  filler = fill_mask.MaskFiller.from_checkpoint(FLAGS.init_checkpoint, FLAGS.vocab_file, FLAGS.do_lower_case)
  for number, text in enumerate(texts):
    masks = filler.fill(text, FLAGS.top_k)
    if number:
      print()
    print(text)
    for index, candidates in enumerate(masks):
      if len(masks) > 1:
        print(f"  mask {index + 1}")
      for candidate in candidates:
        print(f"  {candidate.probability:7.1%}  {candidate.token}")
    print(f"  → {fill_mask.filled(text, [candidates[0].token for candidates in masks])}")


if __name__ == "__main__":
  cli.run(main)
