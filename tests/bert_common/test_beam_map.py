"""Work on the workers of Apache Beam: results in order, errors in one line, and what needs no Beam."""

import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from bert_common import beam_map
from bert_common.errors import UserError
from tests.beam import IN_PROCESS, NEEDS_BEAM


def square(number: int) -> int:
  return number * number


def refuse_three(number: int) -> int:
  if number == 3:
    raise UserError("corpus.txt has changed")
  return number


def divide(number: int) -> float:
  return 1 / number


def call(path: str, work=square, item: int = 7, **versions: str) -> None:
  """What a worker does with an item."""
  beam_map._call(pickle.dumps(work), {**beam_map._versions(), **versions}, (path, pickle.dumps(item)))


@pytest.fixture
def beam():
  return pytest.importorskip("apache_beam", reason=NEEDS_BEAM)


def test_without_beam_the_flag_says_what_to_type(monkeypatch):
  monkeypatch.setattr(beam_map.importlib.util, "find_spec", lambda name: None)
  with pytest.raises(UserError, match="pip install --only-binary apache-beam -r requirements-beam.txt"):
    beam_map.check_runner(IN_PROCESS)


@pytest.mark.parametrize("text", ["", "a b", "=3", "runner=X,,"])
def test_what_is_no_list_of_options_is_refused(text):
  with pytest.raises(UserError, match="name=value,name=value is expected"):
    beam_map.check_options(text)


def test_an_outcome_appears_whole_and_may_be_made_twice(tmp_path):
  path = str(tmp_path / "outcome-0")
  for _ in range(2):
    call(path)
  assert os.listdir(tmp_path) == ["outcome-0"]


def test_a_worker_of_another_version_need_not_have_the_function(tmp_path, monkeypatch):
  with monkeypatch.context() as patch:
    patch.setattr(sys.modules[__name__], "of_a_later_version", square, raising=False)
    patch.setattr(square, "__qualname__", "of_a_later_version")
    work = pickle.dumps(square)
  path = str(tmp_path / "outcome-0")
  beam_map._call(work, {**beam_map._versions(), "bert-tf": "99.0"}, (path, b""))
  assert "this command 99.0" in str(pickle.loads((tmp_path / "outcome-0").read_bytes())[1])


@pytest.mark.parametrize("package", ["bert-tf", "Python", "numpy", "nupunkt"])
def test_a_worker_with_another_version_is_named(tmp_path, package):
  path = str(tmp_path / "outcome-0")
  call(path, **{package: "0.0.1"})
  succeeded, error = pickle.loads((tmp_path / "outcome-0").read_bytes())
  assert not succeeded
  assert re.fullmatch(rf".*worker on \S+ has {package} \S+, this command 0.0.1: install the same one", str(error))


def test_a_worker_that_does_not_see_the_directory_says_so(tmp_path):
  with pytest.raises(FileNotFoundError, match="must have the same name on all machines"):
    call(str(tmp_path / "elsewhere/outcome-0"))


def test_results_come_in_order_and_nothing_is_left(beam, tmp_path):
  assert list(beam_map.ordered_map(square, range(20), IN_PROCESS, str(tmp_path))) == [n * n for n in range(20)]
  assert list(beam_map.ordered_map(square, [], IN_PROCESS, str(tmp_path))) == []
  assert not os.listdir(tmp_path)


def test_a_user_error_of_a_worker_is_that_of_the_command(beam, tmp_path):
  results = beam_map.ordered_map(refuse_three, range(6), IN_PROCESS, str(tmp_path))
  assert [next(results) for _ in range(3)] == [0, 1, 2]
  with pytest.raises(UserError, match="^corpus.txt has changed$"):
    next(results)


def test_a_pipeline_that_fails_is_one_line(beam, tmp_path):
  with pytest.raises(UserError, match="the pipeline failed: .*ZeroDivisionError: division by zero") as caught:
    list(beam_map.ordered_map(divide, [0, 1], IN_PROCESS, str(tmp_path)))
  assert "\n" not in str(caught.value)
  assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("runner, message", [
    ("Foo", "runner=Foo is unknown"), ("os.path", "runner=os.path is unknown"),
    ("x.y.Z", "runner=x.y.Z is not installed")])
def test_an_unknown_runner_is_named(beam, runner, message):
  with pytest.raises(UserError, match=message):
    beam_map.check_runner(f"runner={runner}")


@pytest.mark.parametrize("endpoint, message", [
    ("localhost:1", "there is no job server at job_endpoint=localhost:1 .*start it first"),
    ("localhost", "job_endpoint=localhost is no HOST:PORT")])
def test_a_job_server_that_is_not_there_is_named(beam, endpoint, message):
  with pytest.raises(UserError, match=message):
    beam_map.check_runner(f"runner=PortableRunner,job_endpoint={endpoint}")


@pytest.mark.parametrize("options, message", [
    ("direct_num_workers=x", "argument --direct_num_workers: invalid int value: 'x'$"),
    ("direct_running_mode=x", r"argument --direct_running_mode: invalid choice: 'x' \(choose from"),
    ("help", "--help is no option of a pipeline"),
    ("direct_num_worker=8", "FnApiRunner has no option direct_num_worker: did you mean direct_num_workers?")])
def test_values_that_beam_refuses_are_one_line(beam, options, message, capsys):
  with pytest.raises(UserError, match=f"^--beam_pipeline_options: {message}"):
    beam_map.check_runner(f"runner=FnApiRunner,{options}")
  assert not capsys.readouterr().err


def test_another_kind_of_server_is_named(beam, monkeypatch):
  monkeypatch.setattr(beam_map, "_SECONDS_TO_CONNECT", 0.5)
  with socket.create_server(("localhost", 0)) as server:
    endpoint = f"localhost:{server.getsockname()[1]}"
    with pytest.raises(UserError, match=f"what listens at job_endpoint={endpoint} is no job server"):
      beam_map.check_runner(f"runner=PortableRunner,job_endpoint={endpoint}")


def test_a_pipeline_may_last_longer_than_a_request_of_beam(beam):
  from apache_beam.options.pipeline_options import PortableOptions

  timeouts = [beam_map._pipeline_options(flags).view_as(PortableOptions).job_server_timeout
              for flags in ([], ["--job_server_timeout=7"])]
  assert timeouts == [30 * 86400, 7]


class Endless:
  """A pipeline, and its result, of a runner that waits for workers that have died."""

  def run(self) -> "Endless":
    return self

  def wait_until_finish(self) -> None:
    threading.Event().wait()

  def cancel(self) -> None:
    """Does nothing, as Beam's own job service."""


@pytest.fixture
def endless(monkeypatch):
  monkeypatch.setattr(beam_map, "_build", lambda *unused: Endless())
  monkeypatch.setattr(beam_map, "_SECONDS_BETWEEN_SIGNS", 0.05)
  monkeypatch.setattr(beam_map, "_SECONDS_WITHOUT_SIGN", 0.5)
  return beam_map._Pipeline(square, [], "")


@pytest.mark.parametrize("at_work", [True, False])
def test_workers_that_have_died_end_the_command(endless, tmp_path, at_work):
  call(str(tmp_path / "outcome-1"))
  assert endless.wait_for(str(tmp_path / "outcome-1")) == (True, 49)
  if at_work:
    (tmp_path / "outcome-0.0a1b2c3d.tmp").touch()
  with pytest.raises(UserError, match="no worker has given a sign of life for .* start it and them again"):
    endless.wait_for(str(tmp_path / "outcome-0"))


def take_long(number: int) -> int:
  time.sleep(1.5)
  return number


def test_work_that_takes_long_is_waited_for(endless, tmp_path):
  path = str(tmp_path / "outcome-0")
  threading.Thread(target=call, args=(path, take_long)).start()
  assert endless.wait_for(path) == (True, 7)


def test_workers_that_have_not_begun_are_waited_for(endless, tmp_path, monkeypatch, capsys):
  monkeypatch.setattr(beam_map, "_SECONDS_BEFORE_NOTE", 0.1)
  path = str(tmp_path / "outcome-0")
  threading.Timer(1.2, call, [path]).start()
  assert endless.wait_for(path) == (True, 49)
  assert "without the next result: do the runner's workers live" in capsys.readouterr().err


ONE_DIES = """
import sys
from bert_common import beam_map
from bert_common.errors import UserError
from tests.bert_common.test_beam_map import die_of_three

beam_map._SECONDS_BETWEEN_SIGNS, beam_map._SECONDS_WITHOUT_SIGN = 0.2, 3
options = "runner=FnApiRunner,direct_num_workers=2,direct_running_mode=multi_processing"
try:
  list(beam_map.ordered_map(die_of_three, range(6), options, sys.argv[1]))
except UserError as error:
  print(error, flush=True)
"""


def die_of_three(number: int) -> int:
  if number == 3:
    os.kill(os.getpid(), signal.SIGKILL)
  return number


def test_a_worker_that_is_killed_ends_the_command(beam, tmp_path, project):
  done = subprocess.run([sys.executable, "-c", ONE_DIES, str(tmp_path)], cwd=project, capture_output=True, text=True,
                        timeout=120)
  assert done.stdout.startswith("--beam_pipeline_options: no worker has given a sign of life for 3 s"), done.stderr


def test_the_end_of_a_pipeline_is_not_waited_for_for_ever(endless, monkeypatch):
  monkeypatch.setattr(beam_map, "_SECONDS_TO_FINISH", 0.1)
  endless.finish()


def test_work_that_fails_leaves_nothing(tmp_path):
  with pytest.raises(ZeroDivisionError):
    call(str(tmp_path / "outcome-0"), divide, item=0)
  assert not os.listdir(tmp_path)
