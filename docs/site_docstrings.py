"""What the API reference does with docstrings: the lines below `Examples:` are Python, without
prompts."""

import re
import textwrap

import griffe

_EXAMPLES = re.compile(r"^( *)Examples:\n(.*)\Z", re.MULTILINE | re.DOTALL)


class Examples(griffe.Extension):
    """Shows examples as code."""

    def on_instance(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring:
            obj.docstring.value = _EXAMPLES.sub(_fenced, obj.docstring.value)


def _fenced(match: re.Match) -> str:
    code = f"```python\n{textwrap.dedent(match[2]).strip()}\n```"
    return f"{match[1]}Examples:\n{textwrap.indent(code, match[1] + '  ')}"
