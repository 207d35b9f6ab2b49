"""Fine-tunes BERT to tag words: named entities (section 5.3 of the paper), parts of speech.

  # CoNLL-2003, with the document around every sentence; TensorBoard: tensorboard --logdir=out
  python run_ner.py --data_dir=conll2003 --init_checkpoint=bert_base_cased --output_dir=out \\
      --do_train --do_eval --do_predict --max_seq_length=512 --train_batch_size=8

  # the paper's selection and five restarts: the best on the development set predicts
  python run_ner.py --data_dir=conll2003 --init_checkpoint=bert_base_cased --output_dir=out \\
      --do_train --do_eval --do_predict --learning_rate=5e-5,3e-5,2e-5 --seed=1,2,3,4,5

  # your labels: columns, or JSON lines with tokens or with offsets
  python run_ner.py --train_file=train.jsonl --dev_file=dev.jsonl \\
      --init_checkpoint=bert_base_cased --output_dir=out --do_train --do_eval

The same command again resumes. `predict.py --init_checkpoint=out` tags texts with the result.
"""

from bert_common import cli
from bert_tf.tasks.token_classification.options import TokenClassificationOptions

if __name__ == "__main__":
    cli.run(TokenClassificationOptions, "bert_tf.tasks.token_classification.feature_based:run")
