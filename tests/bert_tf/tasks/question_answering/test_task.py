import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.tasks.question_answering.data import open_ensemble
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.task import SquadTask, run
from bert_tf.training.run_directory import read_metrics
from data_gen.labeled.squad import read_squad
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.tasks.question_answering import toy_squad
from tests.modeling.checkpoints.common import read_all


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    toy_squad.write_files(folder)
    return folder


def toy(folder, output_dir, version=1, given=None, **changes) -> SquadOptions:
    lengths = {
        **toy_squad.LENGTHS,
        **({"version_2_with_negative": True} if version == 2 else {}),
        **(given or {}),
    }
    return SquadOptions(
        **{
            **dict(
                train_file=f"{folder}/train{version}.json",
                predict_file=f"{folder}/dev{version}.json",
                given=frozenset(lengths),
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
                train_batch_size=16,
                learning_rate=0.003,
                num_train_epochs=4,
                seed=1,
                do_train=True,
            ),
            **lengths,
            **changes,
        }
    )


def asking(output_dir, predict_file, given=None, **changes) -> SquadOptions:
    return SquadOptions(
        output_dir=str(output_dir),
        predict_file=str(predict_file),
        do_predict=True,
        given=frozenset(given or {}),
        **(given or {}),
        **changes,
    )


def test_the_originals_steps_follow_from_questions_ours_from_windows(folder, tmp_path):
    options = toy(folder, tmp_path, given={"max_seq_length": 20, "doc_stride": 4})
    questions = len(read_squad(options.train_file, "train_file").questions)
    ours, original = SquadTask(options), SquadTask(options.replace(original_batches=True))
    assert len(original.data.train) == questions < len(ours.train_examples)
    assert original.schedule().steps == questions * 4 // 16 < ours.schedule().steps


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, (64, 21, 20)),
        ({"doc_stride": 4}, (64, 21, 4)),
        ({"max_seq_length": 40, "max_query_length": 7}, (40, 7, 15)),
    ],
)
def test_default_lengths_follow_the_model(folder, tmp_path, given, expected):
    """The toy model has 64 positions; the defaults are 384, 64 and 128."""
    names = ("max_seq_length", "max_query_length", "doc_stride")
    defaults = {name: getattr(SquadOptions, name) for name in names}
    task = SquadTask(toy(folder, tmp_path).replace(**{**defaults, **given}, given=frozenset(given)))
    assert tuple(getattr(task.settings, name) for name in names) == expected
    adapted = [
        f"--{name}={value}"
        for name, value in zip(names, expected, strict=True)
        if name not in given
    ]
    assert all(one in task.notes[0] for one in ["the model has 64 positions", *adapted])


def copy_of(directory, path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(directory, path))


def read(directory, name):
    return json_files.read(os.path.join(directory, name))


@pytest.fixture(scope="module")
def version_1(folder, tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("trained") / "one"
    assert run(toy(folder, directory, do_predict=True)) == 0
    return directory


@pytest.fixture(scope="module")
def version_2(folder, tmp_path_factory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("trained") / "two"
    assert run(toy(folder, directory, version=2, do_predict=True)) == 0
    return directory


def test_it_learns_to_answer(folder, version_1):
    results = read(version_1, "eval_results.json")
    assert set(results) == {"exact", "f1", "total", "global_step"}
    assert results["total"] == 40 and results["f1"] > 90
    # Windows are trained on, not questions: the contexts of some do not fit into one.
    evaluations = [line for line in read_metrics(str(version_1)) if line["split"] == "eval"]
    steps = [line["step"] for line in evaluations]
    assert (
        len(steps) == 4
        and steps[0] > 300 / 16
        and steps == [steps[0] * epoch for epoch in range(1, 5)]
    )
    best = max(evaluations, key=lambda line: line["f1"])
    assert (
        results["f1"] == pytest.approx(best["f1"], rel=1e-6)
        and results["global_step"] == best["step"]
    )
    assert (version_1 / "eval_results.txt").read_text().splitlines()[
        0
    ] == f"exact = {results['exact']}"


def test_xla_compiles_batches_of_several_lengths(folder, tmp_path):
    """Starts and ends are classes whose number is the length of the batch."""
    weights = []
    for jit_compile in ("false", "true"):
        directory = tmp_path / jit_compile
        options = toy(
            folder,
            directory,
            jit_compile=jit_compile,
            # Where lengths are compiled, fewer of them are batched together.
            original_batches=True,
            num_train_epochs=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        assert run(options) == 0
        weights.append(read_all(directory))
    for name, value in weights[0].items():
        np.testing.assert_allclose(weights[1][name], value, atol=2e-3, err_msg=name)


def test_a_student_learns_the_answers_of_its_teacher(folder, version_1, tmp_path):
    """From its outputs alone; of another vocabulary it is none."""
    student = toy(
        folder,
        tmp_path / "student",
        do_predict=True,
        teacher_checkpoint=(str(version_1),),
        distillation_weight=1.0,
    )
    assert run(student) == 0
    assert read(tmp_path / "student", "eval_results.json")["f1"] > 80
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(f"{folder}/bert_config.json", other)
    (other / "vocab.txt").write_text(
        "\n".join([*toy_squad.WORDS[:5], *reversed(toy_squad.WORDS[5:])]) + "\n"
    )
    with pytest.raises(UserError, match="--teacher_checkpoint=.*is not the vocabulary of"):
        run(
            student.replace(
                output_dir=str(tmp_path / "new"), bert_config_file=f"{other}/bert_config.json"
            )
        )
    assert not (tmp_path / "new").exists()


def test_predictions_are_slices_in_the_order_of_the_file(folder, version_1):
    data = read_squad(str(folder / "dev1.json"), "predict_file")
    ids = [question.id for question in data.questions]
    predictions, nbest = (
        read(version_1, "predictions.json"),
        read(version_1, "nbest_predictions.json"),
    )
    assert list(predictions) == ids and list(nbest) == ids
    for question, line in zip(
        data.questions, (version_1 / "answers.jsonl").read_text().splitlines(), strict=True
    ):
        answer = json.loads(line)
        context = data.contexts[question.context]
        assert (
            answer["id"] == question.id
            and answer["text"] == context[answer["start"] : answer["end"]]
        )
        assert predictions[question.id] == answer["text"] == nbest[question.id][0]["text"]
        assert sum(one["probability"] for one in nbest[question.id]) == pytest.approx(1)
    assert not (version_1 / "null_odds.json").exists()


def test_what_the_weights_need_is_beside_them(version_1):
    for directory in (version_1, version_1 / "best"):
        task = read(directory, "task.json")
        expected = {
            "kind": "question_answering",
            **toy_squad.LENGTHS,
            "n_best_size": 20,
            "max_answer_length": 30,
            "max_windows": 0,
            "version_2_with_negative": False,
            "null_score_diff_threshold": 0.0,
            "null_score_diff_threshold_is": "the default",
        }
        # The id of the run stands beside.
        assert task.items() >= expected.items()
    assert "cls/squad/output_weights" in read_checkpoint(str(version_1)).tensors


def test_a_threshold_is_tuned_and_kept(folder, version_2, tmp_path, capsys):
    results = read(version_2, "eval_results.json")
    assert {
        "exact",
        "f1",
        "HasAns_f1",
        "NoAns_f1",
        "best_exact",
        "best_f1",
        "best_f1_thresh",
    } < set(results)
    assert results["f1"] > 80 and results["f1"] == pytest.approx(results["best_f1"])
    tuned = read(version_2, "task.json")
    assert tuned == read(version_2 / "best", "task.json")
    assert tuned["null_score_diff_threshold_is"] == "tuned on dev2.json"
    odds, predictions = read(version_2, "null_odds.json"), read(version_2, "predictions.json")
    assert {bool(text) for text in predictions.values()} == {True, False}
    assert all(
        bool(predictions[id]) == (odds[id] <= tuned["null_score_diff_threshold"]) for id in odds
    )

    again = copy_of(version_2, tmp_path / "again")
    capsys.readouterr()
    # Of other questions with answers the threshold is not tuned again.
    other = toy_squad.write_json(
        tmp_path / "other.json", toy_squad.toy_questions(10, 9, impossible=True)
    )
    assert run(asking(again, other)) == 0
    assert (
        f"null_score_diff_threshold {tuned['null_score_diff_threshold']:.4f} (tuned on dev2.json)"
        in (capsys.readouterr().out)
    )
    assert run(asking(again, folder / "dev2.json", {"null_score_diff_threshold": -1e9})) == 0
    assert "null_score_diff_threshold -1000000000.0000 (given)" in capsys.readouterr().out
    assert set(read(again, "predictions.json").values()) == {""}
    assert read(again, "task.json") == tuned


def test_a_second_stage_goes_on_with_the_head_of_the_first(folder, version_1, tmp_path, capsys):
    """Trained without a predict file, so that its threshold is tuned on the first one that it
    predicts, and only then."""
    stage = toy(
        folder,
        tmp_path / "two",
        version=2,
        init_checkpoint=str(version_1),
        bert_config_file=None,
        num_train_epochs=0.1,
        learning_rate=1e-9,
        predict_file=None,
    )
    assert run(stage) == 0
    assert "newly initialized" not in capsys.readouterr().out
    first, second = (read_checkpoint(str(directory)) for directory in (version_1, tmp_path / "two"))
    name = "cls/squad/output_weights"
    np.testing.assert_allclose(second.read(name), first.read(name), atol=1e-6)
    assert not (tmp_path / "two/best").exists()
    assert read(tmp_path / "two", "task.json")["null_score_diff_threshold_is"] == "the default"
    assert run(asking(tmp_path / "two", folder / "dev2.json")) == 0
    tuned = read(tmp_path / "two", "task.json")
    assert tuned["null_score_diff_threshold_is"] == "tuned on dev2.json"
    assert read(tmp_path / "two", "eval_results.json")["global_step"] == 3
    # The same command again keeps it.
    assert run(stage) == 0
    assert read(tmp_path / "two", "task.json") == tuned


def test_an_ensemble_averages_the_logits(folder, version_1, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        run(
            toy(
                folder,
                tmp_path / "other",
                seed=2,
                num_train_epochs=1,
                eval_steps=0,
                do_predict=True,
            )
        )
        == 0
    )
    runs = (str(version_1), str(tmp_path / "other"))
    assert run(asking(tmp_path / "both", folder / "dev1.json", ensemble=runs)) == 0
    one, two, both = (
        read(directory, "nbest_predictions.json") for directory in (*runs, tmp_path / "both")
    )
    assert sorted(os.listdir()) == ["both", "other"]
    compared = 0
    for id, candidates in both.items():
        for candidate in candidates:
            # Texts that stand once in the context have the same logits wherever they are listed.
            parts = [
                next((other for other in nbest[id] if other["text"] == candidate["text"]), None)
                for nbest in (one, two)
            ]
            if candidate["text"] in toy_squad.COLOURS and None not in parts:
                compared += 1
                for name in ("start_logit", "end_logit"):
                    assert candidate[name] == pytest.approx(
                        sum(part[name] for part in parts) / 2, abs=1e-4
                    )
    assert compared > 10
    assert read(tmp_path / "both", "eval_results.json")["total"] == 40


def test_the_threshold_of_an_ensemble_is_its_own(folder, version_2, tmp_path):
    twin = copy_of(version_2, tmp_path / "twin")
    runs = (str(version_2), str(twin))
    assert run(asking(tmp_path / "both", folder / "dev2.json", ensemble=runs)) == 0
    assert read(tmp_path / "both", "predictions.json") == read(version_2, "predictions.json")
    kept = read(tmp_path / "both", "ensemble.json")
    assert kept["null_score_diff_threshold"] == pytest.approx(
        read(twin, "task.json")["null_score_diff_threshold"]
    )
    # What later predictions use: in that directory, in another, with a threshold that is given.
    for directory, origin in (
        ("both", "tuned on dev2.json"),
        ("elsewhere", "the mean of the runs' thresholds"),
    ):
        _, settings = open_ensemble(runs[::-1], {}, None, str(tmp_path / directory))
        assert settings.null_score_diff_threshold_is == origin
        assert settings.null_score_diff_threshold == pytest.approx(
            kept["null_score_diff_threshold"]
        )
    _, given = open_ensemble(runs, {"null_score_diff_threshold": 3.0}, None, str(tmp_path / "both"))
    assert (given.null_score_diff_threshold, given.null_score_diff_threshold_is) == (3.0, "given")
    # It is that of the weights, wherever they are; other weights in the same place have another.
    shutil.move(twin, tmp_path / "moved")
    moved = (str(version_2), str(tmp_path / "moved")), {}, None, str(tmp_path / "both")
    assert open_ensemble(*moved)[1].null_score_diff_threshold_is.startswith("tuned")
    toy_squad.write_json(
        tmp_path / "both" / "ensemble.json", {**kept, "ensemble": ["another", "other"]}
    )
    assert open_ensemble(*moved)[1].null_score_diff_threshold_is.startswith("the mean")
    toy_squad.write_json(
        tmp_path / "both" / "ensemble.json", {**kept, "null_score_diff_threshold": "high"}
    )
    with pytest.raises(UserError, match="ensemble.json: 'null_score_diff_threshold' is \"high\""):
        open_ensemble(*moved)


def test_runs_that_do_not_fit_together(folder, version_1, tmp_path):
    def refused(message, *runs, **changes):
        with pytest.raises(UserError, match=message) as refusal:
            run(
                asking(
                    tmp_path / "both",
                    folder / "dev1.json",
                    ensemble=(str(version_1), *map(str, runs)),
                    **changes,
                )
            )
        assert "\n" not in str(refusal.value)

    twin = copy_of(version_1, tmp_path / "twin")
    for directory in (twin, twin / "best"):
        toy_squad.write_json(
            directory / "task.json", {**read(directory, "task.json"), "doc_stride": 7}
        )
    refused("doc_stride is 7 in .*twin and 8 in .*one: give --doc_stride", twin)
    for directory in (twin, twin / "best"):
        (directory / "vocab.txt").write_text("\n".join([*toy_squad.WORDS[:-1], "else"]) + "\n")
        toy_squad.write_json(directory / "tokenizer_config.json", {"do_lower_case": True})
    refused("the vocabulary of .*twin is not that of", twin)
    refused("two or more different runs", version_1)
    refused("leave --do_train", twin, do_train=True, train_file="x")
    refused("there is no checkpoint .*nowhere", tmp_path / "nowhere")


def test_one_question(version_1, version_2, tmp_path, capsys):
    context = tmp_path / "context.txt"
    context.write_text("the old house\r\nnear a green tree", newline="")
    output = []
    for changes in (
        {"context": "the old house\r\nnear a green tree"},
        {"context_file": str(context)},
    ):
        assert (
            run(SquadOptions(output_dir=str(version_1), question="Which colour?", **changes)) == 0
        )
        output.append(capsys.readouterr().out)
    assert output[0] == output[1]
    first, *others = output[0].splitlines()
    assert (
        first.startswith("  1  ")
        and first.endswith("  'green' (characters 22 to 27)")
        and len(others) == 4
    )
    assert (
        run(
            SquadOptions(
                output_dir=str(version_2),
                question="Which animal?",
                context="a green tree",
                null_score_diff_threshold=-1e6,
            )
        )
        == 0
    )
    assert "answer: (no answer); null odds" in capsys.readouterr().out
    assert (
        run(
            SquadOptions(
                output_dir="",
                question="Which colour?",
                context="",
                ensemble=(str(version_1), str(version_1 / "best")),
            )
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == "  1  1.0000  (no answer)"


def test_questions_without_a_right_answer_are_counted(version_1, tmp_path, capsys):
    questions = [
        {
            "id": "known",
            "question": "Which colour?",
            "answers": [{"text": "red", "answer_start": 4}],
        },
        {"id": "none", "question": "Which animal?", "answers": []},
    ]
    contexts = {"the red cat": questions}
    predict_file = toy_squad.write_json(tmp_path / "some.json", toy_squad.squad(contexts))
    directory = copy_of(version_1, tmp_path / "run")
    assert run(asking(directory, predict_file)) == 0
    assert "1 of 2 questions have no right answer: not scored" in capsys.readouterr().out
    assert read(directory, "eval_results.json")["total"] == 1


def test_answers_in_odd_texts(version_1, tmp_path, capsys):
    """Leading blanks, combining marks, CJK; contexts without any token; a question too long, and an
    empty one."""
    contexts = {
        "  \t the red\u0301 \u732b cat": [{"id": "odd", "question": "Which animal?"}],
        " \n ": [{"id": "blank", "question": "Which colour?"}],
        "a green owl": [
            {"id": "long", "question": "Which colour? " * 20},
            {"id": "mute", "question": " "},
        ],
    }
    predict_file = toy_squad.write_json(tmp_path / "odd.json", toy_squad.squad(contexts))
    directory = copy_of(version_1, tmp_path / "run")
    (directory / "eval_results.txt").unlink()
    assert run(asking(directory, predict_file, verbose_logging=True)) == 0
    output = capsys.readouterr().out
    assert (
        "1 of 4 questions were truncated to 6 tokens" in output
        and "1 of 4 questions are empty (mute)" in output
    )
    assert "1 of 4 questions are about a context without a token" in output
    assert (
        "does not contain the right answers of every question: not scored" in output
        and "odd: 'cat' (characters" in output
    )
    assert not (directory / "eval_results.txt").exists()
    predictions = read(directory, "predictions.json")
    assert list(predictions) == ["odd", "blank", "long", "mute"]
    assert (
        predictions["odd"] == "cat"
        and predictions["blank"] == "empty"
        and predictions["long"] == "green"
    )
    contents = toy_squad.squad({"": [{"id": "1", "question": "Which colour?"}]})
    nothing = toy_squad.write_json(tmp_path / "nothing.json", contents)
    assert run(asking(directory, nothing)) == 0
    assert read(directory, "predictions.json") == {"1": "empty"}


def test_training_answers_beside_their_place(folder, tmp_path, capsys):
    contents = toy_squad.toy_questions(20, 5)
    paragraphs = contents["data"][0]["paragraphs"]
    paragraphs[0]["qas"][0]["answers"][0]["answer_start"] += 1
    paragraphs[1]["qas"][0]["answers"][0]["text"] = "purple"
    train_file = toy_squad.write_json(tmp_path / "train.json", contents)
    changes = dict(train_file=train_file, predict_file=None, num_train_epochs=0.1)
    with pytest.raises(
        UserError, match="1 of 40 questions have no usable answer: 1-colour .*--skip_bad_answers"
    ):
        run(toy(folder, tmp_path / "run", **changes))
    assert not (tmp_path / "run").exists()
    assert run(toy(folder, tmp_path / "run", skip_bad_answers=True, **changes)) == 0
    assert (
        "answers repaired, moved by at most 1 characters: 1 (0-colour); questions skipped"
        in capsys.readouterr().out
    )


def test_files_that_can_not_be_used(folder, version_1, tmp_path):
    path = toy_squad.write_json(
        tmp_path / "predict_file.json",
        toy_squad.squad(
            {"a": [{"id": "1", "question": "b", "answers": [], "is_impossible": True}]}
        ),
    )
    before = read(version_1, "predictions.json")
    for options in (
        asking(version_1, path),
        toy(folder, tmp_path / "run", train_file=str(path), predict_file=None),
    ):
        with pytest.raises(UserError, match="this is SQuAD 2.0, give --version_2_with_negative"):
            run(options)
    assert read(version_1, "predictions.json") == before and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"given": {"max_answer_length": 0}}, "--max_answer_length is 0, it must be at least 1"),
        (
            {"given": {"doc_stride": 16}},
            "--doc_stride=16 is more than the 15 tokens of context in a window",
        ),
        ({"given": {"max_seq_length": 65}}, "--max_seq_length 65 is longer than .* is 64"),
        ({"given": {"max_query_length": 21}}, "leave no room for context"),
        ({"do_train": False}, "nothing to do"),
        ({"train_file": None}, "--do_train needs --train_file"),
        ({"do_predict": True, "predict_file": None}, "--do_predict needs --predict_file"),
        ({"question": "b", "context": "a"}, "leave --do_train and --do_predict out"),
        ({"do_train": False, "question": "b"}, "belong together"),
        (
            {"do_train": False, "question": "b", "context": "a", "context_file": "c"},
            "give one of them",
        ),
        ({"train_file": "nowhere.json"}, "--train_file: nowhere.json does not exist"),
    ],
)
def test_flags_that_make_no_sense(folder, tmp_path, changes, message):
    with pytest.raises(UserError, match=message) as refusal:
        run(toy(folder, tmp_path / "run", **changes))
    assert "\n" not in str(refusal.value) and not (tmp_path / "run").exists()
