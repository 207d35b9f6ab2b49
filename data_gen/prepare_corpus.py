r"""Text in any common format → one sentence per line and a blank line between documents.

  python data_gen/prepare_corpus.py --input_file='books/*.txt' --output_file=corpus/train.txt
  python data_gen/prepare_corpus.py --input_file='wiki/*/wiki_*.gz' --output_file=corpus/train.txt \
      --held_out_fraction=0.02 --held_out_file=corpus/held_out.txt
  python data_gen/prepare_corpus.py --input_file=docs.jsonl --text_field=body \
      --output_file=corpus/train.txt.gz

Input: plain text, JSON, CSV, TSV, WikiExtractor output, WET or Parquet, compressed or not. Output:
what `vocab/build_vocab.py` and `create_pretraining_data.py` read. All cores split sentences, a few
megabytes of text are in memory at a time, and the output is the same for any number of workers.
docs/corpus.md explains the rest.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from data_gen.options import CorpusOptions

if __name__ == "__main__":
    cli.run(CorpusOptions, "data_gen.text.corpus_preparation:run")
