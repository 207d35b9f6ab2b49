"""Fine-tunes BERT for question answering: SQuAD v1.1, v2.0 and files of the same layout.

  # SQuAD v1.1; TensorBoard: tensorboard --logdir=out
  python run_squad.py --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --init_checkpoint=bert_base --output_dir=out --do_train --do_predict \\
      --learning_rate=3e-5 --num_train_epochs=2

  # v2.0, where a text may have no answer: the threshold is tuned on the predict file and kept
  python run_squad.py --train_file=train-v2.0.json --predict_file=dev-v2.0.json \\
      --init_checkpoint=bert_base --output_dir=out --do_train --do_predict \\
      --version_2_with_negative

  # later: other questions, one question, an ensemble of several runs
  python run_squad.py --output_dir=out --do_predict --predict_file=questions.json
  python run_squad.py --output_dir=out --question="Who was she?" \\
      --context="Ada was a mathematician."
  python run_squad.py --ensemble=out1,out2,out3 --output_dir=together --do_predict \\
      --predict_file=dev-v1.1.json

The same command again resumes. Flags and defaults of the original script are kept; there are
additional ones.
"""

from bert_common import cli
from bert_tf.tasks.question_answering.options import SquadOptions

if __name__ == "__main__":
    cli.run(SquadOptions, "bert_tf.tasks.question_answering.task:run")
