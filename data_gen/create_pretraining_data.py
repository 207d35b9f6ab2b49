r"""Text → TFRecords for pre-training: masked language model and next sentence prediction.

  python data_gen/create_pretraining_data.py --input_file=corpus.txt --vocab_file=vocab.txt \
      --output_file=records.tfrecord@4
  python data_gen/create_pretraining_data.py --input_file='corpus/*.txt.gz' \
      --vocab_file=vocab.txt --output_file=records.tfrecord@64 --max_seq_length=512 \
      --max_predictions_per_seq=80 --do_whole_word_mask

Input: one sentence per line with a blank line between documents (`data_gen/prepare_corpus.py` makes
it). Output: what `run_pretraining.py` reads, with `NAME.stats.json` beside it. All cores work,
memory stays the same for any size of corpus, and the same flags give the same bytes for any number
of workers. A run that was stopped is resumed with --resume. docs/pretraining_data.md explains the
rest.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from data_gen.options import PretrainingDataOptions

if __name__ == "__main__":
    cli.run(PretrainingDataOptions, "data_gen.pretraining.generation:run")
