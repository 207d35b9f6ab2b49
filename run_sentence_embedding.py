"""Trains sentence embeddings for semantic similarity, retrieval and duplicates.

  # pairs, with the other pairs of a batch as negatives; TensorBoard: tensorboard --logdir=out
  python run_sentence_embedding.py --train_file=train.csv --text_a_column=question \\
      --text_b_column=answer --dev_file=dev.csv --init_checkpoint=bert_mini --output_dir=out \\
      --do_train --do_eval --train_batch_size=128

  # STS-B
  python run_sentence_embedding.py --task_name=sts-b --data_dir=glue \\
      --init_checkpoint=bert_mini --output_dir=out --do_train --do_eval

  # natural-language inference, evaluated on STS-B
  python run_sentence_embedding.py --task_name=nli --train_file=glue/MNLI/train.tsv \\
      --dev_task_name=sts-b --dev_file=glue/STS-B/dev.tsv --init_checkpoint=bert_mini \\
      --output_dir=out --do_train --do_eval

  # texts alone (SimCSE)
  python run_sentence_embedding.py --task_name=text --train_file=lines.txt \\
      --dev_task_name=sts-b --dev_file=glue/STS-B/dev.tsv --init_checkpoint=bert_mini \\
      --output_dir=out --do_train --do_eval

  # a batch larger than memory, computed in 8 parts: the same gradient
  python run_sentence_embedding.py --train_file=train.csv --init_checkpoint=bert_mini \\
      --output_dir=out --do_train --train_batch_size=1024 --gradient_accumulation_steps=8

The same command again resumes. `python -m bert_tf.extras.search` finds the nearest documents with
the result. docs/sentence_embeddings.md has the formats of files, losses and metrics.
"""

from bert_common import cli
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions

if __name__ == "__main__":
    cli.run(SentenceEmbeddingOptions, "bert_tf.tasks.sentence_embedding.task:run")
