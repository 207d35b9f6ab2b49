import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a text, bytes or, of other values, a JSON file; returns its path."""

    def write_file(content, name: str = "train.tsv") -> str:
        path = tmp_path / name
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write_file
