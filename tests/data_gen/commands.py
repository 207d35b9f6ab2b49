from collections.abc import Callable

from bert_common import cli
from bert_common.options import Options


def run_command(options: type[Options], work: Callable, **flags: object) -> None:
    """Does the work of a script as its command line would be read, files that must be there
    included."""
    parsed = cli.parse(options, ["script", *(f"--{name}={value}" for name, value in flags.items())])
    parsed.check_inputs()
    work(parsed)
