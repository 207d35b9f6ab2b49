"""Exports a checkpoint as a SavedModel that takes strings: the tokenizer is in the graph.

  python export_model.py --init_checkpoint=out --export_dir=served --task=classifier
  python export_model.py --init_checkpoint=out --export_dir=served --task=squad --null_score_diff_threshold=-1.5
  python export_model.py --init_checkpoint=hf_directory --export_dir=served --task=features --check_file=lines.txt

docs/export.md has the signatures and how to call them. The export is loaded back and compared with the network before
it appears.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from absl import flags

from common import cli, files

FLAGS = flags.FLAGS

flags.DEFINE_string("init_checkpoint", None, "The checkpoint.")
flags.DEFINE_string("export_dir", None, "Directory of the SavedModel; it must not exist.")
flags.DEFINE_enum("task", None, ["features", "classifier", "squad", "fill_mask"], "What the model is to answer.")
flags.DEFINE_string("check_file", None, "Text, a line at a time, to compare the tokenizer in the graph with the exact "
                    "one on, besides the built-in sample.")
flags.DEFINE_string("bert_config_file", None, "The network's shape; usually found beside the checkpoint.")
flags.DEFINE_string("vocab_file", None, "Vocabulary; usually found beside the checkpoint.")
flags.DEFINE_bool("do_lower_case", None, "Casing of the vocabulary; usually found beside the checkpoint.")
flags.DEFINE_integer("max_seq_length", None, "Most tokens the network sees at once. Default: as it was fine-tuned; "
                     "otherwise 512, for squad 384, or as many as it has positions.", lower_bound=3)
flags.DEFINE_integer("top_k", 5, "fill_mask: candidates for each mask.", lower_bound=1)
# Without a default here: what is not given is as in the fine-tuned run.
flags.DEFINE_integer("doc_stride", None, "squad: tokens between the starts of windows. Default: as fine-tuned, or 128.",
                     lower_bound=1)
flags.DEFINE_integer("max_query_length", None, "squad: longer questions are cut. Default: as fine-tuned, or 64.",
                     lower_bound=1)
flags.DEFINE_integer("n_best_size", None, "squad: starts and ends of each window that are looked at. Default: as "
                     "fine-tuned, or 20.", lower_bound=1)
flags.DEFINE_integer("max_answer_length", None, "squad: most tokens of an answer. Default: as fine-tuned, or 30.",
                     lower_bound=1)
flags.DEFINE_bool("version_2_with_negative", None, "squad: there may be no answer. Default: as fine-tuned, or false.")
flags.DEFINE_float("null_score_diff_threshold", None, "squad: there is no answer if its score is better than the best "
                   "answer's by more than this. Default: as fine-tuned, or 0.")

_SPANS = ("doc_stride", "max_query_length", "n_best_size", "max_answer_length", "version_2_with_negative",
          "null_score_diff_threshold")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(init_checkpoint=FLAGS.init_checkpoint, export_dir=FLAGS.export_dir, task=FLAGS.task)
  files.refuse_existing(FLAGS.export_dir, "export_dir")
  # Imported late, so that --help and wrong flags answer at once.
  from inference.export import ExportOptions, export

  options = ExportOptions(FLAGS.task, FLAGS.max_seq_length, FLAGS.top_k,
                          {name: FLAGS[name].value for name in _SPANS if FLAGS[name].value is not None})
  print(export(FLAGS.init_checkpoint, FLAGS.export_dir, options, bert_config_file=FLAGS.bert_config_file,
               vocab_file=FLAGS.vocab_file, do_lower_case=FLAGS.do_lower_case,
               check_file=FLAGS.check_file).describe())


if __name__ == "__main__":
  cli.run(main)
