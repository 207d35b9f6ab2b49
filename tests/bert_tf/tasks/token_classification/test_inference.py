import numpy as np
import pytest
import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.inference.options import ExportOptions, InferenceSettings
from bert_tf.inference.saved_model import SavedModelFormat
from bert_tf.tasks.token_classification.inference import TokenClassificationInference
from bert_tf.tasks.token_classification.word_graph import BASIC, EDGES, find_words, token_kinds
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.load import open_checkpoint
from tests.bert_tf.inference.stock_server import assert_served
from tests.tiny import write_tiny

VOCABULARY = Vocabulary(
    [*SPECIAL_TOKENS, "new", "york", "don", "t", "##s", "u", "s", "yes", "北", "京", *"().,'-%"]
)
TEXTS = {
    "New York (yes).": {
        BASIC: ["New", "York", "(", "yes", ")", "."],
        EDGES: ["New", "York", "(", "yes", ")", "."],
    },
    "'don't',  U.S.": {
        BASIC: ["'", "don", "'", "t", "'", ",", "U", ".", "S", "."],
        EDGES: ["'", "don't", "'", ",", "U.S", "."],
    },
    "news 北京yes": {BASIC: ["news", "北", "京", "yes"], EDGES: ["news", "北", "京", "yes"]},
    "": {BASIC: [], EDGES: []},
    "(%) new-york": {
        BASIC: ["(", "%", ")", "new", "-", "york"],
        EDGES: ["(", "%", ")", "new-york"],
    },
    "…unknown… t": {BASIC: ["…", "unknown", "…", "t"], EDGES: ["…", "unknown", "…", "t"]},
}


@pytest.mark.parametrize("rule", [BASIC, EDGES])
def test_words_of_texts(rule):
    tokenizer = Tokenizer(VOCABULARY)
    texts = list(TEXTS)
    ids, row_lengths, offsets = tokenizer.encode_batch(texts, offsets=True)
    rows = np.repeat(np.arange(len(texts)), row_lengths)
    words = find_words(ids, offsets[:, 0], offsets[:, 1], rows, token_kinds(VOCABULARY), rule)
    found = [[] for _ in texts]
    for row, start, end in zip(
        words.rows.numpy(), words.starts.numpy(), words.ends.numpy(), strict=True
    ):
        found[row].append(texts[row][start:end])
    assert found == [TEXTS[text][rule] for text in texts]


def model(tmp_path, labels, **task):
    folder = tmp_path / "model"
    folder.mkdir()
    write_tiny(
        folder,
        "token_classification",
        task={"kind": "token_classification", "labels": labels, **task},
    )
    return TokenClassificationInference(open_checkpoint(str(folder)), InferenceSettings())


LINES = [
    "the array is (returned).",
    "",
    "who sorted a list? the lists.",
    "is [the] array",
    "a " * 30,
    "x",
]


@pytest.mark.parametrize("words", [BASIC, EDGES])
def test_entities_of_the_graph_are_those_of_python(tmp_path, words):
    inference = model(tmp_path, ["B-X", "O", "B-Y", "I-Y", "I-X"], words=words)
    # Longer than the model reads at once: the graph reads its beginning.
    lines = [line for line in LINES if len(line) < 40]
    outputs = {
        name: value.numpy() for name, value in inference.serve_texts(tf.constant(lines)).items()
    }
    results = inference.predict([inference.check(line) for line in lines])
    assert sum(len(result["entities"]) for result in results) >= 4
    for row, (line, result) in enumerate(zip(lines, results, strict=True)):
        count = len(result["entities"])
        assert (outputs["start"][row, count:] == -1).all()
        for number, entity in enumerate(result["entities"]):
            assert line[entity["start"] : entity["end"]] == entity["text"]
            assert [outputs[name][row, number] for name in ("start", "end", "label")] == [
                entity["start"],
                entity["end"],
                entity["label"].encode(),
            ]
            assert outputs["score"][row, number] == pytest.approx(entity["score"], abs=1e-5)


def test_long_texts_are_read_in_windows_in_python_and_to_their_beginning_in_the_graph(tmp_path):
    inference = model(tmp_path, ["B-X", "O", "B-Y", "I-Y", "I-X"], max_seq_length=10)
    (result,) = inference.predict([inference.check(LINES[4])])
    starts = inference.serve_texts(tf.constant(LINES[4:5]))["start"].numpy()
    assert starts.max() < 2 * 8
    assert sum(entity["end"] - entity["start"] + 1 for entity in result["entities"]) > 2 * 8


def test_plain_tags_of_the_graph_are_those_of_python(tmp_path):
    inference = model(tmp_path, ["N", "V", "A", "D", "P"])
    outputs = inference.serve_texts(tf.constant(LINES[:3]))
    (first, second, third) = inference.predict([inference.check(line) for line in LINES[:3]])
    assert second == {"words": []}
    assert [tag.decode() for tag in outputs["tag"].numpy()[0] if tag] == [
        word["tag"] for word in first["words"]
    ]
    assert [word["text"] for word in third["words"]] == [
        "who",
        "sorted",
        "a",
        "list",
        "?",
        "the",
        "lists",
        ".",
    ]


def test_labels_that_are_not_as_many_as_the_head_has(tmp_path):
    with pytest.raises(UserError, match="must name 5 different labels"):
        model(tmp_path, ["O", "B-X"])


def test_a_stock_server_takes_the_graph(tmp_path):
    made = SavedModelFormat(ExportOptions(init_checkpoint="", export_dir=""))
    made.write(model(tmp_path, list("ABCDE")), str(tmp_path / "out"), [])
    assert_served(tmp_path / "out")
