import gc
import io
import re
import time

import pytest

from bert_common.progress import RIGHT, Progress, painter


def test_the_last_state_is_one_line(capsys):
    with Progress("records", total=4, unit=" records") as progress:
        progress.advance(1, loss="2.5", shard=1)
        progress.write("a line of its own")
        progress.advance(3, loss="1.5")
        progress.close()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a line of its own" and len(lines) == 2
    assert lines[1].startswith("records: 100% 4/4 [") and "loss=1.5, shard=1" in lines[1]


def test_nothing_stays_open(recwarn):
    with Progress("records", total=4, unit=" records") as progress:
        progress.advance(4)
    del progress
    gc.collect()
    assert not [one for one in recwarn if one.category is ResourceWarning]


def test_what_was_done_while_compiling_is_not_in_the_rate(capsys):
    with Progress("training", total=100, unit="step") as progress:
        progress.restart_clock(1)
        progress.advance(0, loss="2.5")
        progress._print_line()
        assert (
            capsys.readouterr().err.strip() == "training:   1% 1/100 [00:00<?, ?step/s, loss=2.5]"
        )
        time.sleep(0.3)
        progress.advance(10)
        progress._print_line()
    rate = float(re.search(r"11/100 .* ([\d.]+)step/s", capsys.readouterr().err)[1])
    assert rate < 40


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    "stream, variables, expected",
    [
        (Terminal(), {}, "\033[32myes\033[0m"),
        (io.StringIO(), {}, "yes"),
        (Terminal(), {"NO_COLOR": "1"}, "yes"),
        (Terminal(), {"TERM": "dumb"}, "yes"),
    ],
)
def test_a_terminal_gets_colors_unless_they_are_unwanted(monkeypatch, stream, variables, expected):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    assert painter(stream)("yes", RIGHT) == expected
