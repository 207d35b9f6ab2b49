import io

import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference import fill_mask
from bert_tf.inference.fill_mask import filled, load_mask_filler
from bert_tf.inference.options import FillMaskOptions
from bert_tf.training import run_directory
from bert_tf.training.checkpoints import variables_of
from bert_tf.training.step import TrainingState
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from modeling.checkpoints.tensorflow_files import checkpoint_of
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining

WORDS = ["the", "array", "is", "returned", "list", "##s", "."]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run directory with a tiny model of random weights, and that model."""
    directory = tmp_path_factory.mktemp("run")
    tokens = [*SPECIAL_TOKENS, *WORDS]
    vocab = directory / "words.txt"
    vocab.write_text("\n".join(tokens) + "\n")
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
        type_vocab_size=2,
    )
    model = BertForPreTraining(config)
    run_directory.write_description(str(directory), "test", {}, config, str(vocab), True)
    checkpoint_of(variables_of(model, TrainingState())).write(str(directory / "ckpt-7"))
    return directory, model


def load(path, **kwargs):
    return load_mask_filler(FillMaskOptions(init_checkpoint=str(path), **kwargs))


def test_candidates_are_those_of_the_model(run):
    directory, model = run
    filler = load(directory / "ckpt-7", top_k=3)
    (first, second) = filler.fill("The [MASK] is [MASK].")
    vocabulary = filler.vocabulary
    ids = [
        vocabulary.id_of(token)
        for token in ["[CLS]", "the", "[MASK]", "is", "[MASK]", ".", "[SEP]"]
    ]
    logits = model(
        {
            "input_ids": tf.constant([ids]),
            "input_mask": tf.ones([1, 7], tf.int32),
            "segment_ids": tf.zeros([1, 7], tf.int32),
            "masked_lm_positions": tf.constant([[2, 4]]),
        }
    )["masked_lm_logits"]
    expected = tf.math.top_k(tf.nn.softmax(logits[0]), 3)
    for candidates, indices, values in zip(
        (first, second), expected.indices, expected.values, strict=True
    ):
        assert [candidate.token for candidate in candidates] == [
            vocabulary.token_of(int(index)) for index in indices
        ]
        assert [candidate.probability for candidate in candidates] == pytest.approx(
            values.numpy().tolist(), rel=1e-5
        )


def test_more_candidates_than_words_are_all_of_them(run):
    (candidates,) = load(run[0] / "ckpt-7", top_k=100).fill("[MASK]")
    assert len(candidates) == len(SPECIAL_TOKENS) + len(WORDS)
    assert sum(candidate.probability for candidate in candidates) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "text, message",
    [
        ("the array", "there is no .MASK."),
        ("[MASK] " + "the " * 20, "longer than the .*'s position table"),
    ],
)
def test_texts_that_can_not_be_filled(run, text, message):
    with pytest.raises(UserError, match=message):
        load(run[0] / "ckpt-7").fill(text)


@pytest.mark.parametrize(
    "text, tokens, expected",
    [
        ("The [MASK] is here.", ["cat"], "The cat is here."),
        ("An array [MASK] [MASK]", ["##s", "."], "An arrays ."),
        ("[MASK]", ["##s"], "##s"),
    ],
)
def test_filled_text(text, tokens, expected):
    assert filled(text, tokens) == expected


def test_the_command(run, capsys, monkeypatch):
    options = FillMaskOptions(
        init_checkpoint=str(run[0]), top_k=2, sentences=("The [MASK] is.", "[MASK] [MASK]")
    )
    fill_mask.run(options)
    first, second = capsys.readouterr().out.split("\n\n")
    lines = first.splitlines()
    assert lines[0] == "The [MASK] is." and len(lines) == 4
    best = lines[1].split()[1]
    assert (
        lines[1].split()[0].endswith("%") and lines[3] == f"  → {filled('The [MASK] is.', [best])}"
    )
    assert [line for line in second.splitlines() if "mask" in line] == ["  mask 1", "  mask 2"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\nThe [MASK] is.\n\n")))
    fill_mask.run(options.replace(sentences=()))
    assert capsys.readouterr().out.splitlines() == lines


def test_texts_that_are_refused_before_anything_is_loaded(monkeypatch):
    with pytest.raises(UserError, match="there is no .MASK. in 'b'"):
        FillMaskOptions(init_checkpoint="none", sentences=("[MASK]", "b")).check()
    for text, message in (("", "no sentence: give one"), ("a\n", "there is no .MASK. in 'a'")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with pytest.raises(UserError, match=message):
            fill_mask.run(FillMaskOptions(init_checkpoint="none"))
