"""User errors, and what is imported when it is asked for by name, and may not be installed."""

import difflib
import re
from collections.abc import Iterable

from bert_common import WrongEnvironment

# Of 400 characters: a name of a file is hardly longer, and a damaged value may be a million. Both
# its ends are shown.
_LONG_WORD = re.compile(r"(\S{60})\S{280,}(\S{60})")
_LONGEST_MESSAGE = 1200
# What a terminal, or a reader of lines, would take for something else than a character, as in names
# of files.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Parts of TensorFlow's messages that name its own insides, and temporary names of ours: folders of
# `files.local_copy`, files that are not complete yet (`.<name>.<random>.bert-tf.tmp`).
_INSIDES = re.compile(
    r"\{\{function_node [^}]*\}\}\s*|\s*\[Op:\w*\](\s*name:\s*)?|\s*\[\[\{\{.*|\S*/copy\.\w{8}/"
)
_UNFINISHED = re.compile(r"\.(?P<name>[^/\s]+)\.[a-z0-9_]{8}\.bert-tf\.tmp")
# User and password in an address.
_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]*@")
# Lines before TensorFlow's message that name places in the program.
_PLACES = re.compile(r"Graph execution error:|Detected at node |  File ")
# Modules of optional packages: the package's name, and the extra of ours that brings it.
_OPTIONAL = {
    "tensorflow_text": ("tensorflow-text", "text"),
    "onnx": ("onnx", "onnx"),
    "onnxruntime": ("onnxruntime", "onnx"),
    "huggingface_hub": ("huggingface_hub", "hub"),
    "matplotlib": ("matplotlib", "plots"),
    "mlflow": ("mlflow-skinny", "mlflow"),
    "wandb": ("wandb", "wandb"),
    "tensorboard_plugin_profile": ("tensorboard-plugin-profile", "profile"),
}
# Raised by mistakes in the program only.
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

    The message is one line that says what is wrong, where and how to fix it. Scripts print it
    without a traceback and end with exit status 2 (`bert_common/cli.py`). Everything else that is
    raised is a bug of ours. Control characters are escaped, passwords in addresses left out; words
    of hundreds of characters, and texts of many words, are shortened.
    """

    def __init__(self, message: str):
        message = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], message.replace("\n", " "))
        message = _LONG_WORD.sub(r"\1…\2", without_passwords(message))
        super().__init__(
            message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        )


def without_passwords(text: str) -> str:
    """The text with the password of each address replaced: "http://me:***@host"."""
    return _PASSWORD.sub(r"\1:***@", text)


def in_one_line(error: object, longest: int = 300, most_lines: int | None = None) -> str:
    """The message of a library's exception, or its first lines, as a part of one of ours."""
    lines = [
        line
        for line in str(getattr(error, "message", None) or error).split("\n")
        if line.strip() and not _PLACES.match(line)
    ]
    text = _INSIDES.sub("", "\n".join(lines[:most_lines]))
    return without_passwords(" ".join(_UNFINISHED.sub(r"\g<name>", text).split()))[:longest]


def needs_package(what: str, module: str | None) -> UserError | None:
    """The error of something ("--format=onnx") that is asked for without its optional package, with
    the extra to install; None for modules (`ModuleNotFoundError.name`) of other packages."""
    name = (module or "").partition(".")[0]
    if name not in _OPTIONAL:
        return None
    package, extra = _OPTIONAL[name]
    return UserError(
        f"{what} needs the package {package}: pip install 'bert-tf[{extra}]', in a clone pip install "
        f"'.[{extra}]'"
    )


def as_user_error(error: Exception) -> UserError | None:
    """One line for an exception that nobody has expected; None where it can only be a mistake in
    the program.

    Files, texts, disks, memory and what libraries say of them come as `OSError`, `ValueError`,
    `MemoryError`, `tf.errors.OpError` and classes of each library's own.
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, WrongEnvironment):
        return UserError(str(error))
    if isinstance(error, _BUGS) and not isinstance(error, RecursionError):
        return None
    if isinstance(error, ModuleNotFoundError) and (missing := needs_package("this", error.name)):
        return missing
    text = in_one_line(error, most_lines=1)
    if isinstance(error, OSError) and error.strerror:
        text = (
            f"{in_one_line(error.filename)}: {error.strerror}" if error.filename else error.strerror
        )
    elif isinstance(error, MemoryError):
        text = f"memory ran out{f': {text}' if text else ''}"
    else:
        text = f"{type(error).__name__}{f': {text}' if text else ''}"
    return UserError(f"{text} (--debug shows where)")


def did_you_mean(word: str, known: Iterable[str], closest: float = 0.6) -> str:
    """ ": did you mean X?" with the known word that is most like a misspelt one, as `closest`, from
    0 to 1, at least; case does not count. "" where none is."""
    folded = {one.lower(): one for one in known}
    near = difflib.get_close_matches(word.lower(), folded, 1, closest)
    return f": did you mean {folded[near[0]]}?" if near else ""
