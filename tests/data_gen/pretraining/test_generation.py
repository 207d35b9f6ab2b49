import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import statistics as means

import numpy as np
import pytest

from bert_common import files
from bert_common.errors import UserError
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, records
from data_gen.pretraining.generation import generate
from tests.data_gen.pretraining.packed_rows import split_row
from tests.oracles.data_generation import ReferenceGenerator
from tests.oracles.tokenizer import ReferenceTokenizer

_SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "samples"


@pytest.fixture(scope="module")
def uncased_vocab(golden) -> str:
    return str(golden / "bert" / "uncased_vocab.txt")


GOLDEN_SETTINGS = {
    "len128_pred20": {},
    "len128_pred20_wwm": {"do_whole_word_mask": True},
    "len512_pred80": {"max_seq_length": 512, "max_predictions_per_seq": 80},
    "len512_pred80_wwm": {
        "max_seq_length": 512,
        "max_predictions_per_seq": 80,
        "do_whole_word_mask": True,
    },
}


def test_a_casing_that_contradicts_what_stands_beside_the_vocabulary_is_refused(tmp_path):
    (tmp_path / "cased").mkdir()
    vocabulary = tmp_path / "cased/vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\n")
    (tmp_path / "text.txt").write_text("A A.\n")
    with pytest.raises(UserError, match="give --do_lower_case=false"):
        generate(
            PretrainingDataOptions(
                input_file=str(tmp_path / "text.txt"),
                output_file=str(tmp_path / "records"),
                vocab_file=str(vocabulary),
            )
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cased", "text.txt"]


def _columns(path) -> dict[str, np.ndarray]:
    examples = list(records.read_examples(str(path)))
    return {name: np.stack([example[name] for example in examples]) for name in examples[0]}


@pytest.mark.golden
@pytest.mark.parametrize("name", GOLDEN_SETTINGS)
def test_has_the_distributions_of_the_original(golden, uncased_vocab, tmp_path, name):
    baseline = json.loads((golden / "pretraining_data" / "stats.json").read_text())[
        "seed_variation"
    ]["settings"][name]
    continuation = np.array(
        [line.startswith("##") for line in open(uncased_vocab, encoding="utf-8")]
    )
    found: dict[str, list[float]] = {}
    for seed in range(4):
        output = tmp_path / f"{seed}.tfrecord"
        options = PretrainingDataOptions(
            input_file=str(golden / "pretraining_data" / "sample_corpus.txt"),
            output_file=str(output),
            vocab_file=uncased_vocab,
            dupe_factor=5,
            random_seed=seed,
            num_workers=1,
            **GOLDEN_SETTINGS[name],
        )
        result = generate(options)
        summary = result["statistics"]
        values = {key: summary[key] for key in baseline["mean"] if key in summary}
        values["instances"] = result["instances"]
        data = _columns(output) if seed == 0 else None
        if data is not None:
            _check_hard_rules(data, options, continuation)
            used = data["masked_lm_weights"] > 0
            # Measured again from the records, independently of the counts made while writing.
            shown = np.take_along_axis(data["input_ids"], data["masked_lm_positions"], 1)
            assert summary["share_mask"] == pytest.approx(
                ((shown == 103) & used).sum() / used.sum(), abs=1e-6
            )
            assert summary["share_random_next"] == pytest.approx(
                data["next_sentence_labels"].mean(), abs=1e-6
            )
            assert summary["fraction_padding"] == pytest.approx(
                1 - data["input_mask"].mean(), abs=1e-6
            )
            values["share_masked_continuation_pieces"] = continuation[
                data["masked_lm_ids"][used]
            ].mean()
        for key, value in values.items():
            found.setdefault(key, []).append(value)
    assert set(found) == set(baseline["mean"])
    for key, values in found.items():
        assert means.mean(values) == pytest.approx(
            baseline["mean"][key], abs=5 * baseline["sd"][key]
        ), key


def _check_hard_rules(data, options, continuation):
    length = data["input_mask"].sum(1)
    count = data["masked_lm_weights"].sum(1)
    expected = [min(options.max_predictions_per_seq, max(1, round(0.15 * int(n)))) for n in length]
    np.testing.assert_array_equal(count, expected)
    used = data["masked_lm_weights"] > 0
    assert not np.isin(data["masked_lm_ids"][used], [101, 102]).any()
    original = data["input_ids"].copy()
    rows = np.nonzero(used)[0]
    original[rows, data["masked_lm_positions"][used]] = data["masked_lm_ids"][used]
    hidden = np.zeros(original.shape, bool)
    hidden[rows, data["masked_lm_positions"][used]] = True
    assert (hidden.sum(1) == count).all()
    # [CLS] A [SEP] B [SEP], zeros behind; segment 1 is B [SEP].
    assert (original[:, 0] == 101).all()
    assert ((original == 102).sum(1) == 2).all()
    assert (original[np.arange(len(length)), length - 1] == 102).all()
    assert not original[data["input_mask"] == 0].any()
    first_sep = (original == 102).argmax(1)
    column = np.arange(original.shape[1])
    np.testing.assert_array_equal(
        data["segment_ids"], (column > first_sep[:, None]) & (column < length[:, None])
    )
    if options.do_whole_word_mask:
        inner = (column > 0) & (data["input_mask"] > 0) & (original != 102)
        same_word = inner[:, 1:] & inner[:, :-1] & continuation[original[:, 1:]]
        assert (hidden[:, 1:] == hidden[:, :-1])[same_word].all()


@pytest.mark.golden
def test_the_reference_of_the_benchmark_is_the_original(golden, uncased_vocab):
    name = "len512_pred80_wwm"
    expected = json.loads((golden / "pretraining_data" / "stats.json").read_text())["settings"][
        name
    ]
    tokens = [line.rstrip("\n") for line in open(uncased_vocab, encoding="utf-8")]
    generator = ReferenceGenerator(
        ReferenceTokenizer(tokens), dupe_factor=5, **GOLDEN_SETTINGS[name]
    )
    with open(golden / "pretraining_data" / "sample_corpus.txt", encoding="utf-8") as file:
        instances = generator.instances(file)
    found = hashlib.sha256()
    for features in map(generator.features, instances):
        for feature in (
            "input_ids",
            "segment_ids",
            "masked_lm_positions",
            "masked_lm_ids",
            "next_sentence_labels",
        ):
            found.update(np.array(features[feature], "<i4").tobytes())
    assert (len(instances), found.hexdigest()) == (
        expected["instances"],
        expected["records_sha256"],
    )


@pytest.fixture
def small_work(monkeypatch):
    """Portions and buckets so small that a test's corpus has many of them."""
    monkeypatch.setattr(corpus, "_SMALLEST_PORTION", 16 << 10)
    monkeypatch.setattr(external_shuffle, "_SMALLEST_BUCKET", 16 << 10)


def _write_vocab(folder, words) -> str:
    (folder / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n"
    )
    return str(folder / "vocab.txt")


def _generate(
    folder, vocab_file: str, shards: int, **flags
) -> tuple[dict, list[dict[str, np.ndarray]]]:
    outputs = [folder / f"records-{shard}" for shard in range(shards)]
    result = generate(
        PretrainingDataOptions(
            input_file=str(folder / "corpus.txt"),
            output_file=",".join(map(str, outputs)),
            vocab_file=vocab_file,
            num_workers=1,
            **flags,
        )
    )
    return result, [_columns(path) for path in outputs]


def test_instances_of_a_document_are_spread_over_the_whole_output(tmp_path, small_work):
    documents = 60
    vocab_file = _write_vocab(tmp_path, [f"w{number}" for number in range(documents)])
    (tmp_path / "corpus.txt").write_text(
        "\n".join(
            f"w{number} " * 12 + "\n" if sentence == 199 else f"w{number} " * 12
            for number in range(documents)
            for sentence in range(200)
        )
    )
    result, shards = _generate(
        tmp_path,
        vocab_file,
        5,
        max_seq_length=32,
        max_predictions_per_seq=1,
        dupe_factor=3,
        masking="0,0,100",
    )
    text_bytes = (tmp_path / "corpus.txt").stat().st_size
    assert text_bytes / corpus.portion_bytes(text_bytes, 32) > 5.5
    # The first token of A is the number of the document.
    ids = np.concatenate([shard["input_ids"] for shard in shards])
    document = ids[:, 1] - 5
    total = len(ids)
    place = np.arange(total) / total
    # Two places drawn at random are a third of the output apart.
    apart = [
        np.abs(np.subtract.outer(place[document == number], place[document == number])).mean()
        for number in range(documents)
    ]
    assert np.mean(apart) == pytest.approx(1 / 3, abs=0.005)
    assert min(apart) > 0.28 and max(apart) < 0.39
    # Neighbours in the output are hardly ever of one document.
    assert np.mean(document[1:] == document[:-1]) == pytest.approx(1 / documents, abs=0.008)
    # Every shard has its part of every document.
    for shard in shards:
        share = np.bincount(shard["input_ids"][:, 1] - 5, minlength=documents) / np.bincount(
            document
        )
        assert (
            share.mean() == pytest.approx(0.2, abs=0.005)
            and share.min() > 0.08
            and share.max() < 0.35
        )
    # And random next segments come from other documents, wherever in the corpus those are.
    random_next = np.concatenate([shard["next_sentence_labels"][:, 0] for shard in shards]) == 1
    second = np.take_along_axis(ids, (ids == 3).argmax(1)[:, None] + 1, 1)[:, 0] - 5
    assert (second != document)[random_next].all() and (second == document)[~random_next].all()
    assert np.abs(second - document)[random_next].mean() == pytest.approx(documents / 3, rel=0.1)


def test_a_document_larger_than_a_portion_draws_from_the_others(tmp_path, small_work):
    vocab_file = _write_vocab(tmp_path, ["a", "b"])
    (tmp_path / "corpus.txt").write_text(
        "a a a a a a a a a a\n" * 20_000 + "\n" + "b b b b b b b b b b\n" * 10
    )
    result, (data,) = _generate(
        tmp_path,
        vocab_file,
        1,
        max_seq_length=32,
        max_predictions_per_seq=1,
        dupe_factor=1,
        masking="0,0,100",
        short_seq_prob=0,
    )
    assert result["counts"]["documents"] == 2 and result["warnings"] == []
    random_next = data["next_sentence_labels"][:, 0] == 1
    second = np.take_along_axis(
        data["input_ids"], (data["input_ids"] == 3).argmax(1)[:, None] + 1, 1
    )[:, 0]
    assert (second != data["input_ids"][:, 1])[random_next].all()
    assert random_next.mean() == pytest.approx(0.5, abs=0.04)


def test_tensorflow_reads_zipped_records_of_several_parts(tmp_path, small_work):
    import tensorflow as tf

    vocab_file = _write_vocab(tmp_path, ["a", "b"])
    (tmp_path / "corpus.txt").write_text("\n\n".join("a b a b\n" * 20 for _ in range(300)))
    for again in ("first", "second"):
        (tmp_path / again).mkdir()
        (tmp_path / again / "corpus.txt").write_bytes((tmp_path / "corpus.txt").read_bytes())
        result, _ = _generate(
            tmp_path / again,
            vocab_file,
            1,
            max_seq_length=32,
            max_predictions_per_seq=3,
            dupe_factor=1,
            gzip_compress=True,
        )
    path = tmp_path / "second" / "records-0"
    # One gzip member a part, without times in them.
    assert path.read_bytes().count(b"\x1f\x8b\x08\x00\0\0\0\0") > 2
    assert path.read_bytes() == (tmp_path / "first" / "records-0").read_bytes()
    assert sum(1 for _ in tf.data.TFRecordDataset(str(path), "GZIP")) == result["instances"]


def _hashes(paths) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


@pytest.mark.parametrize("packed", [False, True])
def test_any_number_of_workers_writes_the_same_bytes(golden, uncased_vocab, tmp_path, packed):
    text = (golden / "pretraining_data" / "sample_corpus.txt").read_bytes()
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(text + b"\n\n" + text + b"\n\n" + text)
    hashes = []
    for workers in (1, 3):
        outputs = [tmp_path / f"{workers}-{shard}" for shard in range(2)]
        result = generate(
            PretrainingDataOptions(
                input_file=str(corpus),
                output_file=",".join(map(str, outputs)),
                vocab_file=uncased_vocab,
                dupe_factor=1,
                num_workers=workers,
                packed=packed,
            )
        )
        written = [records.count_records(str(path)) for path in outputs]
        assert sum(written) == result["counts"]["rows"]
        assert ([shard["instances"] for shard in result["shards"]] == written) != packed
        # What counts them at the start of a run.
        assert records.stated_counts([*map(str, outputs)]) == written
        with open(outputs[0], "ab") as file:
            file.write(b"x")
        assert records.stated_counts([*map(str, outputs)]) == [None, written[1]]
        os.truncate(outputs[0], os.path.getsize(outputs[0]) - 1)
        hashes.append(_hashes(outputs))
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("packed", [False, True])
def test_machines_that_share_the_work_write_the_same_bytes(tmp_path, small_work, capsys, packed):
    """With next segments drawn from other documents, shards that cross buckets, and a share without
    any portion; steps may be repeated. One of them passes over the text."""
    sentences = gzip.decompress((_SAMPLES / "corpus.txt.gz").read_bytes()).split(b"\n")
    text = b"\n\n".join(b"\n".join(sentences[first : first + 9]) for first in range(0, 700, 9))
    (tmp_path / "corpus.txt").write_bytes(text)
    expected = None
    for count, shards in ((None, 5), (2, 5), (5, 5)):
        options = PretrainingDataOptions(
            input_file=str(tmp_path / "corpus.txt"),
            output_file=f"{tmp_path}/{count}/records@{shards}",
            vocab_file=str(_SAMPLES / "tiny_books/vocab.txt"),
            dupe_factor=2,
            num_workers=1,
            packed=packed,
        )
        if count is None:
            result = generate(options)
        else:
            machines = []
            for number in range(1, count + 1):
                machines.append(dataclasses.replace(options, part=f"{number}/{count}"))
            assert generate(machines[0]) is None
            with pytest.raises(UserError, match=f"--part=2/{count} is not"):
                generate(machines[0])
            for machine in machines[1:]:
                assert generate(machine) is None
            scans = (tmp_path / str(count)).glob(".records-*.partial/scan-*.json")
            assert [path.parent.name for path in scans] == [
                f".records-00000-of-00005.1-of-{count}.partial"
            ]
            with pytest.raises(UserError, match="another --random_seed"):
                generate(dataclasses.replace(machines[1], random_seed=1))
            for path in sorted((tmp_path / str(count)).glob(".*2-of*/run-000001.*")):
                content = path.read_bytes()
                path.write_bytes(content[:-8])
                with pytest.raises(UserError, match="run-000001.rows is damaged or missing: "):
                    generate(machines[0])
                path.write_bytes(content)
            # The order does not matter, and a step that was done is not done again.
            for machine in (*machines[::-1][:-1], machines[1]):
                assert generate(machine) is None
            assert "to come: 1\n" in capsys.readouterr().out
            with pytest.raises(UserError, match="is not complete"):
                records.find_records(f"{tmp_path}/{count}/records-*", "input_file")
            # Another process would have looked.
            files.register.begin()
            result = generate(machines[0])
            assert generate(machines[0]) == result
        folder = tmp_path / str(count)
        found = {path.name: path.read_bytes() for path in folder.glob("records-*")}
        assert sorted(os.listdir(folder)) == sorted([*found, "records.stats.json"])
        facts = {name: result[name] for name in ("counts", "statistics", "shards", "instances")}
        expected = expected or (found, facts)
        assert (found, facts) == expected


def _two_shards_of(path: pathlib.Path) -> PretrainingDataOptions:
    return PretrainingDataOptions(
        input_file=str(path),
        output_file=f"{path.parent}/records@2",
        vocab_file=str(_SAMPLES / "tiny_books/vocab.txt"),
        dupe_factor=1,
        num_workers=1,
    )


def test_a_text_that_changes_between_machines_is_named(tmp_path, small_work):
    """Also if its size and time stay; a damaged note of what is where in it is made again."""
    path = tmp_path / "corpus.txt"
    path.write_text("A cat .\n\n" * 4999)
    options = dataclasses.replace(_two_shards_of(path), part="1/2")
    second = dataclasses.replace(options, part="2/2")
    assert generate(options) is None
    (note,) = tmp_path.glob(".records-*/scan-00000.json")
    status = path.stat()
    path.write_text("A dog .\n\n" * 4999)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(UserError, match="was changed while it was read"):
        generate(second)
    content = note.read_text()
    note.write_text(content.replace('"blocks": [[0', '"blocks": [[1'))
    assert note.read_text() != content
    assert generate(second) is None


@pytest.mark.parametrize("name", ["run-000000", "prepared", "part-00001-000000"])
def test_facts_that_are_damaged_are_those_of_no_work(name, tmp_path, small_work):
    """What they are about is made again, or the machine that made it is named."""
    path = tmp_path / "corpus.txt"
    path.write_text("A cat .\n\n" * 99)
    options = _two_shards_of(path)
    generate(options)
    expected = {}
    for path in tmp_path.glob("records-*"):
        expected[path] = path.read_bytes()
        path.unlink()
    (tmp_path / "records.stats.json").unlink()
    machines = [dataclasses.replace(options, part=part) for part in ("1/2", "2/2", "2/2")]
    for machine in machines:
        generate(machine)
    folder = tmp_path / ".records-00000-of-00002.1-of-2.partial"
    if name.startswith("part"):
        folder = tmp_path / ".records-00000-of-00002.2-of-2.partial"
        (folder / "written.json").unlink()
    facts = folder / f"{name}.json"
    facts.write_text(facts.read_text().replace('"counts"', '"count"'))
    if name == "run-000000":
        with pytest.raises(UserError, match="run-000000.rows is damaged or missing"):
            generate(machines[0])
        (folder / "prepared.json").unlink()
    for machine in (*machines, machines[0]):
        generate(machine)
    assert (tmp_path / "records.stats.json").exists()
    for path, content in expected.items():
        assert path.read_bytes() == content


def test_packed_rows_hold_the_same_sequences(golden, uncased_vocab, tmp_path, small_work):
    """Without masks, which are drawn in the order of the rows, nothing but the place of a sequence
    differs."""
    (tmp_path / "corpus.txt").write_bytes(
        (golden / "pretraining_data" / "sample_corpus.txt").read_bytes()
    )
    found = {}
    for packed in (False, True):
        result, shards = _generate(
            tmp_path,
            uncased_vocab,
            2,
            max_seq_length=64,
            max_predictions_per_seq=10,
            dupe_factor=1,
            dynamic_masking=True,
            packed=packed,
        )
        sequences = [
            sequence
            for shard in range(2)
            for row in records.read_examples(str(tmp_path / f"records-{shard}"))
            for sequence in split_row(row)
        ]
        found[packed] = sorted(
            (
                sequence["input_ids"][: (size := sequence["input_mask"].sum())].tolist(),
                sequence["segment_ids"][:size].tolist(),
                sequence["next_sentence_labels"].tolist(),
            )
            for sequence in sequences
        )
        assert len(sequences) == result["instances"] and "masked_lm_ids" not in shards[0]
    assert found[True] == found[False]
    assert (
        result["statistics"]["fraction_padding"] < 0.05
        and result["statistics"]["sequences_per_row"] > 1.02
    )
