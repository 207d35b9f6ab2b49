import json

import pytest

from bert_tf.evaluation.squad_answers import Candidate, QuestionAnswers
from bert_tf.tasks.question_answering.task import write_predictions
from tests.bert_tf.evaluation import squad_golden

NULL = Candidate("", None, None, 0.25, 1.0, 1.0)
RESULTS = [
    QuestionAnswers(
        "q2",
        [
            Candidate("née \u732b", 4, 9, 0.5, 2.0, 1.5),
            Candidate("née", 4, 7, 0.25, 2.0, 0.5),
            NULL,
        ],
        -1.5,
    ),
    QuestionAnswers("q1", [NULL], 2.0),
]


def read(path):
    return json.loads(path.read_text())


@pytest.mark.golden
@pytest.mark.parametrize(
    ("number", "mode", "threshold"),
    [
        (0, "v1", 0.0),
        (2, "v2_thr0", 0.0),
        (2, "v2_thr-1.5", -1.5),
        (5, "v1", 0.0),
        (9, "v2_thr0", 0.0),
        (9, "v2_thr-1.5", -1.5),
    ],
)
def test_files_hold_what_the_originals_hold(request, golden, tmp_path, number, mode, threshold):
    """The same entries in the same order; where all texts of a question are slices, the same
    values."""
    case = squad_golden.load(request, golden, squad_golden.CASES[number])
    write_predictions(str(tmp_path), case.found, threshold)
    predictions, nbest = (
        read(tmp_path / "predictions.json"),
        read(tmp_path / "nbest_predictions.json"),
    )
    assert list(predictions) == list(nbest) == list(case.golden)
    golden_predictions = case.predictions(mode)
    same = 0
    for id, entries in case.golden.items():
        if [one["text"] for one in entries] == [one["text"] for one in nbest[id]]:
            same += 1
            assert nbest[id] == [
                one | {"probability": pytest.approx(one["probability"], rel=1e-9)}
                for one in entries
            ]
            assert [list(one) for one in nbest[id]] == [list(one) for one in entries]
            assert predictions[id] == golden_predictions[id]
    assert same > 0.8 * len(case.golden)
    if case.version_2:
        assert list(read(tmp_path / "null_odds.json").items()) == [
            (id, case.null_odds[id]) for id in predictions
        ]
    else:
        assert not (tmp_path / "null_odds.json").exists()
    contexts = {
        question.id: case.data.contexts[question.context] for question in case.data.questions
    }
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert {line["id"]: line["text"] for line in lines} == predictions
    spans = [line for line in lines if line["start"] is not None]
    assert len(spans) > len(case.golden) / 3
    assert all(line["text"] == contexts[line["id"]][line["start"] : line["end"]] for line in spans)


def test_files_under_a_threshold(tmp_path):
    write_predictions(str(tmp_path), RESULTS, -1.5)
    assert read(tmp_path / "predictions.json") == {"q2": "née \u732b", "q1": ""}
    assert (tmp_path / "answers.jsonl").read_text().splitlines()[1] == (
        '{"id": "q1", "text": "", "start": null, "end": null, "probability": 0.25, "null_odds": 2.0}'
    )
    write_predictions(str(tmp_path), RESULTS, -2.0)
    assert read(tmp_path / "predictions.json") == {"q2": "", "q1": ""}
    assert (tmp_path / "predictions.json").read_text() == '{\n  "q2": "",\n  "q1": ""\n}\n'
    assert all(path.read_bytes().isascii() for path in tmp_path.iterdir())
