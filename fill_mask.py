"""Fills [MASK]s with the masked-LM head of a checkpoint.

  python fill_mask.py --init_checkpoint=DIR "The [MASK] of the array is returned."
  python fill_mask.py --init_checkpoint=DIR < sentences.txt      # one per line

The checkpoint is a run directory of run_pretraining.py, one of its ckpt-N prefixes, an original
bert_model.ckpt with bert_config.json and vocab.txt beside it, a Hugging Face directory, or any
other checkpoint of docs/checkpoints.md.
"""

from bert_common import cli
from bert_tf.inference.options import FillMaskOptions

if __name__ == "__main__":
    cli.run(FillMaskOptions, "bert_tf.inference.fill_mask:run", positional="sentences")
