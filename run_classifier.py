"""Fine-tunes BERT on sentence and sentence-pair tasks: all of GLUE, and your files.

  # a task of GLUE; TensorBoard: tensorboard --logdir=out
  python run_classifier.py --task_name=mrpc --data_dir=glue --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_eval --do_predict --learning_rate=2e-5

  # the paper's selection: all combinations, the best on the development set predicts
  python run_classifier.py --task_name=rte --data_dir=glue --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_eval --do_predict --learning_rate=5e-5,3e-5,2e-5 \\
      --train_batch_size=16,32 --num_train_epochs=2,3,4

  # your labels, in TSV, CSV or JSON lines
  python run_classifier.py --task_name=custom --train_file=train.csv --dev_file=dev.csv \\
      --text_a_column=review --label_column=stars --init_checkpoint=bert_base --output_dir=out \\
      --do_train --do_eval

The same command again resumes. Flags and defaults of the original script are kept; there are
additional ones.
"""

from bert_common import cli
from bert_tf.tasks.classification.options import ClassificationOptions

if __name__ == "__main__":
    cli.run(ClassificationOptions, "bert_tf.tasks.classification.task:run")
