"""The work of `write_config.py`: a bert_config.json for a vocabulary."""

import dataclasses
import os

from bert_common import files
from bert_common.options import Options, option
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.config import BertConfig

# What bert_config.json calls it.
_CAUSAL = "is_decoder"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigOptions(Options):
  """The model's shape."""

  vocab_file: str = option(None, "The vocabulary, one token a line: its size.", required=True)
  output_dir: str = option(None, "Where bert_config.json goes.", required=True)
  num_hidden_layers: int = option(12, "Layers.", minimum=1)
  hidden_size: int = option(768, "Hidden units; feed-forward layers have four times as many.", minimum=1)
  num_attention_heads: int = option(12, "Attention heads.", minimum=1)
  max_position_embeddings: int = option(512, "The longest sequence.", minimum=1)
  causal: bool = option(
      False, "Every token sees those before it only; pre-training predicts the next one.")
  initializer_range: float = option(0.02, "Standard deviation of initial weights.", above=0)
  hidden_dropout_prob: float = option(0.1, "Dropout of embeddings and layers.", minimum=0, below=1)
  attention_probs_dropout_prob: float = option(0.1, "Dropout of the attention probabilities.", minimum=0, below=1)


def write_config(options: ConfigOptions) -> None:
  """Writes `bert_config.json` into --output_dir.

  Raises:
    UserError: the vocabulary can't be read, the heads do not divide the hidden size, or the file can't be written.
  """
  vocabulary = Vocabulary.from_file(files.check_readable(options.vocab_file, "vocab_file"))
  shape = {name: getattr(options, name) for name in (
      "num_hidden_layers", "hidden_size", "num_attention_heads", "max_position_embeddings", "initializer_range",
      "hidden_dropout_prob", "attention_probs_dropout_prob")}
  config = BertConfig.from_dict({
      "vocab_size": len(vocabulary), "intermediate_size": 4 * options.hidden_size, "type_vocab_size": 2, **shape,
      **({_CAUSAL: True} if options.causal else {})})
  files.make_output_directory(options.output_dir, "output_dir")
  path = os.path.join(options.output_dir, "bert_config.json")
  config.to_file(path)
  print(f"wrote {path}: L={config.num_hidden_layers} H={config.hidden_size} A={config.num_attention_heads}, "
        f"{config.vocab_size:,} tokens")
