"""Exports a checkpoint as a SavedModel that takes strings, or as ONNX or LiteRT.

  python export_model.py --init_checkpoint=out --export_dir=served
  python export_model.py --init_checkpoint=out --export_dir=served \\
      --task=question_answering --null_score_diff_threshold=-1.5
  python export_model.py --init_checkpoint=hf_directory --export_dir=served --task=features \\
      --check_file=lines.txt
  python export_model.py --init_checkpoint=out --export_dir=hub --api=tfhub
  python export_model.py --init_checkpoint=out --export_dir=served --format=onnx

docs/exports.md shows which export to choose and how to call it. The export is loaded back and
compared with the model before it appears.
"""

from bert_common import cli
from bert_tf.inference.options import ExportOptions

if __name__ == "__main__":
    cli.run(ExportOptions, "bert_tf.inference.export:run")
