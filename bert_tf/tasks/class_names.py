"""Names of the classes of a checkpoint's head, compared with the names in the data.

Input: the names of the task or of a file, and those that a checkpoint gives to its head. Output:
the names of the data in the order of the head. Published heads spell names in capitals, have
them in another order, or have none but LABEL_0, LABEL_1, …; a head for other names is no head for
the task.
"""

import re
from collections.abc import Mapping, Sequence

_is_nameless = re.compile(r"LABEL_\d+", re.IGNORECASE).fullmatch


def order_of_head(
    labels: Sequence[str], head_names: Sequence[str], meanings: Mapping[str, str] | None = None
) -> list[str] | None:
    """Returns a name for each class of a head: the name in the data, where they have it.

    Args:
      labels: names of the data; they need not be all that the head has.
      head_names: names of the head by number; empty if it has none.
      meanings: label of the data → another name of it, for labels that are numbers.

    Returns:
      As many names as the head has, or `labels` if the head's names say nothing; None if the head
      has other names.
    """
    if is_nameless(head_names):
        return list(labels) if len(head_names) in (0, len(labels)) else None
    # A head may distinguish two names by their case only: then these are compared as they are.
    folds = len({name.casefold() for name in head_names}) == len(head_names)
    for known_by in ({}, {} if meanings is None else meanings):
        label_of = {}
        for label in labels:
            name = known_by.get(label, label)
            label_of[name.casefold() if folds else name] = label
        names = []
        for name in head_names:
            names.append(label_of.pop(name.casefold() if folds else name, name))
        if not label_of:
            return names
    return None


def is_nameless(head_names: Sequence[str]) -> bool:
    """Whether the names of a head say nothing about its classes."""
    return all(_is_nameless(name) for name in head_names)


def order_notes(
    labels: Sequence[str], head_names: Sequence[str], meanings: Mapping[str, str] | None = None
) -> list[str]:
    """Returns a line that says how the classes of a head were taken; none if they have the names
    of the data, or others."""
    if not head_names or list(labels) == list(head_names):
        return []
    if len(labels) != len(head_names):
        return []
    if order_of_head(labels, head_names, meanings) != list(labels):
        return []
    pairs = []
    for name, label in zip(head_names, labels, strict=True):
        pairs.append(f"{name} = {label}")
    if is_nameless(head_names):
        reason = " (the checkpoint has no names for them: check the order)"
    else:
        reason = ""
    return [f"the classes of the checkpoint's head: {', '.join(pairs)}{reason}"]
