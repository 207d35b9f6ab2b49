"""From logits to answers as it is usually written in Python: window by window, pair by pair, text put together again.

The other half of `tests/oracles/squad.py`: the steps of the BERT paper's code. The answer's tokens are joined,
and the piece of the context that they came from is found by aligning it with its own tokenization.
"""

import math
from collections.abc import Sequence

from data_gen.labelled.squad import SquadData
from tests.oracles.squad import split_words
from tests.oracles.tokenizer import ReferenceTokenizer


def reference_answers(data: SquadData, features: Sequence[dict], start_logits: Sequence[Sequence[float]],
                      end_logits: Sequence[Sequence[float]], tokenizer: ReferenceTokenizer, n_best_size: int = 20,
                      max_answer_length: int = 30) -> dict[str, list[dict]]:
  """The n best answers of every question of version 1.1, by id: text, probability, start_logit, end_logit.

  Args:
    features: of `reference_features`.
    start_logits, end_logits: a list of floats for each of the features.
  """
  windows_of_question: dict[int, list[int]] = {}
  for number, feature in enumerate(features):
    windows_of_question.setdefault(feature["question"], []).append(number)
  answers = {}
  for question_number, question in enumerate(data.questions):
    words, _ = split_words(data.contexts[question.context])
    candidates = []
    for number in windows_of_question.get(question_number, []):
      feature = features[number]
      token_to_word, is_max_context = feature["token_to_word"], feature["is_max_context"]
      ends = _best_indexes(end_logits[number], n_best_size)
      for start in _best_indexes(start_logits[number], n_best_size):
        for end in ends:
          if start not in token_to_word or end not in token_to_word or not is_max_context[start]:
            continue
          if end < start or end - start + 1 > max_answer_length:
            continue
          candidates.append((number, start, end, start_logits[number][start], end_logits[number][end]))
    candidates.sort(key=lambda candidate: candidate[3] + candidate[4], reverse=True)
    nbest, seen = [], set()
    for number, start, end, start_logit, end_logit in candidates:
      if len(nbest) >= n_best_size:
        break
      text = _final_text(features[number], start, end, words, tokenizer)
      if text not in seen:
        seen.add(text)
        nbest.append({"text": text, "start_logit": start_logit, "end_logit": end_logit})
    if not nbest:
      nbest.append({"text": "empty", "start_logit": 0.0, "end_logit": 0.0})
    scores = [one["start_logit"] + one["end_logit"] for one in nbest]
    weights = [math.exp(score - max(scores)) for score in scores]
    for one, weight in zip(nbest, weights, strict=True):
      one["probability"] = weight / sum(weights)
    answers[question.id] = nbest
  return answers


def _best_indexes(logits: Sequence[float], count: int) -> list[int]:
  ranked = sorted(enumerate(logits), key=lambda pair: pair[1], reverse=True)
  return [index for index, _ in ranked[:count]]


def _final_text(feature: dict, start: int, end: int, words: list[str], tokenizer: ReferenceTokenizer) -> str:
  """The piece of the words that the tokens stand for; all of the words where it can't be found."""
  joined = " ".join(feature["tokens"][start:end + 1]).replace(" ##", "").replace("##", "")
  predicted = " ".join(joined.split())
  original = " ".join(words[feature["token_to_word"][start]:feature["token_to_word"][end] + 1])
  tokenized = " ".join(tokenizer.basic_tokenize(original))
  position = tokenized.find(predicted)
  if position == -1:
    return original
  original_places, original_characters = _without_blanks(original)
  tokenized_places, tokenized_characters = _without_blanks(tokenized)
  if len(original_characters) != len(tokenized_characters):
    return original
  place_of = {place: number for number, place in tokenized_places.items()}
  first, last = place_of.get(position), place_of.get(position + len(predicted) - 1)
  if first is None or last is None:
    return original
  return original[original_places[first]:original_places[last] + 1]


def _without_blanks(text: str) -> tuple[dict[int, int], str]:
  """(number of a character that is no blank → its place, these characters)."""
  places: dict[int, int] = {}
  characters = []
  for place, character in enumerate(text):
    if character != " ":
      places[len(characters)] = place
      characters.append(character)
  return places, "".join(characters)
