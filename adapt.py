"""Adapts an encoder to documents: further pre-training, and whether it was worth it.

  # ten minutes on a folder of text, Markdown, HTML, JSON lines or Parquet
  python adapt.py --documents_dir=handbook --init_checkpoint=hf:google-bert/bert-base-uncased \\
      --output_dir=out

  # the commands, without running them
  python adapt.py --documents_dir=handbook --init_checkpoint=samples/mini_books --output_dir=out \\
      --dry_run

  # a classifier: the verdict is about its accuracy
  python adapt.py --documents_dir=mails --init_checkpoint=samples/mini_books --output_dir=out \\
      --train_file=train.csv --dev_file=dev.csv --minutes=60

Every step is a command that is printed; the same command again resumes. At the end stand the loss
on held-out documents and on old text, before and after, with intervals, and a verdict; the result
is in OUT/model. docs/adapt.md shows examples with their gains.
"""

from bert_common import cli
from bert_tf.extras.adaptation_plan import AdaptOptions

if __name__ == "__main__":
    cli.run(AdaptOptions, "bert_tf.extras.adaptation:run")
