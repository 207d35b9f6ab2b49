import json

import matplotlib
import pytest

from tests.page_commands import PROJECT

_NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))
# A setting of a notebook → one that takes seconds.
_SMALL = {
    "vocab_size=3000": "vocab_size=400",
    '("corpus", 10)': '("corpus", 1)',
    "num_train_steps=400": "num_train_steps=2",
    "num_warmup_steps=40": "num_warmup_steps=1",
    "eval_steps=100": "eval_steps=1",
    "epochs, batch = 5, 8": "epochs, batch = 1, 200",
}


def _code(path) -> list[dict]:
    return [
        cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", _NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    (tmp_path / "samples").symlink_to(PROJECT / "samples")
    # Editors start a notebook in its directory, Jupyter where it was started.
    start = tmp_path / "notebooks"
    start.mkdir()
    monkeypatch.chdir(start if path.stem == "fine_tuning" else tmp_path)
    names: dict = {"__name__": "__main__"}
    for cell in _code(path):
        source = "".join(cell["source"])
        for long, small in _SMALL.items():
            source = source.replace(long, small)
        exec(compile(source, path.name, "exec"), names)
    assert list((tmp_path / "output").iterdir())


def test_the_small_settings_are_those_of_the_notebooks():
    sources = "".join("".join(cell["source"]) for path in _NOTEBOOKS for cell in _code(path))
    assert len(_NOTEBOOKS) == 2 and not [long for long in _SMALL if long not in sources]


@pytest.mark.parametrize("path", _NOTEBOOKS, ids=lambda path: path.stem)
def test_it_was_run_in_order_and_without_an_error(path):
    cells = _code(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert {"stream", "display_data"} <= kinds and "error" not in kinds
