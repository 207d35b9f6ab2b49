import types

import pytest

from common.checks import check_at_least
from common.errors import UserError

_OPTIONS = types.SimpleNamespace(seed=0, batch_size=1, steps=None, below=-1)


def test_what_is_large_enough_or_not_given_passes():
  check_at_least(_OPTIONS, 0, "seed", "batch_size", "steps")
  check_at_least(_OPTIONS, 1, "batch_size", "steps")


@pytest.mark.parametrize(("least", "names", "message"), [
    (1, ("batch_size", "seed", "below"), "--seed is 0, it must be at least 1"),
    (0, ("seed", "below"), "--below is -1, it must not be negative")])
def test_the_first_that_is_too_small_is_named(least, names, message):
  with pytest.raises(UserError, match=f"^{message}$"):
    check_at_least(_OPTIONS, least, *names)
