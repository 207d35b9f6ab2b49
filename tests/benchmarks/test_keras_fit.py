import importlib.util
import re

import pytest

from benchmarks import keras_fit
from benchmarks.keras_fit import KerasFitOptions, main
from tests.benchmarks.common import CONFIG


def test_the_command(capsys, monkeypatch):
    monkeypatch.setattr(keras_fit, "find_config", lambda size, vocab_size: CONFIG)
    main(
        KerasFitOptions(
            batch_size=2,
            max_seq_length=16,
            vocab_size=60,
            repetitions=2,
            steps=1,
            one_process=True,
        )
    )
    printed = capsys.readouterr().out
    for name in ("ours", "ours_xla"):
        assert len(re.findall(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE)) == 2
    if not importlib.util.find_spec("keras_hub"):
        pytest.skip("KerasHub is not installed (pip install --group peers); ours ran")
    for name in ("keras_hub", "keras_hub_xla"):
        assert len(re.findall(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE)) == 2
