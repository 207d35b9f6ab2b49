"""Windows per second of a whole SQuAD prediction, from the file to the answers, beside the plain way, in one run.

  python benchmarks/squad.py --input_file=dev-v1.1.json
  python benchmarks/squad.py --input_file=dev-v1.1.json --num_questions=40 --repetitions=1    # to see that it works
  python benchmarks/squad.py --input_file=dev-v1.1.json --device=gpu --size=base

Counted is everything from the SQuAD file on the disk to `predictions.json` and `nbest_predictions.json`: reading,
windows of at most 384 tokens, network, answers, writing. Start-up and tracing are not. The network has the shape of
a 6-layer encoder with 384 units and random weights.

Compared: this project as `run_squad.py --do_predict` goes; the Model Garden's encoder and BertSpanLabeler with every
window padded to 384 tokens, and with the longest windows first and each batch padded to its longest; and Hugging
Face's BertForQuestionAnswering on PyTorch the same way (pip install --group peers). Around the peers is the original's
way of making windows and answers, in plain Python.
"""

import dataclasses
import os
import tempfile
from collections.abc import Callable

from benchmarks import interleaved, texts
from benchmarks.machine import DeviceOptions, find_config
from bert_common import cli, json_files
from bert_common.errors import UserError
from bert_common.options import option
from data_gen.labelled.squad import read_squad
from data_gen.tokenization.vocabulary import Vocabulary

_QUESTIONS = "questions.json"
_WINDOWS = "windows.json"
# Program → module and function, and the function's arguments.
_PROGRAMS = {
    "ours": ("ours.squad", {}), "model_garden": ("tensorflow_peers.model_garden_squad", {}),
    "model_garden_grouped": ("tensorflow_peers.model_garden_squad", {"grouped": True}),
    "pytorch_grouped": ("pytorch_peers.squad", {}),
    "model_garden_xla": ("tensorflow_peers.model_garden_squad", {"jit_compile": True})}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadBenchmarkOptions(texts.VocabularyOptions, DeviceOptions):
  """Options of the benchmark."""

  input_file: str = option(None, "SQuAD file whose questions are predicted.", required=True)
  num_questions: int | None = option(None, "Only so many of its questions.", minimum=1)
  size: str = option("L6-H384", "L<layers>-H<hidden>, base or large.")
  batch_size: int = option(32, "Windows of a batch.", minimum=1)
  repetitions: int = option(5, "Turns of each program.", minimum=1)
  programs: tuple[str, ...] = option(tuple(_PROGRAMS)[:-1], "What is measured.", choices=tuple(_PROGRAMS))


def main(options: SquadBenchmarkOptions) -> None:
  # The programs inherit the variables.
  options.set_up_device()
  with tempfile.TemporaryDirectory() as directory:
    num_questions = _write_questions(options, os.path.join(directory, _QUESTIONS))
    seconds = interleaved.take_turns(options, options.programs, options.repetitions, _build, options, directory)
    windows = {name: json_files.read(os.path.join(directory, name, _WINDOWS)) for name in seconds}
  if len(set(windows.values())) > 1:
    raise UserError(f"the programs make different windows of {options.input_file}: {windows}")
  number = next(iter(windows.values()), 0)
  print(f"{options.size}, {num_questions:,} questions in {number:,} windows, "
        f"batch {options.batch_size}; medians of {options.repetitions} turns")
  interleaved.print_rates(options, seconds, [number] * options.repetitions, "windows", {
      "seconds": ("{:.1f}", {name: interleaved.quartiles(turns)[1] for name, turns in seconds.items()})})


def _write_questions(options: SquadBenchmarkOptions, path: str) -> int:
  """The questions without their answers, so that nobody scores; returns how many."""
  data = read_squad(options.input_file, "input_file")
  questions = data.questions[:options.num_questions]
  paragraphs: dict[int, list[dict]] = {}
  for question in questions:
    paragraphs.setdefault(question.context, []).append({"id": question.id, "question": question.text})
  json_files.write(path, {"version": "benchmark", "data": [{"title": "", "paragraphs": [
      {"context": data.contexts[context], "qas": qas} for context, qas in paragraphs.items()]}]})
  return len(questions)


def _build(options: SquadBenchmarkOptions, directory: str, name: str) -> Callable[[], object]:
  """A whole prediction by the program, which has made one already."""
  config = find_config(options.size, Vocabulary.from_file(options.vocab_file).size)
  output_dir = os.path.join(directory, name)
  os.makedirs(output_dir)
  predict = interleaved.find_program(*_PROGRAMS[name])(
      config, options.chosen_precision, os.path.join(directory, _QUESTIONS), options.vocab_file, output_dir,
      options.batch_size)
  json_files.write(os.path.join(output_dir, _WINDOWS), predict())
  return predict


if __name__ == "__main__":
  cli.run(SquadBenchmarkOptions, main)
