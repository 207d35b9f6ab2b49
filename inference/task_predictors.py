"""One class a task: a checked input in, a dict for JSON out. `inference/predictor.py` chooses among them.

Comes after `inference/heads.py` and `inference/inputs.py`.
"""

import abc
import dataclasses
import math

import numpy as np
import tensorflow as tf

from common.checks import check_at_least
from common.errors import UserError
from data_gen.labelled.pair_features import encode_pairs
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import make_windows
from evaluation.squad_answers import Candidate, find_answers
from inference.feature_extraction import POOLINGS, check_layers, layer_network
from inference.fill_mask import MaskFiller
from inference.heads import class_labels, input_length, span_settings
from inference.inputs import texts_of
from modeling.checkpoints.load import LoadedCheckpoint, load_weights, load_with_head
from modeling.classification import BertForClassification
from modeling.encoder import BertEncoder
from modeling.question_answering import BertForQuestionAnswering
from training.examples import Examples, lengths_for
from training.prediction import LocalPrediction

_TEXT = ("text",)
_ONE = ("text_a",)
_PAIR = ("text_a", "text_b")
_ASKED = ("question", "context")


@dataclasses.dataclass(frozen=True)
class PredictorSettings:
  """What can be chosen.

  Attributes:
    max_seq_length: tokens of an input; None for those of the fine-tuned run, see `tasks.heads.input_length`.
    batch_size: most inputs of a batch.
    top_k: candidates for a mask, and answers of a question.
    layer: of features; -1 is the last one.
    pooling: of features: "mean" or "cls", see `ExtractionOptions`.
  """

  max_seq_length: int | None = None
  batch_size: int = 32
  top_k: int = 5
  layer: int = -1
  pooling: str = "mean"

  def __post_init__(self):
    check_at_least(self, 1, "batch_size", "top_k")
    if self.pooling not in POOLINGS[1:]:
      raise UserError(f"--pooling={self.pooling} is unknown: use one of {', '.join(POOLINGS[1:])}")


class TaskPredictor(abc.ABC):
  """A network loaded for a task.

  Attributes:
    account: of the weights.
    takes_pairs: whether a tab in a line separates two texts.
    max_seq_length: most tokens of an input.
    truncated: inputs so far that lost tokens.
  """

  takes_pairs = True

  def __init__(self, opened: LoadedCheckpoint, task: str, settings: PredictorSettings):
    self.max_seq_length = input_length(opened, task, settings.max_seq_length)
    self.truncated = 0
    self._tokenizer = opened.tokenizer
    self._settings = settings
    self._lengths = lengths_for(self.max_seq_length, jit_compile=False)

  @abc.abstractmethod
  def check(self, value: object) -> object:
    """What `predict` wants of an input.

    Raises:
      UserError: it can't be used.
    """

  @abc.abstractmethod
  def predict(self, inputs: list) -> list[dict]:
    """Results of inputs that were checked, at least one, in their order."""

  def _examples(self, texts: list[tuple[str, ...]]) -> Examples:
    """Texts and pairs of texts."""
    features = encode_pairs(self._tokenizer, [text[0] for text in texts],
                            [text[1] if len(text) > 1 else "" for text in texts], self.max_seq_length)
    self.truncated += features.truncated
    return Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths)


class ClassPredictor(TaskPredictor):
  """{"label": name, "probabilities": {name: p}} of a text or a pair; {"score": x} for regression."""

  def __init__(self, opened: LoadedCheckpoint, settings: PredictorSettings):
    super().__init__(opened, "classifier", settings)
    self.labels = class_labels(opened)
    self._pair = (opened.task or {}).get("pair")
    model = BertForClassification(opened.config, len(self.labels or [""]))
    model.build_weights()
    self.account = load_with_head(model, opened, "classifier")

    def network(features: dict) -> dict:
      logits = model(features)
      return {"outputs": logits[:, 0] if self.labels is None else tf.nn.softmax(logits)}

    self._network = LocalPrediction(network, settings.batch_size, self._lengths)

  def check(self, value: object) -> tuple[str, ...]:
    texts = texts_of(value, _TEXT, _PAIR, _ONE)
    if self._pair is not None and self._pair != (len(texts) == 2):
      raise UserError("the network was trained on pairs of texts, this is one text" if self._pair else
                      "the network was trained on single texts, this is a pair")
    return texts

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    outputs = self._network(self._examples(inputs))["outputs"]
    if self.labels is None:
      return [{"score": shown(score)} for score in outputs]
    return [{"label": self.labels[int(row.argmax())],
             "probabilities": {label: shown(value) for label, value in zip(self.labels, row, strict=True)}}
            for row in outputs]


class VectorPredictor(TaskPredictor):
  """{"vector": [H numbers]} of a text or a pair."""

  def __init__(self, opened: LoadedCheckpoint, settings: PredictorSettings):
    super().__init__(opened, "features", settings)
    check_layers((settings.layer,), opened.config)
    encoder = BertEncoder(opened.config)
    encoder.build_weights()
    self.account = load_weights(encoder, opened.source)
    self._network = LocalPrediction(layer_network(encoder, (settings.layer,), settings.pooling), settings.batch_size,
                                    self._lengths)

  def check(self, value: object) -> tuple[str, ...]:
    return texts_of(value, _TEXT, _PAIR, _ONE)

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    (vectors,) = self._network(self._examples(inputs)).values()
    return [{"vector": list(map(shown, vector))} for vector in vectors]


class MaskPredictor(TaskPredictor):
  """{"text": …, "masks": [[{"token": …, "probability": …}, …], …]} of a text, a list for each of its masks."""

  takes_pairs = False

  def __init__(self, opened: LoadedCheckpoint, settings: PredictorSettings):
    super().__init__(opened, "fill_mask", settings)
    self._filler = MaskFiller(opened, settings.batch_size)
    self.account = self._filler.account

  def check(self, value: object) -> tuple[str, np.ndarray]:
    (text,) = texts_of(value, _TEXT)
    ids = self._filler.token_ids(text)
    kept = ids
    if len(ids) > self.max_seq_length:
      kept = np.concatenate([ids[:self.max_seq_length - 1], ids[-1:]])
      self.truncated += 1
    if self._tokenizer.vocabulary.mask_id not in kept:
      within = "" if kept is ids else f" within its first {self.max_seq_length - 2} tokens"
      raise UserError(f"there is no [MASK] in the text{within}")
    return text, kept

  def predict(self, inputs: list[tuple[str, np.ndarray]]) -> list[dict]:
    filled = self._filler.fill_many([ids for _, ids in inputs], self._settings.top_k)
    return [{"text": text, "masks": [
        [{"token": candidate.token, "probability": shown(candidate.probability)} for candidate in candidates]
        for candidates in masks]} for (text, _), masks in zip(inputs, filled, strict=True)]


class AnswerPredictor(TaskPredictor):
  """{"answer", "start", "end", "probability", "nbest"} of a question and a context, which may be of any length.

  The answer is context[start:end]; "" and null where there is none.
  """

  def __init__(self, opened: LoadedCheckpoint, settings: PredictorSettings):
    super().__init__(opened, "squad", settings)
    self._spans = span_settings(opened, settings.max_seq_length)
    model = BertForQuestionAnswering(opened.config)
    model.build_weights()
    self.account = load_with_head(model, opened, "span")
    self._network = LocalPrediction(lambda features: dict(zip(("start", "end"), model(features), strict=True)),
                                    settings.batch_size, self._lengths, ("start", "end"))

  def check(self, value: object) -> tuple[str, ...]:
    return texts_of(value, _ASKED)

  def predict(self, inputs: list[tuple[str, ...]]) -> list[dict]:
    numbers: dict[str, int] = {}
    questions = [Question(str(number), question, numbers.setdefault(context, len(numbers)), (), False)
                 for number, (question, context) in enumerate(inputs)]
    data = SquadData("", list(numbers), questions, has_answers=False, has_impossible=False)
    contexts, windows = make_windows(data, self._tokenizer, **self._spans.lengths(), training=False)
    self.truncated += windows.num_truncated_questions
    logits = {"start": np.zeros(0, np.float32), "end": np.zeros(0, np.float32)}
    if len(windows):
      logits = self._network(Examples({"input_ids": windows.input_ids, "segment_ids": windows.segment_ids},
                                      windows.row_lengths))
    answers = find_answers(data, contexts, windows, logits["start"], logits["end"], self._spans.answer_options())
    results = []
    for found in answers:
      chosen = _candidate(found.choose(self._spans.null_score_diff_threshold))
      result = {"answer": chosen.pop("text"), **chosen,
                "nbest": [_candidate(candidate) for candidate in found.nbest[:self._settings.top_k]]}
      results.append(result if found.null_odds is None else {**result, "null_odds": shown(found.null_odds)})
    return results


def _candidate(candidate: Candidate) -> dict:
  text = "" if candidate.start is None else candidate.text
  return {"text": text, "start": candidate.start, "end": candidate.end, "probability": shown(candidate.probability)}


def shown(value: float) -> float:
  """With the seven digits that a float32 has.

  Raises:
    UserError: not a finite number, for which JSON has no word.
  """
  if not math.isfinite(value):
    raise UserError("the network's outputs are not all finite numbers: its weights are damaged; take another "
                    "checkpoint")
  return float(f"{value:.7g}")
