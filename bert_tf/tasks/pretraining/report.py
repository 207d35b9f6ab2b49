"""What pre-training tells the user: the plan before step 0, and sample predictions."""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from bert_common import markdown
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.phases import Phase
from bert_tf.training.devices import Devices
from bert_tf.training.inputs import RecordFiles, evaluation_dataset
from bert_tf.training.throughput import describe_time
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.pretraining import BertForPreTraining

# Rows shown in TensorBoard, and candidates for each masked position.
_SAMPLE_ROWS = 2
_SAMPLE_CANDIDATES = 3
# By the label of the next-sentence task.
_NEXT = ("the next one", "a random one")


def plan(options: PretrainingOptions, model: str, devices: Devices, phases: Sequence[Phase], step: int, flops: float
         ) -> str:
  """What is about to happen, with an estimate of the time; `flops` is the arithmetic from the step on."""
  lines = [
      ("devices", f"{devices}, {devices.xla}"),
      ("model", model),
  ]
  for phase in phases:
    given, size, length = phase.train_records, phase.options.train_batch_size, phase.options.max_seq_length
    steps = max(phase.last_step - max(step, phase.first_step), 0)
    rows = size / given.sequences_per_record
    packed = f" in {rows:.1f} rows" if given.schema.is_packed else ""
    count = len(given.files.paths)
    lines += [
        ("data", f"{given.describe()}, in {count} file{'s' if count > 1 else ''}"),
        ("ahead", f"{steps:,} steps of {size} examples{packed} = {round(steps * rows * length):,} tokens = "
                  f"{steps * size / given.num_sequences:.2f} epochs"),
    ]
  if devices.kind == "CPU" and (time := describe_time(flops, devices)):
    lines.append(("time", time))
  if options.num_warmup_steps >= options.num_train_steps:
    lines.append(("note", f"--num_warmup_steps={options.num_warmup_steps} is not less than --num_train_steps: the "
                          "learning rate never reaches --learning_rate"))
  if (options.do_eval or options.eval_steps) and not options.eval_file:
    lines.append(("note", "no --eval_file: evaluation reads the training data"))
  return "\n".join(f"{name:8} {text}" for name, text in lines)


class SamplePredictions:
  """Fills the masks of a few evaluation examples and shows the result as Markdown.

  Args:
    held_out: whether these are other texts than those of the training.
  """

  def __init__(self, model: BertForPreTraining, eval_files: RecordFiles, parse: Callable, vocabulary: Vocabulary,
               held_out: bool):
    context = tf.distribute.InputContext(1, 0, 1)
    features = next(iter(evaluation_dataset(eval_files, parse, _SAMPLE_ROWS, context)))
    self._features, self._vocabulary, self._held_out = features, vocabulary, held_out
    self._outputs = tf.function(lambda: self._probabilities(model(features)), autograph=False)

  def describe(self) -> str:
    """The examples with the most probable tokens of the model as it is, marked where the first one is right."""
    best, next_sentence = self._outputs()
    rows = [_describe_row(
        {name: value[row].numpy() for name, value in self._features.items()}, best.values[row].numpy(),
        best.indices[row].numpy(), next_sentence[row].numpy(), self._vocabulary) for row in range(_SAMPLE_ROWS)]
    return "\n\n".join([f"Examples of {'held-out text' if self._held_out else 'the training data'}.", *rows])

  @staticmethod
  def _probabilities(outputs: dict) -> tuple:
    """Of the best tokens: values and ids [B, P, K]; of the next-sentence classes: float32 [B, 2] or [B, K, 2]."""
    return (tf.math.top_k(tf.nn.softmax(outputs["masked_lm_logits"]), _SAMPLE_CANDIDATES),
            tf.nn.softmax(outputs["next_sentence_logits"]))


def _describe_row(features: dict, values: np.ndarray, ids: np.ndarray, next_sentence: np.ndarray,
                  vocabulary: Vocabulary) -> str:
  # Of a packed row the first sequence is shown.
  is_shown = features["sequence_ids"] == 1 if "sequence_ids" in features else features["input_mask"] > 0
  length = int(is_shown.sum())
  tokens = [markdown.escape(vocabulary.token_of(int(token))) for token in features["input_ids"][:length]]
  rows = []
  for number, position in enumerate(features["masked_lm_positions"]):
    if features["masked_lm_weights"][number] > 0 and position < length:
      label = int(features["masked_lm_ids"][number])
      predicted = " · ".join(f"{vocabulary.token_of(int(token))} {value:.0%}"
                            for token, value in zip(ids[number], values[number], strict=True))
      rows.append(("✓" if ids[number][0] == label else "✗", position,
                   vocabulary.token_of(int(features["input_ids"][position])), vocabulary.token_of(label), predicted))
      tokens[position] = f"**{tokens[position]}**"
  is_random = int(features["next_sentence_labels"].reshape(-1)[0])
  next_sentence = next_sentence.reshape(-1, 2)[0]
  mark = "✓" if next_sentence.argmax() == is_random else "✗"
  return "\n\n".join([
      " ".join(tokens), markdown.table(("", "position", "shown", "hidden", "predicted"), rows),
      f"{mark} segment B is {_NEXT[is_random]}: the model gives that {next_sentence[is_random]:.0%}"])
