"""Makes `tokenizer_settings.json`: ids of transformers 5 for directories with other settings.

    python tests/golden/make_tokenizer_settings.py

The lines and the vocabulary are made up; a directory is described by its files, which the test
writes again.
"""

import json
import os
import tempfile
import unicodedata

LINES = [
    "Schön, daß Österreich im März GRÜNE Wiesen hat!",
    "El niño comió piñas en Málaga; ¿vendrá mañana?",
    "Zażółć gęślą jaźń, Łódź i Kraków.",
    "Việt Nam rất đẹp, à l'école naïve.",
    "東京は大きい。北京 很大!",
    "Ёлка и йод, МОСКВА; Αθήνα και Κρήτη.",
    "[E1] Marie Curie [/E1] was born in [E2]Warsaw[/E2], <e1>not Paris<e1>.",
    "Covid-19, COVID-19er and xcovid-19; tiktok TikTok tiktoker.",
    "cafe\u0301 Cafe\u0301-Bar \u1e9b\u0323 \ufb01n a\u200bb\tc\u00a0d",
    "don't U.S.A. 3.14 (a+b)=c $5 ^ ` ~ …",
]
_STEPS = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": None,
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
}


def vocabulary() -> list[str]:
    """Returns the special tokens, all characters of the lines in every form, and some words."""
    text = "".join(LINES)
    characters = set()
    for form in (text, text.lower(), unicodedata.normalize("NFD", text.lower() + text)):
        characters |= {character for character in form if not character.isspace()}
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]"]
    tokens += ["schön", "schon", "niño", "nino", "jaźń", "café", "cafe", "TikTok", "tik", "##tok"]
    tokens += sorted(characters)
    tokens += [f"##{character}" for character in sorted(characters)]
    return tokens


def tokenizer_file(tokens: list[str], normalizer: dict, added: list[dict]) -> dict:
    """Returns a `tokenizer.json`."""
    special = []
    for id, token in enumerate(tokens[:5]):
        special.append(_added(id, token, special=True))
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: id for id, token in enumerate(tokens)},
    }
    return {
        **_STEPS,
        "added_tokens": special + added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            **normalizer,
        },
        "model": model,
    }


def _added(id: int, content: str, **flags: bool) -> dict:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": id, "content": content, **usual, "special": False, **flags}


def directories(tokens: list[str]) -> dict[str, dict[str, object]]:
    """Returns name → (name of the file → its content, JSON or the vocabulary)."""
    size = len(tokens)
    markers = [
        _added(size + number, marker, special=True)
        for number, marker in enumerate(("[E1]", "[/E1]", "[E2]", "[/E2]", "<e1>"))
    ]
    words = [
        _added(size, "covid-19", normalized=True),
        _added(size + 1, "tiktok", normalized=True, single_word=True),
    ]
    old_words = {"covid-19": size, "[E1]": size + 1, "[/E1]": size + 2}
    config = "tokenizer_config.json"
    general = {"tokenizer_class": "PreTrainedTokenizerFast"}
    cased = {"lowercase": False, "strip_accents": None}
    uncased = {"lowercase": True, "strip_accents": None}
    return {
        "plain": {"vocab.txt": tokens, config: {"do_lower_case": True}},
        "accents kept": {
            "vocab.txt": tokens,
            config: {"do_lower_case": True, "strip_accents": False},
        },
        "cased, stripped": {
            "vocab.txt": tokens,
            config: {"do_lower_case": False, "strip_accents": True},
        },
        "cased, in tokenizer.json": {
            "tokenizer.json": tokenizer_file(tokens, cased, []),
            config: general,
        },
        "accents kept, in tokenizer.json": {
            "tokenizer.json": tokenizer_file(tokens, {**uncased, "strip_accents": False}, []),
            config: general,
        },
        "markers": {
            "tokenizer.json": tokenizer_file(tokens, uncased, markers),
            config: {"tokenizer_class": "BertTokenizer", "do_lower_case": True},
        },
        "words": {"tokenizer.json": tokenizer_file(tokens, uncased, words), config: general},
        "words, cased": {"tokenizer.json": tokenizer_file(tokens, cased, words), config: general},
        "added_tokens.json": {
            "vocab.txt": tokens,
            "added_tokens.json": old_words,
            config: {"do_lower_case": True},
        },
        "markers in unused entries": {
            "vocab.txt": [*tokens[:5], "[E1]", "[/E1]", *tokens[7:]],
            "special_tokens_map.json": {"additional_special_tokens": ["[E1]", "[/E1]"]},
            config: {"do_lower_case": True},
        },
    }


def write(directory: str, contents: dict[str, object]) -> None:
    """Writes the files of a directory."""
    for name, content in contents.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            if name.endswith(".txt"):
                file.write("".join(f"{token}\n" for token in content))
            else:
                json.dump(content, file)


def main() -> None:
    from transformers import AutoTokenizer

    tokens = vocabulary()
    golden = {}
    for name, contents in directories(tokens).items():
        with tempfile.TemporaryDirectory() as directory:
            write(directory, {**contents, "config.json": {"model_type": "bert"}})
            tokenizer = AutoTokenizer.from_pretrained(directory)
            golden[name] = tokenizer(LINES, add_special_tokens=False)["input_ids"]
    path = os.path.join(os.path.dirname(__file__), "tokenizer_settings.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(
            golden,
            file,
        )
        file.write("\n")


if __name__ == "__main__":
    main()
