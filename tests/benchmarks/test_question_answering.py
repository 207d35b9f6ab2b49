import importlib.util
import json
import re

import pytest

from benchmarks.question_answering import QuestionAnsweringOptions, main


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    questions = [{"id": str(number), "question": "When? " * number} for number in range(1, 6)]
    paragraph = {"context": "A boat left the bay.", "qas": questions}
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"version": "1.1", "data": [{"paragraphs": [paragraph]}]}))
    has_peer = importlib.util.find_spec("transformers")
    programs = ("ours", "pytorch") if has_peer else ("ours",)
    main(
        QuestionAnsweringOptions(
            predict_file=str(path),
            num_questions=4,
            size="L1-H32",
            predict_batch_size=2,
            repetitions=2,
            programs=programs,
            one_process=True,
        )
    )
    printed = capsys.readouterr().out
    assert "L1-H32, batch 2, 4 windows of " in printed
    for name in programs:
        assert re.search(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE), printed
    if not has_peer:
        pytest.skip("transformers is not installed (pip install --group peers); ours ran")
