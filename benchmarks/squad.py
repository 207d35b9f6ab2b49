"""Windows per second of a whole SQuAD prediction, from the file to the answers, beside the plain way, in one run.

  python benchmarks/squad.py --input_file=dev-v1.1.json
  python benchmarks/squad.py --input_file=dev-v1.1.json --num_questions=40 --repetitions=1    # to see that it works

Counted is everything from the SQuAD file on the disk to `predictions.json` and `nbest_predictions.json`: reading,
windows of at most 384 tokens, network, answers, writing. Start-up and tracing are not. The network has the shape of
a 6-layer encoder with 384 units and random weights.

Compared: this project as `run_squad.py --do_predict` goes, and the Model Garden's BertEncoder + BertSpanLabeler with
every window padded to 384 tokens, around it the original's way of making windows and answers, in plain Python.
"""

import os
import statistics
import sys
import tempfile

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

from absl import flags

from benchmarks import interleaved
from common import cli, files
from data_gen.labelled.squad import read_squad

FLAGS = flags.FLAGS
flags.DEFINE_string("input_file", None, "SQuAD file whose questions are predicted.")
flags.DEFINE_string("vocab_file", os.path.join(PROJECT, "vocab", "english_uncased", "vocab.txt"), "Uncased WordPiece.")
flags.DEFINE_integer("num_questions", None, "Only so many of its questions.")
flags.DEFINE_integer("num_hidden_layers", 6, "Of the network.")
flags.DEFINE_integer("hidden_size", 384, "Of the network.")
flags.DEFINE_integer("num_attention_heads", 12, "Of the network.")
flags.DEFINE_integer("batch_size", 32, "Windows of a batch.")
flags.DEFINE_integer("repetitions", 5, "Turns of each program.")
flags.DEFINE_list("programs", ["ours", "model_garden"], "What is measured: ours, model_garden, model_garden_xla.")
flags.DEFINE_string("worker", None, "Used by the benchmark itself.")
flags.DEFINE_string("directory", None, "Used by the benchmark itself.")

_QUESTIONS = "questions.json"
_WINDOWS = "windows.json"


def main(argv) -> None:
  cli.refuse_arguments(argv)
  if FLAGS.worker:
    return _work()
  cli.require_flags(input_file=FLAGS.input_file)
  with tempfile.TemporaryDirectory() as directory:
    num_questions = _write_questions(os.path.join(directory, _QUESTIONS))
    names = ("vocab_file", "num_hidden_layers", "hidden_size", "num_attention_heads", "batch_size")
    common = [f"--directory={directory}", *(f"--{name}={FLAGS[name].value}" for name in names)]
    commands = {name: [sys.executable, os.path.abspath(__file__), f"--worker={name}", *common]
                for name in FLAGS.programs}
    seconds = interleaved.take_turns(commands, FLAGS.repetitions)
    windows = {name: files.read_json(os.path.join(directory, name, _WINDOWS)) for name in seconds}
  print(f"L{FLAGS.num_hidden_layers}-H{FLAGS.hidden_size}, {num_questions:,} questions in {windows['ours']:,} windows, "
        f"batch {FLAGS.batch_size}; medians of {FLAGS.repetitions} turns")
  print(f"{'program':18} {'seconds':>8} {'windows/s':>10} {'ours is faster by':>18}")
  for name, turns in seconds.items():
    median = statistics.median(turns)
    print(f"{name:18} {median:8.1f} {windows[name] / median:10.1f} "
          f"{interleaved.median_ratio(turns, seconds['ours']):17.2f}x")
  return None


def _write_questions(path: str) -> int:
  """The questions without their answers, so that nobody scores; returns how many."""
  data = read_squad(FLAGS.input_file, "input_file")
  questions = data.questions[:FLAGS.num_questions]
  paragraphs: dict[int, list[dict]] = {}
  for question in questions:
    paragraphs.setdefault(question.context, []).append({"id": question.id, "question": question.text})
  files.write_json(path, {"version": "benchmark", "data": [{"title": "", "paragraphs": [
      {"context": data.contexts[context], "qas": asked} for context, asked in paragraphs.items()]}]})
  return len(questions)


def _work() -> None:
  from benchmarks import squad_programs
  from data_gen.tokenization.vocabulary import Vocabulary
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=len(Vocabulary.from_file(FLAGS.vocab_file)), hidden_size=FLAGS.hidden_size,
      num_hidden_layers=FLAGS.num_hidden_layers, num_attention_heads=FLAGS.num_attention_heads,
      intermediate_size=4 * FLAGS.hidden_size)
  output_dir = os.path.join(FLAGS.directory, FLAGS.worker)
  os.makedirs(output_dir)
  predict = getattr(squad_programs, FLAGS.worker)(
      config, os.path.join(FLAGS.directory, _QUESTIONS), FLAGS.vocab_file, output_dir, FLAGS.batch_size)
  files.write_json(os.path.join(output_dir, _WINDOWS), predict())
  interleaved.serve(predict)


if __name__ == "__main__":
  cli.run(main)
