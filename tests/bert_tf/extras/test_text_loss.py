import dataclasses
import json

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.extras.add_words import AddWordsOptions
from bert_tf.extras.add_words import run as add_words
from bert_tf.extras.text_loss import TextLossOptions, make_windows, run
from modeling.checkpoints.load import load_with_head, open_checkpoint, read_checkpoint
from modeling.pretraining import BertForPreTraining
from tests.tiny import TOKENS, write_tiny

TEXT = (
    "the arrays is returned .\na lists is sorted\n\n"
    "who ? the sortedlist is returned .\nb arrays\n\n" * 3
)
EMBEDDINGS = "bert/embeddings/word_embeddings"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint, the same with words of a text, and the text."""
    folder = tmp_path_factory.mktemp("loss")
    (folder / "text.txt").write_text(TEXT + "unknown words\n")
    write_tiny(folder / "tiny", "masked_lm", "next_sentence")
    options = AddWordsOptions(
        init_checkpoint=f"{folder}/tiny",
        input_file=f"{folder}/text.txt",
        output_dir=f"{folder}/more",
        num_words=2,
        min_count=3,
    )
    options.check()
    add_words(options)
    return folder


def test_new_words_are_the_means_of_their_pieces(folder):
    before, after = read_checkpoint(f"{folder}/tiny"), read_checkpoint(f"{folder}/more")
    # "sortedlist" is "sort", "##ed" and letters that the vocabulary lacks.
    tokens = (folder / "more/vocab.txt").read_text().splitlines()
    assert tokens == [*TOKENS, "arrays", "lists"]
    pieces = [TOKENS.index("array"), TOKENS.index("##s")]
    for name, rows in ((EMBEDDINGS, len(tokens)), ("cls/predictions/output_bias", len(tokens))):
        old, new = before.read(name), after.read(name)
        assert len(new) == rows and np.array_equal(new[: len(old)], old)
        np.testing.assert_allclose(new[len(old)], old[pieces].mean(axis=0), rtol=1e-6)
    assert after.config == dataclasses.replace(before.config, vocab_size=len(tokens))
    kept = set(before.tensors) - {EMBEDDINGS, "cls/predictions/output_bias"}
    assert kept and all(np.array_equal(before.read(name), after.read(name)) for name in kept)
    with pytest.raises(UserError, match="occurs 99 times: the vocabulary fits"):
        add_words(
            AddWordsOptions(
                init_checkpoint=f"{folder}/tiny",
                input_file=f"{folder}/text.txt",
                output_dir=f"{folder}/none",
                min_count=99,
            )
        )


def test_the_same_words_are_hidden_whatever_the_vocabulary(folder, capsys):
    run(
        TextLossOptions(
            init_checkpoint=f"{folder}/tiny,{folder}/more",
            input_file=f"{folder}/text.txt",
            output_file=f"{folder}/losses.jsonl",
            max_seq_length=16,
        )
    )
    rows = [json.loads(line) for line in (folder / "losses.jsonl").read_text().splitlines()]
    first, second = (
        [row for row in rows if row["checkpoint"] == f"{folder}/{name}"]
        for name in ("tiny", "more")
    )
    assert len(first) > 3
    for before, after in zip(first, second, strict=True):
        same = ("document", "words", "bytes")
        assert [before[name] for name in same] == [after[name] for name in same]
        assert before["nats"] > 0 and before["nats"] != after["nats"] != after["shuffled_nats"]
    assert f"hidden words of {len(first)} documents" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content, message",
    [
        (b"the list\n\xff\n", ":2: the byte 0xff is not UTF-8"),
        (b'{"text": "the list"}\n', "is JSON lines, one sentence per line is expected"),
        ("今天\n".encode(), "has no word that the vocabularies know"),
    ],
)
def test_what_is_no_prepared_corpus_is_refused(folder, content, message):
    (folder / "other.txt").write_bytes(content)
    options = TextLossOptions(init_checkpoint="", input_file="")
    with pytest.raises(UserError, match=message):
        make_windows(f"{folder}/other.txt", [open_checkpoint(f"{folder}/tiny").tokenizer], options)


def test_the_loss_of_a_word_is_that_of_all_its_tokens(folder):
    options = TextLossOptions(
        init_checkpoint=f"{folder}/tiny", input_file=f"{folder}/text.txt", max_seq_length=16
    )
    opened = open_checkpoint(f"{folder}/tiny")
    windows = make_windows(f"{folder}/text.txt", [opened.tokenizer], options)
    window = next(one for one in windows if "arrays" in one.words)
    # A word with letters that the vocabulary lacks is never hidden.
    assert all("sortedlist" != one.words[word] for one in windows for word in one.hidden)
    ids, hidden = [opened.tokenizer.vocabulary.cls_id], []
    for index, word in enumerate(window.words):
        pieces = opened.tokenizer.encode(word).tolist()
        hidden += [len(ids) + piece for piece in range(len(pieces)) if index in window.hidden]
        ids += pieces
    ids = np.array([*ids, opened.tokenizer.vocabulary.sep_id])
    masked = ids.copy()
    masked[hidden] = opened.tokenizer.vocabulary.mask_id
    model = BertForPreTraining(opened.config)
    load_with_head(model, opened, "masked_lm")
    features = {"input_ids": masked[None], "masked_lm_positions": np.array([hidden])}
    logits = model(features)["masked_lm_logits"].numpy()[0].astype(np.float64)
    log_sums = np.log(np.exp(logits).sum(axis=1))
    expected = (log_sums - logits[np.arange(len(hidden)), ids[hidden]]).sum()

    from bert_tf.extras.text_loss import WordScorer

    (nats,) = WordScorer(opened, 16).nats([window], is_shuffled=False)
    assert nats == pytest.approx(expected, rel=1e-5)
