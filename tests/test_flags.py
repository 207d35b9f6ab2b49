"""Flags are a contract with users: their names are frozen in tests/flags.txt."""

from tests.flags import LIST, all_flags


def _pairs(text: str) -> set[tuple[str, str]]:
    """Returns (script, flag) for every entry of the list."""
    pairs = set()
    for line in text.splitlines():
        flag, scripts = line.split(": ")
        pairs.update((script, flag) for script in scripts.split())
    return pairs


def test_names_of_flags_are_frozen():
    frozen = _pairs(LIST.read_text("utf-8"))
    current = _pairs(all_flags())
    missing = sorted(f"{script} --{flag}" for script, flag in frozen - current)
    added = sorted(f"{script} --{flag}" for script, flag in current - frozen)
    assert not missing, (
        f"{missing} are gone, and with them commands of users. Keep the old name as an alias, or "
        "add a row to CHANGELOG.md's table of removed things and run `python -m tests.flags`"
    )
    assert not added, (
        f"{added} are new. A flag stays for good: if it is worth that, document it on its page and "
        "run `python -m tests.flags`"
    )
