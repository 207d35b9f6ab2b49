"""Extension of the API reference: shows the lines below `Examples:` of a docstring as Python."""

import re
import textwrap

import griffe

_EXAMPLES = re.compile(r"^( *)Examples:\n(.*)\Z", re.MULTILINE | re.DOTALL)


class Examples(griffe.Extension):
    """Puts examples, which are written without prompts, into a code block."""

    def on_instance(self, *, obj: griffe.Object, **kwargs) -> None:
        if obj.docstring:
            obj.docstring.value = _EXAMPLES.sub(_code_block, obj.docstring.value)


def _code_block(match: re.Match) -> str:
    indentation = match[1]
    code = f"```python\n{textwrap.dedent(match[2]).strip()}\n```"
    return f"{indentation}Examples:\n{textwrap.indent(code, indentation + '  ')}"
