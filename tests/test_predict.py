import json
import subprocess
import sys

import pytest

from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp("bert"), "classification", "masked_lm")


def start(project, *flags: str, **kwargs) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(project / "predict.py"), *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **kwargs,
    )


def test_a_dialogue(project, checkpoint):
    """Every answer is there before the next line is written."""
    process = start(
        project, f"--init_checkpoint={checkpoint}", "--task=classification", "--max_seq_length=6"
    )
    answers = []
    for line in (
        b"the array\n",
        b"a\tb\n",
        b"\xe4\n",
        b'{"id": "last", "text": "the array is returned ."}\n',
    ):
        process.stdin.write(line)
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
    rest, errors = process.communicate()
    assert rest == b"" and process.returncode == 2
    assert [list(answer) for answer in answers] == [
        ["label", "probabilities"],
        ["label", "probabilities"],
        ["line", "error"],
        ["id", "label", "probabilities"],
    ]
    lines = errors.decode().splitlines()
    assert (
        lines[-1]
        == "error: 1 of 4 lines could not be used; the first is line 3: not UTF-8 at byte 1 (0xe4)"
    )
    assert lines[-2] == "1 of 4 inputs were longer than the model takes and were truncated"
    assert lines[-3] == "ready: classification" and any(
        line.startswith("loaded ") for line in lines
    )


def test_answers_that_nobody_got_are_a_failure(project, checkpoint):
    """`… | head -1`, and `>&-` of scripts that print their results."""
    process = start(project, f"--init_checkpoint={checkpoint}", "--task=classification")
    with process:
        process.stdin.write(b"the array\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"the array\n")
        process.stdin.close()
        errors = process.stderr.read()
    assert process.returncode == 141 and errors.endswith(b"ready: classification\n")
    for command in (
        f"predict.py --init_checkpoint={checkpoint} --output_file=-",
        f"fill_mask.py --init_checkpoint={checkpoint} [MASK]",
        "bert_tf/extras/compare.py a b",
        f"bert_tf/extras/search.py --init_checkpoint={checkpoint} --index_dir={checkpoint}",
    ):
        done = subprocess.run(
            f"{sys.executable} {command} >&-",
            shell=True,
            cwd=project,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2 and b": standard output is closed" in done.stderr, command


def test_from_file_to_file(project, checkpoint, tmp_path):
    (tmp_path / "lines.txt").write_text("the [MASK] is returned\n" * 300)
    process = start(
        project,
        f"--init_checkpoint={checkpoint}",
        "--task=fill_mask",
        "--top_k=2",
        f"--input_file={tmp_path}/lines.txt",
        f"--output_file={tmp_path}/out.jsonl",
    )
    output, errors = process.communicate()
    assert process.returncode == 0 and output == b"", errors.decode()
    answers = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(answers) == 300 and [len(answer["masks"][0]) for answer in answers] == [2] * 300


def test_flags_of_another_task(project, checkpoint):
    shown = start(project, "--task", "features", "--help").communicate()[0].decode()
    assert "--layer" in shown and "--doc_stride" not in shown
    process = start(
        project, f"--init_checkpoint={checkpoint}", "--task=classification", "--doc_stride=8"
    )
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.decode().splitlines()[-1] == (
        "error: --doc_stride is not read with --task=classification, only with --task=question_answering: leave it out"
    )
