"""Plug-in points: tables of modules that are imported only when somebody asks for them by name.

Input: a name. Output: a class or function of an optional module, or one line with the package to
install.
"""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from bert_common.errors import UserError, needs_package


@dataclasses.dataclass(frozen=True)
class Plugins:
    """Table of the plug-ins of one kind.

    Attributes:
      kind: words for messages, e.g. "export format".
      targets: name → "module:attribute".
    """

    kind: str
    targets: Mapping[str, str]

    def load(self, name: str) -> Any:
        """Imports the module of a name and returns the attribute.

        Raises:
          UserError: the module, or a library that it needs, is not installed.
        """
        module, _, attribute = self.targets[name].partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            missing = needs_package(f"the {self.kind} {name}", error.name)
            if missing is not None:
                raise missing from None
            raise UserError(
                f"the {self.kind} {name} is not installed: there is no module {error.name}"
            ) from None
