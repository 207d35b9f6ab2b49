"""Settings of published tokenizers: applied with the tokens of transformers, or refused by name."""

import json
from pathlib import Path

import pytest

from bert_common.errors import UserError
from data_gen.tokenization.settings import read_settings
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.companion_files import with_companion_files
from modeling.checkpoints.reader import CheckpointReader
from modeling.checkpoints.tokenizer_file import tokenizer_values
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from tests.golden import make_tokenizer_settings as golden

IDS = json.loads(Path(golden.__file__).with_name("tokenizer_settings.json").read_text())
DIRECTORIES = golden.directories(golden.vocabulary())
# Tokens with rules that a graph does not have.
NOT_IN_GRAPHS = ("words", "words, cased")


@pytest.fixture
def tokenizer(tmp_path, request):
    golden.write(str(tmp_path), DIRECTORIES[request.param])
    source = with_companion_files(CheckpointReader("x", {}, None), str(tmp_path))
    return Tokenizer(Vocabulary.from_file(source.vocab_file), source.do_lower_case)


@pytest.mark.parametrize(
    ("tokenizer", "name"), [(name, name) for name in DIRECTORIES], indirect=["tokenizer"]
)
def test_ids_are_those_of_transformers(tokenizer, name):
    encoding = tokenizer.encode_batch(golden.LINES, offsets=True)
    assert encoding.ids.tolist() == sum(IDS[name], [])
    assert encoding.row_lengths.tolist() == list(map(len, IDS[name]))
    # Many lines go through the vectorized tokenizer.
    assert tokenizer.encode_batch(300 * golden.LINES).ids.tolist() == 300 * sum(IDS[name], [])
    if name in NOT_IN_GRAPHS:
        with pytest.raises(UserError, match="the added token 'tiktok' can't be part of a graph"):
            GraphTokenizer(tokenizer.vocabulary, tokenizer.do_lower_case)
        return
    tokens = GraphTokenizer(tokenizer.vocabulary, tokenizer.do_lower_case)(golden.LINES)
    assert tokens.ids.to_list() == IDS[name]
    assert tokens.starts.numpy().tolist() == encoding.offsets[:, 0].tolist()
    assert tokens.ends.numpy().tolist() == encoding.offsets[:, 1].tolist()


@pytest.mark.parametrize(
    ("tokenizer", "name"), [(name, name) for name in DIRECTORIES], indirect=["tokenizer"]
)
def test_our_tokenizer_file_and_settings_give_the_same(tokenizer, name, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    values = tokenizer_values(tokenizer.vocabulary, tokenizer.do_lower_case)
    theirs = tokenizers.Tokenizer.from_str(json.dumps(values))
    for line, ids in zip(golden.LINES, IDS[name], strict=True):
        assert theirs.encode(line, add_special_tokens=False).ids == ids


# Tokens of "Né" in transformers 5.23, by class, keys of tokenizer_config.json, and lowercase and
# strip_accents of tokenizer.json.
CLASS_DEFAULTS = [
    ("BertTokenizer", {}, (True, False), "n ##e"),
    ("BertTokenizer", {}, (False, None), "n ##e"),
    ("BertTokenizerFast", {"do_lower_case": True}, (True, False), "n ##e"),
    ("BertTokenizer", {"do_lower_case": True, "strip_accents": False}, (True, None), "n ##é"),
    ("BertTokenizer", {"do_lower_case": False}, (True, None), "N ##é"),
    ("ElectraTokenizer", {"strip_accents": False}, (False, None), "n ##é"),
    (None, {"do_lower_case": True}, (True, False), "n ##e"),
    ("PreTrainedTokenizerFast", {"do_lower_case": True}, (True, False), "n ##é"),
    ("TokenizersBackend", {"do_lower_case": True}, (False, None), "N ##é"),
]


@pytest.mark.parametrize(("name", "keys", "steps", "expected"), CLASS_DEFAULTS)
def test_defaults_of_the_class_count_beside_tokenizer_json(tmp_path, name, keys, steps, expected):
    tokens = [*SPECIAL_TOKENS, "n", "N", "##e", "##é"]
    normalizer = dict(zip(("lowercase", "strip_accents"), steps, strict=True))
    config = {**keys, **({"tokenizer_class": name} if name else {})}
    contents = {"tokenizer.json": golden.tokenizer_file(tokens, normalizer, [])}
    golden.write(str(tmp_path), {**contents, "tokenizer_config.json": config})
    source = with_companion_files(CheckpointReader("x", {}, None), str(tmp_path))
    tokenizer = Tokenizer(Vocabulary.from_file(source.vocab_file), source.do_lower_case)
    assert [tokenizer.vocabulary.token_of(id) for id in tokenizer.encode("Né")] == expected.split()


# What sentence-transformers 6.2 writes of its own `do_lower_case`, and the tokens of transformers.
@pytest.mark.parametrize(
    ("name", "steps", "expected"),
    [
        ("TokenizersBackend", (False, None), "n ##é"),
        ("TokenizersBackend", (True, None), "n ##e"),
        ("TokenizersBackend", (False, True), "n ##e"),
        ("BertTokenizer", (False, None), "N ##é"),
    ],
)
def test_a_step_that_lower_cases_before_berts(tmp_path, name, steps, expected):
    tokens = [*SPECIAL_TOKENS, "n", "N", "##e", "##é"]
    normalizer = dict(zip(("lowercase", "strip_accents"), steps, strict=True))
    contents = golden.tokenizer_file(tokens, normalizer, [])
    contents["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{"type": "Lowercase"}, contents["normalizer"]],
    }
    config = {"tokenizer_class": name, "do_lower_case": steps[0], "strip_accents": steps[1]}
    golden.write(str(tmp_path), {"tokenizer.json": contents, "tokenizer_config.json": config})
    source = with_companion_files(CheckpointReader("x", {}, None), str(tmp_path))
    tokenizer = Tokenizer(Vocabulary.from_file(source.vocab_file), source.do_lower_case)
    assert [tokenizer.vocabulary.token_of(id) for id in tokenizer.encode("Né")] == expected.split()


def test_a_tokenizer_file_alone_counts_and_says_so(tmp_path):
    for lowercase, says in ((True, False), (False, True)):
        contents = golden.tokenizer_file([*SPECIAL_TOKENS, "n"], {"lowercase": lowercase}, [])
        golden.write(str(tmp_path), {"tokenizer.json": contents})
        settings = read_settings(str(tmp_path))
        assert settings.do_lower_case is lowercase
        assert any("transformers would lower-case" in note for note in settings.notes) is says


@pytest.mark.parametrize("value", ["False", "true", 0, 1])
def test_casing_of_another_type_is_refused(tmp_path, value):
    golden.write(str(tmp_path), {"tokenizer_config.json": {"do_lower_case": value}})
    with pytest.raises(UserError, match=f"do_lower_case is {value!r}: true or false is expected"):
        read_settings(str(tmp_path))


BERT = {"type": "BertNormalizer", "clean_text": True, "lowercase": True}
REFUSED = [
    ("tokenizer_config.json", {"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class"),
    ("tokenizer_config.json", {"tokenize_chinese_chars": False}, "tokenize_chinese_chars"),
    ("tokenizer_config.json", {"do_basic_tokenize": False}, "do_basic_tokenize"),
    ("tokenizer_config.json", {"never_split": ["[E1]"]}, r"never_split names \[E1\]"),
    ("tokenizer_config.json", {"cls_token": "<s>"}, "cls_token is '<s>'"),
    ("tokenizer_config.json", {"unk_token": {"content": "<unk>"}}, "unk_token is '<unk>'"),
    ("special_tokens_map.json", {"sep_token": "</s>"}, "sep_token"),
    ("tokenizer.json", {"normalizer": None}, "normalizer: type is 'missing'"),
    (
        "tokenizer.json",
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, BERT]}},
        "Sequence of NFC, BertNormalizer",
    ),
    ("tokenizer.json", {"normalizer": {**BERT, "clean_text": False}}, "clean_text is False"),
    ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: type is"),
    ("tokenizer.json", {"pre_tokenizer": {"behavior": "Isolated"}}, "pre_tokenizer: type is None"),
    ("tokenizer.json", {"normalizer": {"type": "BertNormalizer"}}, "there is no 'lowercase'"),
    ("tokenizer.json", {"added_tokens": [{"id": 9, "content": "[E1]"}]}, "no 'single_word'"),
    (
        "tokenizer.json",
        {"post_processor": {"type": "TemplateProcessing", "single": []}},
        "post_processor: single",
    ),
    ("tokenizer.json", {"model": {"type": "BPE", "vocab": {}}}, "model: type is 'BPE'"),
]


@pytest.mark.parametrize(("name", "changes", "message"), REFUSED)
def test_another_tokenizer_is_refused_by_name(tmp_path, name, changes, message):
    tokens = golden.vocabulary()
    usual = {}
    if name == "tokenizer.json":
        usual = golden.tokenizer_file(tokens, {"lowercase": True}, [])
    golden.write(str(tmp_path), {"vocab.txt": tokens, name: {**usual, **changes}})
    with pytest.raises(UserError, match=message):
        Vocabulary.from_file(str(tmp_path / "vocab.txt"))


def test_unknown_keys_are_mentioned_once(tmp_path):
    golden.write(str(tmp_path), {"tokenizer_config.json": {"new_key": 1, "do_lower_case": True}})
    assert len(read_settings(str(tmp_path)).notes) == 1
    assert "new_key" in read_settings(str(tmp_path)).notes[0]


@pytest.mark.parametrize(
    ("words", "entry"),
    [(["Paris", "the", "##S"], "Paris"), (["paris", "[E1]", "<S>", "##s"], None)],
)
def test_a_vocabulary_shows_its_casing(words, entry):
    assert Vocabulary([*SPECIAL_TOKENS, *words]).upper_case_entry == entry


def test_the_self_check_names_the_sentence(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    from bert_tf.extras.tokenizer_check import check_tokenizer

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tokens = golden.vocabulary()
    values = golden.tokenizer_file(tokens, {"lowercase": True}, [])
    golden.write(str(tmp_path), {"tokenizer.json": values})
    tokenizer = Tokenizer(Vocabulary(tokens))
    check_tokenizer(str(tmp_path), tokenizer)
    assert list((tmp_path / "cache" / "bert-tf").iterdir())
    # Without "##e" another tokenizer would find no pieces for many words.
    del values["model"]["vocab"]["##e"]
    golden.write(str(tmp_path), {"tokenizer.json": values})
    with pytest.raises(UserError, match="tokenizer.json: 'Schön, daß"):
        check_tokenizer(str(tmp_path), tokenizer)


@pytest.mark.parametrize("has_vocabulary", [True, False])
def test_tokens_that_transformers_adds_to_our_files(tmp_path, has_vocabulary):
    """Its `save_pretrained` copies our fingerprint, which is that of the vocabulary before."""
    tokens = [*SPECIAL_TOKENS, "the", "list"]
    values = tokenizer_values(Vocabulary(tokens), do_lower_case=True)
    values["added_tokens"].append(golden._added(7, "sortedlist", normalized=True))
    config = {
        "tokenizer_class": "TokenizersBackend",
        "do_lower_case": True,
        "vocab_sha256": Vocabulary(tokens).fingerprint,
    }
    golden.write(str(tmp_path), {"tokenizer.json": values, "tokenizer_config.json": config})
    if has_vocabulary:
        golden.write(str(tmp_path), {"vocab.txt": tokens})
    source = with_companion_files(CheckpointReader("x", {}, None), str(tmp_path))
    assert source.vocab_sha256 is None
    tokenizer = Tokenizer(Vocabulary.from_file(source.vocab_file), source.do_lower_case)
    assert tokenizer.encode("the sortedlist list").tolist() == [5, 7, 6]
    # A vocabulary that was exchanged is still noticed.
    golden.write(str(tmp_path), {"vocab.txt": [*SPECIAL_TOKENS, "list", "the"]})
    assert with_companion_files(source, str(tmp_path)).vocab_sha256 is not None
