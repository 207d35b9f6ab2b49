"""Pre-trains BERT on records of data_gen/create_pretraining_data.py.

  # one machine; TensorBoard: tensorboard --logdir=out
  python run_pretraining.py --do_train --do_eval --input_file='records/train*' \\
      --eval_file='records/dev*' --bert_config_file=bert_config.json --output_dir=out \\
      --learning_rate=1e-4 --num_train_steps=100000

  # further pre-training of other weights, from step 0
  python run_pretraining.py --do_train --init_checkpoint=bert_model.ckpt \\
      --input_file='records/train*' --output_dir=out

The same command again resumes. On several machines, run it with srun, or with TF_CONFIG set on
each. Flags and defaults of the original script are kept; there are additional ones.
"""

from bert_common import cli
from bert_tf.tasks.pretraining.options import PretrainingOptions

if __name__ == "__main__":
    cli.run(PretrainingOptions, "bert_tf.tasks.pretraining.task:run")
