import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.inference import saved_model
from bert_tf.inference.export import AGREEMENT_FILE, compare_tokenizers, export
from bert_tf.inference.options import ExportOptions, task_class
from bert_tf.tasks.question_answering.options import SquadConfig
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.load import load_weights, open_checkpoint, read_checkpoint
from modeling.config import BertConfig
from modeling.fine_tuning import BertForClassification
from modeling.preprocessing.graph_tokenizer import GraphTokenizer
from modeling.pretraining import BertForCausalLm, BertForPreTraining
from tests.bert_tf.inference.stock_server import assert_served
from tests.data_gen.tokenization.common import TOKENIZERS, VOCABULARY
from tests.modeling.checkpoints.common import random_weights
from tests.page_commands import programs
from tests.refusals import assert_refused

WORDS = [
    *"abcdefghijklmnopqrstuvwxyz0123456789.,?!é",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    "the",
    "array",
    "is",
    "returned",
    "list",
    "who",
    "what",
]
CONFIG = BertConfig(
    vocab_size=len(SPECIAL_TOKENS) + len(WORDS),
    hidden_size=12,
    num_hidden_layers=1,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=48,
    type_vocab_size=2,
)
SQUAD = {
    "kind": "question_answering",
    "max_seq_length": 32,
    "doc_stride": 8,
    "max_query_length": 8,
    "n_best_size": 20,
    "max_answer_length": 30,
    "version_2_with_negative": True,
    "null_score_diff_threshold": 0.0,
}
PAIRS = {
    "kind": "classification",
    "task_name": "custom",
    "labels": ["no", "yes", "né"],
    "pair": True,
    "max_seq_length": 40,
}
CONTEXTS = [
    "Café! The list é is the array. " * 8,
    "a b",
    "",
    "The array is returned; who is the list? 東京 😀 end",
]
QUESTIONS = ["What is the list?", "who", "what?", ""]


def checkpoint(folder, *heads, task=None, pooler=True, **changes):
    folder.mkdir()
    vocab = folder.parent / "words.txt"
    vocab.write_text("\n".join([*SPECIAL_TOKENS, *WORDS]) + "\n")
    weights = {**random_weights(*heads, config=CONFIG, pooler=pooler), **changes}
    write_checkpoint("native", str(folder), weights, CONFIG, str(vocab), True)
    if task:
        json_files.write(str(folder / "task.json"), task)
    return str(folder)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Task → (checkpoint, directory of the SavedModel, report)."""
    root = tmp_path_factory.mktemp("exports")
    checkpoints = {
        "features": checkpoint(root / "a"),
        "classification": checkpoint(root / "b", "classification", task=PAIRS),
        "question_answering": checkpoint(root / "c", "question_answering", task=SQUAD),
        "fill_mask": checkpoint(root / "d", "masked_lm"),
    }
    return {
        task: (path, str(root / task), export_to(root / task, path))
        for task, path in checkpoints.items()
    }


def export_to(directory, path, task=None, **kwargs):
    return export(
        ExportOptions(init_checkpoint=path, export_dir=str(directory), task=task, **kwargs)
    )


@pytest.fixture(scope="module")
def served(exports):
    return {task: tf.saved_model.load(directory) for task, (_, directory, _) in exports.items()}


def ask(loaded, **texts):
    answers = loaded.signatures["serving_default"](
        **{name: tf.constant(value) for name, value in texts.items()}
    )
    return {name: value.numpy() for name, value in answers.items()}


def test_the_report(exports):
    for task, (_, directory, done) in exports.items():
        assert done.max_difference < 1e-4
        assert_served(directory)
        assert done.agreement.differences == []
        stored = json_files.read(os.path.join(directory, AGREEMENT_FILE))
        assert [value["lines"] for value in stored.values()] == [done.agreement.lines]
        assert "signature token_ids" in done.describe()
        assert set(done.signatures) == {"serving_default", "token_ids"} and done.task == task
    assert exports["question_answering"][2].signatures["serving_default"] == (
        {"context": "string [?]", "question": "string [?]"},
        {
            "answer": "string [?]",
            "start": "int32 [?]",
            "end": "int32 [?]",
            "score": "float32 [?]",
            "null_score_diff": "float32 [?]",
        },
    )
    assert (
        exports["classification"][2].signatures["token_ids"][1]["probabilities"] == "float32 [?, 3]"
    )


def test_lines_that_tokenizers_differ_in_are_named():
    texts = ["the", "The un", "able"] * 400
    found = compare_tokenizers(
        "some.txt", texts, TOKENIZERS[True], GraphTokenizer(VOCABULARY, False)
    )
    assert found.differences == [
        {"line": number, "text": "The un", "exact": ["the", "un"], "graph": ["[UNK]", "un"]}
        for number in range(2, 1200, 3)
    ]
    text = found.describe().splitlines()
    assert (
        text[0]
        == "some.txt: the tokenizer in the graph gives the exact tokens for 800 of 1,200 lines (66.67 %)"
    )
    assert (
        text[1:4] == ["  line 2: 'The un'", "    exact: the un", "    graph: [UNK] un"]
        and len(text) == 16
    )


def test_an_export_that_differs_from_the_model_leaves_nothing(tmp_path, monkeypatch):
    path = checkpoint(tmp_path / "in", "classification", task=PAIRS)

    def write(format, task, directory, requests):
        # Of the weights that are saved one has another value than the requests' outputs were
        # computed with.
        bias = next(one for one in task.model.variables if one.shape == (3,))
        bias.assign([100.0, 0.0, 0.0])
        whole(format, task, directory, requests)

    whole = saved_model.SavedModelFormat.write
    monkeypatch.setattr(saved_model.SavedModelFormat, "write", write)
    with pytest.raises(RuntimeError, match="the export differs from the model by "):
        export_to(tmp_path / "out", path)
    assert sorted(os.listdir(tmp_path)) == ["in", "words.txt"]


def test_a_left_to_right_model_stays_so(tmp_path):
    """Its weights of the masked-LM head do not make it a task of filling masks."""
    model = BertForCausalLm(dataclasses.replace(CONFIG, causal=True))
    (tmp_path / "words.txt").write_text("\n".join([*SPECIAL_TOKENS, *WORDS]) + "\n")
    model.save_checkpoint(
        str(tmp_path / "a"), vocab_file=str(tmp_path / "words.txt"), do_lower_case=True
    )
    assert export_to(tmp_path / "b", str(tmp_path / "a")).task == "features"
    served = tf.saved_model.load(str(tmp_path / "b"))
    found, other = (
        ask(served, text=[text]) for text in ("the array is the list", "the array is returned")
    )
    np.testing.assert_allclose(
        found["sequence_output"][0, :4], other["sequence_output"][0, :4], atol=1e-6
    )
    assert np.abs(found["pooled_output"] - other["pooled_output"]).max() > 1e-3
    with pytest.raises(UserError, match="to fill masks"):
        export_to(tmp_path / "c", str(tmp_path / "a"), task="fill_mask")


def test_a_bilstm_between_encoder_and_head(tmp_path):
    model = BertForClassification(dataclasses.replace(CONFIG, bilstm_units=5), 3)
    (tmp_path / "words.txt").write_text("\n".join([*SPECIAL_TOKENS, *WORDS]) + "\n")
    model.save_checkpoint(
        str(tmp_path / "a"), vocab_file=str(tmp_path / "words.txt"), do_lower_case=True
    )
    json_files.write(str(tmp_path / "a" / "task.json"), {**PAIRS, "pair": False})
    assert export_to(tmp_path / "b", str(tmp_path / "a")).max_difference < 1e-5
    found = ask(
        tf.saved_model.load(str(tmp_path / "b")),
        text_a=["the list", "the array is returned. who? " * 20],
    )
    assert found["probabilities"].sum(1) == pytest.approx([1, 1], abs=1e-5)


def test_classes(served):
    found = ask(
        served["classification"],
        text_a=["the list", "who", "a"],
        text_b=["is returned", "", "b c " * 50],
    )
    assert found["probabilities"].sum(1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert [[name.decode() for name in row] for row in found["labels"]] == [PAIRS["labels"]] * 3
    assert [name.decode() for name in found["label"]] == [
        PAIRS["labels"][best] for best in found["probabilities"].argmax(1)
    ]
    # An empty second text is none at all.
    tokenizer = Tokenizer(Vocabulary([*SPECIAL_TOKENS, *WORDS]))
    ids = [
        tokenizer.vocabulary.cls_id,
        *tokenizer.encode("who").tolist(),
        tokenizer.vocabulary.sep_id,
    ]
    single = served["classification"].signatures["token_ids"](
        input_ids=tf.constant([ids]),
        input_mask=tf.ones([1, len(ids)], tf.int32),
        segment_ids=tf.zeros([1, len(ids)], tf.int32),
    )
    np.testing.assert_allclose(single["probabilities"][0], found["probabilities"][1], atol=1e-5)


def test_masks_are_filled_as_by_the_model(exports, served):
    found = ask(served["fill_mask"], text=["The [MASK] is [MASK].", "no mask", "li[MASK]"])
    assert found["mask_count"].tolist() == [2, 0, 1] and found["tokens"].shape == (3, 2, 5)
    assert found["tokens"][1].tolist() == [[b""] * 5] * 2 and not found["probabilities"][1].any()
    assert not found["tokens"][2, 1].any() and found["tokens"][2, 0].all()
    source = read_checkpoint(exports["fill_mask"][0])
    model = BertForPreTraining(source.config)
    load_weights(model, source)
    vocabulary = Tokenizer.from_file(source.vocab_file).vocabulary
    ids = [
        vocabulary.id_of(token)
        for token in ["[CLS]", "the", "[MASK]", "is", "[MASK]", ".", "[SEP]"]
    ]
    logits = model(
        {
            "input_ids": tf.constant([ids]),
            "input_mask": tf.ones([1, 7], tf.int32),
            "segment_ids": tf.zeros([1, 7], tf.int32),
            "masked_lm_positions": tf.constant([[2, 4]]),
        }
    )
    expected = tf.math.top_k(tf.nn.softmax(logits["masked_lm_logits"][0]), 5)
    np.testing.assert_allclose(found["probabilities"][0], expected.values, atol=1e-5)
    assert [[token.decode() for token in row] for row in found["tokens"][0]] == [
        [vocabulary.token_of(int(id)) for id in row] for row in expected.indices
    ]
    assert ask(served["fill_mask"], text=["nothing"])["tokens"].shape == (1, 0, 5)


def test_answers_are_slices_of_the_context(served):
    found = ask(served["question_answering"], question=QUESTIONS, context=CONTEXTS)
    for answer, start, end, context in zip(
        found["answer"], found["start"], found["end"], CONTEXTS, strict=True
    ):
        assert answer.decode() == (context[start:end] if start >= 0 else "")
    assert found["start"][2] == -1 and found["end"][2] == -1
    # Each question as if it were alone.
    for number, (question, context) in enumerate(zip(QUESTIONS, CONTEXTS, strict=True)):
        alone = ask(served["question_answering"], question=[question], context=[context])
        assert alone["answer"][0] == found["answer"][number]
        assert alone["score"][0] == pytest.approx(found["score"][number], abs=1e-4)


def test_no_texts_have_no_answers(served):
    for task, loaded in served.items():
        _, inputs = loaded.signatures["serving_default"].structured_input_signature
        assert {
            len(value)
            for value in ask(loaded, **{name: np.zeros(0, bytes) for name in inputs}).values()
        } == {0}, task


def load(path, task, **options):
    return task_class(task)(
        open_checkpoint(path),
        ExportOptions(init_checkpoint=path, export_dir="unused", **options).settings(),
    )


def test_flags_win_over_the_fine_tuned_run_and_that_over_defaults(exports, tmp_path):
    known = {name: value for name, value in SQUAD.items() if name != "kind"}
    path = exports["question_answering"][0]
    assert load(path, "question_answering").settings == SquadConfig(**known)
    settings = load(
        path,
        "question_answering",
        max_seq_length=40,
        null_score_diff_threshold=-1.5,
        version_2_with_negative=False,
        given=frozenset({"version_2_with_negative"}),
    ).settings
    assert settings == SquadConfig(
        **{
            **known,
            "null_score_diff_threshold": -1.5,
            "null_score_diff_threshold_is": "given",
            "version_2_with_negative": False,
            "max_seq_length": 40,
        }
    )
    plain = checkpoint(tmp_path / "plain", "question_answering")
    settings = load(plain, "question_answering", doc_stride=8, max_query_length=8).settings
    assert settings == SquadConfig(max_seq_length=48, doc_stride=8, max_query_length=8)
    # Where nothing is given, what fits.
    assert load(plain, "question_answering").settings == SquadConfig(
        max_seq_length=48, doc_stride=14, max_query_length=16
    )
    assert load(exports["classification"][0], "classification").max_seq_length == 40
    three = load(exports["fill_mask"][0], "fill_mask", top_k=3).serve_texts(tf.constant(["[MASK]"]))
    assert three["tokens"].shape == (1, 1, 3)


def refused(tmp_path, message, path, task, **kwargs):
    before = sorted(os.listdir(tmp_path))
    assert_refused(
        lambda: export_to(kwargs.pop("export_dir", tmp_path / "out"), path, task, **kwargs), message
    )
    assert sorted(os.listdir(tmp_path)) == before


def test_bad_input(tmp_path):
    encoder = checkpoint(tmp_path / "encoder")
    span = checkpoint(tmp_path / "question_answering", "question_answering", task=SQUAD)
    flat = checkpoint(tmp_path / "flat", "classification", pooler=False)
    wrong = checkpoint(tmp_path / "wrong", "classification", task={**PAIRS, "labels": ["a", "b"]})
    bare = checkpoint(tmp_path / "bare")
    os.unlink(tmp_path / "bare/vocab.txt")
    refused(tmp_path, "exists: choose another name", encoder, "features", export_dir=span)
    refused(tmp_path, "has no head for --task=classification", span, "classification")
    refused(tmp_path, "give --vocab_file", bare, "features")
    refused(tmp_path, "has no pooler", flat, "classification")
    refused(tmp_path, "task.json must name 3 different classes", wrong, "classification")
    refused(tmp_path, "position table", encoder, "features", max_seq_length=49)
    refused(tmp_path, "--doc_stride=30", span, "question_answering", doc_stride=30)
    refused(tmp_path, "there is no checkpoint", str(tmp_path / "nothing"), "features")


CLIENT = """
import json, sys
import tensorflow as tf
import tensorflow_text
answers = {}
for task, (directory, inputs) in json.loads(sys.argv[1]).items():
  loaded = tf.saved_model.load(directory)
  found = loaded.signatures["serving_default"](**{name: tf.constant(texts) for name, texts in inputs.items()})
  answers[task] = {name: [list(value.shape), value.dtype.name] for name, value in found.items()}
  if task == "question_answering":
    answers["answers"] = [answer.decode() for answer in found["answer"].numpy()]
ours = {"bert_common", "bert_tf", "data_gen", "modeling", "inference", "tasks", "training"} & set(sys.modules)
print(json.dumps([answers, sorted(ours)]))
"""


def test_a_process_that_knows_tensorflow_only(exports, served, tmp_path):
    inputs = {
        "features": {"text": ["the", "list is"]},
        "classification": {"text_a": ["a"], "text_b": ["b"]},
        "question_answering": {"question": QUESTIONS, "context": CONTEXTS},
        "fill_mask": {"text": ["the [MASK]"]},
    }
    arguments = {task: (exports[task][1], inputs[task]) for task in inputs}
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "KERAS_BACKEND")
    }
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, json.dumps(arguments)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers, ours = json.loads(done.stdout.splitlines()[-1])
    assert ours == []
    assert answers["features"]["sequence_output"] == [[2, 4, 12], "float32"]
    assert answers["classification"]["labels"] == [[1, 3], "string"]
    assert answers["fill_mask"]["tokens"] == [[1, 1, 5], "string"]
    expected = ask(served["question_answering"], question=QUESTIONS, context=CONTEXTS)
    assert answers["answers"] == [answer.decode() for answer in expected["answer"]]


def test_the_function_for_keras_costs_no_second_graph(exports):
    """It only calls the function of the signature."""
    (function,) = tf.saved_model.load(exports["question_answering"][1]).serve.concrete_functions
    operations = [operation.type for operation in function.graph.get_operations()]
    assert set(operations) <= {
        "Placeholder",
        "Identity",
        "NoOp",
        "StatefulPartitionedCall",
        "PartitionedCall",
    }
    assert sum(type.endswith("PartitionedCall") for type in operations) == 1


def test_programs_of_the_documentation(exports, tmp_path, monkeypatch, capsys):
    (tmp_path / "served").mkdir()
    os.symlink(exports["features"][1], tmp_path / "served/1")
    os.symlink(exports["classification"][1], tmp_path / "served/pairs")
    monkeypatch.chdir(tmp_path)
    of_page = programs("docs/exports.md", "SavedModel")
    assert len(of_page) == 2 and "TFSMLayer" in of_page[1]
    for program in of_page:
        exec(compile(program, "docs/exports.md", "exec"), {})
    assert "shape=(3, 3)" in capsys.readouterr().out
