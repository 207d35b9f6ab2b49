"""The tables of keys of other programs' files: a value of another type or out of its range is
refused, whichever key it is of, and a required key may not be missing."""

import json
import pathlib
import shutil
import types

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from data_gen.tokenization import settings
from data_gen.tokenization.settings import Applied
from modeling.checkpoints import huggingface, sentence_vectors
from modeling.checkpoints.load import read_checkpoint
from modeling.checkpoints.sentence_vectors import vectors_of
from tests.golden.make_tokenizer_settings import tokenizer_file
from tests.page_commands import PROJECT
from tests.tiny import TOKENS, write_tiny

# File, and the part of it, that a table is of.
TABLES = {
    ("config.json", ""): huggingface._KEYS,
    ("tokenizer_config.json", ""): settings._TOKENIZER_CONFIG_KEYS,
    ("special_tokens_map.json", ""): settings._SPECIAL_TOKEN_KEYS,
    ("tokenizer.json", ""): settings._TOKENIZER_KEYS,
    ("tokenizer.json", "model"): settings._MODEL_KEYS,
    ("tokenizer.json", "normalizer"): settings._NORMALIZER_KEYS,
    ("tokenizer.json", "truncation"): settings._TRUNCATION_KEYS,
    ("config_sentence_transformers.json", ""): sentence_vectors._PROMPTS_KEYS,
    ("sentence_bert_config.json", ""): sentence_vectors._LENGTH_KEYS,
    ("1_Pooling/config.json", ""): sentence_vectors._MODULE_KEYS["Pooling"],
    ("2_Dense/config.json", ""): sentence_vectors._MODULE_KEYS["Dense"],
    ("3_Normalize/config.json", ""): sentence_vectors._MODULE_KEYS["Normalize"],
}
# File → the class of its library whose default stands for a missing key.
CLASSES = {
    "config.json": "`BertConfig`",
    "tokenizer_config.json": "`BertTokenizer`",
    "tokenizer.json": "`tokenizers`",
    "config_sentence_transformers.json": "`SentenceTransformer`",
    "sentence_bert_config.json": "`Transformer`",
    "1_Pooling/config.json": "`Pooling`",
    "2_Dense/config.json": "`Dense`",
    "3_Normalize/config.json": "`Normalize`",
}
# Parts of `tokenizer.json` without which it describes no tokenizer of BERT.
STEPS = ("model", "normalizer", "pre_tokenizer")
VALUES = (True, "x", -1, 0, 1.5, [], {}, [[]], {"x": []}, 10**30, float("nan"))
NUMBERS = [key for key in huggingface._DEFAULTS if key != "hidden_act"]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    """A directory with all the files."""
    folder = tmp_path_factory.mktemp("keys") / "model"
    write_tiny(folder, output_format="sentence_transformers")
    truncation = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    tokenizer = tokenizer_file(TOKENS, {"lowercase": True, "strip_accents": None}, [])
    for name, content in {
        "tokenizer.json": {**tokenizer, "truncation": truncation},
        "special_tokens_map.json": {"pad_token": "[PAD]"},
        "2_Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
        "3_Normalize/config.json": {},
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    modules = json.loads((folder / "modules.json").read_text())
    for number, name in enumerate(("Dense", "Normalize"), start=2):
        path = f"{number}_{name}"
        modules.append({"idx": number, "name": str(number), "path": path, "type": f"x.{name}"})
    (folder / "modules.json").write_text(json.dumps(modules))
    # With our fingerprint the tokenizer would be ours.
    change(folder, "tokenizer_config.json", "", "vocab_sha256", None)
    read(folder)
    return folder


def change(folder, name, part, key, value):
    path = folder / name
    content = json.loads(path.read_text())
    place = content[part] if part else content
    place.pop(key, None)
    if value is not None:
        place[key] = value
    path.write_text(json.dumps(content))


def read(folder):
    vectors_of(read_checkpoint(str(folder)))


def is_wrong(key, rule, value) -> bool:
    """Whether a value must be refused, whatever its reader knows beyond its rule."""
    if isinstance(rule, str):
        return False
    if isinstance(rule, tuple):
        return value not in rule
    if rule.smallest is not None:
        return value in (True, -1, 0, 1.5) or not isinstance(value, int)
    if key in NUMBERS:
        return not isinstance(value, int | float)
    return rule.kind is object or not json_files._is_of_type(value, rule.kind)


@pytest.mark.parametrize(("name", "part"), TABLES)
def test_a_value_of_another_type_or_range_is_refused(model, tmp_path, name, part):
    folder = shutil.copytree(model, tmp_path / "model")
    original = (folder / name).read_text()
    for key, rule in TABLES[name, part].items():
        # One value shows that a key is irrelevant.
        for value in VALUES[:1] if isinstance(rule, str) else VALUES:
            change(folder, name, part, key, value)
            try:
                read(folder)
                assert not is_wrong(key, rule, value), (key, value)
            except UserError as error:
                assert not isinstance(rule, str), (key, value, error)
                assert "\n" not in str(error)
        (folder / name).write_text(original)


def is_required(key, rule) -> bool:
    # A type that is no union has no None in it.
    return key in STEPS or (
        isinstance(rule, Applied)
        and rule.kind is not object
        and not isinstance(rule.kind, types.UnionType)
    )


@pytest.mark.parametrize(("name", "part"), TABLES)
def test_a_required_key_may_not_be_missing(model, tmp_path, name, part):
    """And any other may, unless the default of its class contradicts the weights."""
    folder = shutil.copytree(model, tmp_path / "model")
    original = (folder / name).read_text()
    for key, rule in TABLES[name, part].items():
        change(folder, name, part, key, None)
        if is_required(key, rule):
            with pytest.raises(UserError, match=key if key in STEPS else f"there is no '.*{key}'"):
                read(folder)
        elif key not in huggingface._DEFAULTS:
            read(folder)
        (folder / name).write_text(original)


def described(rule) -> str:
    if isinstance(rule, str):
        return f"irrelevant: {rule}"
    if isinstance(rule, tuple):
        # Where there are others, None says that the key may be missing.
        values = [value for value in rule if value is not None] or rule
        return f"only {', '.join(f'`{json.dumps(value)}`' for value in values)}"
    if rule == Applied():
        return "applied, with types and ranges of `BertConfig`"
    kind = "a whole number" if rule.kind is object else json_files._name(rule.kind).strip(",")
    smallest = f" of at least {rule.smallest}" if rule.smallest is not None else ""
    return f"applied: {kind}{smallest}"


def where_missing(key, rule, name) -> str:
    if isinstance(rule, str):
        return ""
    return "required" if is_required(key, rule) else f"default of {CLASSES[name]}"


def page_rows() -> list[str]:
    """The rows of the table in docs/checkpoints.md."""
    rows = []
    for (name, part), rules in TABLES.items():
        # Its keys are those of the file beside it.
        if name == "special_tokens_map.json":
            continue
        keys: dict[str, list[str]] = {}
        for key, rule in rules.items():
            words = f"{described(rule)} | {where_missing(key, rule, name)}".strip()
            keys.setdefault(words, []).append(f"`{key}`")
        place = f"`{name}`" + (f", `{part}`" if part else "")
        rows += [f"| {place} | {', '.join(names)} | {words} |" for words, names in keys.items()]
    return rows


def test_the_page_has_every_key():
    page = (PROJECT / "docs/checkpoints.md").read_text()
    assert "\n".join(page_rows()) in page
