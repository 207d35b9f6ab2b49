import dataclasses
import re
import xml.etree.ElementTree as ET

import pytest

from bert_common.errors import UserError
from experiments.figures import FigureOptions, run
from tests import tiny

NAMES = [f"figure{number}" for number in (1, 2, 3, 4)]


def draw(folder, checkpoint, *texts: str) -> dict[str, str]:
    options = FigureOptions(
        init_checkpoint=str(checkpoint), output_dir=str(folder / "out"), texts=texts
    )
    options.check()
    run(options)
    return {name: (folder / "out" / f"{name}.svg").read_text("utf-8") for name in NAMES}


def words(picture: str) -> list[str]:
    return [
        element.text for element in ET.fromstring(picture).iter() if element.tag.endswith("text")
    ]


def test_the_figures_of_the_pages_are_those_of_the_model(project, tmp_path):
    drawn = draw(tmp_path, project / "samples/tiny_books")
    for name, picture in drawn.items():
        assert picture == (project / f"docs/plots/{name}.svg").read_text("utf-8")


def test_another_model_and_other_texts_are_drawn_otherwise(tmp_path):
    pictures = []
    for layers, texts in ((3, ("the array", "a list .")), (2, ("sorted", "who ?"))):
        folder = tmp_path / str(layers)
        folder.mkdir()
        config = dataclasses.replace(tiny.CONFIG, num_hidden_layers=layers)
        (folder / "model").mkdir()
        tiny.write_tiny(folder / "model", "masked_lm", "next_sentence", config=config)
        pictures.append(draw(folder, folder / "model", *texts))
    three, two = pictures
    assert "E(array)" in words(three["figure2"]) and "E(array)" not in words(two["figure2"])
    # The tables of the model: 21 words, 2 segments, 24 positions.
    assert words(two["figure2"])[1:6:2] == ["21×12", "2×12", "24×12"]
    assert "layer 3" in words(three["figure3"]) and "layer 3" not in words(two["figure3"])
    assert "L=2" in words(two["figure1"]) and "L=3" in words(three["figure4"])
    # [CLS] sort ##ed [SEP] who ? [SEP]: every token sees every other, or those before it.
    lines = [path.count("L") for path in re.findall(r'<path d="(M[^"]*L[^"]*)"', two["figure3"])]
    assert lines == [49, 49, 28, 28]
    assert "[MASK]" in words(two["figure1"]) and words(two["figure4"]).count("T: 9 tags") == 2


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("one",), "two texts"),
        (("one", " "), "two texts"),
        (("the " * 30, "a"), "more than 24 tokens"),
    ],
)
def test_what_can_not_be_drawn(texts, message, tmp_path):
    (tmp_path / "model").mkdir()
    tiny.write_tiny(tmp_path / "model")
    with pytest.raises(UserError, match=message):
        draw(tmp_path, tmp_path / "model", *texts)
