"""Foreign programs on exports: each gives what `predict.py` gives, in a process of its own without
this project.

What is not installed is skipped: a package of Python is looked for in this environment and in
`$BERT_TF_CLIENTS/NAME/bin/python`, packages of node in `$BERT_TF_CLIENTS/NAME/node_modules`.
docs/exports.md has the versions that were run, and how to install them.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from bert_tf.extras.token_id_formats import outputs
from bert_tf.inference.predictor import Predictor
from tests.bert_tf.extras.common import TEXTS, export_to
from tests.bert_tf.extras.test_onnx_format import CLASSES
from tests.tiny import write_tiny

pytestmark = pytest.mark.processes
SCRIPTS = pathlib.Path(__file__).parent / "clients"
PAIRS = [["the list is sorted", "who is a list?"], ["a", "the array is returned."], ["who?", "b"]]
QUESTIONS = [
    ["who is the list?", "the array is returned. a list is sorted"],
    ["a b?", "b is the list. who?"],
]
MASKED = [["the [MASK] is sorted."], ["who [MASK] the list?"]]
CHOICES = [["the list", "is sorted", "who?"], ["a", "b", "the array is returned."]]
# Name of a request → head, task.json, --task, inputs.
CASES = {
    "features": ((), None, "features", [[text] for text in TEXTS]),
    "vectors": (
        (),
        {"kind": "sentence_embedding", "pooling": "mean", "normalize": True, "max_seq_length": 16},
        None,
        [[text] for text in TEXTS],
    ),
    "truncated": (
        (),
        {"kind": "sentence_embedding", "pooling": "mean", "normalize": True, "max_seq_length": 6},
        None,
        [[text] for text in TEXTS],
    ),
    "classification": (("classification",), CLASSES, None, [[text] for text in TEXTS]),
    "pairs": (("classification",), {**CLASSES, "pair": True, "max_seq_length": 20}, None, PAIRS),
    "regression": (
        ("regression",),
        {"kind": "regression", "pair": True, "max_seq_length": 20},
        None,
        PAIRS,
    ),
    "token_classification": (
        ("token_classification",),
        {
            "kind": "token_classification",
            "max_seq_length": 20,
            "labels": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
        },
        None,
        [[text] for text in TEXTS],
    ),
    "question_answering": (("question_answering",), None, None, QUESTIONS),
    "multiple_choice": (("multiple_choice",), None, None, CHOICES),
    "fill_mask": (("masked_lm",), None, None, MASKED),
}
VECTORS = {"vectors", "truncated"}
# Client → the package that must be there, and what it answers.
CLIENTS = {
    "transformers": ("transformers", {*CASES} - VECTORS),
    "optimum": ("optimum", {*CASES} - VECTORS),
    "sentence_transformers": ("sentence_transformers", {"features", "regression", *VECTORS}),
    "sentence_transformers_onnx": ("optimum", {"features", "regression", *VECTORS}),
    "fastembed": ("fastembed", {"features", "regression", *VECTORS}),
    "ctranslate2": ("ctranslate2", {"features"}),
}
# What is too long loses its [SEP] there.
NODE = dict.fromkeys(
    ("transformers_js_3", "transformers_js_4"), {*CASES} - {"multiple_choice", "truncated"}
)


def installed(name: str) -> pathlib.Path:
    """The folder of a client in `$BERT_TF_CLIENTS`."""
    return pathlib.Path(os.environ.get("BERT_TF_CLIENTS", "no_such")) / name


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    """Name → directory of the export, inputs, and the checkpoint."""
    folder, made = tmp_path_factory.mktemp("clients"), {}
    for name, (heads, description, task, inputs) in CASES.items():
        path = folder / f"{name}_in"
        write_tiny(path, *heads, task=description)
        export_to(folder / name, str(path), "hub", task=task)
        made[name] = {
            "directory": str(folder / name),
            "inputs": inputs,
            "checkpoint": str(path),
            "task": task,
        }
    return made


@pytest.fixture(scope="module")
def expected(requests):
    """Name → the answers of `predict.py`, as the clients give them."""
    found = {}
    for name, one in requests.items():
        predictor = Predictor.from_checkpoint(one["checkpoint"], one["task"])
        layouts = {
            "question_answering": ("question", "context"),
            "multiple_choice": ("context", "choices"),
        }
        given = [
            dict(
                zip(
                    layouts[name],
                    row if name == "question_answering" else (row[0], row[1:]),
                    strict=True,
                )
            )
            if name in layouts
            else row[0]
            if len(row) == 1
            else tuple(row)
            for row in one["inputs"]
        ]
        answers = predictor(given)
        if name == "token_classification":
            # Of every token, where predict.py gives words.
            task, rows = predictor.inference, []
            for text in given:
                logits = outputs(task, task.reference_features([task.check(text)]))["logits"][
                    0, 1:-1
                ]
                rows.append([task.labels[label] for label in np.argmax(logits, -1)])
            found[name] = rows
        elif name == "fill_mask":
            found[name] = [
                {token["token"]: token["probability"] for token in one["masks"][0]}
                for one in answers
            ]
        elif name == "question_answering":
            found[name] = [one["answer"].replace(" ", "") for one in answers]
        else:
            found[name] = [
                one["vector"]
                if "vector" in one
                else [one["score"]]
                if "score" in one
                else [*one["probabilities"].values()]
                if isinstance(one["probabilities"], dict)
                else one["probabilities"]
                for one in answers
            ]
    return found


def check(found: dict, expected: dict, names: set) -> None:
    assert {*found} == names
    for name, answers in found.items():
        for answer, other in zip(answers, expected[name], strict=True):
            if isinstance(answer, dict):
                assert [*answer] == [*other]
                answer, other = [*answer.values()], [*other.values()]
            if isinstance(answer, str) or isinstance(answer[0], str):
                assert answer == other, name
            else:
                np.testing.assert_allclose(answer, other, atol=1e-5, err_msg=name)


def asked(command: list[str], requests: dict, folder: pathlib.Path, **options):
    (folder / "requests.json").write_text(json.dumps(requests))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": str(folder), "HF_HOME": str(folder)}
    done = subprocess.run(
        [*command, str(folder / "requests.json"), str(folder / "answers.json")],
        capture_output=True,
        text=True,
        env=environment,
        **options,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "answers.json").read_text())


@pytest.mark.parametrize("client", CLIENTS)
def test_python(client, requests, expected, tmp_path):
    package, names = CLIENTS[client]
    python = (
        sys.executable
        if importlib.util.find_spec(package)
        else str(installed(package) / "bin/python")
    )
    if not os.path.exists(python):
        pytest.skip(f"{package} is not installed")
    check(
        asked([python, str(SCRIPTS / "python_clients.py"), client], requests, tmp_path),
        expected,
        names,
    )


@pytest.mark.parametrize("client", NODE)
def test_transformers_js(client, requests, expected, tmp_path):
    if not (installed(client) / "node_modules").exists():
        pytest.skip(f"{client} is not installed")
    script = (SCRIPTS / "transformers_js.mjs").read_text()
    check(
        asked(
            ["node", "--input-type=module", "-e", script], requests, tmp_path, cwd=installed(client)
        ),
        expected,
        NODE[client],
    )
