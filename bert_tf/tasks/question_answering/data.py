"""The files of a SQuAD run as windows for the model, with what the user should know about them.

Input: SQuAD files (`data_gen/labelled/squad.py`). Output: windows (`data_gen/labelled/squad_features.py`).
"""

import dataclasses
import time

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks.question_answering.options import SquadSettings
from bert_tf.training.examples import Examples
from data_gen.labelled.squad import Question, SquadData, check_training, read_squad
from data_gen.labelled.squad_features import ContextTokens, Windows, make_windows
from data_gen.tokenization.tokenizer import Tokenizer

# Ids named in a message.
_MOST_IDS = 5


@dataclasses.dataclass(frozen=True)
class SquadSplit:
  """Questions and their windows.

  Attributes:
    is_labelled: the file tells the right answers, so predictions can be scored.
  """

  source: SquadData
  contexts: ContextTokens
  windows: Windows
  examples: Examples
  is_labelled: bool
  notes: tuple[str, ...]

  def __len__(self) -> int:
    return len(self.source.questions)

  def describe(self) -> str:
    """How much there is: "1,081 questions in 1,090 windows"."""
    return f"{len(self):,} questions in {len(self.windows):,} windows"


def read_training(path: str, settings: SquadSettings, tokenizer: Tokenizer, skip_bad_answers: bool,
                  max_examples: int | None = None) -> SquadSplit:
  """The training file, checked, with the positions of the answers; of the first `max_examples` questions."""
  checked = check_training(read_squad(path, "train_file"), version_2_with_negative=settings.version_2_with_negative,
                           skip_bad_answers=skip_bad_answers)
  notes = [checked.report()] if checked.report() else []
  return _make_split(checked.data.first(max_examples), settings, tokenizer, training=True, notes=notes)


def read_predicted(path: str, settings: SquadSettings, tokenizer: Tokenizer, max_examples: int | None = None
                   ) -> SquadSplit:
  """The file whose questions are to be answered, or the first `max_examples` of them.

  Raises:
    UserError: see `read_squad`; or questions are marked as impossible to answer, but "no answer" is not expected.
  """
  data = read_squad(path, "predict_file")
  if data.has_impossible and not settings.version_2_with_negative:
    raise UserError(f"{path}: questions are marked is_impossible: this is SQuAD 2.0, give --version_2_with_negative")
  return _make_split(data.first(max_examples), settings, tokenizer, training=False, notes=[])


def one_question(question: str, context: str, settings: SquadSettings, tokenizer: Tokenizer) -> SquadSplit:
  """A single question that is in no file."""
  data = SquadData("--question", [context], [Question("question", question, 0, (), False)], has_answers=False,
                   has_impossible=False)
  return _make_split(data, settings, tokenizer, training=False, notes=[])


def window_examples(windows: Windows, training: bool = False) -> Examples:
  """Windows as training (with the answers) and prediction take them."""
  values = {"start_positions": windows.start_positions, "end_positions": windows.end_positions} if training else {}
  return Examples({"input_ids": windows.input_ids, "segment_ids": windows.segment_ids}, windows.row_lengths, values)


def _make_split(data: SquadData, settings: SquadSettings, tokenizer: Tokenizer, training: bool, notes: list[str]
                ) -> SquadSplit:
  began = time.perf_counter()
  contexts, windows = make_windows(data, tokenizer, **settings.lengths(), training=training)
  seconds = time.perf_counter() - began
  if training and not len(windows):
    raise UserError(f"{data.path}: no context has a token, nothing is left to train on")
  examples = window_examples(windows, training)
  size = sum(array.nbytes for part in (contexts, windows) for array in vars(part).values()
             if isinstance(array, np.ndarray))
  notes = [*notes,
           f"{data.path}: {len(data.questions):,} questions about {len(data.contexts):,} contexts, {len(windows):,} "
           f"windows of {len(windows.input_ids):,} tokens, made in {seconds:.1f} s, {size / 2**20:.1f} MiB"]
  empty = data.empty_question_ids
  more = f" and {len(empty) - _MOST_IDS:,} more" if len(empty) > _MOST_IDS else ""
  for count, what in (
      (windows.num_truncated_questions, f"questions were truncated to {settings.max_query_length} tokens"),
      (windows.num_unanswerable_questions, "questions have an answer that no window holds: they are trained on as "
                                           "if there were none"),
      (windows.num_cut_contexts, f"questions are about a context of which --max_windows={settings.max_windows} leaves "
                                 "the end unread"),
      (windows.num_questions_without_window, "questions are about a context without a token"),
      (len(empty), f"questions are empty ({', '.join(empty[:_MOST_IDS])}{more})")):
    if count:
      notes.append(f"{data.path}: {count:,} of {len(data.questions):,} {what}")
  is_labelled = data.has_answers and (settings.version_2_with_negative
                                      or any(question.answers for question in data.questions))
  return SquadSplit(data, contexts, windows, examples, is_labelled, tuple(notes))
