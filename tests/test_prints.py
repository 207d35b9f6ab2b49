"""What is printed: names of files, labels and texts are anybody's, and a terminal obeys some."""

import ast

from bert_common import errors
from tests.page_commands import PROJECT

# Files whose prints hold nothing from outside, or escape it themselves.
_OWN = {
    "bert_common/__init__.py",
    "bert_common/cli.py",
    "bert_common/errors.py",
    "bert_common/progress.py",
    # Colors of tokens, in which the tokenizer leaves no control character.
    "data_gen/pretraining/generation.py",
}


def test_everything_from_outside_is_printed_by_say():
    for package in ("bert_common", "bert_tf", "data_gen", "modeling"):
        for path in (PROJECT / package).rglob("*.py"):
            name = str(path.relative_to(PROJECT))
            for node in ast.walk(ast.parse(path.read_text())):
                is_print = isinstance(node, ast.Name) and node.id == "print"
                assert not is_print or name in _OWN, f"{name}:{node.lineno}: use `say`"


def test_say_escapes_what_a_terminal_obeys(capsys):
    errors.say("a\x1b[31mb\u202ec\r\n\td")
    assert capsys.readouterr().out == "a\\x1b[31mb\\u202ec\\r\n\td\n"
