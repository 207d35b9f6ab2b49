import json

import pytest

from bert_common.errors import UserError


def refusal(function, *arguments, **options) -> str:
    with pytest.raises(UserError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def json_lines(*values) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)
