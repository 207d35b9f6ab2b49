"""The same inputs through this project's models and those of transformers, on the same weights."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import texts
from bert_common.errors import UserError

ENCODER, MULTIPLE_CHOICE, TOKEN_CLASSIFICATION = "encoder", "multiple_choice", "token_classification"
# Task → our name of its head.
HEADS = {ENCODER: None, MULTIPLE_CHOICE: "multiple_choice", TOKEN_CLASSIFICATION: "token_classification"}


def models(task: str, directory: str, source) -> tuple[Callable, Callable]:
  """Our model and theirs, each a function of a batch that returns arrays by name.

  Args:
    task: one of `HEADS`.
    directory: in the layout of Hugging Face.
    source: what `read_checkpoint` has found there.

  Raises:
    UserError: it has no head for the task.
  """
  import torch
  import transformers

  import modeling
  from benchmarks import pytorch_peers
  from modeling.checkpoints.load import load_weights

  head = HEADS[task]
  if head is not None and head not in source.heads:
    raise UserError(f"--model: {directory} has no head for --task={task}: fine-tune one, and convert it by "
                    "convert_checkpoint.py --output_format=huggingface")
  if head is None:
    model, names = modeling.BertEncoder(source.config), ("sequence_output", "pooled_output")
  elif task == MULTIPLE_CHOICE:
    model, names = modeling.BertForMultipleChoice(source.config), ("logits",)
  else:
    model, names = modeling.BertForTokenClassification(source.config, source.classes(head)), ("logits",)
  model.build_weights()
  print(load_weights(model, source).describe())
  their_class = getattr(transformers, pytorch_peers.MODELS[task] if head else "AutoModel")
  their_model = their_class.from_pretrained(directory).eval()

  def ours(batch: dict) -> dict[str, np.ndarray]:
    found = model(batch)
    return {name: np.asarray(found if head else found[name]) for name in names}

  def theirs(batch: dict) -> dict[str, np.ndarray]:
    with torch.no_grad():
      found = their_model(**pytorch_peers.features(batch), return_dict=True)
    return {name: found["last_hidden_state" if name == "sequence_output" else
                        "pooler_output" if name == "pooled_output" else name].numpy() for name in names}

  return ours, theirs


def batches(task: str, directory: str, tokenizer, input_file: str, count: int, limit: int
            ) -> Iterator[dict[str, np.ndarray]]:
  """Batches of one of the first `count` inputs of the file, int32 [1, S] each, or [1, K, S] of K choices; S ≤ `limit`.

  Lines for the encoder go through their tokenizer, too; how many become the same ids is printed.
  """
  if task == MULTIPLE_CHOICE:
    from bert_tf.tasks.multiple_choice.data import encode
    from bert_tf.training.examples import assemble
    from data_gen.labelled.multiple_choice import read_swag

    questions = read_swag(input_file, "input_file", needs_labels=False).first(count)
    examples, _ = encode(tokenizer, questions, limit, False)
    for number in range(len(examples)):
      batch = assemble(examples, np.array([number]), 1, np.arange(1, limit + 1))
      yield {name: batch[name][:, :questions.num_choices[number]] for name in
             ("input_ids", "input_mask", "segment_ids")}
    return
  cls, sep = tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id
  if task == TOKEN_CLASSIFICATION:
    from data_gen.labelled.tagged_files import read_tagged_file

    sentences = read_tagged_file(input_file, "input_file").first(count)
    words = np.split(np.array(sentences.words, object), np.cumsum(sentences.row_lengths)[:-1])
    rows = [tokenizer.encode(" ".join(some)) for some in words]
  else:
    import transformers

    lines = texts.read_lines(input_file, "input_file")[:count]
    rows = list(map(tokenizer.encode, lines))
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    same = sum(their_tokenizer(line)["input_ids"] == [cls, *row, sep] for line, row in zip(lines, rows, strict=True))
    print(f"{same} of {len(lines)} lines with the same ids")
  for row in rows:
    ids = np.array([[cls, *row[:limit - 2], sep]], np.int32)
    yield {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
