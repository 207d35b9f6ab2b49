from collections.abc import Callable

import pytest

from bert_common.errors import UserError


def assert_refused(call: Callable[[], object], *parts: str) -> None:
    """Asserts that the call ends with one line that contains the parts."""
    with pytest.raises(UserError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message
