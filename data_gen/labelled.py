"""Former name of the package `data_gen.labeled`, for programs that import it."""

import importlib
import pkgutil
import sys

from data_gen import labeled

for _module in pkgutil.iter_modules(labeled.__path__):
    sys.modules[f"{__name__}.{_module.name}"] = importlib.import_module(
        f"{labeled.__name__}.{_module.name}"
    )
sys.modules[__name__] = labeled
