import gc
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from data_gen.labeled.pair_features import encode_pairs
from modeling import BertEncoder, BertForClassification, BertPreprocessor
from tests.data_gen.tokenization.common import TOKENIZERS
from tests.modeling.common import SMALL

TOKENIZER = TOKENIZERS[True]
FIRST = ["the un a . b", "", "É no c", "the the the the the the the the"]
SECOND = ["no it is", "a b", "", "un un un un un un"]
CONFIG = SMALL.__class__(**{**SMALL.to_dict(), "vocab_size": len(TOKENIZER.vocabulary)})


def exact(first, second, length, width=None):
    """The features of fine-tuning, padded to the longest or to `width`."""
    rows = encode_pairs(TOKENIZER, first, second, length)
    width = width or rows.row_lengths.max()
    mask = np.arange(width) < rows.row_lengths[:, None]
    ids, segments = np.full(mask.shape, TOKENIZER.vocabulary.pad_id), np.zeros(mask.shape, int)
    ids[mask], segments[mask] = rows.input_ids, rows.segment_ids
    return {"input_ids": ids, "input_mask": mask.astype(int), "segment_ids": segments}


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name].dtype == tf.int32
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("second", [None, SECOND])
@pytest.mark.parametrize("fixed", [False, True])
def test_ids_are_those_of_fine_tuning(second, fixed):
    layer = BertPreprocessor(TOKENIZER, max_seq_length=9, pad_to_max_length=fixed)
    expected = exact(FIRST, second, 9, 9 if fixed else None)
    assert_same(layer(FIRST if second is None else (FIRST, second)), expected)
    # Arrays, and columns of strings, as `keras.Input((1,), dtype="string")` gives them.
    as_arrays = [
        np.array(texts)[:, None] for texts in ([FIRST] if second is None else [FIRST, second])
    ]
    assert_same(layer(as_arrays[0] if second is None else as_arrays), expected)
    dataset = tf.data.Dataset.from_tensor_slices(
        FIRST if second is None else (FIRST, second)
    ).batch(4)
    batches = list(dataset.map(lambda *texts: layer(texts[0] if second is None else texts)))
    assert_same(batches[0], expected)
    again = BertPreprocessor.from_config(layer.get_config())
    assert_same(again(FIRST if second is None else (FIRST, second)), expected)


def test_a_model_takes_strings_and_is_saved_with_its_vocabulary(tmp_path):
    layer = BertPreprocessor(TOKENIZER, max_seq_length=12)
    texts, others = (keras.Input((), dtype="string", name=name) for name in ("first", "second"))
    logits = BertForClassification(CONFIG, 3)(layer([texts, others]))
    model = keras.Model([texts, others], logits)
    inputs = [tf.constant(FIRST), tf.constant(SECOND)]
    expected = model(inputs)
    np.testing.assert_allclose(
        expected, BertForClassification(CONFIG, 3)(exact(FIRST, SECOND, 12)), atol=1e-5
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(inputs, np.array([0, 1, 2, 0]), verbose=0)
    path = str(tmp_path / "model.keras")
    model.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    assert not np.array_equal(model(inputs), expected)


FIXTURE = Path(__file__).parents[2] / "fixtures/keras/vocabulary_in_config.keras"


def changed(source, target, config=None, vocabulary=None):
    """A `.keras` file with other values in the configuration of its `BertPreprocessor`, or another
    vocabulary."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "config.json":
                values = json.loads(content)
                next(
                    one["config"]
                    for one in values["config"]["layers"]
                    if one["class_name"] == "BertPreprocessor"
                ).update(config or {})
                content = json.dumps(values).encode()
            if name == "assets/layers/bert_preprocessor/vocabulary.json" and vocabulary:
                content = json.dumps(vocabulary).encode()
            new.writestr(name, content)
    return str(target)


def test_a_file_of_earlier_versions_with_the_tokens_in_the_configuration(tmp_path):
    model = keras.models.load_model(FIXTURE)
    texts = tf.constant(["The film was good.", "films"])
    expected = [[0.4248126, -0.5442635], [0.3797055, -0.5272709]]
    np.testing.assert_allclose(model(texts), expected, atol=1e-5)
    # Saved again it is a file of today.
    model.save(tmp_path / "today.keras")
    tokens = model.layers[1].vocabulary.tokens
    del model
    gc.collect()
    script = (
        "import sys, keras, tensorflow as tf; from modeling import BertForClassification, BertPreprocessor;"
        "model = keras.models.load_model(sys.argv[1]);"
        "print(model.layers[1].vocabulary.tokens); print(model(tf.constant(sys.argv[2:])).numpy().tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "today.keras", "The film was good.", "films"],
        capture_output=True,
        text=True,
        check=True,
    )
    found_tokens, found = map(json.loads, done.stdout.replace("'", '"').splitlines())
    assert found_tokens == tokens
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("path", ["{}/secret.txt", "/dev/zero", {"path": "/dev/zero"}, [["a"]]])
def test_a_file_does_not_choose_what_is_read(tmp_path, path):
    (tmp_path / "secret.txt").write_text(
        "".join(f"{token}\n" for token in TOKENIZER.vocabulary.tokens)
    )
    path = path.format(tmp_path) if isinstance(path, str) else path
    stranger = changed(FIXTURE, tmp_path / "model.keras", {"vocabulary": path})
    with pytest.raises(
        UserError, match="the path of a file is not read|half a surrogate pair"
    ) as error:
        keras.models.load_model(stranger)
    assert "\n" not in str(error.value)


def test_the_configuration_is_small_and_the_vocabulary_an_asset(tmp_path):
    words = [
        *TOKENIZER.vocabulary.tokens,
        *(f"w{number}" for number in range(30_000)),
        " with spaces ",
        "\u2028",
    ]
    texts = keras.Input((), dtype="string")
    model = keras.Model(texts, BertPreprocessor(words, max_seq_length=12)(texts))
    assert len(str(model.get_config())) < 4000
    assert keras.models.clone_model(model).layers[1].vocabulary.tokens == words
    model.save(tmp_path / "model.keras")
    tokens = keras.models.load_model(tmp_path / "model.keras").layers[1].vocabulary.tokens
    assert tokens == words
    broken = changed(tmp_path / "model.keras", tmp_path / "broken.keras", {"nonsense": 1})
    with pytest.raises(Exception, match="nonsense") as error:
        keras.models.load_model(broken)
    assert len(str(error.value)) < 4000
    # The vocabulary belongs to the model.
    other = changed(
        tmp_path / "model.keras", tmp_path / "other.keras", vocabulary=[*words[:-1], "another"]
    )
    with pytest.raises(Exception, match="is not the vocabulary that the model was saved with"):
        keras.models.load_model(other)


def test_without_a_vocabulary():
    layer = BertPreprocessor.from_config(
        {"vocab_sha256": "0" * 64, "max_seq_length": 5, "pad_to_max_length": True}
    )
    assert layer(keras.Input((), dtype="string"))["segment_ids"].shape == (None, 5)
    with pytest.raises(UserError, match="no vocabulary"):
        layer(["a"])


def test_vocabularies_come_from_files_tokens_and_checkpoints(tmp_path):
    tokens = TOKENIZER.vocabulary.tokens
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))
    BertEncoder(CONFIG).save_checkpoint(
        str(tmp_path / "model"), vocab_file=str(tmp_path / "vocab.txt"), do_lower_case=False
    )
    lower, cased = (
        BertPreprocessor(tokens),
        BertPreprocessor.from_checkpoint(str(tmp_path / "model"), max_seq_length=7),
    )
    assert (lower.do_lower_case, cased.do_lower_case, cased.max_seq_length) == (True, False, 7)
    assert BertPreprocessor(TOKENIZERS[False]).do_lower_case is False
    assert_same(BertPreprocessor(str(tmp_path / "vocab.txt"))(FIRST), exact(FIRST, None, 128))
    BertEncoder(CONFIG).save_checkpoint(str(tmp_path / "bare"))
    with pytest.raises(UserError, match="vocab.txt"):
        BertPreprocessor.from_checkpoint(str(tmp_path / "bare"))
    with pytest.raises(UserError, match="max_seq_length is 2"):
        BertPreprocessor(tokens, max_seq_length=2)
    with pytest.raises(UserError, match="a batch of strings, or a pair of two batches"):
        lower([["a"], ["b"], ["c"]])
