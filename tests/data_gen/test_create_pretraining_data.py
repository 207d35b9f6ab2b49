import contextlib
import gzip
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bert_common import files
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import generation, records, schema
from data_gen.pretraining.generation import generate
from data_gen.pretraining.workers import load_tokenizer
from tests.data_gen.commands import run_command
from tests.refusals import assert_refused

WORDS = ["the", "cat", "sat", "on", "mat", "dog", "ran", "##s", "a", "."]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
TEXT = (
    "\n\n".join(
        "\n".join(f"the {animal} {verb} on a mat ." for verb in ("sat", "ran", "sats", "rans"))
        for animal in ("cat", "dog", "cats", "dogs")
    )
    + "\n"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (tmp_path / "corpus.txt").write_text(TEXT)
    return tmp_path


FLAGS = {
    "input_file": "corpus.txt",
    "output_file": "out.tfrecord",
    "vocab_file": "vocab.txt",
    "max_seq_length": 32,
    "max_predictions_per_seq": 5,
    "num_workers": 1,
}


def command(project, **flags) -> list[str]:
    return [
        sys.executable,
        str(project / "data_gen" / "create_pretraining_data.py"),
        *(f"--{name}={value}" for name, value in {**FLAGS, **flags}.items()),
    ]


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def call(**flags):
        run_here(**flags)
        return capsys.readouterr()

    return call


def run_here(**flags) -> None:
    """Runs the command in the working directory and in this process."""
    load_tokenizer.cache_clear()
    run_command(PretrainingDataOptions, generation.run, **{**FLAGS, **flags})


def data_of(path) -> dict[str, np.ndarray]:
    examples = list(records.read_examples(str(path)))
    return {name: np.stack([example[name] for example in examples]) for name in schema.FEATURES}


def test_first_run(run, folder):
    result = run(output_file="out/records@3", random_seed=1)
    names = [f"records-{shard:05d}-of-00003" for shard in range(3)]
    assert sorted(os.listdir(folder / "out")) == [*names, "records.stats.json"]
    stats = json.loads((folder / "out" / "records.stats.json").read_text())
    assert [shard["file"] for shard in stats["shards"]] == names
    assert [shard["instances"] for shard in stats["shards"]] == [
        records.count_records(str(folder / "out" / name)) for name in names
    ]
    assert stats["vocab_file"] == str(folder / "vocab.txt")
    assert stats["vocab_sha256"] == hashlib.sha256((folder / "vocab.txt").read_bytes()).hexdigest()
    assert (stats["vocab_size"], stats["max_seq_length"], stats["random_seed"]) == (15, 32, 1)
    assert (stats["counts"]["documents"], stats["counts"]["sentences"]) == (4, 16)
    assert stats["instances"] == sum(shard["instances"] for shard in stats["shards"]) > 40
    # What is printed: examples with what was hidden, and the table.
    assert "[MASK]{" in result.out and "random next" in result.out and "documents" in result.out


def test_parts_in_a_loop_of_the_shell(run, folder, project):
    """The loop of docs/many_machines.md, with the parts at the same time."""
    run(output_file="whole@3", random_seed=1)
    words = command(project, output_file="parts@3", random_seed=1)
    loop = """for step in prepare write; do
        for part in 1 2 3; do "$@" --part=$part/3 || echo failed & done
        wait
    done"""
    done = subprocess.run(
        ["sh", "-c", loop, "sh", *words], capture_output=True, text=True, check=True
    )
    assert "failed" not in done.stdout and "masked" in done.stdout, done.stderr
    for number in range(3):
        whole = (folder / f"whole-{number:05d}-of-00003").read_bytes()
        assert (folder / f"parts-{number:05d}-of-00003").read_bytes() == whole
    # What is finished is neither made again nor lost.
    before = sorted(os.listdir(folder))
    assert subprocess.run([*words, "--part=2/3"], capture_output=True, check=True)
    assert sorted(os.listdir(folder)) == before


def test_no_next_sentence_prediction_and_other_flags(run, folder):
    run(
        next_sentence_prediction="false",
        masking="100,0,0",
        gzip_compress="true",
        max_seq_length=12,
        output_file="a,b",
        short_seq_prob=0,
    )
    assert (folder / "a").read_bytes()[:2] == b"\x1f\x8b"
    data = data_of(folder / "a")
    assert abs(len(data["input_ids"]) - records.count_records(str(folder / "b"))) <= 1
    assert (data["input_mask"] == 1).all()
    assert not data["segment_ids"].any() and not data["next_sentence_labels"].any()
    used = data["masked_lm_weights"] > 0
    assert (np.take_along_axis(data["input_ids"], data["masked_lm_positions"], 1)[used] == 4).all()
    assert (folder / "a.stats.json").exists()


@pytest.mark.parametrize(
    ("plain", "zipped", "files"),
    [
        ("p", "a.tfrecord.gz", {"a.tfrecord.gz": "p"}),
        (
            "p@2",
            "a.GZ@2",
            {"a.GZ-00000-of-00002": "p-00000-of-00002", "a.GZ-00001-of-00002": "p-00001-of-00002"},
        ),
        ("p,q", "a,b.gz", {"a": "p", "b.gz": "q"}),
        ("p", "a.gz-00000-of-00001", {"a.gz-00000-of-00001": "p"}),
    ],
)
def test_records_whose_name_ends_in_gz_are_gzipped(run, folder, plain, zipped, files):
    run(output_file=plain)
    run(output_file=zipped)
    for name, source in files.items():
        assert gzip.decompress((folder / name).read_bytes()) == (folder / source).read_bytes()


def test_input_may_be_zipped_globbed_and_have_windows_line_ends(run, folder):
    run(random_seed=3)
    plain = (folder / "out.tfrecord").read_bytes()
    (folder / "other").mkdir()
    (folder / "other" / "x.txt.gz").write_bytes(gzip.compress(TEXT.replace("\n", "\r\n").encode()))
    run(input_file="other/*.gz", random_seed=3)
    assert (folder / "out.tfrecord").read_bytes() == plain


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_seq_length": 4}, "--max_seq_length is 4, it must be at least 5"),
        (
            {"max_predictions_per_seq": 30},
            "--max_predictions_per_seq=30: a sequence of 32 has 1 to 29",
        ),
        ({"masking": "80,10"}, "--masking=80,10: three percentages"),
        ({"input_file": "none*.txt"}, "no file matches 'none*.txt'"),
        ({"input_file": "."}, "is a directory"),
        ({"input_file": "corpus.txt,missing.txt"}, "missing.txt"),
        ({"vocab_file": "missing.txt"}, "--vocab_file: missing.txt does not exist"),
        ({"output_file": "."}, "is a directory"),
        ({"output_file": "out@0"}, "--output_file=out@0"),
        ({"output_file": "corpus.txt"}, "is also --input_file"),
        ({"output_file": "a,a"}, "named twice"),
        ({"max_sequences_per_row": 3}, "--max_sequences_per_row has no effect without --packed"),
        ({"output_file": "a,out.xz@2"}, "--output_file: out.xz: results are compressed by gzip"),
        ({"output_file": "corpus.txt/out"}, "--output_file: can't write in corpus.txt"),
        ({"output_file": "/proc/out"}, "--output_file: "),
        (
            {"output_file": "b, gs://bucket/a@4"},
            "--output_file: gs://bucket/a@4 is not on a local disk",
        ),
        ({"vocab_file": "corpus.txt"}, "corpus.txt"),
    ],
)
def test_wrong_flags(run, folder, flags, message):
    assert_refused(lambda: run(**flags), message)
    assert not list(folder.glob("out*")) and not list(folder.glob(".out*"))


def test_odd_documents_are_all_used(run, folder):
    (folder / "empty.txt").write_bytes(b"")
    (folder / "corpus.txt").write_text(
        "\n\n\n the cat .\n\n\n\n" + "the dog ran on a mat . " * 40 + "\n\0\n\n\0\n\na\n"
    )
    result = run(input_file="corpus.txt,empty.txt", dupe_factor=3)
    assert "empty.txt is empty" in result.err
    counts = json.loads((folder / "out.tfrecord.stats.json").read_text())["counts"]
    assert (counts["documents"], counts["sentences"], counts["instances"]) == (3, 3, 9)
    assert counts["lines_without_tokens"] == 2 and counts["longest_sentence"] == 280
    assert (data_of(folder / "out.tfrecord")["input_mask"].sum(1) <= 32).all()


@pytest.mark.parametrize("limit", [100_000, 1_500_000])
def test_a_full_disk_leaves_what_can_be_resumed(run, project, folder, limit):
    (folder / "corpus.txt").write_text((TEXT + "\n") * 200)
    run(output_file="whole", dupe_factor=4)

    def full_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    (folder / "out.tfrecord").write_bytes(b"what was there before")
    done = subprocess.run(
        command(project, dupe_factor=4), capture_output=True, text=True, preexec_fn=full_disk
    )
    line = done.stderr.splitlines()[-1]
    assert (done.returncode, line[:7]) == (2, "error: ") and "Traceback" not in done.stderr
    assert "can't write in" in line and "free some space" in line
    assert (folder / "out.tfrecord").read_bytes() == b"what was there before"
    run(dupe_factor=4, resume="true")
    assert (folder / "out.tfrecord").read_bytes() == (folder / "whole").read_bytes()
    assert not list(folder.glob(".out*"))


@pytest.fixture(scope="module")
def killing_ground(tmp_path_factory, project):
    """A corpus of several portions, and the bytes that an undisturbed run makes of it."""
    folder = tmp_path_factory.mktemp("kill")
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    rng = np.random.default_rng(0)
    text = "\n".join(
        "" if len(row) == 3 else " ".join(row)
        for row in (rng.choice(WORDS[:7], n) for n in rng.integers(3, 20, 60_000))
    )
    (folder / "corpus.txt").write_text(text)
    subprocess.run(
        command(project, dupe_factor=3, num_workers=2, output_file="whole@2"),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def hashes(folder, name: str) -> list[str]:
    return [
        hashlib.sha256((folder / f"{name}-{shard:05d}-of-00002").read_bytes()).hexdigest()
        for shard in range(2)
    ]


def kill_at(moment: str, arguments: list[str], folder, work) -> bool:
    """Runs the command until a file of that pattern is in its work directory; says whether it was
    killed then."""
    process = subprocess.Popen(
        arguments,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None and not list(work.glob(moment)):
        time.sleep(0.001)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL and work.exists()


@pytest.mark.parametrize(
    "moments",
    [
        ["run-*.json"],
        ["run-*.rows.*.tmp", "part-*.json"],
        ["part-*.tmp", "shard-00000"],
        ["shard-00001"],
    ],
)
def test_killed_and_resumed_it_ends_with_the_same_bytes(
    project, killing_ground, monkeypatch, moments
):
    folder, work = killing_ground, killing_ground / ".out-00000-of-00002.partial"
    for stale in folder.glob("out*"):
        stale.unlink()
    for workers, moment in zip((2, 1), moments, strict=False):
        flags = {"dupe_factor": 3, "num_workers": workers, "output_file": "out@2", "resume": "true"}
        while not kill_at(moment, command(project, **flags), folder, work):
            # On a busy machine the moment may pass unseen.
            for path in folder.glob("out*"):
                path.unlink()
        for path in folder.glob("out-*"):
            assert path.read_bytes() == (folder / path.name.replace("out", "whole")).read_bytes(), (
                "half-written"
            )
    monkeypatch.chdir(folder)
    assert_refused(
        lambda: run_here(**flags, masked_lm_prob=0.2), "--resume", "another --masked_lm_prob"
    )
    if list(work.glob("run-*.json")):
        assert_refused(lambda: run_here(**{**flags, "resume": "false"}), "give --resume")
    run_here(**{**flags, "num_workers": 1})
    assert hashes(folder, "out") == hashes(folder, "whole")
    assert not work.exists()
    stats = [json.loads((folder / f"{name}.stats.json").read_text()) for name in ("out", "whole")]
    assert stats[0]["counts"] == stats[1]["counts"]


def test_killed_while_publishing(killing_ground, monkeypatch):
    folder = killing_ground
    options = PretrainingDataOptions(
        input_file=str(folder / "corpus.txt"),
        output_file=str(folder / "late@2"),
        vocab_file=str(folder / "vocab.txt"),
        max_seq_length=32,
        max_predictions_per_seq=5,
        dupe_factor=3,
        num_workers=1,
    )
    outputs, stats_file = options.output_files()
    move = files.take_the_place_of

    def move_one(shard, path):
        if path == outputs[1]:
            raise KeyboardInterrupt
        move(shard, path)

    monkeypatch.setattr(files, "take_the_place_of", move_one)
    with pytest.raises(KeyboardInterrupt):
        generate(options)
    assert not os.path.exists(outputs[1]) and not os.path.exists(stats_file)
    monkeypatch.undo()
    result = generate(options.replace(resume=True))
    assert hashes(folder, "late") == hashes(folder, "whole")
    # All done: there is nothing to do a second time, but to remove what a kill has left.
    (folder / ".late-00000-of-00002.partial").mkdir()
    modified = [os.stat(path).st_mtime_ns for path in outputs]
    assert generate(options.replace(resume=True)) == json.loads(json.dumps(result))
    assert [os.stat(path).st_mtime_ns for path in outputs] == modified and not list(
        folder.glob(".late*")
    )
