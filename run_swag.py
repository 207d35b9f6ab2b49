"""Fine-tunes BERT for multiple choice: SWAG, HellaSwag, CODAH, and your questions.

  # SWAG (train.csv, val.csv, test.csv); TensorBoard: tensorboard --logdir=out
  python run_swag.py --data_dir=swag --init_checkpoint=bert_base --output_dir=out \\
      --do_train --do_eval --do_predict

  # HellaSwag; a fold of CODAH
  python run_swag.py --task_name=hellaswag --data_dir=hellaswag --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_eval
  python run_swag.py --task_name=codah --data_dir=codah/fold_0 --init_checkpoint=bert_base \\
      --output_dir=out --do_train --do_eval --do_predict

  # your questions, with 2 to 26 choices, in CSV, TSV or JSON lines
  python run_swag.py --task_name=custom --train_file=train.csv --dev_file=dev.csv \\
      --question_column=question --choices_columns=a,b,c,d --label_column=answer \\
      --init_checkpoint=bert_base --output_dir=out --do_train --do_eval

The same command again resumes. The original's code for SWAG was not released; the defaults are
the paper's.
"""

from bert_common import cli
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions

if __name__ == "__main__":
    cli.run(MultipleChoiceOptions, "bert_tf.tasks.multiple_choice.task:run")
