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
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import pytorch_peers, texts
from bert_tf.common import cli, files
from bert_tf.common.errors import UserError
from bert_tf.common.options import Options, option

ENCODER, MULTIPLE_CHOICE, TOKEN_CLASSIFICATION = "encoder", "multiple_choice", "token_classification"
# Task → our name of its head.
_HEADS = {ENCODER: None, MULTIPLE_CHOICE: "multiple_choice", TOKEN_CLASSIFICATION: "tagging"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgreementOptions(Options):
  """Options of the comparison."""

  model: str = option(None, "Hugging Face directory with model.safetensors, and the head of the task.", required=True)
  input_file: str = option(None, "Text, a sentence a line; or a file of the task.", required=True)
  task: str = option(ENCODER, "What is compared.", choices=tuple(_HEADS))
  count: int = option(100, "Inputs that are compared; empty ones do not count.", minimum=1)
  max_seq_length: int = option(128, "Longer sequences of a task are truncated.", minimum=3)


def main(options: AgreementOptions) -> None:
  files.check_readable(options.input_file, "input_file")
  pytorch_peers.check_installed()
  from data_gen.tokenization.tokenizer import Tokenizer
  from modeling.checkpoints.load import read_checkpoint

  source = read_checkpoint(options.model)
  if source.config is None or source.vocab_file is None:
    raise UserError(f"--model: {options.model} has no config.json or no vocabulary")
  tokenizer = Tokenizer.from_file(source.vocab_file, source.do_lower_case is not False)
  ours, theirs = _models(options, source)
  inputs, tokens, largest = 0, 0, {}
  for batch in _batches(options, tokenizer, source.config):
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


def _models(options: AgreementOptions, source) -> tuple[Callable, Callable]:
  """Ours and theirs, each a function of a batch that returns arrays by name."""
  import torch
  import transformers

  import modeling
  from modeling.checkpoints.load import load_weights

  head = _HEADS[options.task]
  if head is not None and head not in source.heads:
    raise UserError(f"--model: {options.model} has no head for --task={options.task}: fine-tune one, and convert it by "
                    "convert_checkpoint.py --output_format=huggingface")
  if head is None:
    model, names = modeling.BertEncoder(source.config), ("sequence_output", "pooled_output")
  elif options.task == MULTIPLE_CHOICE:
    model, names = modeling.BertForMultipleChoice(source.config), ("logits",)
  else:
    model, names = modeling.BertForTokenClassification(source.config, source.classes(head)), ("logits",)
  model.build_weights()
  print(load_weights(model, source).describe())
  their_class = getattr(transformers, pytorch_peers.MODELS[options.task] if head else "AutoModel")
  their_model = their_class.from_pretrained(options.model).eval()

  def ours(batch: dict) -> dict[str, np.ndarray]:
    found = model(batch)
    return {name: np.asarray(found if head else found[name]) for name in names}

  def theirs(batch: dict) -> dict[str, np.ndarray]:
    with torch.no_grad():
      found = their_model(**pytorch_peers.features(batch), return_dict=True)
    return {name: found["last_hidden_state" if name == "sequence_output" else
                        "pooler_output" if name == "pooled_output" else name].numpy() for name in names}

  return ours, theirs


def _batches(options: AgreementOptions, tokenizer, config) -> Iterator[dict[str, np.ndarray]]:
  """Batches of one input, int32 [1, S] each, or [1, K, S] of K choices."""
  if options.task == MULTIPLE_CHOICE:
    from bert_tf.tasks.multiple_choice.data import encode
    from bert_tf.training.examples import assemble
    from data_gen.labelled.multiple_choice import read_swag

    questions = read_swag(options.input_file, "input_file", needs_labels=False).first(options.count)
    examples, _ = encode(tokenizer, questions, options.max_seq_length, False)
    for number in range(len(examples)):
      batch = assemble(examples, np.array([number]), 1, np.arange(1, options.max_seq_length + 1))
      yield {name: batch[name][:, :questions.num_choices[number]] for name in
             ("input_ids", "input_mask", "segment_ids")}
    return
  cls, sep = tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id
  if options.task == TOKEN_CLASSIFICATION:
    from data_gen.labelled.tagged_files import read_tagged_file

    sentences = read_tagged_file(options.input_file, "input_file").first(options.count)
    words = np.split(np.array(sentences.words, object), np.cumsum(sentences.row_lengths)[:-1])
    rows, longest = [tokenizer.encode(" ".join(some)) for some in words], options.max_seq_length
  else:
    import transformers

    lines = texts.read_lines(options.input_file, "input_file")[:options.count]
    rows, longest = list(map(tokenizer.encode, lines)), config.max_position_embeddings
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    same = sum(their_tokenizer(line)["input_ids"] == [cls, *row, sep] for line, row in zip(lines, rows, strict=True))
    print(f"{same} of {len(lines)} lines with the same ids")
  for row in rows:
    ids = np.array([[cls, *row[:longest - 2], sep]], np.int32)
    yield {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}


if __name__ == "__main__":
  cli.run(AgreementOptions, main)
