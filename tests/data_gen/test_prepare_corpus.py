import functools
import gzip
import io
import json
import pathlib
import resource
import subprocess
import sys
import time

import pytest

from bert_common import files
from bert_common.errors import UserError
from data_gen.options import CorpusOptions
from data_gen.text import corpus_preparation
from data_gen.text.corpus_preparation import CorpusWriter
from data_gen.text.corpus_readers import ReadingNotes
from tests.data_gen.commands import run_command
from tests.refusals import assert_refused

_SCRIPT = str(pathlib.Path(corpus_preparation.__file__).parents[1].joinpath("prepare_corpus.py"))


def _prepare(tmp_path, text: str | bytes, output: str = "output.txt", **options):
    source = tmp_path / "input.txt"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    result = corpus_preparation.prepare_corpus(
        [str(source)],
        CorpusOptions(
            input_file=str(source), output_file=str(tmp_path / output), num_workers=1, **options
        ),
    )
    return (tmp_path / output).read_bytes().decode(errors="replace"), next(iter(result[0].values()))


def _counts(writer: CorpusWriter) -> tuple:
    return (
        writer.documents,
        writer.sentences,
        writer.words,
        writer.bytes,
        writer.one_sentence_documents,
        writer.unbroken_documents,
        writer.long_sentences,
    )


class TestOutput:
    def test_one_sentence_a_line_blank_line_between_documents(self, tmp_path):
        text, statistics = _prepare(
            tmp_path, "Mr. Poe came. He sat.\nShe  left.\n\n\nA new chapter. It ends.\nIt does.\n"
        )
        assert text == "Mr. Poe came.\nHe sat.\nShe left.\n\nA new chapter.\nIt ends.\nIt does.\n"
        assert _counts(statistics) == (2, 6, 14, len(text), 0, 0, 0)

    def test_gzipped_output_is_always_the_same(self, tmp_path):
        for name in ("a.gz", "b.gz"):
            _prepare(tmp_path, "One. Two.\n", name)
        assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"One.\nTwo.\n"
        assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()

    def test_nothing_is_written_without_text(self, tmp_path):
        with pytest.raises(UserError, match="there is no text in the input"):
            _prepare(tmp_path, " \n\n")
        assert not (tmp_path / "output.txt").exists()

    def test_bad_file_leaves_the_old_output_alone(self, tmp_path):
        (tmp_path / "output.txt").write_text("old")
        with pytest.raises(UserError, match="not UTF-8 at byte 5"):
            _prepare(tmp_path, b"Fine.\xff\n")
        assert (tmp_path / "output.txt").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["input.txt", "output.txt"]


def test_held_out_documents(tmp_path):
    """Every document is on one side, in order, whichever others there are; copies fall on the
    same."""
    documents = [f"It is number {number}.\nYes." for number in range(400)]

    def split(given: list[str]) -> tuple[list[str], list[str]]:
        held = tmp_path / "held"
        text, _ = _prepare(
            tmp_path, "\n\n".join(given), held_out_fraction=0.3, held_out_file=str(held), seed=1
        )
        return text.rstrip("\n").split("\n\n"), held.read_text().rstrip("\n").split("\n\n")

    kept, held_out = split(documents)
    assert (
        kept == [document for document in documents if document not in held_out]
        and 80 <= len(held_out) <= 160
    )
    assert set(held_out) < set(documents) and len(kept) + len(held_out) == 400
    assert set(split(documents[::-2])[1]) == set(held_out) & set(documents[::-2])
    twice, held_twice = split(documents * 2)
    assert not set(twice) & set(held_twice) and len(twice) == 2 * len(set(twice))


class TestReport:
    @pytest.mark.parametrize(
        "counts, message",
        [
            (dict(documents=1, sentences=9), "the whole corpus is one document"),
            (
                dict(documents=9, one_sentence_documents=8),
                "89% of the documents are a single sentence",
            ),
            (dict(documents=9, unbroken_documents=2), "2 document(s) of more than 100 words"),
            (dict(documents=9, long_sentences=3), "3 sentence(s) of more than 512 words"),
        ],
    )
    def test_what_will_disappoint(self, counts, message):
        lines = corpus_preparation.report(
            1, {"out": CorpusWriter(io.BytesIO(), **counts)}, ReadingNotes()
        ).split("\n")
        assert lines[-1].startswith(f"warning: {message}") and len(lines) == 4

    def test_notes_about_the_input(self):
        notes = ReadingNotes(bad_utf8_lines=3, nul_characters=2, empty_files=["a", "b"])
        written = {"out": CorpusWriter(io.BytesIO(), 9), "held": CorpusWriter(io.BytesIO())}
        found = corpus_preparation.report(1, written, notes)
        assert "no document was held out" in found
        written["held"] = CorpusWriter(io.BytesIO(), 1, words=1)
        written["out"].words = 99
        found = corpus_preparation.report(1, written, notes, 0.05)
        assert "1.00% of the words were held out, not 5.00%" in found
        assert "in 3 lines" in found and "2 NUL" in found and "2 files hold no text: a, b" in found

    def test_documents_without_breaks_are_counted(self, tmp_path):
        _, statistics = _prepare(
            tmp_path,
            "word " * 600
            + "\nShort.\n\n"
            + "word " * 101
            + "\n\n"
            + "word " * 99
            + "\n\nOne. Two.\n",
        )
        assert statistics.documents == 4 and _counts(statistics)[4:] == (2, 1, 1)


class TestCommand:
    def test_same_output_for_any_number_of_workers(self, tmp_path):
        for book in range(3):
            (tmp_path / f"book{book}.txt").write_text(
                "".join(
                    f"In book {book} Dr. No said {number % 50}. He left.\n"
                    + "\n" * (number % 7 == 0)
                    for number in range(9000)
                )
            )
        (tmp_path / "more.jsonl.gz").write_bytes(
            gzip.compress(
                b"".join(
                    json.dumps({"text": f"Entry {number}. It is short."}).encode() + b"\n"
                    for number in range(3000)
                )
            )
        )
        outputs = []
        for workers in (1, 2, 3):
            done = subprocess.run(
                [
                    sys.executable,
                    _SCRIPT,
                    "--input_file=book*.txt,more.jsonl.gz",
                    f"--output_file=out/{workers}",
                    "--held_out_fraction=0.1",
                    f"--held_out_file=out/{workers}.held",
                    f"--num_workers={workers}",
                ],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )
            outputs.append(
                [
                    (tmp_path / "out" / name).read_bytes()
                    for name in (f"{workers}", f"{workers}.held")
                ]
            )
        assert outputs[0] == outputs[1] == outputs[2]
        assert "read as JSON lines: 1 of 4 files" in done.stdout
        assert "sentences: 100%" in done.stderr

    def test_killed_it_leaves_nothing_under_the_final_name(self, tmp_path):
        # Enough for some seconds of work while the outputs are open.
        (tmp_path / "text.txt").write_text("It was so. It is so.\n" * 2_000_000)
        command = subprocess.Popen(
            [
                sys.executable,
                _SCRIPT,
                f"--input_file={tmp_path}/text.txt",
                f"--output_file={tmp_path}/out.txt",
            ],
            stderr=subprocess.DEVNULL,
        )
        try:
            while not list(tmp_path.glob(".out.txt.*")):
                assert command.poll() is None
                time.sleep(0.02)
        finally:
            command.kill()
            command.wait()
        assert not (tmp_path / "out.txt").exists()

    def test_full_disk(self, tmp_path):
        # A limit on the size of files stops the writing as a full disk does.
        (tmp_path / "a.txt").write_text("It was so. It is so.\n" * 5000)
        done = subprocess.run(
            [sys.executable, _SCRIPT, "--input_file=a.txt", "--output_file=out", "--num_workers=1"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        )
        assert done.returncode == 2 and done.stderr.endswith(
            "error: can't write out: File too large\n"
        )
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]

    @pytest.mark.parametrize(
        "flags, message",
        [
            ({"input_file": "missing/*"}, "--input_file: no file matches 'missing/*'"),
            ({"input_file": "folder"}, "--input_file: 'folder' is a directory"),
            ({"output_file": "a.txt"}, "--output_file: a.txt is also --input_file"),
            ({"output_file": "folder"}, "--output_file: folder is a directory"),
            ({"output_file": "a.txt/out"}, "/a.txt: File exists"),
            ({"held_out_fraction": 0.1}, "belong together"),
            ({"input_file": "bad.jsonl"}, "bad.jsonl:2: not JSON"),
        ],
    )
    def test_user_errors(self, tmp_path, monkeypatch, flags, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder").mkdir()
        (tmp_path / "a.txt").write_text("One. Two.\n")
        (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"text": oops}\n')
        before = sorted(tmp_path.rglob("*"))
        flags = {"input_file": "a.txt", "output_file": "out", "num_workers": 1, **flags}
        assert_refused(lambda: run_command(CorpusOptions, corpus_preparation.run, **flags), message)
        assert sorted(tmp_path.rglob("*")) == before


def test_machines_that_share_the_work_write_the_same_bytes(tmp_path, capsys):
    """Duplicates in the same and in different shares, a share without files, steps repeated in any
    order; what is another corpus or another seed is named."""
    for number in range(4):
        documents = [
            f"Poe came. He sat {number % 3}.\nShe left.",
            f"Only {number}.\nShe left. She ran.",
        ]
        (tmp_path / f"{number}.txt").write_text("\n\n".join(documents * 2))
    (tmp_path / "none.txt").write_text("")
    found = []
    for count in (1, 2, 7):
        (tmp_path / str(count)).mkdir()
        flags = {
            "input_file": f"{tmp_path}/*.txt",
            "output_file": f"{tmp_path}/{count}/corpus.txt.gz",
            "held_out_file": f"{tmp_path}/{count}/held.txt",
            "held_out_fraction": 0.3,
            "remove_duplicates": True,
            "num_workers": 1,
        }
        run = functools.partial(run_command, CorpusOptions, corpus_preparation.run, **flags)
        if count > 1:
            run(part=f"2/{count}")
            assert_refused(functools.partial(run, part=f"2/{count}"), f"--part=1/{count} is not")
            assert_refused(functools.partial(run, part=f"2/{count}", seed=1), "another --seed")
            for number in range(count, 0, -1):
                if number != 2:
                    run(part=f"{number}/{count}")
            # The last machine's second command comes when all is done.
            for number in (*range(2, count), 1, count):
                # Another process would have looked.
                files.register.begin()
                capsys.readouterr()
                run(part=f"{number}/{count}")
                if number == 1:
                    report = capsys.readouterr().out
        else:
            run()
            report = capsys.readouterr().out
        outputs = {path.name: path.read_bytes() for path in (tmp_path / str(count)).iterdir()}
        assert sorted(outputs) == ["corpus.txt.gz", "held.txt"]
        found.append((outputs, report.replace(f"/{count}/", "/1/")))
    assert found[0] == found[1] == found[2]
    assert "left out" in report and " 0 documents" not in report


def test_shares_of_a_corpus_that_changes(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("One. Two.\n")
    flags = {"input_file": f"{tmp_path}/*.txt", "output_file": f"{tmp_path}/corpus"}
    run = functools.partial(run_command, CorpusOptions, corpus_preparation.run, **flags)
    run(part="1/2")
    (tmp_path / "b.txt").write_text("One. Two. Three.\n")
    run(part="2/2")
    assert_refused(functools.partial(run, part="2/2"), "--part: the work in", "another corpus")


def test_the_text_of_a_share_that_is_damaged_is_named(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("One. Two.\n")
    flags = {"input_file": f"{tmp_path}/*.txt", "output_file": f"{tmp_path}/corpus"}
    run = functools.partial(run_command, CorpusOptions, corpus_preparation.run, **flags)
    for part in ("1/2", "2/2"):
        run(part=part)
    path = tmp_path / ".corpus.2-of-2.partial/text-00001.txt"
    lines = path.read_text().splitlines(keepends=True)
    # Cut off in a line, between two, and all of it; another text, a line twice.
    for text in (
        lines[0][:20],
        lines[0],
        "",
        "".join(lines).replace("One", "Ten"),
        "".join([lines[0], *lines]),
    ):
        path.write_text(text)
        assert_refused(functools.partial(run, part="1/2"), "text-00001.txt is damaged or missing")
    path.unlink()
    assert_refused(functools.partial(run, part="1/2"), "No such file", "): delete its directory")
    path.write_text("".join(lines))
    manifest = path.with_name("manifest.json")
    manifest.rename(tmp_path / "away")
    assert_refused(functools.partial(run, part="1/2"), "2-of-2.partial has lost its manifest.json")
    (tmp_path / "away").rename(manifest)
    run(part="1/2")
    assert (tmp_path / "corpus").read_text() == "One.\nTwo.\n\nOne.\nTwo.\n"
