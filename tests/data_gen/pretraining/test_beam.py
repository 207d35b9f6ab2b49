import dataclasses
import hashlib
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from bert_common.errors import UserError
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import workers
from data_gen.pretraining.generation import generate
from tests.beam import NEEDS_BEAM
from tests.data_gen.test_create_pretraining_data import TOKENS, WORDS

KINDS = {"plain": {}, "packed": {"packed": True, "gzip_compress": True}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    rng = np.random.default_rng(0)
    rows = (rng.choice(WORDS[:7], n) for n in rng.integers(3, 20, 100_000))
    (folder / "corpus.txt").write_text(
        "\n".join("" if len(row) == 3 else " ".join(row) for row in rows)
    )
    return folder


def options_of(corpus, output, **given) -> PretrainingDataOptions:
    return PretrainingDataOptions(
        input_file=str(corpus / "corpus.txt"),
        output_file=f"{output}@3",
        vocab_file=str(corpus / "vocab.txt"),
        **{"max_seq_length": 32, "max_predictions_per_seq": 5, "dupe_factor": 1, **given},
    )


def digests(output) -> list[str]:
    return [
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.parent.glob(f"{output.name}-*"))
    ]


def statistics_of(result: dict) -> str:
    """All but what may differ: the time it took, and the output's name."""
    return json.dumps(
        {
            **result,
            "run": None,
            "output_file": None,
            "shards": [shard["instances"] for shard in result["shards"]],
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_bytes_are_those_of_the_local_command(corpus, tmp_path, kind, beam_options):
    local = generate(options_of(corpus, tmp_path / "local", num_workers=1, **KINDS[kind]))
    beam = generate(
        options_of(corpus, tmp_path / "beam", beam_pipeline_options=beam_options, **KINDS[kind])
    )
    assert (
        digests(tmp_path / "beam") == digests(tmp_path / "local")
        and len(digests(tmp_path / "beam")) == 3
    )
    assert statistics_of(beam) == statistics_of(local)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.processes
def test_worker_processes_make_the_same_bytes(corpus, tmp_path, project):
    pytest.importorskip("apache_beam", reason=NEEDS_BEAM)
    generate(options_of(corpus, tmp_path / "local", num_workers=1))
    values = dataclasses.asdict(options_of(corpus, tmp_path / "beam"))
    given = {
        name: values[name]
        for name in (
            "input_file",
            "output_file",
            "vocab_file",
            "max_seq_length",
            "max_predictions_per_seq",
            "dupe_factor",
        )
    }
    beam = "runner=FnApiRunner,direct_num_workers=3,direct_running_mode=multi_processing"
    # Workers are started without this process's sys.path: the command has to see to it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        [
            sys.executable,
            str(project / "data_gen/create_pretraining_data.py"),
            *(f"--{name}={value}" for name, value in given.items()),
            f"--beam_pipeline_options={beam}",
        ],
        check=True,
        capture_output=True,
        env=environment,
    )
    assert digests(tmp_path / "beam") == digests(tmp_path / "local")


STAGES = {"make_run": workers.make_run, "make_part": workers.make_part}


def refuse_one_run(options, work) -> dict:
    if work[0] == 2:
        raise UserError("the disk is full")
    return STAGES["make_run"](options, work)


def refuse_one_part(options, runs, bucket_bits, work) -> dict:
    if work[0].bucket == 1:
        raise UserError("the disk is full")
    return STAGES["make_part"](options, runs, bucket_bits, work)


def test_what_is_half_done_is_resumed_by_either(corpus, tmp_path, monkeypatch, beam_options):
    generate(options_of(corpus, tmp_path / "local", num_workers=1))
    beam = options_of(corpus, tmp_path / "out", beam_pipeline_options=beam_options)
    for stage, refuse in (("make_run", refuse_one_run), ("make_part", refuse_one_part)):
        with monkeypatch.context() as patch:
            patch.setattr(workers, stage, refuse)
            with pytest.raises(UserError, match="the disk is full"):
                generate(dataclasses.replace(beam, resume=stage == "make_part"))
    with pytest.raises(UserError, match="give --resume"):
        generate(beam)
    generate(options_of(corpus, tmp_path / "out", num_workers=1, resume=True))
    assert digests(tmp_path / "out") == digests(tmp_path / "local")


@pytest.mark.parametrize(
    "vocabulary, message",
    [
        (
            TOKENS[:5] + TOKENS[6:] + ["another"],
            r"is not the vocabulary that this command has read",
        ),
        (None, r"does not exist|can't read|can't be read"),
    ],
)
def test_a_worker_with_another_vocabulary_is_named(corpus, tmp_path, vocabulary, message):
    path = tmp_path / "vocab.txt"
    fingerprint = workers.load_tokenizer(str(corpus / "vocab.txt"), True).vocabulary.fingerprint
    if vocabulary:
        path.write_text("\n".join(vocabulary) + "\n")
    options = dataclasses.replace(options_of(corpus, tmp_path / "out"), vocab_file=str(path))
    with pytest.raises(
        UserError, match=rf"^--vocab_file: {path} on {socket.gethostname()}.*({message})"
    ):
        workers.with_vocabulary(fingerprint, STAGES["make_run"], options)


def test_both_ways_of_saying_how_many_workers_are_refused(corpus, tmp_path):
    with pytest.raises(UserError, match="the runner decides how many workers"):
        options_of(
            corpus, tmp_path / "out", num_workers=2, beam_pipeline_options="runner=FnApiRunner"
        ).check()
