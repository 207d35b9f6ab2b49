import os
import signal
import threading
import time

import pytest

from bert_tf import commands

SCRIPT = """import pathlib, signal, sys, time
def end(number, frame):
    pathlib.Path("saved").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path("ready").touch()
time.sleep(600)
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
