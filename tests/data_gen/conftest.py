import pytest

from data_gen.tokenization import nanotoken_engine
from tests.data_gen.tokenization.common import set_way


@pytest.fixture(params=["chunks", "vectorized", "nanotoken"])
def way(request, monkeypatch):
    """Each of the implementations."""
    if request.param == "nanotoken" and nanotoken_engine.installed() is None:
        pytest.skip("needs nanotoken")
    set_way(request.param, monkeypatch)
    return request.param
