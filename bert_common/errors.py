"""Errors with a one-line message for the user, and the extras that bring optional packages."""

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from bert_common import WrongEnvironment

# Words of 400 characters and more keep both ends: file names are hardly longer, but a damaged value
# may have a million characters.
_LONG_WORD = re.compile(r"(\S{60})\S{280,}(\S{60})")
_LONGEST_MESSAGE = 1200
# Characters that a terminal, or a reader of lines, would obey (control characters, directions of
# writing), and halves of surrogate pairs; names of files, labels and tokens may contain them.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Internal names in TensorFlow's messages, and our temporary names: folders of `files.local_copy`
# and files that are not complete yet (`.<name>.<random>.bert-tf.tmp`).
_INSIDES = re.compile(
    r"\{\{function_node [^}]*\}\}\s*|\s*\[Op:\w*\](\s*name:\s*)?|\s*\[\[\{\{.*"
    r"|\S*/copy\.\w{8}(\.bert-tf\.tmp)?/"
)
_UNFINISHED = re.compile(r"\.(?P<name>[^/\s]+)\.[a-z0-9_]{8}\.bert-tf\.tmp")
# User, password or token in an address: all up to the last @ before the path. A password may hold a
# slash, which begins a path after the number of a port.
_USER = re.compile(r"(?<=://)(?:[^/\s?#\"]*|[^/\s:@\"]+:(?!\d+/)[^\s:@\"]*)@(?=[\w.\[-])")
# Signatures and keys in an address, and tokens of Hugging Face's hub anywhere.
_QUERY = re.compile(r"(\w://[^\s?'\"]*)\?[^\s'\"]*=[^\s'\"]*")
_TOKEN = re.compile(r"\bhf_\w{20,}")
# Lines that name positions in the program, before TensorFlow's message.
_POSITIONS = re.compile(r"Graph execution error:|Detected at node |  File ")
# Module of an optional package → the package's name, and our extra that brings it.
_OPTIONAL = {
    "tensorflow_text": ("tensorflow-text", "text"),
    "onnx": ("onnx", "onnx"),
    "onnxruntime": ("onnxruntime", "onnx"),
    "ai_edge_litert": ("ai-edge-litert", "litert"),
    "huggingface_hub": ("huggingface_hub", "hub"),
    "pyarrow": ("pyarrow", "parquet"),
    "apache_beam": ("apache-beam", "beam"),
    "matplotlib": ("matplotlib", "plots"),
    "mlflow": ("mlflow-skinny", "mlflow"),
    "wandb": ("wandb", "wandb"),
    "tensorboard_plugin_profile": ("tensorboard-plugin-profile", "profile"),
}
# Types that only mistakes in the program raise.
_BUGS = (
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ZeroDivisionError,
)


class UserError(Exception):
    """Something outside the program is wrong: a file, a line in it, a flag, a disk.

    The message is one line that contains the problem, its position and the fix. Scripts print it
    without a traceback and end with exit status 2 (`bert_common/cli.py`). Any other exception is a
    bug of ours. Control characters are escaped and secrets in addresses removed; words of
    hundreds of characters, and texts of many words, are shortened.
    """

    def __init__(self, message: str):
        # Control characters are escaped first, since an escape makes a long word even longer.
        message = visible(message.replace("\n", " "))
        # Secrets go before anything is cut: half of a password is still a part of it.
        message = _LONG_WORD.sub(r"\1…\2", without_passwords(message))
        super().__init__(shortened(message, _LONGEST_MESSAGE))


def without_passwords(text: str) -> str:
    """Returns the text without the secrets of its addresses: user, password, token and query.

    "http://me:secret@host/a?sig=key" gives "http://***@host/a?***".
    """
    if "://" in text:
        text = _QUERY.sub(r"\1?***", _USER.sub("***@", text))
    return _TOKEN.sub("hf_***", text)


def without_secrets(value: Any) -> Any:
    """Returns a value of JSON, or tuples, with every text in it `without_passwords`."""
    if isinstance(value, str):
        return without_passwords(value)
    if isinstance(value, (list, tuple)):
        return type(value)(without_secrets(item) for item in value)
    if isinstance(value, dict):
        return {key: without_secrets(item) for key, item in value.items()}
    return value


def shortened(text: str, length: int) -> str:
    """Returns a text; only its first `length` characters and an ellipsis if it has more."""
    if len(text) > length:
        return f"{text[:length]}…"
    return text


def listed(names: Iterable, show: Callable[[Any], str] = str) -> str:
    """Returns names for a message, each as `show` gives it, with commas; "none" without any."""
    texts = [show(name) for name in names]
    if not texts:
        return "none"
    return ", ".join(texts)


def visible(text: str, unescaped: str = "") -> str:
    """Returns a text from data with the characters escaped that a terminal would obey.

    Args:
      unescaped: characters that stay, such as line breaks.
    """

    def escape(match: re.Match) -> str:
        if match[0] in unescaped:
            return match[0]
        return ascii(match[0])[1:-1]

    return _CONTROL.sub(escape, text)


def say(text: str, file: TextIO | None = None) -> None:
    """Prints a text for the user, to standard output by default, with `visible` characters only.

    Names of files, labels and texts are anybody's.
    """
    print(visible(text, unescaped="\n\t"), file=file, flush=True)


def in_one_line(error: object, longest: int = 300, most_lines: int | None = None) -> str:
    """Returns the message of a library's exception as a part of one of our messages.

    Args:
      longest: maximum number of characters.
      most_lines: maximum number of lines of the library's message; None for all.
    """
    lines = []
    for line in message_of(error).split("\n"):
        if line.strip() and not _POSITIONS.match(line):
            lines.append(line)
    # The line breaks are kept until here because a pattern removes the rest of a line.
    text = _INSIDES.sub("", "\n".join(lines[:most_lines]))
    return without_passwords(" ".join(_UNFINISHED.sub(r"\g<name>", text).split()))[:longest]


def message_of(error: object) -> str:
    """Returns the message of an exception; TensorFlow's have it in an attribute."""
    message = getattr(error, "message", None)
    if message:
        return str(message)
    return str(error)


def needs_package(feature: str, module: str | None) -> UserError | None:
    """Returns the error for a missing optional package, with the extra to install.

    Args:
      feature: the option or action that needs it, e.g. "--format=onnx".
      module: `ModuleNotFoundError.name`.

    Returns:
      None for modules that belong to no optional package.
    """
    if module is None:
        return None
    name = module.partition(".")[0]
    if name not in _OPTIONAL:
        return None
    package, extra = _OPTIONAL[name]
    return UserError(
        f"{feature} needs the package {package}: pip install '.[{extra}]' in a clone of the project"
    )


def as_user_error(error: Exception) -> UserError | None:
    """Returns an unexpected exception as an error of one line; None for a bug of ours.

    Problems of files, texts, disks and memory arrive as `OSError`, `ValueError`, `MemoryError`,
    `tf.errors.OpError` and classes of each library.
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, WrongEnvironment):
        return UserError(str(error))
    # RecursionError is a RuntimeError, but deeply nested JSON of a user raises it as well.
    if isinstance(error, _BUGS) and not isinstance(error, RecursionError):
        return None
    if isinstance(error, ModuleNotFoundError):
        missing = needs_package("this", error.name)
        if missing is not None:
            return missing
    # Libraries raise OSError with a text alone, which has no `strerror`.
    if isinstance(error, OSError) and error.strerror:
        where = f"{in_one_line(error.filename)}: " if error.filename else ""
        text = f"{where}{error.strerror}"
    else:
        text = "memory ran out" if isinstance(error, MemoryError) else type(error).__name__
        details = in_one_line(error, most_lines=1)
        if details:
            text += f": {details}"
    return UserError(f"{text} (--debug shows where)")


def did_you_mean(word: str, candidates: Iterable[str], closest: float = 0.6) -> str:
    """Returns ": did you mean X?" for a misspelled word, "" if nothing is similar.

    Args:
      candidates: the words that may be meant; case is ignored.
      closest: smallest similarity, from 0 to 1.
    """
    # Case would count as a difference of every letter, e.g. for a flag in capitals.
    by_lower_case = {candidate.lower(): candidate for candidate in candidates}
    matches = difflib.get_close_matches(word.lower(), by_lower_case, 1, closest)
    if not matches:
        return ""
    return f": did you mean {by_lower_case[matches[0]]}?"
