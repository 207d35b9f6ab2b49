import random
import re
import subprocess
import sys

import pytest

from benchmarks.tokenization import split
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]


def english(lines, seed=0):
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=12)) + f" {number}." for number in range(lines)]


def test_warm_up_and_measured_text_have_no_line_in_common():
    lines = english(300)
    warm_up, measured = split([*lines, *lines], characters=5000)
    assert not set(warm_up) & set(measured)
    assert 5000 <= sum(map(len, warm_up)) < 5200 and 5000 <= sum(map(len, measured)) < 5200
    assert split(lines, 5000) == (warm_up, measured)
    with pytest.raises(UserError, match="--megabytes"):
        split(english(10), characters=10_000)


def test_the_command(project, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(english(200)), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text(
        "\n".join([*SPECIAL_TOKENS, *WORDS[:5], *map(str, range(10)), "##1", "."]), encoding="utf-8"
    )
    result = subprocess.run(
        [
            sys.executable,
            str(project / "benchmarks" / "tokenization.py"),
            "--vocab_file=vocab.txt",
            "--text_file=text.txt",
            "--megabytes=0.01",
            "--repetitions=1",
            "--nopeers",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert (
        len(re.findall(r"this project, (?:cold|warm|again) .* 0$", result.stdout, re.MULTILINE))
        == 3
    )
