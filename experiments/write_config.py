"""Writes a bert_config.json for a vocabulary, with any number of layers, hidden units and heads.

  python experiments/write_config.py --vocab_file=my_vocab/vocab.txt --num_hidden_layers=6 \\
      --hidden_size=768 --num_attention_heads=3 --output_dir=my_config

vocab/build_vocab.py writes the configurations of the published sizes.
"""

from bert_common import cli
from bert_tf.vocabulary.building import ConfigOptions

if __name__ == "__main__":
    cli.run(ConfigOptions, "bert_tf.vocabulary.building:write_config")
