"""All that docs/devices.md says of a GPU, measured by one command that can be resumed, as JSON lines.

  python benchmarks/gpu.py --output_file=gpu.jsonl
  python benchmarks/gpu.py --output_file=gpu.jsonl --seconds=580             # the same command again resumes
  python benchmarks/gpu.py --output_file=gpu.jsonl --parts=report,step
  python benchmarks/gpu.py --output_file=cpu.jsonl --device=cpu --size=tiny  # to see that it works, without a GPU

Each measurement is a process of a script, a benchmark or the tests, as a user starts it. Its line is written as soon as
it is known:

  {"part": "step", "name": "base 128x256", "seconds": 170.2, …, "command": "python benchmarks/…", "error": null}

What is in the file without an error is passed over, what has one comes again, after the others; the last line of a name
counts. An error is one line, and does not keep the others from being measured.

What the parts are, and the values of their lines, is said in docs/devices.md, "Measure your own GPU".
PyTorch and transformers are in requirements-peers.txt, pytest in requirements-dev.txt.
"""

import dataclasses
import functools
import hashlib
import math
import os
import re
import signal
import statistics
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.devices import check_device
from benchmarks.featurization import write_pairs
from benchmarks.gpu_visit import VOCAB_SIZE, Visit, absolute
from benchmarks.sizes import find_config
from benchmarks.texts import PROJECT, VOCABULARY
from bert_common import cli, files, gpus, json_files
from bert_common.charts import METRICS_FILE
from bert_common.errors import UserError
from bert_common.options import FILE, FILES, Options, option
from modeling.memory import fitting_rows

# Of the longest error that is kept.
_MOST_CHARACTERS = 500
# Of a GPU, for a step: the rest is TensorFlow's own.
_SHARE_OF_MEMORY = 0.9
_QUESTIONS = "samples/questions_train.json"
_PRECISIONS = ("float32", "bfloat16", "float16")
_FUSED = ("ours_xla", "ours_fused_xla", "pytorch_compiled")


class _Size(NamedTuple):
  """How large everything is: tests, (model, length, batch size, steps) of runs, (model, length, batch size) of steps,
  flags of benchmarks, examples of fine-tuning."""

  golden: tuple[str, ...]
  run: tuple[str, int, int, int]
  compared: tuple[str, int, int, int]
  steps: tuple[tuple[str, int, int], ...]
  turns: tuple[str, ...]
  finetuning: tuple[str, ...]
  squad: tuple[str, ...]
  pairs: int


_SIZES = {
    "full": _Size(
        golden=("tests/modeling", "tests/bert_tf/training"), run=("base", 128, 256, 200),
        compared=("L2-H128", 128, 64, 2000),
        steps=(("base", 128, 256), ("base", 512, 64), ("large", 128, 128), ("L4-H256", 128, 512),
               ("L2-H128", 128, 256)),
        turns=("--repetitions=5", "--steps=20"), finetuning=(
            "--size=base", "--programs=ours,ours_xla,pytorch_dynamic,pytorch_grouped"),
        squad=("--size=base",), pairs=3668),
    "tiny": _Size(
        golden=("tests/modeling/test_optimizer.py",), run=("L2-H128", 32, 4, 40), compared=("L2-H128", 32, 4, 6),
        steps=(("L2-H128", 32, 4),), turns=("--repetitions=2", "--steps=2"),
        finetuning=(
            "--size=L1-H64", "--max_seq_length=24", "--turns=2", "--max_steps=2",
            "--programs=ours,pytorch_grouped"),
        squad=("--size=L1-H32", "--num_questions=5", "--repetitions=1"), pairs=40)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuOptions(Options):
  """Options of the measurements."""

  output_file: str = option(None, "JSON lines, which are added to.", required=True, path=True)
  parts: tuple[str, ...] = option((), "What is measured.", choices=(
      "report", "golden", "first_step", "step", "fused", "finetuning", "deterministic", "mirrored", "precision"),
                                  default_text="all")
  seconds: float | None = option(None, "Ends after so long; what is unfinished is measured by the next start.", above=0,
                                 default_text="when all is measured")
  device: str = option("gpu", "What is measured.", choices=("gpu", "cpu"))
  size: str = option("full", "tiny is for seeing that it works.", choices=tuple(_SIZES))
  input_file: str | None = option(None, "Records of pre-training with BERT's vocabulary.", path=FILES,
                                  default_text="made of samples/corpus.txt.gz")
  eval_file: str | None = option(None, "Held-out ones.", path=FILES, default_text="those of --input_file")
  squad_file: str | None = option(None, "Questions to predict.", path=FILE, default_text=_QUESTIONS)


# Returns the values of a line.
_Measure = Callable[[Visit], dict[str, object]]


def main(options: GpuOptions) -> None:
  check_device(options.device, gpus.read_driver())
  files.prepare_output_file(options.output_file, "output_file", {})
  # What is running is ended with this process.
  signal.signal(signal.SIGTERM, signal.default_int_handler)
  errors = {(line["part"], line["name"]): line["error"] for line in json_files.read_objects(
      options.output_file, {"part": str, "name": str, "error": str | None})}
  ahead = [(part, name, measure) for part, measurements in _measurements(options).items()
           for name, measure in measurements.items()
           if part in (options.parts or part) and errors.get((part, name), "") is not None]
  # What has failed may do so again, when all the time is gone.
  ahead.sort(key=lambda one: one[:2] in errors)
  with tempfile.TemporaryDirectory() as folder:
    visit = Visit(options.device, options.seconds, folder, options.input_file, options.eval_file)
    # This process reads checkpoints: TensorFlow in it would take the memory of the GPU from those that are measured.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    for number, (part, name, measure) in enumerate(ahead):
      if visit.is_over:
        print(f"{len(ahead) - number} are left: give the same command again")
        return
      line = {"part": part, "name": name, **_measured(visit, measure)}
      json_files.append(options.output_file, line)
      print(f"{part} {name}: {line['error'] or 'measured'}, {line['seconds']} s", flush=True)


def _measurements(options: GpuOptions) -> Mapping[str, Mapping[str, _Measure]]:
  """Part → name → what measures it."""
  size, device = _SIZES[options.size], options.device
  questions = absolute(options.squad_file) if options.squad_file else _QUESTIONS
  return {
      "report": {"devices": _report},
      "golden": {"tests": lambda visit: _tests(visit, "-m", "golden", *size.golden)},
      "first_step": {
          "pretraining": lambda visit: _first_step(visit, visit.pretraining(*size.run[:3], 100_000)),
          "finetuning": lambda visit: _first_step(visit, _fine_tuning(visit, size.run[0], size.pairs))},
      "step": {f"{model} {length}x{batch}": functools.partial(
          _step, model=model, length=length, batch_size=batch, flags=size.turns)
               for model, length, batch in size.steps},
      "fused": {
          "tests": lambda visit: _tests(visit, "tests/modeling/test_fused_attention.py"),
          **{f"{model} {length}x{batch}": functools.partial(
              _step, model=model, length=length, batch_size=batch, flags=("--attention_dropout=0", *size.turns),
              programs_on_gpu=_FUSED) for model, length, batch in size.steps[:2]}} if device == "gpu" else {},
      "finetuning": {
          "classification": lambda visit: visit.benchmark("finetuning.py", *size.finetuning),
          "squad": lambda visit: visit.benchmark(
              "squad.py", f"--input_file={questions}", "--programs=ours,pytorch_grouped", *size.squad)},
      "deterministic": {"resumed": lambda visit: _deterministic(visit, *size.run)},
      "mirrored": {"two devices": lambda visit: _tests(
          visit, f"tests/bert_tf/training/test_devices.py::test_two_devices_train_as_one[{device.upper()}]")},
      "precision": {name: lambda visit, name=name: _losses(visit, name, *size.compared) for name in _PRECISIONS}}


def _measured(visit: Visit, measure: _Measure) -> dict[str, object]:
  """The rest of a line."""
  began, values = time.monotonic(), {}
  try:
    values = measure(visit)
    error = values.pop("error", None)
  except UserError as problem:
    error = str(problem)
  except Exception as problem:
    error = f"{type(problem).__name__}: {problem}"
  return {"seconds": round(time.monotonic() - began, 1), **values, "command": visit.command,
          "error": error and " ".join(error.split())[:_MOST_CHARACTERS]}


def _report(visit: Visit) -> dict[str, object]:
  visit.run("device_report.py")
  found: dict[str, list[str]] = {}
  for line in visit.output.splitlines():
    name, _, text = line.partition(" ")
    found.setdefault(name, []).append(text.strip())
  speeds = re.findall(r"(\w+) ([\d.e+]+)", " ".join(found["speed"]).partition(" TFLOP/s")[0])
  return {**{name: "; ".join(texts) for name, texts in found.items()},
          "TFLOP/s": {name: float(rate) for name, rate in speeds},
          "error": "; ".join(found.get("problem", ["TensorFlow does not use the GPU"]))
                   if visit.device == "gpu" and "GPU" not in found["used"][0] else None}


def _tests(visit: Visit, *arguments: str) -> dict[str, object]:
  """How many of these tests pass; the names of those that fail are the error."""
  path = visit.path("tests.xml")
  visit.run("-m", "pytest", "-q", f"--junitxml={path}", *arguments, statuses=(0, 1))
  cases = [(next((part.tag for part in case if part.tag in ("failure", "error", "skipped")), "passed"),
            case.get("name", "")) for case in xml.etree.ElementTree.parse(path).iter("testcase")]
  results = {kind: sum(found == kind for found, _ in cases) for kind in ("passed", "skipped")}
  failed = [name for kind, name in cases if kind not in results]
  error = f"failed: {', '.join(failed)}" if failed else None if results["passed"] else "all were skipped"
  return {**results, "failed": len(failed), "error": error}


def _first_step(visit: Visit, command: list[str]) -> dict[str, object]:
  """Seconds from a command to its first report, with an empty cache of compiled programs and with a full one."""
  cache = visit.path("cache")

  def seconds() -> float:
    output = visit.path("run")
    return round(visit.run(*command, f"--output_dir={output}", f"--compilation_cache_dir={cache}",
                           until=lambda: bool(_metrics(output))), 2)

  values = {"cold seconds": seconds(), "warm seconds": seconds()}
  plan = re.search(r"XLA (on|off).*", visit.output)
  return {**values, "plan": plan and plan[0]}


def _fine_tuning(visit: Visit, model: str, pairs: int) -> list[str]:
  """A command that trains from random weights on pairs of sentences of random words."""
  path = visit.path("pairs.tsv")
  write_pairs(path, [word for word in (PROJECT / VOCABULARY).read_text("utf-8").split() if word.isalpha()], pairs)
  return ["run_classifier.py", "--task_name=custom", f"--train_file={path}", f"--dev_file={path}", "--do_train",
          "--text_a_column=sentence1", "--text_b_column=sentence2", "--label_column=gold_label",
          f"--bert_config_file={visit.config_file(model)}", f"--vocab_file={VOCABULARY}"]


def _step(visit: Visit, model: str, length: int, batch_size: int, flags: tuple[str, ...],
          programs_on_gpu: tuple[str, ...] = ("ours_xla", "pytorch_gathered", "pytorch_compiled")) -> dict[str, object]:
  """A step of pre-training beside PyTorch's; the batch is halved until it fits into the GPU."""
  fitting, programs = batch_size, ("ours", "pytorch_gathered")
  if visit.device == "gpu":
    most = fitting_rows(_SHARE_OF_MEMORY * gpus.read_driver().gpus[0].memory, find_config(model, VOCAB_SIZE), length,
                        math.ceil(0.15 * length))
    while fitting > max(most, 1):
      fitting //= 2
    programs = programs_on_gpu
  return {"batch size": fitting, **visit.benchmark(
      "pretraining_step.py", f"--size={model}", f"--max_seq_length={length}", f"--batch_size={fitting}",
      f"--programs={','.join(programs)}", *flags)}


def _deterministic(visit: Visit, model: str, length: int, batch_size: int, steps: int) -> dict[str, object]:
  """An unbroken run; one that is killed in its second half and resumes; one without --deterministic."""
  from tests.processes import tensors

  # So short a run would not be compiled on a GPU.
  command = [*visit.pretraining(model, length, batch_size, steps), f"--save_checkpoints_steps={steps // 2}",
             f"--jit_compile={'true' if visit.device == 'gpu' else 'auto'}",
             "--keep_checkpoint_max=1", "--iterations_per_loop=5", f"--compilation_cache_dir={visit.path('cache')}"]
  plain, unbroken, killed = (visit.path(name) for name in ("plain", "unbroken", "killed"))
  visit.run(*command, f"--output_dir={plain}")
  command.append("--deterministic")
  visit.run(*command, f"--output_dir={unbroken}")
  visit.run(*command, f"--output_dir={killed}",
            until=lambda: any(line["step"] > steps // 2 for line in _metrics(killed)))
  visit.run(*command, f"--output_dir={killed}")
  resumed = re.search(r"resuming from .*, step (\d+)", visit.output)
  digests = [_digest(tensors(run)) for run in (unbroken, killed)]
  return {"resumed at step": resumed and int(resumed[1]), "sha256": digests, "examples/s": _speed(plain),
          "examples/s with --deterministic": _speed(unbroken),
          "error": None if digests[0] == digests[1] else "the killed run ended with other weights"}


def _digest(arrays: Mapping) -> str:
  texts = (name.encode() + np.asarray(values).tobytes() for name, values in sorted(arrays.items()))
  return hashlib.sha256(b"".join(texts)).hexdigest()


def _losses(visit: Visit, precision: str, model: str, length: int, batch_size: int, steps: int) -> dict[str, object]:
  """What a run of pre-training ends with: the loss of its last tenth, and the held-out evaluation."""
  output = visit.path("run")
  visit.run(*visit.pretraining(model, length, batch_size, steps), "--do_eval", "--eval_batch_size=64",
            f"--precision={precision}", f"--iterations_per_loop={max(steps // 50, 1)}", f"--output_dir={output}")
  *trained, held_out = _metrics(output)
  return {"loss": statistics.mean(line["loss"] for line in trained if line["step"] > 0.9 * steps),
          "examples/s": _speed(output), "held-out": held_out}


def _speed(run: str) -> float:
  """Examples per second of a run, by the median of its reports; the first one has the compilation in it."""
  return statistics.median([line["examples_per_second"] for line in _metrics(run) if line["split"] == "train"][1:])


def _metrics(run: str) -> list[dict]:
  """What a run has reported so far."""
  return json_files.read_objects(os.path.join(run, METRICS_FILE), {"step": int})


if __name__ == "__main__":
  cli.run(GpuOptions, main)
