"""The scorer of CoNLL: the script's own reports, its chunks against seqeval's, its command line."""

import gzip
import io
import json
import sys

import pytest

from bert_tf.evaluation import conlleval


def run_main(monkeypatch, capsysbinary, data: bytes, arguments: list[str]) -> tuple[int, bytes, bytes]:
  monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
  status = conlleval.main(arguments)
  sys.stdout.flush()
  return status, *capsysbinary.readouterr()


@pytest.mark.golden
def test_reports_equal_those_of_the_script_byte_for_byte(golden_set, monkeypatch, capsysbinary):
  folder = golden_set / "conlleval"
  cases = json.loads((folder / "index.json").read_text())
  assert len(cases) >= 8
  for case in cases:
    data = gzip.decompress((folder / f"{case['name']}.conll.gz").read_bytes())
    status, printed, _ = run_main(monkeypatch, capsysbinary, data, case["options"])
    assert (status, printed) == (0, (folder / f"{case['name']}.expected.txt").read_bytes()), case["name"]


@pytest.mark.parametrize(("chunks", "shown"), [(32, "3.12"), (160, "0.62"), (800, "0.12")])
def test_a_share_between_two_roundings_goes_the_way_of_perl(monkeypatch, capsysbinary, chunks, shown):
  # 1 of 32 is 3.125 % exactly: C's printf, and perl with it, take the even digit. Half up would be 3.13.
  data = b"a B-X B-X\n" + b"a B-X O\na O B-X\n" * (chunks - 1)
  _, printed, _ = run_main(monkeypatch, capsysbinary, data, [])
  assert f"precision:   {shown}%; recall:   {shown}%; FB1:   {shown}".encode() in printed


def test_bytes_that_are_no_utf8_come_out_as_they_went_in(monkeypatch, capsysbinary):
  _, printed, _ = run_main(monkeypatch, capsysbinary, b"\xff B-\xe9 B-\xe9\n", [])
  assert b"\n                \xe9: precision: 100.00%" in printed


@pytest.mark.parametrize(("data", "arguments", "message"), [
    (b"a O O\nb x O O\n", [], "line 2: unexpected number of features: 4 (3)"),
    (b"a\n", [], "line 1: unexpected number of features in line a"),
    (b"a b\n", ["-d", "("], "missing ), unterminated subpattern"),
])
def test_what_is_wrong_is_said(monkeypatch, capsysbinary, data, arguments, message):
  status, printed, errors = run_main(monkeypatch, capsysbinary, data, arguments)
  assert (status, printed) == (2, b"")
  assert message in errors.decode()
