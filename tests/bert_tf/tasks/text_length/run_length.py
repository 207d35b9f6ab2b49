"""Fine-tunes BERT to count the words of a text; predicts, evaluates and exports with further
commands.

python -m tests.bert_tf.tasks.text_length.run_length --train_file=train.txt --do_train
--output_dir=out
"""

from bert_common import cli
from tests.bert_tf.tasks.text_length import add_to_tables
from tests.bert_tf.tasks.text_length.options import LengthOptions

if __name__ == "__main__":
    add_to_tables()
    cli.run(LengthOptions, "tests.bert_tf.tasks.text_length.task:run")
