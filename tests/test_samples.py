import pytest

from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.load import open_checkpoint
from tests.conftest import PROJECT

SAMPLES = PROJECT / "samples"


@pytest.mark.parametrize(
    ("name", "megabytes", "shape"),
    [("tiny_books", 4, (2, 128, 4000, 128)), ("mini_books", 12, (4, 256, 8000, 512))],
)
def test_a_model_is_small_and_whole(name, megabytes, shape):
    assert sum(path.stat().st_size for path in (SAMPLES / name).iterdir()) < megabytes * 1e6
    config = open_checkpoint(str(SAMPLES / name)).config
    assert (
        config.num_hidden_layers,
        config.hidden_size,
        config.vocab_size,
        config.max_position_embeddings,
    ) == shape


@pytest.mark.parametrize("name", ["tiny_books", "mini_books"])
def test_it_has_learned_what_the_pages_show(name):
    fill = Predictor.from_checkpoint(str(SAMPLES / name), task="fill_mask")
    texts = {
        "He opened the [MASK] and looked out.": "door",
        '"I do not know," [MASK] the old man.': "said",
        "She closed her [MASK] and went to sleep.": "eyes",
    }
    for text, word in texts.items():
        (found,) = fill([text])
        assert found["masks"][0][0]["token"] == word, found
