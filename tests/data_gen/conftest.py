import pytest

from data_gen.tokenization import tokenizer as tokenization
from tests.data_gen.tokenization.common import WAYS


@pytest.fixture(params=["chunks", "vectorized"])
def way(request, monkeypatch):
    """Each of the two implementations."""
    monkeypatch.setattr(tokenization, "_SMALLEST_BATCH", WAYS[request.param])
    return request.param
