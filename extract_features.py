"""Writes the hidden states of some layers for every line of a file.

  python extract_features.py --input_file=lines.txt --output_file=features.jsonl \\
      --init_checkpoint=bert --layers=-1,-2
  python extract_features.py --input_file=lines.txt --output_file=vectors.npz \\
      --init_checkpoint=bert --layers=-1 --pooling=mean
  zcat lines.gz | python extract_features.py --input_file=- --output_file=vectors.npz \\
      --init_checkpoint=bert

A line is a text, or a pair of texts with " ||| " between them. Flags and defaults of the original
script are kept; there are additional ones. docs/predict.md describes both outputs.
"""

from bert_common import cli
from bert_tf.inference.options import ExtractOptions

if __name__ == "__main__":
    cli.run(ExtractOptions, "bert_tf.inference.features:run")
