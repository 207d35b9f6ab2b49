"""convert_checkpoint.py: one process as a user starts it; everything else through `convert`."""

import dataclasses
import itertools
import math
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from modeling.checkpoints.convert import convert, write_checkpoint
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.weights import FORMATS
from modeling.config import BertConfig
from tests.full_disk import full_disk
from tests.modeling.checkpoints import common
from tests.modeling.common import SMALL
from tests.processes import run_commands
from tests.refusals import assert_refused

PRETRAINING = ("masked_lm", "next_sentence")
# Every format into every other, in one go.
TOUR = [
    "original",
    "huggingface",
    "model_garden",
    "native",
    "original",
    "model_garden",
    "huggingface",
    "original",
    "native",
    "huggingface",
    "native",
    "model_garden",
    "original",
]


def vocabulary(path, entries=SMALL.vocab_size):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    path.write_text(
        "".join(f"{token}\n" for token in special + [f"w{index}" for index in range(entries - 5)])
    )
    return str(path)


def written(folder, weights, output_format="native", config=SMALL, **kwargs):
    folder.mkdir()
    write_checkpoint(output_format, str(folder), weights, config, **kwargs)
    return str(folder)


@pytest.mark.parametrize(
    "heads, pooler",
    [
        ((), True),
        (PRETRAINING, True),
        *(((head,), True) for head in common.HEADS),
        (("masked_lm",), False),
        (("question_answering",), False),
        (("token_classification",), False),
        (
            (
                *PRETRAINING,
                "classification",
                "question_answering",
                "token_classification",
                "multiple_choice",
            ),
            True,
        ),
    ],
    ids=str,
)
def test_round_trips_are_exact(tmp_path, heads, pooler):
    assert {*zip(TOUR, TOUR[1:], strict=False)} == {
        *itertools.permutations(common.FORMATS_OF_ALL_HEADS, 2)
    }
    weights = common.random_weights(*heads, pooler=pooler)
    # The smallest numbers, both zeros, and what is no number.
    weights["bert/embeddings/word_embeddings"][0, :3] = [-0.0, 1e-45, np.finfo(np.float32).max]
    vocab_file = vocabulary(tmp_path / "vocab.txt")
    path = written(tmp_path / "0", weights, TOUR[0], vocab_file=vocab_file, do_lower_case=False)
    # Hugging Face has one name for three heads.
    tour = [name for name in TOUR if name != "huggingface" or len(heads) < 3]
    for number, output_format in enumerate(tour[1:], 1):
        text = convert(path, output_format, str(tmp_path / str(number)))
        assert "unused" not in text and "note:" not in text
        path = str(tmp_path / str(number))
    source = read_checkpoint(path)
    # Where there were no names of labels, Hugging Face's stand-ins stay.
    assert dataclasses.replace(source.config, extra={}) == SMALL
    assert source.do_lower_case is False
    assert open(source.vocab_file).read() == open(vocab_file).read()
    common.assert_same(
        {name: source.read(name).view(np.uint32) for name in source.tensors},
        {name: value.view(np.uint32) for name, value in weights.items()},
    )


@pytest.mark.golden
def test_an_original_export_opens_with_the_original_names(golden, tmp_path):
    convert(str(golden / "tf1_checkpoint"), "huggingface", str(tmp_path / "huggingface"))
    convert(str(tmp_path / "huggingface"), "original", str(tmp_path / "original"))
    reader = tf.train.load_checkpoint(str(tmp_path / "original/bert_model.ckpt"))
    expected = tf.train.load_checkpoint(str(golden / "tf1_checkpoint/bert_model.ckpt"))
    assert set(reader.get_variable_to_shape_map()) == set(expected.get_variable_to_shape_map())
    # As the original's scripts do it: a graph, and a Saver over variables of these names.
    name = "bert/encoder/layer_1/attention/self/query/kernel"
    with tf.Graph().as_default():
        variable = tf.compat.v1.get_variable(name, reader.get_variable_to_shape_map()[name])
        with tf.compat.v1.Session() as session:
            tf.compat.v1.train.Saver([variable]).restore(
                session, str(tmp_path / "original/bert_model.ckpt")
            )
            np.testing.assert_array_equal(session.run(variable), reader.get_tensor(name))
    assert sorted(os.listdir(tmp_path / "original")) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
        "tokenizer_config.json",
        "vocab.txt",
    ]


def test_slots_and_the_step_are_not_carried_and_strangers_are_named(tmp_path):
    weights = common.random_weights("question_answering")
    prefix = str(tmp_path / "model.ckpt")
    tensors = {
        **weights,
        "my/own": np.ones(3, np.float32),
        "global_step": np.int64(20),
        **{f"{name}/adam_{slot}": value for name, value in weights.items() for slot in "mv"},
    }
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=[*tensors],
        shape_and_slices=[""] * len(tensors),
        tensors=[*tensors.values()],
    )
    SMALL.to_file(str(tmp_path / "bert_config.json"))
    text = convert(prefix, "huggingface", str(tmp_path / "b"))
    assert "unused, not in the output: my/own" in text and "heads: question_answering" in text
    assert "note: there is no vocab.txt beside the input" in text and "every bit the same" in text


def test_a_missing_pooler_and_what_other_code_would_not_compute_are_said_aloud(golden, tmp_path):
    text = convert(str(golden / "hf/question_answering"), "original", str(tmp_path / "a"))
    assert (
        "not in the input, so not in the output: bert/pooler/dense/kernel, bert/pooler/dense/bias"
        in text
    )
    assert "note: hidden_act is gelu_erf: the original's code has only the tanh form" in text
    other = common.write_huggingface(
        tmp_path / "c", common.random_weights("token_classification"), layer_norm_eps=1e-5
    )
    text = convert(str(other), "model_garden", str(tmp_path / "b"))
    assert "note: layer_norm_eps is 1e-05: the Model Garden's encoders always take 1e-12" in text


def test_files_named_on_the_command_line_win(tmp_path):
    run = written(
        tmp_path / "run", common.random_weights(), vocab_file=vocabulary(tmp_path / "a.txt")
    )
    # One is enough for a note.
    other = vocabulary(tmp_path / "b.txt", 49)
    config = BertConfig(**{**SMALL.to_dict(), "num_attention_heads": 4})
    config.to_file(str(tmp_path / "other.json"))
    text = convert(
        run, "huggingface", str(tmp_path / "out"), str(tmp_path / "other.json"), other, False
    )
    source = read_checkpoint(str(tmp_path / "out"))
    assert (source.config.num_attention_heads, source.do_lower_case) == (4, False)
    assert open(source.vocab_file).read() == open(other).read()
    assert re.findall("note: (.*)", text) == [f"{other} has 49 entries, fewer than vocab_size 50"]


@pytest.mark.parametrize(
    "name, activation", [("config.json", "gelu_erf"), ("bert_config.json", "gelu")]
)
def test_either_kind_of_configuration_may_be_named(tmp_path, name, activation):
    common.write_huggingface(tmp_path / "in", common.random_weights(), hidden_act="gelu")
    SMALL.to_file(str(tmp_path / "bert_config.json"))
    (tmp_path / "in/config.json").rename(tmp_path / "config.json")
    convert(str(tmp_path / "in"), "native", str(tmp_path / "out"), str(tmp_path / name))
    assert read_checkpoint(str(tmp_path / "out")).config.hidden_act == activation


@pytest.mark.parametrize("output_format", common.FORMATS_OF_ALL_HEADS)
def test_the_mean_of_checkpoints(tmp_path, output_format):
    vocab_file = vocabulary(tmp_path / "a.txt")
    each = [common.random_weights("classification", seed=seed) for seed in range(3)]
    paths = [
        written(tmp_path / str(number), weights, vocab_file=vocab_file)
        for number, weights in enumerate(each)
    ]
    text = convert(",".join(paths), output_format, str(tmp_path / "mean"))
    assert text.startswith(f"read the mean of {', '.join(f'{path}/ckpt-0' for path in paths)}\n")
    found = common.read_all(tmp_path / "mean")
    for name in each[0]:
        np.testing.assert_allclose(
            found[name], np.mean([one[name] for one in each], axis=0), rtol=1e-6, atol=1e-7
        )
    assert (
        open(read_checkpoint(str(tmp_path / "mean")).vocab_file).read() == open(vocab_file).read()
    )


def test_a_mean_is_of_one_model(tmp_path):
    run = written(
        tmp_path / "run", common.random_weights(), vocab_file=vocabulary(tmp_path / "a.txt")
    )
    others = {
        "configuration": dict(config=dataclasses.replace(SMALL, hidden_act="relu")),
        "casing": dict(do_lower_case=True, vocab_file=run + "/vocab.txt"),
        "vocabulary": dict(vocab_file=vocabulary(tmp_path / "b", 49)),
    }
    for what, options in others.items():
        other = written(tmp_path / what, common.random_weights(), **options)
        refused(
            tmp_path,
            f"{other}/ckpt-0 has another {what} than {run}/ckpt-0: a mean is of checkpoints of one model",
            f"{run},{other}",
            "native",
        )
    other = written(
        tmp_path / "heads", common.random_weights("masked_lm"), vocab_file=run + "/vocab.txt"
    )
    refused(tmp_path, "heads/ckpt-0 has another weights", f"{run},{other}", "native")
    # Labels in another order are other weights, though their shapes agree.
    for number, labels in enumerate((["no", "yes"], ["yes", "no"])):
        folder = tmp_path / f"labels_{number}"
        written(folder, common.random_weights("classification"), vocab_file=run + "/vocab.txt")
        json_files.write(f"{folder}/task.json", {"kind": "classification", "labels": labels})
    both = f"{tmp_path}/labels_0,{tmp_path}/labels_1"
    refused(tmp_path, "labels_1/ckpt-0 were fine-tuned for other labels", both, "native")
    # What has no task.json, as other programs' files, says nothing else.
    os.remove(tmp_path / "labels_1" / "task.json")
    convert(both, "native", str(tmp_path / "mean_of_both"))


@pytest.mark.parametrize("output_format", ["native", "huggingface", "original"])
def test_the_length_of_a_run_is_kept(tmp_path, output_format):
    run = tmp_path / "run"
    written(run, common.random_weights("classification"), vocab_file=vocabulary(tmp_path / "a.txt"))
    task = {"kind": "classification", "labels": ["a", "b", "c"], "max_seq_length": 8}
    json_files.write(f"{run}/task.json", {**task, "long_texts": "windows", "pooling": "cls"})
    report = convert(str(run), output_format, str(tmp_path / "out"))
    assert "windows" in report and "the pooling of the run, cls" in report
    assert read_checkpoint(str(tmp_path / "out")).max_length == 8


def test_a_casing_that_is_unknown(tmp_path):
    vocab_file = vocabulary(tmp_path / "a.txt")
    run = written(tmp_path / "run", common.random_weights(), vocab_file=vocab_file)
    assert re.search("note: .*--do_lower_case", convert(run, "original", str(tmp_path / "out")))
    assert read_checkpoint(str(tmp_path / "out")).do_lower_case is None


def refused(tmp_path, message, *arguments, output="out", **kwargs):
    before = sorted(os.listdir(tmp_path))
    assert_refused(lambda: convert(*arguments, str(tmp_path / output), **kwargs), message)
    assert sorted(os.listdir(tmp_path)) == before


def test_bad_input(tmp_path, golden):
    run = written(tmp_path / "run", common.random_weights())
    vocab_file = vocabulary(tmp_path / "large.txt", 51)
    (tmp_path / "file").write_text("")
    refused(tmp_path, "exists: choose another name", run, "native", output="run")
    refused(tmp_path, "--output: can't write in", run, "native", output="file/below")
    refused(tmp_path, "there is no checkpoint", str(tmp_path / "nothing"), "native")
    refused(tmp_path, "give --bert_config_file", str(golden / "tf1_heads"), "native")
    refused(tmp_path, "--vocab_file: ", run, "native", vocab_file=str(tmp_path / "no.txt"))
    refused(
        tmp_path,
        "has 51 entries, but the model's vocab_size is 50",
        run,
        "native",
        vocab_file=vocab_file,
    )
    config_file = str(golden / "tf1_checkpoint/bert_config.json")
    refused(
        tmp_path,
        "the configuration contradicts the tensors",
        run,
        "native",
        bert_config_file=config_file,
    )
    os.symlink(tmp_path / "dangling", tmp_path / "link")
    refused(tmp_path, "exists: choose another name", run, "native", output="link")
    # Damaged.
    data = tmp_path / "run/ckpt-0.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:5000])
    refused(tmp_path, "can't be read, the data are damaged", run, "huggingface")
    # Two heads of one name.
    run = written(
        tmp_path / "heads", common.random_weights("classification", "token_classification")
    )
    refused(
        tmp_path,
        "calls the heads classification and token_classification alike",
        run,
        "huggingface",
    )


@pytest.mark.parametrize("output_format", list(common.FORMATS_OF_ALL_HEADS))
def test_a_full_disk_leaves_nothing(tmp_path, output_format):
    run = written(tmp_path / "run", common.random_weights())
    with full_disk(4096):
        refused(tmp_path, "the weights can't be written", run, output_format)


def test_the_command(golden, project, tmp_path):
    def run(*arguments):
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("TF_")
        }
        return subprocess.run(
            [sys.executable, str(project / "convert_checkpoint.py"), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    shutil.copytree(golden / "tf1_checkpoint", tmp_path / "input")
    done = run(
        "--input=input", "--output_format=huggingface", "--output=some/where", "--do_lower_case"
    )
    assert (done.returncode, done.stderr) == (0, "")
    parameters = sum(
        map(math.prod, read_checkpoint(str(golden / "tf1_checkpoint")).tensors.values())
    )
    assert done.stdout.splitlines() == [
        "read input/bert_model.ckpt (original TensorFlow 1 checkpoint)",
        f"encoder, heads: masked_lm, next_sentence; 62 tensors, {parameters:,} parameters",
        "wrote some/where (huggingface), read back: every bit the same",
    ]
    assert sorted(os.listdir(tmp_path / "some/where")) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    assert all(
        os.stat(tmp_path / "some/where" / name).st_mode & 0o044
        for name in os.listdir(tmp_path / "some/where")
    )
    # These answer before TensorFlow is imported.
    for arguments, message in [
        (
            ("--input=input", "--output_format=huggingface", "--output=some/where"),
            "--output: some/where exists",
        ),
        (("--input=input", "--output_format=onnx", "--output=x"), "output_format"),
        (("--input=input", "--output=x"), "output_format"),
        (
            ("--init_checkpoint=input,x", "--output_format=native", "--output=x"),
            "there is no checkpoint x",
        ),
    ]:
        failed = run(*arguments)
        assert (
            failed.returncode == 2
            and failed.stderr.startswith("error: ")
            and message in failed.stderr
        )
        assert failed.stderr.count("\n") == 1


def test_the_script_writes_every_format(tmp_path):
    weights = common.random_weights()
    written(tmp_path / "in", weights, vocab_file=vocabulary(tmp_path / "vocab.txt"))
    output = run_commands(
        "convert_checkpoint.py",
        tmp_path,
        *(f"--input=in --output_format={name} --output={name}" for name in FORMATS),
    )
    assert output.count("read back: every bit the same") == len(FORMATS)
    for name in FORMATS:
        source = read_checkpoint(str(tmp_path / name))
        common.assert_same({key: source.read(key) for key in source.tensors}, weights)
