"""Do this project and transformers compute the same from a Hugging Face directory?

  python benchmarks/huggingface_agreement.py --model=hf_directory --input_file=sentences.txt

Each of the first --count lines goes through both tokenizers and both encoders, float32, one at a time, without padding.
Printed: lines with the same ids, and the largest difference in any output. Needs requirements-peers.txt.
"""

import dataclasses
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from common import cli, files
from common.errors import UserError
from common.options import Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgreementOptions(Options):
  """Options of the comparison."""

  model: str = option(None, "Hugging Face directory with model.safetensors.", required=True)
  input_file: str = option(None, "Text, a sentence a line.", required=True)
  count: int = option(100, "Lines that are compared; empty ones do not count.", minimum=1)


def main(options: AgreementOptions) -> None:
  with open(files.check_readable(options.input_file, "input_file"), encoding="utf-8") as file:
    lines = [line.strip() for line in file if line.strip()][:options.count]
  os.environ.setdefault("HF_HUB_OFFLINE", "1")
  try:
    import torch
    import transformers
  except ImportError as error:
    raise UserError(f"{error.name} is not installed: pip install -r requirements-peers.txt") from None
  import numpy as np

  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.checkpoints.load import load_weights, read_checkpoint
  from modeling.encoder import BertEncoder

  source = read_checkpoint(options.model)
  if source.config is None or source.vocab_file is None:
    raise UserError(f"--model: {options.model} has no config.json or no vocabulary")
  encoder = BertEncoder(source.config)
  encoder.build_weights()
  print(load_weights(encoder, source).describe())
  tokenizer = Tokenizer.from_file(source.vocab_file, source.do_lower_case is not False)
  their_tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
  their_encoder = transformers.AutoModel.from_pretrained(options.model).eval()

  same, tokens, largest = 0, 0, {"sequence_output": 0.0, "pooled_output": 0.0}
  for line in lines:
    ids = [tokenizer.vocabulary.cls_id, *tokenizer.encode(line), tokenizer.vocabulary.sep_id]
    same += their_tokenizer(line)["input_ids"] == ids
    ids = np.array([ids[:source.config.max_position_embeddings]], np.int32)
    tokens += ids.size
    outputs = encoder(ids)
    with torch.no_grad():
      theirs = their_encoder(input_ids=torch.tensor(ids.astype(np.int64)))
    for name, value in (("sequence_output", theirs.last_hidden_state), ("pooled_output", theirs.pooler_output)):
      largest[name] = max(largest[name], float(np.abs(np.asarray(outputs[name]) - value.numpy()).max()))
  print(f"{len(lines)} lines, {tokens:,} tokens; {same} lines with the same ids")
  for name, difference in largest.items():
    print(f"largest difference of {name}: {difference:.1e}")


if __name__ == "__main__":
  cli.run(AgreementOptions, main)
