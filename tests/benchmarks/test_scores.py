"""The programs that fine-tune PyTorch with our settings run to an end on small files."""

import json
import re

import pytest

pytest.importorskip(
    "transformers", reason="transformers is not installed (pip install --group peers)"
)

from benchmarks.scores import ScoresOptions, main
from modeling.config import BertConfig
from tests.tiny import TOKENS, write_tiny

CONFIG = BertConfig(
    vocab_size=len(TOKENS),
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=8,
    max_position_embeddings=24,
    type_vocab_size=2,
)
SETTINGS = {"num_train_epochs": 1, "train_batch_size": 4, "max_seq_length": 16}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_tiny(
        tmp_path_factory.mktemp("scores") / "model", output_format="huggingface", config=CONFIG
    )


def printed_scores(capsys, seeds):
    """Name → mean of the seeds, as it is printed; every seed has a line of its own."""
    printed = capsys.readouterr().out
    assert len(re.findall(r"^seed \d+: .*; \d+ s$", printed, re.MULTILINE)) == seeds
    return {
        name: float(mean)
        for name, mean in re.findall(
            rf"^(.*) of {seeds} seeds: ([-\d.]+){' ± [0-9.]+' if seeds > 1 else ''}$",
            printed,
            re.MULTILINE,
        )
    }


def test_classification(model, tmp_path, capsys):
    folder = tmp_path / "CoLA"
    folder.mkdir()
    for name in ("train.tsv", "dev.tsv"):
        (folder / name).write_text(
            "".join(f"x\t{number % 2}\t\tthe array is sorted .\n" for number in range(6))
        )
    main(
        ScoresOptions(
            **SETTINGS,
            task="classification",
            task_name="cola",
            data_dir=str(tmp_path),
            model=model,
            sweep={"seed": (1, 2)},
        )
    )
    scores = printed_scores(capsys, 2)
    assert (scores["dev matthews_correlation"], scores["dev accuracy"]) == (0.0, 0.5)


def test_multiple_choice(model, tmp_path, capsys):
    path = tmp_path / "questions.csv"
    heading = "video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    path.write_text(
        heading
        + "".join(
            f"{number},{number},the array,the array,,gold,is a list,is sorted,is a mask,is the array,{number % 4}\n"
            for number in range(4)
        )
    )
    files = dict.fromkeys(("train_file", "dev_file", "test_file"), str(path))
    main(ScoresOptions(**SETTINGS, task="multiple_choice", **files, model=model))
    scores = printed_scores(capsys, 1)
    assert scores["dev accuracy"] == scores["test accuracy"] == 0.25


def test_ner(model, tmp_path, capsys):
    path = tmp_path / "words.conll"
    path.write_text("the\tO\narray\tB-thing\nis\tO\nsorted\tO\n\n" * 5)
    files = dict.fromkeys(("train_file", "dev_file", "test_file"), str(path))
    main(ScoresOptions(**SETTINGS, task="token_classification", **files, model=model))
    scores = printed_scores(capsys, 1)
    assert {"dev f1", "dev surface_f1", "test f1", "test surface_f1"} <= set(scores)
    assert scores["dev f1"] == scores["test f1"]


@pytest.mark.parametrize(
    "task_name, expected",
    [
        ("pairs", {"dev ndcg_at_10", "dev mrr_at_10", "dev recall_at_1"}),
        ("scored", {"dev spearman", "dev pearson"}),
    ],
)
def test_sentence_embedding(model, tmp_path, capsys, task_name, expected):
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    path = tmp_path / "pairs.csv"
    path.write_text(
        "sentence1,sentence2,score\n"
        + "".join(
            f"{'the array ' * (number + 1)},{'is sorted ' * (number + 1)},{number / 4}\n"
            for number in range(5)
        )
    )
    main(
        ScoresOptions(
            **SETTINGS,
            task="sentence_embedding",
            task_name=task_name,
            train_file=str(path),
            dev_file=str(path),
            model=model,
        )
    )
    scores = printed_scores(capsys, 1)
    assert expected <= set(scores) and all(abs(scores[name]) <= 1 for name in expected)


def test_squad(model, tmp_path, capsys):
    path = tmp_path / "questions.json"
    context = "the array is sorted . the list is returned ."
    answers = [{"text": "list", "answer_start": context.index("list")}]
    path.write_text(
        json.dumps(
            {
                "version": "1.1",
                "data": [
                    {
                        "title": "",
                        "paragraphs": [
                            {
                                "context": context,
                                "qas": [
                                    {
                                        "id": str(number),
                                        "question": "who is returned ?",
                                        "answers": answers,
                                    }
                                    for number in range(5)
                                ],
                            }
                        ],
                    }
                ],
            }
        )
    )
    main(
        ScoresOptions(
            **SETTINGS,
            task="question_answering",
            max_query_length=5,
            doc_stride=4,
            train_file=str(path),
            predict_file=str(path),
            model=model,
        )
    )
    scores = printed_scores(capsys, 1)
    assert {"exact", "f1"} <= set(scores) and 0 <= scores["exact"] <= scores["f1"] <= 100
