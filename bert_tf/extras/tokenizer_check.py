"""Self-check of a published tokenizer: ours and the library's read the same hard sentences.

Input: a directory with a `tokenizer.json`, and our tokenizer for it. Output: nothing, or an error
that names the sentence. The library `tokenizers` must be installed.
"""

import hashlib
import json
import os

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers.normalizers import BertNormalizer

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.settings import TOKENIZER_CONFIG_FILE, TOKENIZER_FILE
from data_gen.tokenization.tokenizer import Tokenizer

_CHECKED_FILE = "tokenizers_checked.json"
# Without capital sigmas and characters newer than the library's Unicode, where both differ on
# purpose (docs/tokenization.md).
_SENTENCES = (
    "Schön, daß ÖSTERREICH im März grüne Wiesen hat!",
    "El niño comió piñas en Málaga; ¿vendrá mañana?",
    "Zażółć GĘŚLĄ jaźń, Łódź i Kraków.",
    "Việt Nam rất đẹp, à l'école naïve.",
    "東京は大きい。北京 很大!",
    "Ёлка и йод, МОСКВА.",
    "한국어 문장입니다.",
    "cafe\u0301 Cafe\u0301-Bar a\u200bb\tc\u00a0d",
    "don't U.S.A. 3.14 (a+b)=c $5 ^ ` ~ …",
    "[E1] Marie Curie [/E1], <e1>x</e1> @user #tag http://a.bc/d_e?f=1",
    "Covid-19 iPhone NASA tiktok ABCdef",
    "x1y2 10,000 5% A/B-test snake_case",
)


def check_tokenizer(directory: str, tokenizer: Tokenizer) -> None:
    """Compares both tokenizers, once for the contents of a directory.

    Raises:
      UserError: a sentence has other tokens.
    """
    path = os.path.join(directory, TOKENIZER_FILE)
    text = files.read_text(path)
    config_path = os.path.join(directory, TOKENIZER_CONFIG_FILE)
    config = files.read_text(config_path) if files.exists(config_path) else ""
    digest = hashlib.sha256(json.dumps([text, config, _SENTENCES]).encode()).hexdigest()
    record = os.path.join(files.cache_directory(), _CHECKED_FILE)
    checked = json_files.read_object(record)
    if digest in checked:
        return
    library = LibraryTokenizer.from_str(text)
    # The limit of the file is no difference.
    library.no_truncation()
    library.no_padding()
    # The file may have settings that transformers' classes override by `tokenizer_config.json`.
    library.normalizer = BertNormalizer(
        lowercase=tokenizer.do_lower_case, strip_accents=tokenizer.strip_accents
    )
    for sentence in _SENTENCES:
        theirs = library.encode(sentence, add_special_tokens=False)
        if tokenizer.encode(sentence).tolist() != theirs.ids:
            raise UserError(
                f"{path}: {sentence!r} is {' '.join(theirs.tokens)} by that file, and "
                f"{' '.join(tokenizer.tokenize(sentence))} here: this tokenizer is not supported"
            )
    # A cache that can't be written costs the next check only.
    try:
        files.make_directories(os.path.dirname(record))
        json_files.write(record, {**checked, digest: path})
    except (OSError, UserError):
        return
