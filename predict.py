"""Predicts for lines of text: one input per line, one JSON object per line.

  python predict.py --init_checkpoint=out --input_file=lines.txt --output_file=predictions.jsonl
  echo 'The [MASK] is returned.' | python predict.py --init_checkpoint=bert --task=fill_mask

A line is a text, two texts with a tab between them, or a JSON object. Lines from standard input are
answered as they come. docs/predict.md shows the inputs and outputs of each task.
"""

from bert_common import cli
from bert_tf.inference.options import PredictOptions

if __name__ == "__main__":
    cli.run(PredictOptions, "bert_tf.inference.predictor:run")
