"""Plug-in points: tables of modules that are imported only when somebody asks for them by name.

Input: a name. Output: a class or function of an optional module, or one line that says what to install.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from bert_common.errors import UserError, needs_package


@dataclasses.dataclass(frozen=True)
class Plugins:
    """What can be plugged in at one place, "export format" say: name → "module:attribute"."""

    what: str
    targets: Mapping[str, str]

    def load(self, name: str) -> Any:
        """The attribute of a name; raises `UserError` where its module, or a library that it needs,
        is not installed."""
        module, _, attribute = self.targets[name].partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            raise needs_package(f"the {self.what} {name}", error.name) or UserError(
                f"the {self.what} {name} is not installed: there is no module {error.name}"
            ) from None
