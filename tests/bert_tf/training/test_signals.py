import math
import os
import signal
import time

import pytest

from bert_tf.training import signals
from bert_tf.training.signals import Interrupted, StopSignal, hold


def wait_for(condition) -> None:
    while not condition():
        time.sleep(0.005)


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_is_noted_and_said(number, monkeypatch):
    # However long the machine holds up who receives them.
    monkeypatch.setattr(signals, "_SECONDS_BETWEEN_SIGNALS", math.inf)
    # The tests themselves may run under nohup, where one of them is ignored.
    monkeypatch.setattr(signals, "_STOP_SIGNALS", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    stop, said = StopSignal(), []
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    with stop.listening(said.append):
        stop.check()
        os.kill(os.getpid(), number)
        # A supervisor may send it to the process and to its group.
        os.kill(os.getpid(), number)
        wait_for(lambda: said)
        with pytest.raises(Interrupted, match=signal.Signals(number).name):
            stop.check()
        time.sleep(0.1)
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before
    assert len(said) == 1 and signal.Signals(number).name in said[0]


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_ends_a_process_that_computes(number):
    child = os.fork()
    if child == 0:
        stop = StopSignal()
        with stop.listening(lambda line: None):
            os.kill(os.getpid(), number)
            wait_for(lambda: stop.received)
            signals._SECONDS_BETWEEN_SIGNALS = 0.0
            os.kill(os.getpid(), number)
            wait_for(lambda: False)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + number


def test_a_held_signal_is_given_to_the_next_who_listens():
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    try:
        hold()
        os.kill(os.getpid(), signal.SIGTERM)
        stop = StopSignal()
        with stop.listening(lambda line: None):
            wait_for(lambda: stop.received)
        assert stop.received == "SIGTERM"
        # Once only.
        with StopSignal().listening(lambda line: None):
            pass
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(number, handler)
