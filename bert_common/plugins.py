"""Plug-in points: tables of names and the modules behind them, imported when a name is asked for."""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from bert_common.errors import UserError, needs_package


@dataclasses.dataclass(frozen=True)
class Plugins:
  """What can be plugged in at one place.

  Attributes:
    what: one of them, as messages name it: "export format".
    targets: name → "module:attribute".
  """

  what: str
  targets: Mapping[str, str]

  def load(self, name: str) -> Any:
    """The attribute behind a name.

    Raises:
      UserError: its module, or a library that it needs, is not installed.
      KeyError: the table has no such name.
    """
    module, _, attribute = self.targets[name].partition(":")
    try:
      return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
      raise needs_package(f"the {self.what} {name}", error.name) or UserError(
          f"the {self.what} {name} is not installed: there is no module {error.name}") from None
