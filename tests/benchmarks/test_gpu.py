"""The command that measures a GPU, here on the CPU, at its smallest: real processes of the project's commands."""

import subprocess
import sys
import time
import types

import pytest

from benchmarks import gpu
from benchmarks.gpu_visit import Visit
from bert_common import gpus, json_files
from bert_common.errors import UserError
from bert_common.gpus import Driver, Gpu


def run(project, path, *flags: str) -> str:
  """What the command prints."""
  command = [sys.executable, str(project / "benchmarks/gpu.py"), f"--output_file={path}", "--device=cpu", "--size=tiny"]
  done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
  assert done.returncode == 0, done.stderr
  return done.stdout


def test_what_is_measured_is_not_measured_again(project, tmp_path):
  path, records = tmp_path / "gpu.jsonl", tmp_path / "records"
  records.write_bytes(b"no records")
  flags = ("--parts=precision,report,golden", f"--input_file={records}")
  first = run(project, path, *flags)
  lines = json_files.read_objects(str(path))
  # In the order of their worth, also after errors.
  assert [(line["part"], line["name"]) for line in lines] == [
      ("report", "devices"), ("golden", "tests"), *(("precision", name) for name in ("float32", "bfloat16", "float16"))]
  report, golden, *failed = lines
  assert report["error"] is None and report["TFLOP/s"]["float32"] > 0 and report["command"] == "python device_report.py"
  assert (golden["passed"], golden["failed"], golden["skipped"], golden["error"]) == (1, 0, 0, None)
  assert all(str(records) in line["error"] and "\n" not in line["error"] for line in failed)
  assert first.startswith("report devices: measured, ") and first.count("\n") == 5

  assert run(project, path, *flags).splitlines() == [
      f"precision {line['name']}: {line['error']}, {line['seconds']} s" for line in failed]
  lines = json_files.read_objects(str(path))
  assert [line["part"] for line in lines] == ["report", "golden", *["precision"] * 6]


def test_the_time_is_over(project, tmp_path):
  path = tmp_path / "gpu.jsonl"
  printed = run(project, path, "--seconds=0.5", "--parts=golden,report")
  assert [(line["part"], line["error"]) for line in json_files.read_objects(str(path))] == [
      ("report", "not finished when --seconds were over")]
  assert printed.splitlines()[-1] == "1 are left: give the same command again"
  # What was not finished is the last.
  run(project, path, "--seconds=0.5", "--parts=golden,report")
  assert [line["part"] for line in json_files.read_objects(str(path))] == ["report", "golden"]


def test_results_of_a_benchmark(tmp_path):
  visit = Visit("cpu", None, str(tmp_path), None, None)
  found = visit.benchmark("squad.py", "--input_file=samples/questions_dev.json", "--programs=ours", "--num_questions=2",
                          "--size=L1-H32", "--repetitions=1")
  assert found["error"] is None and list(found["programs"]) == ["ours"]
  assert found["programs"]["ours"]["windows/s"] > 0 and found["programs"]["ours"]["start_seconds"] > 0


def test_commands(tmp_path):
  visit = Visit("gpu", None, str(tmp_path), None, None)
  with pytest.raises(UserError, match="^--input_file: no file matches 'none'"):
    visit.run("run_pretraining.py", "--do_train", "--input_file=none", "--output_dir=none")
  assert visit.command == "python run_pretraining.py --do_train --input_file=none --output_dir=none"
  with pytest.raises(UserError, match="^exit status -9$"):
    visit.run("-c", "import os; print('a line'); os.kill(os.getpid(), 9)")
  with pytest.raises(UserError, match="^H100 is not used, the CPU is: no ptxas$"):
    visit.run("-c", "print('warning: H100 is not used, the CPU is: no ptxas')")
  visit.run("-c", "print('two'); exit(1)", statuses=(0, 1))
  assert visit.output == "two\n"
  began = time.monotonic()
  assert visit.run("-c", "import time; time.sleep(60)", until=lambda: time.monotonic() > began + 0.2) < 10


def test_batches_fit_into_the_gpu(monkeypatch):
  def flags(gigabytes: int) -> str:
    driver = Driver("580.1", (13, 0), (Gpu("made up", (9, 0), gigabytes << 30),))
    monkeypatch.setattr(gpus, "read_driver", lambda: driver)
    visit = types.SimpleNamespace(device="gpu", benchmark=lambda *flags: {"flags": " ".join(flags)})
    return gpu._step(visit, "base", 128, 256, ("--steps=20",))["flags"]

  assert "--size=base --max_seq_length=128 --batch_size=256 --programs=ours_xla," in flags(80)
  assert flags(80).endswith(",pytorch_gathered,pytorch_compiled --steps=20")
  assert "--batch_size=128 " in flags(16)
  assert "--batch_size=1 " in flags(1)


def test_skipped_tests_measure_nothing(tmp_path):
  (tmp_path / "test_nothing.py").write_text("import pytest\n\ndef test_it():\n  pytest.skip('needs a GPU')\n")
  visit = Visit("cpu", None, str(tmp_path), None, None)
  assert gpu._tests(visit, str(tmp_path / "test_nothing.py")) == {
      "passed": 0, "skipped": 1, "failed": 0, "error": "all were skipped"}
  (tmp_path / "test_nothing.py").write_text("def test_it():\n  assert False\n")
  assert gpu._tests(visit, str(tmp_path / "test_nothing.py"))["error"] == "failed: test_it"


def test_bad_input(project, tmp_path):
  (tmp_path / "file").touch()
  for flags, message in ((["--parts=report,golem"], "--parts=golem is unknown"), ([], "--device=gpu: there is no GPU"),
                         (["--device=cpu", f"--output_file={tmp_path}/file/x"], "--output_file: can't write in")):
    if not flags and gpus.read_driver():
      continue
    done = subprocess.run([sys.executable, str(project / "benchmarks/gpu.py"), f"--output_file={tmp_path}/x", *flags],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"error: {message}") and done.stderr.count("\n") == 1
  assert not (tmp_path / "x").exists()
