"""Scripts in pipelines of Apache Beam, with the bytes of the same scripts without it."""

import functools
import gzip
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.vocabulary import building
from bert_tf.vocabulary.building import VocabularyOptions
from data_gen.options import CorpusOptions, PretrainingDataOptions
from data_gen.pretraining import generation
from data_gen.text import corpus_preparation
from tests.data_gen.commands import run_command
from tests.refusals import assert_refused

_PROJECT = pathlib.Path(__file__).resolve().parents[2]
_SAMPLES = _PROJECT / "samples"
_VOCAB = str(_SAMPLES / "tiny_books/vocab.txt")
_TWO_PROCESSES = "runner=FnApiRunner,direct_running_mode=multi_processing,direct_num_workers=2"


@functools.cache
def _python() -> str:
    """The Python that has Beam: this one, or that of `make beam`."""
    if importlib.util.find_spec("apache_beam"):
        return sys.executable
    path = _PROJECT / "beam/bin/python"
    if not path.exists():
        pytest.skip("needs Apache Beam: make beam")
    return str(path)


def _command(script: str, runner: str, flags: dict, folder: str = "data_gen") -> list[str]:
    words = [f"--{name}={value}" for name, value in flags.items()]
    path = str(_PROJECT / folder / script)
    return [_python(), path, *words, f"--beam_pipeline_options={runner}"]


def _run(words: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def _sentences() -> list[str]:
    text = gzip.decompress((_SAMPLES / "corpus.txt.gz").read_bytes()).decode()
    return [line for line in text.split("\n") if line]


def _write_corpus(folder: pathlib.Path, is_one_document: bool = False) -> str:
    """Writes 1.8 MB, which are several portions and buckets, in two files."""
    lines = _sentences()
    copies = [f"{number} {line}" for number in range(5) for line in lines]
    end = len(copies) if is_one_document else 7
    documents = [copies[first : first + end] for first in range(0, len(copies), end)]
    text = "\n\n".join("\n".join(document) for document in documents).encode()
    half = len(text) if is_one_document else text.index(b"\n\n", len(text) // 2)
    (folder / "a.txt").write_bytes(text[:half])
    with gzip.open(folder / "b.txt.gz", "wb") as file:
        file.write(text[half:] or b"\n\nThe end .\n")
    return f"{folder}/a.txt,{folder}/b.txt.gz"


def _outputs(folder: pathlib.Path) -> tuple[dict[str, bytes], dict]:
    """Returns the files in a folder, and the statistics among them without what may differ."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    statistics = json.loads(found.pop("records.stats.json"))
    del statistics["run"], statistics["output_file"]
    return found, statistics


def _records(folder: pathlib.Path, corpus: str, **flags) -> dict:
    """Writes records without Beam, and returns the flags."""
    flags = {"input_file": corpus, "vocab_file": _VOCAB, **flags}
    run_command(
        PretrainingDataOptions, generation.run, output_file=f"{folder}/one/records@3", **flags
    )
    return {**flags, "output_file": f"{folder}/beam/records@3"}


@pytest.mark.parametrize(
    "runner, is_one_document, flags",
    [
        (_TWO_PROCESSES, False, {"dupe_factor": 2, "do_whole_word_mask": True}),
        # Portions that are one document draw random segments from others.
        ("runner=FnApiRunner", True, {"dupe_factor": 1, "packed": True, "gzip_compress": True}),
    ],
)
def test_records(tmp_path, runner, is_one_document, flags):
    corpus = _write_corpus(tmp_path, is_one_document)
    _python()
    flags = _records(tmp_path, corpus, **flags)
    done = _run(_command("create_pretraining_data.py", runner, flags))
    assert done.returncode == 0, done.stderr
    assert _outputs(tmp_path / "beam") == _outputs(tmp_path / "one")
    processes = json.loads((tmp_path / "beam/records.stats.json").read_text())["run"]["num_workers"]
    assert processes == (2 if "multi" in runner else 1)
    assert f"with {processes} workers" in done.stdout


@pytest.mark.processes
def test_a_worker_of_dask_is_killed(tmp_path):
    """Half way, when the portions are dealt; what it has made is made again by the other."""
    python = _python()
    flags = _records(tmp_path, _write_corpus(tmp_path), dupe_factor=1, packed=True)
    environment = {**os.environ, "PYTHONPATH": str(_PROJECT)}
    address = tmp_path / "scheduler.json"
    server = [python, "-m", "dask", "scheduler", "--port=0", "--no-dashboard"]
    worker = [python, "-m", "dask", "worker", "--nthreads=1", "--no-nanny", "--no-dashboard"]
    processes = []
    with open(tmp_path / "log", "wb") as log:
        start = functools.partial(
            subprocess.Popen, stdout=log, stderr=log, env=environment, cwd=tmp_path
        )
        try:
            for words in (server, worker, worker):
                processes.append(start([*words, f"--scheduler-file={address}"]))
            runner = f"runner=DaskRunner,dask_scheduler_file={address},dask_npartitions=2"
            command = start(_command("create_pretraining_data.py", runner, flags))
            processes.append(command)
            while not list(tmp_path.glob("beam/.*.beam-*/places")) and command.poll() is None:
                time.sleep(0.05)
            assert command.poll() is None
            processes[1].send_signal(signal.SIGKILL)
            status = command.wait()
        finally:
            for process in processes:
                process.kill()
                process.wait()
    assert status == 0, (tmp_path / "log").read_text()[-3000:]
    assert _outputs(tmp_path / "beam") == _outputs(tmp_path / "one")


def test_a_corpus(tmp_path, capsys):
    """Duplicates in one file and in several, documents held out, a gzipped output."""
    lines = _sentences()[:600]
    documents = ["\n".join(lines[first : first + 6]) for first in range(0, 600, 6)]
    for number in range(3):
        chosen = [*documents[20 * number :: 3], *documents[number:30:2], documents[0]]
        (tmp_path / f"{number}.txt").write_text("\n\n".join(chosen))
    (tmp_path / "none.txt").write_text("\n\n")
    flags = {"input_file": f"{tmp_path}/*.txt", "remove_duplicates": True, "held_out_fraction": 0.2}
    written = []
    _python()
    for name in ("one", "beam"):
        (tmp_path / name).mkdir()
        flags["output_file"] = f"{tmp_path}/{name}/corpus.txt.gz"
        flags["held_out_file"] = f"{tmp_path}/{name}/held_out.txt"
        if name == "one":
            run_command(CorpusOptions, corpus_preparation.run, **flags)
            report = capsys.readouterr().out
        else:
            done = _run(_command("prepare_corpus.py", _TWO_PROCESSES, flags))
            assert done.returncode == 0, done.stderr
        written.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert written[0] == written[1] and written[0]["held_out.txt"]
    assert " 0 documents" not in report and "hold no text" in report
    assert done.stdout.replace("/beam/", "/one/").split() == report.split()


def test_a_vocabulary(tmp_path, capsys):
    """Of a plain and a gzipped file; words are counted in many ranges, and held out."""
    flags = {"input_file": _write_corpus(tmp_path), "vocab_size": 400, "max_words": 500}
    _python()
    flags["output_dir"] = f"{tmp_path}/one"
    run_command(VocabularyOptions, building.run, **flags)
    table = capsys.readouterr().out.partition("\n\n")[2]
    flags["output_dir"] = f"{tmp_path}/beam"
    done = _run(_command("build_vocab.py", _TWO_PROCESSES, flags, folder="vocab"))
    assert done.returncode == 0, done.stderr
    assert "held out" in table and done.stdout.partition("\n\n")[2].strip() == table.strip()
    written = []
    for name in ("one", "beam"):
        written.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert written[0] == written[1] and written[0]["vocab.txt"]


# Beam's local files under a scheme of their own, as a client of an object store would be installed.
_ELSEWHERE = """
import os
import sys
from apache_beam.io.filesystem import FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

class Elsewhere(LocalFileSystem):
    @classmethod
    def scheme(cls):
        return "elsewhere"

    def metadata(self, path):
        return named(super().metadata(inside(path)))

    def delete(self, paths):
        for path in inside(paths):
            if os.path.isdir(path):
                os.rmdir(path)
            else:
                os.remove(path)

    def _list(self, folder):
        return map(named, super()._list(inside(folder)))

SCHEME = "elsewhere://"

def named(found):
    return FileMetadata(SCHEME + found.path, found.size_in_bytes, found.last_updated_in_seconds)

def inside(value):
    if isinstance(value, list):
        return [inside(path) for path in value]
    return value.removeprefix(SCHEME) if isinstance(value, str) else value

def translated(name):
    def call(self, *words, **flags):
        return getattr(LocalFileSystem, name)(self, *map(inside, words), **flags)
    return call

for name in ("mkdirs", "open", "create", "rename", "exists", "size", "last_updated"):
    setattr(Elsewhere, name, translated(name))

sys.argv = sys.argv[1:]
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_other_file_systems(tmp_path):
    # Beam would take such a name for a pattern, which matches no file.
    (tmp_path / "corpus[1].txt").write_text("\n".join(_sentences()[:200]))
    _python()
    flags = _records(tmp_path, f"{tmp_path}/corpus[[]1].txt", max_seq_length=32, dupe_factor=1)
    (tmp_path / "beam").mkdir()
    for name in ("input_file", "output_file", "vocab_file"):
        flags[name] = f"elsewhere://{flags[name]}"
    flags["max_seq_length"] = 32
    words = _command("create_pretraining_data.py", "runner=FnApiRunner", flags)
    done = _run([words[0], "-c", _ELSEWHERE, *words[1:]])
    assert done.returncode == 0, done.stderr
    written, _ = _outputs(tmp_path / "beam")
    expected, _ = _outputs(tmp_path / "one")
    assert written == expected


def test_mistakes_end_in_one_line(tmp_path):
    (tmp_path / "corpus.txt").write_bytes(b"A cat .\n\xff\n")
    flags = {
        "input_file": f"{tmp_path}/corpus.txt",
        "output_file": f"{tmp_path}/records",
        "vocab_file": _VOCAB,
    }
    for runner, reason in (
        ("runner=FnApiRunner", "corpus.txt:2: byte 8 (0xff) is not UTF-8"),
        ("runner=NoRunner", "runner=NoRunner is unknown or not installed"),
    ):
        done = _run(_command("create_pretraining_data.py", runner, flags))
        assert done.returncode == 2 and not done.stdout
        assert [line for line in done.stderr.splitlines() if "error:" in line] == [
            done.stderr.splitlines()[-1]
        ]
        assert reason in done.stderr and "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["corpus.txt"]


# The command, with a corpus that changes after it was scanned.
_CHANGES = """
import runpy
import sys

sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv.pop())
from data_gen.beam import records

place_files = records.place_files

def change(job, scanned):
    places = list(place_files(job, scanned))
    with open(job.input_files[0], "a") as file:
        file.write("And a dog .")
    yield from places

records.place_files = change
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_corpus_that_changes_is_named(tmp_path):
    (tmp_path / "corpus.txt").write_text("A cat .")
    flags = {
        "input_file": f"{tmp_path}/corpus.txt",
        "output_file": f"{tmp_path}/records",
        "vocab_file": _VOCAB,
    }
    words = _command("create_pretraining_data.py", "runner=FnApiRunner", flags)
    done = _run([words[0], "-c", _CHANGES, *words[1:], str(_PROJECT)])
    assert done.returncode == 2 and "corpus.txt was changed while it was read" in done.stderr
    assert os.listdir(tmp_path) == ["corpus.txt"]


def test_refused_without_beam_being_asked(tmp_path):
    runs = functools.partial(
        run_command,
        PretrainingDataOptions,
        generation.run,
        input_file=__file__,
        output_file=str(tmp_path / "records"),
        vocab_file=_VOCAB,
        beam_pipeline_options="runner=FnApiRunner",
    )
    for name, value in (("num_workers", 2), ("resume", True), ("part", "1/1")):
        assert_refused(functools.partial(runs, **{name: value}), f"--{name}: with --beam")
    if importlib.util.find_spec("apache_beam") is None:
        assert_refused(runs, "needs the package apache-beam")
