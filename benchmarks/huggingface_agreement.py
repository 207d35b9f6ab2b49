"""Do this project and transformers compute the same from a Hugging Face directory?

  python benchmarks/huggingface_agreement.py --model=hf_directory --input_file=sentences.txt
  python benchmarks/huggingface_agreement.py --model=hf_directory --input_file=val.csv --task=multiple_choice --count=50
  python benchmarks/huggingface_agreement.py --model=hf_directory --input_file=dev.conll --task=token_classification

Of the first --count inputs each goes through both models alone, in float32. The encoder's inputs are lines, which go
through both tokenizers, too; those of the tasks are questions in SWAG's columns, and tagged sentences in any format of
run_ner.py. Printed: the largest difference in any output, beside the largest logit. A fine-tuned model's directory is
what convert_checkpoint.py --output_format=huggingface makes of a run. Needs requirements-peers.txt.
"""

import dataclasses

import numpy as np

from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import Options, option
from tests.oracles.huggingface import ENCODER, HEADS, batches, models


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgreementOptions(Options):
  """Options of the comparison."""

  model: str = option(None, "Hugging Face directory with model.safetensors, and the head of the task.", required=True)
  input_file: str = option(None, "Text, a sentence a line; or a file of the task.", required=True)
  task: str = option(ENCODER, "What is compared.", choices=tuple(HEADS))
  count: int = option(100, "Inputs that are compared; empty ones do not count.", minimum=1)
  max_seq_length: int = option(128, "Longer sequences of a task are truncated.", minimum=3)


def main(options: AgreementOptions) -> None:
  files.check_readable(options.input_file, "input_file")
  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.checkpoints.load import read_checkpoint

  source = read_checkpoint(options.model)
  if source.config is None or source.vocab_file is None:
    raise UserError(f"--model: {options.model} has no config.json or no vocabulary")
  tokenizer = Tokenizer.from_file(source.vocab_file, source.do_lower_case is not False)
  ours, theirs = models(options.task, options.model, source)
  inputs, tokens, largest = 0, 0, {}
  for batch in batches(
      options.task, options.model, tokenizer, options.input_file, options.count,
      source.config.max_position_embeddings if options.task == ENCODER else options.max_seq_length):
    inputs, tokens = inputs + 1, tokens + int(batch["input_mask"].sum())
    found, expected = ours(batch), theirs(batch)
    for name, value in expected.items():
      values = np.abs(found[name] - value).max(), np.abs(value).max()
      largest[name] = np.maximum(largest.get(name, 0.0), values)
  print(f"{inputs} inputs, {tokens:,} tokens")
  for name, (difference, value) in largest.items():
    # What the encoder gives is normalised; logits are of any size.
    size = f", where the largest is {value:.3g}" if name == "logits" else ""
    print(f"largest difference of {name}: {difference:.1e}{size}")


if __name__ == "__main__":
  cli.run(AgreementOptions, main)
