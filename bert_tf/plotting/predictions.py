"""Plots of predictions: SQuAD's F1 by threshold, and whether probabilities are true."""

import functools
import os

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.evaluation.calibration import draw_reliability, reliability
from bert_tf.evaluation.drawing import shorten
from bert_tf.evaluation.squad_files import NBEST_PREDICTIONS, NULL_ODDS
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import LONGEST_NAME, Picture, line_style, named
from bert_tf.plotting.records import read_flag
from bert_tf.tasks.question_answering.options import THRESHOLD
from modeling.checkpoints.companion_files import TASK_FILE

EVAL_PREDICTIONS = "eval_predictions*.jsonl"


def threshold(options: PlotOptions) -> list[Picture]:
  """F1 by the threshold above whose null odds there is no answer; for runs on SQuAD v2.0."""
  found = []
  for path, name, suffix in named(options.sources):
    if not files.exists(os.path.join(path, NULL_ODDS)):
      continue
    gold = options.predict_file or read_flag(path, "predict_file")
    if not gold or not files.exists(gold):
      raise UserError(f"{path}: give --predict_file, the SQuAD file with the right answers"
                      f"{f' ({gold} does not exist)' if gold else ''}")
    values, f1 = _f1_by_threshold(path, gold)
    chosen = json_files.read_object(os.path.join(path, TASK_FILE), {THRESHOLD: float | None}).get(THRESHOLD)
    found.append(Picture(f"threshold{suffix}", functools.partial(
        _draw_threshold, values=values, f1=f1, chosen=chosen, name=shorten(name, LONGEST_NAME)), (7, 5.2)))
  return found


def _f1_by_threshold(directory: str, gold: str) -> tuple[np.ndarray, np.ndarray]:
  from bert_tf.evaluation.squad_scores import f1_by_threshold
  from data_gen.labelled.squad import read_squad

  paths = [os.path.join(directory, name) for name in (NULL_ODDS, NBEST_PREDICTIONS)]
  odds, nbest = map(json_files.read_object, paths)
  data = read_squad(gold, "predict_file")
  missing = [question.id for question in data.questions if question.id not in odds or question.id not in nbest]
  if missing:
    raise UserError(f"{directory} has no prediction for question {missing[0]} of {gold}: give the --predict_file that "
                    "was predicted")
  for found, kind, path in zip((odds, nbest), (float, [{"text": str}]), paths, strict=True):
    json_files.check_object(found, {question.id: kind for question in data.questions}, path)
  spans = {question.id: next((one["text"] for one in nbest[question.id] if one["text"]), "")
           for question in data.questions}
  return f1_by_threshold(data, spans, {question.id: odds[question.id] for question in data.questions})


def _draw_threshold(figure, values: np.ndarray, f1: np.ndarray, chosen: float | None, name: str) -> None:
  axes = figure.add_subplot()
  # Entry n of f1 holds from the n-th value on; what is left of all values answers nothing.
  margin = max((values[-1] - values[0]) * 0.05, 1.0)
  axes.step([values[0] - margin, *values, values[-1] + margin], [f1[0], *f1[1:], f1[-1]], where="post", **line_style(0))
  best = int(f1.argmax())
  axes.plot(values[max(best - 1, 0)], f1[best], "o", color="black", label=f"best F1 {f1[best]:.2f} %")
  axes.axhline(f1[0], label=f"no answers at all {f1[0]:.2f} %", linewidth=1, **line_style(3))
  axes.axhline(f1[-1], label=f"always an answer {f1[-1]:.2f} %", linewidth=1, **line_style(2))
  if chosen is not None:
    axes.axvline(chosen, label=f"the run's threshold {chosen:.4g}", linewidth=1, **line_style(1))
  axes.set(xlabel="threshold of the null odds (logits): above it there is no answer", ylabel="F1 (%)")
  axes.set_title(f"{name}: F1 against the threshold", fontsize="medium")
  axes.grid(alpha=0.3)
  figure.legend(loc="outside lower center", ncols=2, fontsize="small", handlelength=3.5)


def reliability_diagrams(options: PlotOptions) -> list[Picture]:
  """A diagram for each development set that a classifier was evaluated on."""
  found = []
  for path, name, ending in named(options.sources):
    for file in files.glob_files(os.path.join(files.escape_pattern(path), EVAL_PREDICTIONS)):
      with files.user_error(f"can't read {file}"), files.open_file(file, "rb") as lines:
        if b'"probabilities"' not in lines.readline():
          # A regression's.
          continue
      fields = {"label": str, "probabilities": dict[str, float], "true_label": str}
      lines = json_files.read_objects(file, fields)
      for number, line in enumerate(lines, 1):
        json_files.check_object(line, {"probabilities": {line["label"]: float}}, f"{file}:{number}")
      confidence = np.array([line["probabilities"][line["label"]] for line in lines])
      correct = np.array([line["label"] == line["true_label"] for line in lines])
      suffix = os.path.basename(file).removeprefix("eval_predictions").removesuffix(".jsonl") + ending
      draw = functools.partial(draw_reliability, found=reliability(confidence, correct),
                               title=f"{shorten(name, LONGEST_NAME)}, {len(lines):,} examples")
      found.append(Picture(f"reliability{suffix}", draw, (5, 5.5)))
  return found
