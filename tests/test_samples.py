from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.load import open_checkpoint
from tests.conftest import PROJECT

FOLDER = PROJECT / "samples/tiny_books"


def test_the_model_is_small_and_whole():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 4e6
    found = open_checkpoint(str(FOLDER))
    config = found.config
    assert (
        config.num_hidden_layers,
        config.hidden_size,
        config.vocab_size,
        config.max_position_embeddings,
    ) == (2, 128, 4000, 128)


def test_it_has_learned_what_readme_shows():
    fill = Predictor.from_checkpoint(str(FOLDER), task="fill_mask")
    texts = {
        "He opened the [MASK] and looked out.": "door",
        '"I do not know," [MASK] the old man.': "said",
        "She closed her [MASK] and went to sleep.": "eyes",
    }
    for text, word in texts.items():
        (found,) = fill([text])
        assert found["masks"][0][0]["token"] == word, found
