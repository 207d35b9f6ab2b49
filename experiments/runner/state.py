"""What is known of steps that were run: a file each, `<output_dir>/state/<step>.json`, from when it begins.

A step is complete where its file says so, with the digest that it has today, and its result is there. So nothing is
lost with the process that ran it, however that ended, and a change of settings makes incomplete what depends on it.
"""

import datetime
import hashlib
import os
import platform
import shutil

from bert_tf.common import files, json_files, parallel
from bert_tf.common.errors import UserError
from experiments.runner.steps import STEPS, Plan, Step

STATE = "state"
LOGS = "logs"
_KIND_FILE = "experiment.json"
_FINGERPRINTS = "fingerprints.json"
_BEGUN, _COMPLETE = "begun", "complete"


class State:
  """The steps of a plan in their output directory.

  Args:
    plan: the steps.
    scale: of the experiment.

  Raises:
    UserError: the directory can't be written, or was made at another scale; a file of the user is missing.
  """

  def __init__(self, plan: Plan, scale: str):
    self._plan, self._directory = plan, plan.directory
    files.make_output_directory(self._directory, "output_dir")
    self._check_scale(scale)
    for name in (STATE, LOGS, STEPS):
      files.make_output_directory(os.path.join(self._directory, name), "output_dir")
    self._digests = plan.digests(_Fingerprints(os.path.join(self._directory, STATE, _FINGERPRINTS)))

  def is_complete(self, step: Step) -> bool:
    """Whether nothing is to be done."""
    found = self.record(step.name)
    return (found.get("status") == _COMPLETE and found.get("digest") == self._digests[step.name]
            and self.has_result(step))

  def has_result(self, step: Step) -> bool:
    """Whether the file is there that a complete step leaves."""
    return os.path.exists(os.path.join(self._plan.step_directory(step.name), step.result))

  def record(self, name: str) -> dict:
    """What was noted: status, digest, command, begun (UTC), seconds, machine; empty for a step that was never begun."""
    return json_files.read_object(self._path(name))

  def log_file(self, step: Step) -> str:
    """Where the step's output goes."""
    return os.path.join(self._directory, LOGS, f"{step.name}.log")

  def begin(self, step: Step) -> None:
    """Notes that it begins. Its directory is emptied first, unless the same command resumes in it.

    Raises:
      UserError: the disk is full, or the like.
    """
    found, directory = self.record(step.name), self._plan.step_directory(step.name)
    if not (step.resumes and found.get("digest") == self._digests[step.name]):
      found = {}
      shutil.rmtree(directory, ignore_errors=True)
      if os.path.exists(self.log_file(step)):
        files.remove(self.log_file(step))
    files.make_output_directory(directory, "output_dir")
    json_files.write(self._path(step.name), {
        "status": _BEGUN, "digest": self._digests[step.name], "script": step.script,
        "command": self._plan.command(step), "begun": found.get("begun", _now()),
        "starts": found.get("starts", 0) + 1, "machine": machine()})

  def end(self, step: Step, seconds: float) -> None:
    """Notes that it is complete.

    Args:
      seconds: since it was last begun.
    """
    json_files.write(self._path(step.name), {**self.record(step.name), "status": _COMPLETE, "seconds": seconds})

  def _path(self, name: str) -> str:
    return os.path.join(self._directory, STATE, f"{name}.json")

  def _check_scale(self, scale: str) -> None:
    path = os.path.join(self._directory, _KIND_FILE)
    found = json_files.read_object(path).get("scale", scale)
    if found != scale:
      raise UserError(f"--output_dir={self._directory} holds experiments of --scale={found}: choose another directory "
                      f"for --scale={scale}")
    json_files.write(path, {"scale": scale})


class _Fingerprints:
  """Path or patterns of the user's files → a digest of their names and contents.

  Contents are read again only where size or time of a file have changed.
  """

  def __init__(self, path: str):
    self._path = path
    self._known = json_files.read_object(path)

  def __call__(self, patterns: str) -> str:
    paths = []
    for path in files.expand_patterns(patterns, "corpus") if not os.path.isdir(patterns) else [patterns]:
      paths += [path] if not os.path.isdir(path) else sorted(
          os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    before = len(self._known)
    digest = hashlib.sha256(repr([(os.path.basename(path), self._of_file(path)) for path in paths]).encode())
    if len(self._known) > before:
      json_files.write(self._path, self._known)
    return digest.hexdigest()

  def _of_file(self, path: str) -> str:
    status = os.stat(path)
    key = f"{os.path.abspath(path)} {status.st_size} {status.st_mtime_ns}"
    if key not in self._known:
      with open(path, "rb") as file:
        self._known[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return self._known[key]


def machine() -> str:
  """What ran a step, in a few words."""
  return f"{parallel.default_num_workers()} cores, {platform.machine()}, Python {platform.python_version()}"


def _now() -> str:
  return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
