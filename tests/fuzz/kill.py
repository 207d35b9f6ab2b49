r"""Kills a job at random moments, starts it again, and compares the final result with that of an unbroken run.

  python tests/fuzz/kill.py --kills=100 --job=pretraining
  python tests/fuzz/kill.py --kills=20 --job=all --seed=3

Jobs: pretraining, finetuning, features, data, convert, export, extract, vocab. Everything is tiny and made in a
temporary directory. A round kills a command up to three times (SIGKILL, at moments drawn from the seed and the length
of the unbroken run), then lets it end. A round fails where the command ends with another status than 0 or with a
traceback, where the result differs, or where something is left that the unbroken run does not leave. The first
failing round ends the job; its directory stays to be looked at. Exit status: 0, or 1 where a job has failed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

_MOST_KILLS_IN_A_ROUND = 3
# A command that takes this long without being killed hangs.
_SECONDS_TO_WAIT = 1200


@dataclasses.dataclass(frozen=True)
class Job:
  """A command that writes into the current directory.

  Attributes:
    command: script and flags; the output is called `out` or begins with `out`.
    prepare: makes the inputs in a directory, which the commands find one level up.
    result: directory → what must be the same.
  """

  command: tuple[str, ...]
  prepare: Callable[[pathlib.Path], None]
  result: Callable[[pathlib.Path], dict[str, object]]


class Failure(Exception):
  """A round went wrong."""


def start(job: Job, directory: pathlib.Path) -> subprocess.Popen:
  """The command, with its output in `directory.log`."""
  directory.mkdir(exist_ok=True)
  with open(f"{directory}.log", "ab") as log:
    return subprocess.Popen([sys.executable, str(PROJECT / job.command[0]), *job.command[1:]], cwd=directory,
                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def finish(process: subprocess.Popen, directory: pathlib.Path) -> None:
  """Waits until the command has ended well.

  Raises:
    Failure: it has not.
  """
  status = process.wait(_SECONDS_TO_WAIT)
  log = pathlib.Path(f"{directory}.log").read_text(errors="replace")
  if status or "Traceback" in log:
    raise Failure(f"status {status}: {' | '.join(log.strip().splitlines()[-3:])}")


def is_done(job: Job, directory: pathlib.Path) -> bool:
  """Whether an output that must not exist when the command starts is there: the kill came after the work."""
  return any(flag.startswith(("--output=", "--export_dir=")) for flag in job.command) and (directory / "out").exists()


def run_round(job: Job, directory: pathlib.Path, seconds: float, rng: random.Random, most_kills: int) -> list[float]:
  """Kills and restarts until the command has ended.

  Returns:
    the seconds after which it was killed, one for each kill that met a living process.
  """
  killed = []
  for _ in range(rng.randint(1, most_kills)):
    process = start(job, directory)
    # Imports take most of a tiny run: the second half of it is where files are written.
    moment = seconds * rng.triangular(0.05, 1.1, 0.8)
    try:
      process.wait(moment)
    except subprocess.TimeoutExpired:
      process.kill()
      process.wait()
      killed.append(moment)
      if is_done(job, directory):
        return killed
      continue
    finish(process, directory)
    return killed
  finish(start(job, directory), directory)
  return killed


def names(directory: pathlib.Path) -> list[str]:
  """Everything below a directory; event files without the time in their names, each kind once."""
  found = {str(path.relative_to(directory)) for path in directory.rglob("*")}
  return sorted({name.partition(".tfevents.")[0] for name in found})


def compare(expected: dict[str, object], found: dict[str, object]) -> None:
  """Raises `Failure` with the first difference."""
  for name in sorted({*expected, *found}):
    if expected.get(name) != found.get(name):
      raise Failure(f"{name} differs: {str(expected.get(name))[:200]} unbroken, {str(found.get(name))[:200]} here")


def torment(name: str, job: Job, kills: int, seed: int, log: Callable[[str], None] = print) -> bool:
  """Kills a job until it was met `kills` times; says whether it always came out as if nothing had been."""
  rng = random.Random(f"{name} {seed}")
  folder = pathlib.Path(tempfile.mkdtemp(prefix=f"kill-{name}-"))
  job.prepare(folder)
  unbroken = folder / "unbroken"
  started = time.monotonic()
  finish(start(job, unbroken), unbroken)
  seconds = time.monotonic() - started
  expected = {"files": names(unbroken), **job.result(unbroken)}
  met = rounds = 0
  while met < kills:
    rounds += 1
    directory = folder / f"round{rounds}"
    killed = []
    try:
      killed = run_round(job, directory, seconds, rng, min(_MOST_KILLS_IN_A_ROUND, kills - met))
      compare(expected, {"files": names(directory), **job.result(directory)})
    except Failure as failure:
      log(f"{name}: round {rounds} failed, see {directory}, killed after "
          f"{', '.join(f'{moment:.2f} s' for moment in killed) or 'unknown times'}: {failure}")
      return False
    met += len(killed)
    shutil.rmtree(directory)
  log(f"{name}: {met} kills in {rounds} rounds of {seconds:.0f} s, every result as unbroken")
  shutil.rmtree(folder)
  return True


# The jobs: what they need, and what of their output must be the same.


def _contents(directory: pathlib.Path) -> dict[str, object]:
  return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*"))
          if path.is_file()}


def _of_data(directory: pathlib.Path) -> dict[str, object]:
  contents = _contents(directory)
  statistics = json.loads(contents.pop("out.tfrecord.stats.json"))
  # Where the files are, and how long it took.
  return contents | {name: value for name, value in statistics.items() if name not in ("run", "output_file")}


def _of_run(directory: pathlib.Path) -> dict[str, object]:
  """Weights and slots of the last and the best checkpoint, evaluations, results."""
  from tests.processes import curve, tensors

  run = directory / "out"
  found = {}
  for folder in filter(pathlib.Path.is_dir, (run, run / "best")):
    found |= {f"{folder.name}/{name}": value.tobytes() for name, value in tensors(folder).items()}
  found["evaluations"] = [line for line in curve(run) if line["split"] == "eval"]
  steps = [(line["split"], line["step"]) for line in curve(run)]
  found["steps reported twice"] = len(steps) - len(set(steps))
  for name in ("eval_results.txt", "eval_results.json", "best/best.json", "test_results.tsv"):
    if (run / name).exists():
      found[name] = (run / name).read_bytes()
  return found


def _of_export(directory: pathlib.Path) -> dict[str, object]:
  # The graph's file numbers its functions as they come.
  return {name: content for name, content in _contents(directory).items() if "variables" in name or "assets" in name}


def _write_words(folder: pathlib.Path) -> None:
  from tests.tiny import TOKENS

  (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
  rng = random.Random(5)
  words = [token for token in TOKENS if token.isalpha()]
  (folder / "corpus.txt").write_text("\n".join(
      " ".join(rng.choices(words, k=rng.randint(3, 12))) + (" .\n" if rng.random() < 0.1 else " .")
      for _ in range(20_000)) + "\n")
  (folder / "lines.txt").write_text("".join(" ".join(rng.choices(words, k=9)) + "\n" for _ in range(2000)))


def _write_records(folder: pathlib.Path) -> None:
  from tests.bert_tf.training.common import ONE_LAYER, write_records

  write_records(folder / "train.tfrecord", 300)
  write_records(folder / "dev.tfrecord", 30, 300)
  ONE_LAYER.to_file(str(folder / "bert_config.json"))


def _write_examples(folder: pathlib.Path) -> None:
  from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model

  write_model(folder)
  for name, count, seed in (("train", 300, 1), ("dev", 30, 2), ("test", 30, 3)):
    write_csv(folder / f"{name}.csv", count, seed)


def _write_sentences(folder: pathlib.Path) -> None:
  import numpy as np

  from modeling.checkpoints.weights import original_names
  from modeling.checkpoints.write import write_checkpoint
  from modeling.encoder import BertEncoder
  from tests.bert_tf.tasks.token_classification.toy_names import CONFIG, make_documents, write_conll, write_model

  write_model(folder)
  (folder / "model").mkdir()
  write_checkpoint("native", str(folder / "model"), {
      name: np.asarray(one.value) for name, one in original_names(BertEncoder(CONFIG, seed=3)).items()}, CONFIG,
                   str(folder / "vocab.txt"), True)
  for name, count, seed in (("train", 400, 1), ("dev", 40, 2), ("test", 40, 3)):
    write_conll(folder / f"{name}.conll", make_documents(count, seed))


def _of_features(directory: pathlib.Path) -> dict[str, object]:
  return _of_run(directory) | _contents(directory / "out/.activation_cache")


def _write_checkpoint(folder: pathlib.Path) -> None:
  from tests.tiny import write_tiny

  _write_words(folder)
  (folder / "model").mkdir()
  write_tiny(folder / "model", "masked_lm")


JOBS = {
    "pretraining": Job(
        ("run_pretraining.py", "--do_train", "--do_eval", "--input_file=../train.tfrecord",
         "--eval_file=../dev.tfrecord", "--bert_config_file=../bert_config.json", "--max_seq_length=16",
         "--max_predictions_per_seq=3", "--train_batch_size=8", "--learning_rate=1e-3", "--num_train_steps=120",
         "--num_warmup_steps=10", "--save_checkpoints_steps=4", "--eval_steps=30", "--iterations_per_loop=2",
         "--keep_checkpoint_max=3", "--output_dir=out"), _write_records, _of_run),
    "finetuning": Job(
        ("run_classifier.py", "--task_name=custom", "--train_file=../train.csv", "--dev_file=../dev.csv",
         "--test_file=../test.csv", "--text_a_column=review", "--label_column=verdict",
         "--bert_config_file=../bert_config.json", "--do_train", "--do_eval", "--do_predict", "--max_seq_length=16",
         "--train_batch_size=8", "--learning_rate=1e-3", "--num_train_epochs=3", "--save_checkpoints_steps=5",
         "--eval_steps=10", "--iterations_per_loop=5", "--output_dir=out"), _write_examples, _of_run),
    "features": Job(
        ("run_ner.py", "--feature_based", "--data_dir=..", "--init_checkpoint=../model", "--do_train", "--do_eval",
         "--do_predict", "--max_seq_length=40", "--train_batch_size=16", "--lstm_units=12", "--layers=1,-1",
         "--num_train_epochs=3", "--save_checkpoints_steps=10", "--iterations_per_loop=5", "--output_dir=out"),
        _write_sentences, _of_features),
    "data": Job(
        ("data_gen/create_pretraining_data.py", "--input_file=../corpus.txt", "--output_file=out.tfrecord@3",
         "--vocab_file=../vocab.txt", "--max_seq_length=32", "--max_predictions_per_seq=5", "--num_workers=2",
         "--resume"), _write_words, _of_data),
    "convert": Job(
        ("convert_checkpoint.py", "--input=../model", "--output_format=huggingface", "--output=out"),
        _write_checkpoint, _contents),
    "export": Job(("export_model.py", "--init_checkpoint=../model", "--export_dir=out"), _write_checkpoint, _of_export),
    "extract": Job(
        ("extract_features.py", "--init_checkpoint=../model", "--input_file=../lines.txt", "--output_file=out.jsonl",
         "--max_seq_length=16"), _write_checkpoint, _contents),
    "vocab": Job(
        ("vocab/build_vocab.py", "--input_file=../corpus.txt", "--vocab_size=170", "--output_dir=out",
         "--num_workers=2"), _write_words, _contents),
}


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--kills", type=int, default=10, help="how many kills must meet each job")
  parser.add_argument("--job", choices=[*JOBS, "all"], default="all")
  parser.add_argument("--seed", type=int, default=0)
  options = parser.parse_args()
  os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
  chosen = list(JOBS) if options.job == "all" else [options.job]
  return 0 if all([torment(name, JOBS[name], options.kills, options.seed) for name in chosen]) else 1


if __name__ == "__main__":
  raise SystemExit(main())
