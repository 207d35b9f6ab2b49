"""Records made on the workers of Apache Beam: the bytes of the local command; shards put together by workers."""

import dataclasses
import functools
import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from bert_tf.common.errors import UserError
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import workers
from data_gen.pretraining.external_shuffle import ShardPart
from data_gen.pretraining.generation import generate
from data_gen.pretraining.work_directory import WorkDirectory, join_parts
from tests.beam import NEEDS_BEAM
from tests.data_gen.test_create_pretraining_data import TOKENS, WORDS

KINDS = {"plain": {}, "packed": {"packed": True}, "dynamic": {"dynamic_masking": True},
         "whole words": {"do_whole_word_mask": True, "gzip_compress": True}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
  """A corpus of four portions."""
  folder = tmp_path_factory.mktemp("corpus")
  (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
  rng = np.random.default_rng(0)
  rows = (rng.choice(WORDS[:7], n) for n in rng.integers(3, 20, 100_000))
  (folder / "corpus.txt").write_text("\n".join("" if len(row) == 3 else " ".join(row) for row in rows))
  return folder


def options_of(corpus, output, **given) -> PretrainingDataOptions:
  return PretrainingDataOptions(
      input_file=str(corpus / "corpus.txt"), output_file=f"{output}@3", vocab_file=str(corpus / "vocab.txt"),
      **{"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 1, **given})


def digests(output) -> list[str]:
  return [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(output.parent.glob(f"{output.name}-*"))]


def statistics_of(result: dict) -> str:
  """All but what may differ: the time it took, and the output's name."""
  return json.dumps({**result, "run": None, "output_file": None,
                     "shards": [shard["instances"] for shard in result["shards"]]})


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_are_those_of_the_local_command(corpus, tmp_path, kind):
  pytest.importorskip("apache_beam", reason=NEEDS_BEAM)
  local = generate(options_of(corpus, tmp_path / "local", num_workers=1, **KINDS[kind]))
  beam = generate(options_of(corpus, tmp_path / "beam", beam_pipeline_options="runner=FnApiRunner", **KINDS[kind]))
  assert digests(tmp_path / "beam") == digests(tmp_path / "local") and len(digests(tmp_path / "beam")) == 3
  assert statistics_of(beam) == statistics_of(local)
  assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("processes", [1, 3])
def test_worker_processes_make_the_same_bytes(corpus, tmp_path, project, processes):
  pytest.importorskip("apache_beam", reason=NEEDS_BEAM)
  generate(options_of(corpus, tmp_path / "local", num_workers=1))
  values = dataclasses.asdict(options_of(corpus, tmp_path / "beam"))
  given = {name: values[name] for name in ("input_file", "output_file", "vocab_file", "max_seq_length",
                                           "max_predictions_per_seq", "dupe_factor")}
  beam = f"runner=FnApiRunner,direct_num_workers={processes},direct_running_mode=multi_processing"
  # Workers are started without this process's sys.path: the command has to see to it.
  environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
  subprocess.run([sys.executable, str(project / "data_gen/create_pretraining_data.py"),
                  *(f"--{name}={value}" for name, value in given.items()), f"--beam_pipeline_options={beam}"],
                 check=True, capture_output=True, env=environment, timeout=120)
  assert digests(tmp_path / "beam") == digests(tmp_path / "local")


def refuse_some(make, *arguments) -> dict:
  """The work of a stage, which fails for some items."""
  item = arguments[-1]
  if getattr(item, "number", None) == 2 or isinstance(item, tuple) and item[0].bucket == 1:
    raise UserError("the disk is full")
  return make(*arguments)


def test_what_is_half_done_is_resumed_by_either(corpus, tmp_path, monkeypatch):
  pytest.importorskip("apache_beam", reason=NEEDS_BEAM)
  generate(options_of(corpus, tmp_path / "local", num_workers=1))
  beam = options_of(corpus, tmp_path / "out", beam_pipeline_options="runner=FnApiRunner")
  for stage in ("make_run", "make_part"):
    with monkeypatch.context() as patch:
      patch.setattr(workers, stage, functools.partial(refuse_some, getattr(workers, stage)))
      with pytest.raises(UserError, match="the disk is full"):
        generate(dataclasses.replace(beam, resume=stage == "make_part"))
  with pytest.raises(UserError, match="give --resume"):
    generate(beam)
  generate(options_of(corpus, tmp_path / "out", num_workers=1, resume=True))
  assert digests(tmp_path / "out") == digests(tmp_path / "local")


CONTENTS = [b"first", b"second", b"third"]


@pytest.fixture
def shard(tmp_path):
  """A work directory with the three parts of a shard, and what is needed to put it together."""
  with WorkDirectory(str(tmp_path / "out"), {}, resume=False) as work:
    parts = [ShardPart(0, number, number, 0, 1) for number in range(3)]
    for part, content in zip(parts, CONTENTS, strict=True):
      (tmp_path / work.part_path(part)).write_bytes(content)
    facts = [{"bytes": len(content)} for content in CONTENTS]
    yield work, parts, facts, work.shard_work(parts, facts)
    work.discard()


def test_a_shard_is_put_together_once_or_twice(shard):
  _, _, _, job = shard
  for _ in range(2):
    join_parts(job)
    assert open(job.path, "rb").read() == b"".join(CONTENTS)
    assert not any(map(os.path.exists, job.parts))


@pytest.mark.parametrize("moved", [1, 2])
def test_a_shard_that_the_local_command_has_begun_is_completed(shard, moved):
  work, parts, facts, job = shard
  work._shard_sizes.clear()
  for part, found in list(zip(parts, facts, strict=True))[:moved]:
    work.append_part(part, found)
  # It was killed while it copied the next part.
  with open(job.path, "ab") as file:
    file.write(b"sec")
  join_parts(job)
  assert open(job.path, "rb").read() == b"".join(CONTENTS)


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_worker_killed_while_it_removes_parts_leaves_what_the_local_command_completes(shard, removed):
  work, parts, facts, job = shard
  with open(job.path, "wb") as file:
    file.write(b"".join(CONTENTS))
  for path in job.parts[:removed]:
    os.unlink(path)
  work._shard_sizes.clear()
  for part, found in zip(parts, facts, strict=True):
    work.append_part(part, found)
  assert open(job.path, "rb").read() == b"".join(CONTENTS)


def test_a_part_that_is_missing_is_no_complete_shard(shard):
  _, _, _, job = shard
  os.unlink(job.parts[0])
  with pytest.raises(FileNotFoundError):
    join_parts(job)


def test_both_ways_of_saying_how_many_workers_are_refused(corpus, tmp_path):
  with pytest.raises(UserError, match="the runner decides how many workers"):
    options_of(corpus, tmp_path / "out", num_workers=2, beam_pipeline_options="runner=FnApiRunner").check()
