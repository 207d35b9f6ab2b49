import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bert_tf import commands
from tests.page_commands import PROJECT

_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}

SCRIPT = """import pathlib, signal, sys, time
def end(number, frame):
    pathlib.Path("saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path("ready").touch()
time.sleep(600)
print("not ended")
"""


def test_a_signal_is_passed_on_and_ends_the_process_after_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.py").write_text(SCRIPT)
    monkeypatch.setattr(commands, "path_of_script", lambda script: str(tmp_path / script))

    def send() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    threading.Thread(target=send).start()
    with pytest.raises(SystemExit) as ended:
        commands.run_command("run.py")
    assert ended.value.code == 128 + signal.SIGTERM
    assert (tmp_path / "saved").exists() and signal.getsignal(signal.SIGTERM) == before


def test_a_command_ends_with_the_process_that_runs_it(tmp_path):
    (tmp_path / "run.py").write_text(SCRIPT)
    starter = (
        "from bert_tf import commands\n"
        f"commands.path_of_script = lambda script: {str(tmp_path / 'run.py')!r}\n"
        "commands.run_command('run.py')"
    )
    # What is written to a pipe ends with the last process that has it.
    process = subprocess.Popen(
        [sys.executable, "-c", starter], cwd=tmp_path, stdout=subprocess.PIPE, env=_ENVIRONMENT
    )
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    process.kill()
    output, _ = process.communicate()
    assert b"not ended" not in output
    assert process.returncode == -signal.SIGKILL
