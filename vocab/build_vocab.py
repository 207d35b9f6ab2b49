r"""Learns a WordPiece vocabulary of an exact size from a prepared corpus, and writes the
configuration of a model that uses it.

    python vocab/build_vocab.py --input_file=corpus/train.txt --held_out_file=corpus/held_out.txt \
        --vocab_size=30522 --num_unused=994 --output_dir=my_vocab
    python vocab/build_vocab.py --input_file='corpus/*.txt.gz' --vocab_size=8000 \
        --model_size=tiny --output_dir=my_vocab

Input: the output of `data_gen/prepare_corpus.py`, or any other text. Output: `vocab.txt`,
`bert_config.json` and `tokenizer_config.json` in the output directory, for
`data_gen/create_pretraining_data.py`. docs/vocabulary.md explains the rest.
"""

import os
import sys

# A script in a directory of the project finds its packages in the directory above.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from bert_tf.vocabulary.building import VocabularyOptions

if __name__ == "__main__":
    cli.run(VocabularyOptions, "bert_tf.vocabulary.building:run")
