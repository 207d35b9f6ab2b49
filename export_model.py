"""Exports a checkpoint as a SavedModel that takes strings, or as ONNX or LiteRT.

  # a SavedModel of strings
  python export_model.py --init_checkpoint=out --export_dir=served

  # another threshold for questions without an answer
  python export_model.py --init_checkpoint=out --export_dir=served \\
      --null_score_diff_threshold=-1.5 --task=question_answering

  # the encoder alone, by TF-Hub's names
  python export_model.py --init_checkpoint=out --export_dir=hub --api=tfhub

  # token ids, for onnxruntime
  python export_model.py --init_checkpoint=out --export_dir=served --format=onnx

docs/exports.md shows which export to choose and how to call it. The export is loaded back and
compared with the model before it appears.
"""

from bert_common import cli
from bert_tf.inference.options import ExportOptions

if __name__ == "__main__":
    cli.run(ExportOptions, "bert_tf.inference.export:run")
