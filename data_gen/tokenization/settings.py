"""Settings of a tokenizer, in the files beside a vocabulary or beside published weights.

- `tokenizer_config.json`: casing, accents, added tokens, and the fingerprint of the vocabulary,
  so that another one is never taken for it. All keys but `vocab_sha256` are Hugging Face's.
- `tokenizer.json`: the same settings as the steps of Hugging Face's tokenizers, and the ids.
- `added_tokens.json`, `special_tokens_map.json`: what older versions of transformers wrote.

Every key is applied, irrelevant for a reason, or has only some values with which BERT's tokenizer
gives the same ids: other values are refused by name, because a tokenizer that splits otherwise
gives plausible results that are wrong. Types and ranges of applied keys are in the same tables. A
key that no table has is mentioned.

Input: a directory. Output: `TokenizerSettings`.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bert_common import files, json_files
from bert_common.errors import UserError, in_one_line, shortened

PAD = "[PAD]"
UNK = "[UNK]"
CLS = "[CLS]"
SEP = "[SEP]"
MASK = "[MASK]"
SPECIAL_TOKENS = (PAD, UNK, CLS, SEP, MASK)

TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
TOKENIZER_FILE = "tokenizer.json"
_SENTENCE_FILE = "sentence_bert_config.json"
_ADDED_TOKENS_FILE = "added_tokens.json"
_SPECIAL_TOKENS_FILE = "special_tokens_map.json"
_CASING = "do_lower_case"
_ACCENTS = "strip_accents"
_FINGERPRINT = "vocab_sha256"
_LENGTH = "model_max_length"
_SIDE = "truncation_side"
_ADDED_TOKENS = "added_tokens_decoder"


@dataclasses.dataclass(frozen=True)
class Applied:
    """Rule of a key that is followed.

    Attributes:
      kind: type of its value, see `json_files.check_object`: with None the key may be missing, and
        the default of the library's class stands for it; without, the key is required. `object`
        where the reader of the value checks it.
      smallest: of a whole number, which may be written as a float; None for other values.
    """

    kind: Any = object
    smallest: int | None = None


# A rule is `Applied`, a tuple of the only values that can be read, where the key is there, or a
# text: why the key is irrelevant.
Rule = Applied | tuple | str
_TEXT = Applied(str | None)
_TRUTH = Applied(bool | None)
ABOUT_FILES = "about files and programs"
ABOUT_TRAINING = "acts in training only"
ABOUT_OUTPUTS = "about what a program returns"
ABOUT_GENERATION = "about writing texts"
_ABOUT_BATCHES = "about batches, padding and pieces of texts"
_VOCABULARY_SAYS = "the vocabulary says it"

# Classes that take `tokenizer.json` as it is.
_GENERAL_CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
# Classes whose tokenizer is BERT's.
_TOKENIZER_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    "PreTrainedTokenizer",
    *_GENERAL_CLASSES,
)
_SPECIAL_TOKEN_KEYS: dict[str, Rule] = {
    "pad_token": (PAD,),
    "unk_token": (UNK,),
    "cls_token": (CLS,),
    "sep_token": (SEP,),
    "mask_token": (MASK, None),
    # Some directories name these two though BERT has none.
    "bos_token": (None, CLS),
    "eos_token": (None, SEP),
    "additional_special_tokens": Applied(list | dict | None),
    "extra_special_tokens": Applied(list | dict | None),
}
_TOKENIZER_CONFIG_KEYS: dict[str, Rule] = {
    **_SPECIAL_TOKEN_KEYS,
    _CASING: _TRUTH,
    _ACCENTS: _TRUTH,
    _FINGERPRINT: _TEXT,
    _ADDED_TOKENS: Applied(dict | None),
    "tokenizer_class": (None, *_TOKENIZER_CLASSES),
    "tokenize_chinese_chars": (None, True),
    "do_basic_tokenize": (None, True),
    "wordpieces_prefix": (None, "##"),
    # The words of Japanese models are found by a morphological analyzer.
    "word_tokenizer_type": (None, "basic"),
    "subword_tokenizer_type": (None, "wordpiece"),
    "do_word_tokenize": (None, True),
    "do_subword_tokenize": (None, True),
    "mecab_kwargs": (None,),
    "sudachi_kwargs": (None,),
    "jumanpp_kwargs": (None,),
    # Only the slow tokenizers of old versions obeyed it.
    "never_split": Applied(list[str] | None),
    "add_special_tokens": (None, True),
    # Tokenizers without a limit have 1e30 here.
    _LENGTH: Applied(smallest=1),
    _SIDE: (None, "left", "right"),
    **dict.fromkeys(
        (
            "auto_map",
            "backend",
            "errors",
            "from_slow",
            "full_tokenizer_file",
            "init_inputs",
            "is_local",
            "legacy",
            "local_files_only",
            "name_or_path",
            "processor_class",
            "special_tokens_map_file",
            "token",
            "tokenizer_file",
            "transformers_version",
            "use_fast",
            "vocab_file",
        ),
        ABOUT_FILES,
    ),
    **dict.fromkeys(
        (
            "max_len",
            "max_length",
            "model_input_names",
            "pad_to_multiple_of",
            "pad_token_id",
            "pad_token_type_id",
            "padding_side",
            "return_token_type_ids",
            "stride",
            "truncation_strategy",
        ),
        _ABOUT_BATCHES,
    ),
    **dict.fromkeys(("chat_template", "clean_up_tokenization_spaces"), ABOUT_GENERATION),
    **dict.fromkeys(("model_specific_special_tokens", "unk_id", "vocab_size"), _VOCABULARY_SAYS),
    "split_special_tokens": "marks in a text are no tokens here, unless a program asks for them",
}
_TOKENIZER_KEYS: dict[str, Rule] = {
    **dict.fromkeys(
        ("model", "normalizer", "pre_tokenizer", "post_processor", "truncation"),
        Applied(dict | None),
    ),
    "added_tokens": Applied(list | None),
    "version": ABOUT_FILES,
    "padding": _ABOUT_BATCHES,
    "decoder": ABOUT_GENERATION,
}
_MODEL_KEYS: dict[str, Rule] = {
    "type": (None, "WordPiece"),
    "vocab": Applied(dict[str, int]),
    "unk_token": (UNK,),
    "continuing_subword_prefix": (None, "##"),
    "max_input_chars_per_word": "longer words are [UNK]: the limit is the original's",
}
_NORMALIZER_KEYS: dict[str, Rule] = {
    "type": ("BertNormalizer",),
    "clean_text": (True,),
    "handle_chinese_chars": (True,),
    "lowercase": Applied(bool),
    _ACCENTS: _TRUTH,
}
_TRUNCATION_KEYS: dict[str, Rule] = {
    "direction": (None, "Left", "Right"),
    **dict.fromkeys(("max_length", "strategy", "stride"), _ABOUT_BATCHES),
}
_TOKENIZER = "BERT's tokenizer (BertNormalizer, BertPreTokenizer, WordPiece)"
_TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_TOKEN_FIELDS = {"content": str, **dict.fromkeys(_TOKEN_FLAGS, bool | None)}
_WORDPIECE_FIELDS = {
    "model": {"vocab": dict[str, int]},
    "added_tokens": [{"content": str, "id": int}],
}


class AddedToken(NamedTuple):
    """A token that is found in a text before the text is split into words.

    Attributes:
      content: the token.
      id: its entry of the vocabulary.
      normalized: whether it is found in the text as it is after lower-casing and stripping.
      single_word: whether no letter or digit may stand beside it.
    """

    content: str
    id: int
    normalized: bool = False
    single_word: bool = False


@dataclasses.dataclass(frozen=True)
class TokenizerSettings:
    """Settings of a directory; None for what its files do not say.

    Attributes:
      do_lower_case: casing of the vocabulary.
      strip_accents: whether accents are stripped; None for the value of `do_lower_case`.
      added_tokens: tokens beside the five special ones.
      fingerprint: fingerprint of the vocabulary that the weights were trained with.
      truncation_side: "left" if texts that are too long keep their end, "right" if they keep their
        beginning.
      max_length: maximum number of tokens of an input; None without a limit.
      ids: token → id of `tokenizer.json`, added tokens included; empty without the file.
      notes: one line per file with unknown keys.
    """

    do_lower_case: bool | None = None
    strip_accents: bool | None = None
    added_tokens: tuple[AddedToken, ...] = ()
    fingerprint: str | None = None
    # These two are about inputs, not about the ids of a text.
    truncation_side: str | None = dataclasses.field(default=None, compare=False)
    max_length: int | None = dataclasses.field(default=None, compare=False)
    ids: Mapping[str, int] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def check_keys(
    values: Mapping[str, object], rules: Mapping[str, Rule], path: str, reader: str
) -> str | None:
    """Compares the keys of a file with a table of rules.

    Args:
      rules: key → rule.
      reader: what can be read, for the message, such as "BERT's tokenizer".

    Returns:
      A line that names the keys that are not in the table; None if there are none.

    Raises:
      UserError: a key has a value of another type or out of its range, or one that its rule does
        not list; or a required key is missing.
    """
    unknown = []
    for key, value in values.items():
        rule = rules.get(key)
        where = f"{path}: {key}"
        if rule is None:
            unknown.append(key)
        elif isinstance(rule, tuple):
            _check_choice(value, rule, where, reader)
        elif isinstance(rule, Applied) and rule.smallest is not None and value is not None:
            _check_size(value, rule.smallest, where)
    kinds = {key: rule.kind for key, rule in rules.items() if isinstance(rule, Applied)}
    fields = {key: kind for key, kind in kinds.items() if kind is not object}
    json_files.check_object(values, fields, path)
    if not unknown:
        return None
    return f"{path}: unknown keys are ignored: {', '.join(sorted(unknown))}"


def _check_choice(value: object, choices: tuple, where: str, reader: str) -> None:
    """Raises `UserError` for a value that is none of the choices, of which the first is usual."""
    # In Python 1 is True, and in JSON it is not.
    if not any(type(choice) is type(value) and choice == value for choice in choices):
        usual = next((choice for choice in choices if choice is not None), "unset")
        raise UserError(
            f"{where} is {shortened(repr(value), 80)}: only {reader} can be read, where it is "
            f"{usual}"
        )


def _check_size(value: object, smallest: int, where: str) -> None:
    """Raises `UserError` for a value that is no whole number from `smallest` on; 1e30 is one."""
    # In Python True is an int. NaN and infinity have no remainder.
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value >= smallest and value % 1 == 0:
            return
    raise UserError(
        f"{where} is {shortened(repr(value), 80)}: a whole number of at least {smallest} is "
        "expected"
    )


def read_settings(directory: str) -> TokenizerSettings:
    """Reads the settings in the files of a directory; none for a directory without them.

    Raises:
      UserError: a file is damaged, or describes another tokenizer than BERT's.
    """
    path = os.path.join(directory, TOKENIZER_CONFIG_FILE)
    values = _read(path)
    config = {key: _content(value) for key, value in values.items()}
    casing = _boolean(config, _CASING, path)
    notes = [check_keys(config, _TOKENIZER_CONFIG_KEYS, path, "BERT's tokenizer")]
    settings = TokenizerSettings(
        do_lower_case=casing,
        strip_accents=_boolean(config, _ACCENTS, path),
        fingerprint=_string(config, _FINGERPRINT),
        truncation_side=_string(config, _SIDE),
        max_length=_length(config),
    )
    tokenizer_path = os.path.join(directory, TOKENIZER_FILE)
    tokenizer = json_files.read_object(tokenizer_path)
    notes.append(check_keys(tokenizer, _TOKENIZER_KEYS, tokenizer_path, _TOKENIZER))
    ids = _ids(tokenizer, tokenizer_path)
    # Our own tokenizer.json has other steps with the same result.
    if tokenizer and settings.fingerprint is None:
        _check_tokenizer(tokenizer, tokenizer_path)
        settings, note = _with_normalizer(settings, config, tokenizer, tokenizer_path)
        notes.append(note)
    truncation = json_files.object_in(tokenizer, "truncation")
    check_keys(truncation, _TRUNCATION_KEYS, f"{tokenizer_path}, truncation", _TOKENIZER)
    direction = truncation.get("direction")
    if settings.truncation_side is None and direction is not None:
        settings = dataclasses.replace(settings, truncation_side=direction.lower())
    # sentence-transformers lower-cases in front of a cased tokenizer, which keeps accents.
    sentence_path = os.path.join(directory, _SENTENCE_FILE)
    is_lowered = _boolean(_read(sentence_path), _CASING, sentence_path)
    if is_lowered and settings.do_lower_case is False:
        settings = dataclasses.replace(
            settings, do_lower_case=True, strip_accents=settings.strip_accents is True
        )
    added, more_notes = _added_tokens(directory, values, tokenizer, ids)
    notes += more_notes
    return dataclasses.replace(
        settings,
        added_tokens=added,
        ids=ids,
        notes=tuple(note for note in notes if note),
    )


def _read(path: str) -> dict:
    """Returns the object in a file; empty without the file."""
    return json_files.read_object(path)


def _content(value: object) -> object:
    """Returns the text of a token that is stored with its flags, and other values unchanged."""
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return value["content"]
    return value


def _with_normalizer(
    settings: TokenizerSettings, config: Mapping[str, object], tokenizer: dict, path: str
) -> tuple[TokenizerSettings, str | None]:
    """Returns the settings with casing and accents of a `tokenizer.json`, and a line if it differs
    from the file beside it.

    The classes of transformers put the keys of `tokenizer_config.json` in place of the steps, and
    their defaults where keys are missing; the general ones take the file as it is.
    """
    normalizer = _normalizer(tokenizer, path)
    lowercase = _boolean(normalizer, "lowercase", path)
    accents = _boolean(normalizer, _ACCENTS, path)
    of_file = dataclasses.replace(settings, do_lower_case=lowercase, strip_accents=accents)
    if config.get("tokenizer_class") in _GENERAL_CLASSES:
        return of_file, None
    if settings.do_lower_case is None:
        settings = dataclasses.replace(settings, do_lower_case=True)
    steps = []
    for lowers, strips in (
        (settings.do_lower_case, settings.strip_accents),
        (lowercase, accents),
    ):
        # Without a value accents are stripped where letters are lowered.
        steps.append((lowers, lowers if strips is None else strips))
    if steps[0] == steps[1]:
        return settings, None
    if not config:
        return of_file, (
            f"{path}: casing and accents are those of this file, as there is no "
            f"{TOKENIZER_CONFIG_FILE}: transformers would lower-case and strip accents"
        )
    return settings, (
        f"{path} and {TOKENIZER_CONFIG_FILE} beside it differ in casing or accents: the latter, "
        f"with the defaults of its class, counts, as in transformers (lower-cased: {steps[0][0]}, "
        f"accents stripped: {steps[0][1]})"
    )


def _boolean(values: Mapping[str, object], key: str, path: str) -> bool | None:
    """Returns true or false; None for a missing key. Raises `UserError` for another value."""
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise UserError(f"{path}: {key} is {shortened(repr(value), 80)}: true or false is expected")
    return value


def _length(config: Mapping[str, object]) -> int | None:
    value: Any = config.get(_LENGTH)
    return None if value is None or value >= 1 << 30 else int(value)


def _string(values: Mapping[str, object], key: str) -> str | None:
    value = values.get(key)
    return value if isinstance(value, str) else None


def _list(values: Mapping[str, object], key: str) -> list:
    value = values.get(key)
    return value if isinstance(value, list) else []


def _ids(tokenizer: dict, path: str) -> dict[str, int]:
    """Returns token → id of a `tokenizer.json`; empty if it has no WordPiece vocabulary."""
    model = json_files.object_in(tokenizer, "model")
    # The first versions of the library wrote no type.
    if model.get("type") != "WordPiece" and "continuing_subword_prefix" not in model:
        return {}
    json_files.check_object({"added_tokens": [], **tokenizer}, _WORDPIECE_FIELDS, path)
    # Added tokens may repeat tokens of the model, whose ids count.
    ids = {token["content"]: token["id"] for token in tokenizer.get("added_tokens", ())}
    return ids | model["vocab"]


def _check_tokenizer(tokenizer: dict, path: str) -> None:
    """Refuses a `tokenizer.json` with other steps than BERT's."""
    model = json_files.object_in(tokenizer, "model")
    check_keys(model, _MODEL_KEYS, f"{path}, model", _TOKENIZER)
    step = _only_step(json_files.object_in(tokenizer, "pre_tokenizer"), "pretokenizers")
    name = {"type": step.get("type")}
    check_keys(name, {"type": ("BertPreTokenizer",)}, f"{path}, pre_tokenizer", _TOKENIZER)
    _check_post_processor(json_files.object_in(tokenizer, "post_processor"), path)


def _only_step(step: dict, key: str) -> dict:
    """Returns a step, or the only one of a sequence; a sequence of others is returned as it is."""
    if not step:
        return {"type": "missing"}
    steps = step.get(key)
    if isinstance(steps, list):
        steps = [item if isinstance(item, dict) else {"type": item} for item in steps]
        if step.get("type") == "Sequence" and len(steps) == 1:
            return steps[0]
        names = [str(item.get("type")) for item in steps]
        return {"type": f"Sequence of {', '.join(names)}"}
    return step


def _normalizer(tokenizer: dict, path: str) -> dict:
    """Returns BERT's normalizer of a `tokenizer.json`."""
    steps = json_files.object_in(tokenizer, "normalizer")
    step = _only_step(steps, "normalizers")
    # sentence-transformers 6 writes `do_lower_case` of its own as a step before BERT's.
    is_lowered = step.get("type") == "Sequence of Lowercase, BertNormalizer"
    if is_lowered:
        step = steps["normalizers"][1]
    check_keys(step, _NORMALIZER_KEYS, f"{path}, normalizer", "BertNormalizer")
    if is_lowered:
        # The step before BERT's does not decide whether accents are stripped.
        accents = step["lowercase"] if step.get(_ACCENTS) is None else step[_ACCENTS]
        step = {**step, "lowercase": True, _ACCENTS: accents}
    return step


def _check_post_processor(step: dict, path: str) -> None:
    """Refuses templates other than [CLS] A [SEP] and [CLS] A [SEP] B [SEP]."""
    if step.get("type") != "TemplateProcessing":
        check_keys(
            {"type": step.get("type")},
            {"type": (None, "BertProcessing")},
            f"{path}, post_processor",
            "BERT's tokenizer",
        )
        return
    expected = {"single": [CLS, "A", SEP], "pair": [CLS, "A", SEP, "B", SEP]}
    for key, template in expected.items():
        names = []
        for part in _list(step, key):
            for value in part.values() if isinstance(part, dict) else [part]:
                names.append(str(value.get("id") if isinstance(value, dict) else value))
        if names != template:
            raise UserError(
                f"{path}, post_processor: {key} is {' '.join(names)}, which is not supported: "
                f"BERT's is {' '.join(template)}"
            )


def _added_tokens(
    directory: str, config: dict, tokenizer: dict, ids: Mapping[str, int]
) -> tuple[tuple[AddedToken, ...], list[str | None]]:
    """Returns the added tokens of all files, by their ids, and notes on unknown keys.

    Raises:
      UserError: a special token is not BERT's, or a token is kept by a rule that has no meaning.
    """
    added: dict[str, AddedToken] = {}
    # The oldest format first: later ones have flags, too.
    path = os.path.join(directory, _ADDED_TOKENS_FILE)
    old = _read(path)
    json_files.check_object({"tokens": old}, {"tokens": dict[str, int]}, path)
    for content, id in old.items():
        added[content] = AddedToken(content, id, normalized=True)
    path = os.path.join(directory, _SPECIAL_TOKENS_FILE)
    names = _read(path)
    contents = {key: _content(value) for key, value in names.items()}
    notes = [check_keys(contents, _SPECIAL_TOKEN_KEYS, path, "BERT's tokenizer")]
    for values in (names, config):
        for key in ("additional_special_tokens", "extra_special_tokens"):
            for token in [*_list(values, key), *json_files.object_in(values, key).values()]:
                content = _content(token)
                if not isinstance(content, str):
                    raise UserError(
                        f"{directory}: {key} has {in_one_line(token)}, which is no token"
                    )
                # -1: the vocabulary beside the file has the id.
                added.setdefault(content, AddedToken(content, ids.get(content, -1)))
    kept = set(_list(config, "never_split")) - {*SPECIAL_TOKENS, *added}
    if kept:
        raise UserError(
            f"{os.path.join(directory, TOKENIZER_CONFIG_FILE)}: never_split names "
            f"{', '.join(sorted(kept))}, which only old tokenizers obeyed: make them added "
            f" tokens ({_ADDED_TOKENS_FILE}), or remove the key"
        )
    for id, flags in _listed_tokens(config, tokenizer, directory):
        added[flags["content"]] = AddedToken(
            flags["content"],
            id,
            normalized=bool(flags.get("normalized", not flags.get("special"))),
            single_word=bool(flags.get("single_word")),
        )
    for token in SPECIAL_TOKENS:
        added.pop(token, None)
    return tuple(sorted(added.values(), key=lambda token: token.id)), notes


def _listed_tokens(config: dict, tokenizer: dict, directory: str) -> list[tuple[int, dict]]:
    """Returns (id, flags) of the added tokens in `tokenizer_config.json` and `tokenizer.json`."""
    listed = [
        (TOKENIZER_CONFIG_FILE, id, flags)
        for id, flags in json_files.object_in(config, _ADDED_TOKENS).items()
    ]
    for flags in _list(tokenizer, "added_tokens"):
        id = flags.get("id") if isinstance(flags, dict) else None
        listed.append((TOKENIZER_FILE, id, flags))
    tokens = []
    for file_name, id, flags in listed:
        path = os.path.join(directory, file_name)
        if not re.fullmatch(r"\d{1,9}", str(id)):
            raise UserError(f"{path}: the added token {in_one_line(flags)} has no id")
        where = f"{path}: the added token {id}"
        json_files.check_object(flags, _TOKEN_FIELDS, where)
        # Only the class that reads the other file has defaults. BERT's own tokens are known.
        if file_name == TOKENIZER_FILE and flags["content"] not in SPECIAL_TOKENS:
            json_files.check_object(flags, dict.fromkeys(_TOKEN_FLAGS, bool), where)
        tokens.append((int(id), flags))
    return tokens


def write_settings(directory: str, settings: TokenizerSettings, **more: object) -> None:
    """Writes `tokenizer_config.json`, unless nothing is known.

    Args:
      directory: directory of the vocabulary.
      more: further keys that Hugging Face's tokenizers read.

    Raises:
      UserError: the file can't be written.
    """
    values: dict[str, object] = {}
    if settings.do_lower_case is not None:
        values[_CASING] = settings.do_lower_case
    if settings.strip_accents is not None:
        values[_ACCENTS] = settings.strip_accents
    if settings.added_tokens:
        decoder = {}
        for token in settings.added_tokens:
            decoder[str(token.id)] = flags_of(token)
        values[_ADDED_TOKENS] = decoder
    values = {**more, **values}
    if settings.fingerprint is not None:
        values[_FINGERPRINT] = settings.fingerprint
    if values:
        values = {"tokenizer_class": "BertTokenizer", **values}
        json_files.write(os.path.join(directory, TOKENIZER_CONFIG_FILE), values)


def flags_of(token: AddedToken, special: bool = False) -> dict[str, object]:
    """Returns an added token as Hugging Face's files describe it.

    With `split_special_tokens`, which exports set, transformers does not find tokens that are
    marked as special: only the five of BERT are.
    """
    return {
        "content": token.content,
        "single_word": token.single_word,
        "lstrip": False,
        "rstrip": False,
        "normalized": token.normalized,
        "special": special,
    }


def casing_of_release(directory: str) -> bool | None:
    """Returns the casing of a model that Google released, by the name of its directory.

    The releases contain no other hint. None for other names.
    """
    path = files.absolute(directory)
    name = os.path.basename(path).lower()
    if "uncased" in name or name in ("chinese_l-12_h-768_a-12", "multilingual_l-12_h-768_a-12"):
        return True
    if "cased" in name:
        return False
    return None
