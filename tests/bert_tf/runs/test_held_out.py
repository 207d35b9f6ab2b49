import json

import pytest

from bert_common.errors import UserError
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask, run
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.multiple_choice.task import MultipleChoiceTask
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.task import SquadTask
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.tasks.sentence_embedding.task import SentenceEmbeddingTask
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.task import TokenClassificationTask
from tests.bert_tf.tasks.classification.toy_task import write_model

# Task: (class, options, name of the file, its lines, a bad one among them).
TASKS = {
    "classification": (
        ClassificationTask,
        ClassificationOptions,
        dict(task_name="custom", text_a_column="text", label_column="label"),
        "train.csv",
        ["text,label", *(f"the film number{n},{'yes' if n % 2 else 'no'}" for n in range(40))],
        "a book",
    ),
    "multiple_choice": (
        MultipleChoiceTask,
        MultipleChoiceOptions,
        dict(task_name="custom", choices_columns=("a", "b"), question_column="q", label_column="y"),
        "train.csv",
        ["q,a,b,y", *(f"q{n},good,bad,0" for n in range(40))],
        "q,good,,0",
    ),
    "token_classification": (
        TokenClassificationTask,
        TokenClassificationOptions,
        {},
        "train.conll",
        ["a O\ngood B-X\n" for _ in range(40)],
        "a I-X\n",
    ),
    "sentence_embedding": (
        SentenceEmbeddingTask,
        SentenceEmbeddingOptions,
        {},
        "train.tsv",
        ["sentence1\tsentence2", *(f"film {n}\tbook {n}" for n in range(40))],
        "film\t",
    ),
}


def make(folder, task, **changes):
    cls, options_class, columns, name, lines, _ = TASKS[task]
    options = options_class(
        **{
            **dict(
                do_train=True,
                train_file=f"{folder}/{name}",
                output_dir=f"{folder}/out",
                max_seq_length=16,
                dev_fraction=0.2,
                bert_config_file=f"{folder}/bert_config.json",
            ),
            **columns,
            **changes,
        }
    )
    options.check()
    return cls(options)


@pytest.mark.parametrize("task", TASKS)
def test_a_part_of_the_training_file_is_evaluated_on(tmp_path, task):
    write_model(tmp_path)
    name, lines, bad = TASKS[task][3:]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    found = make(tmp_path, task)
    assert (len(found.data.train.source), len(found.data.dev["dev"].source)) == (
        32,
        8,
    ) and found.main_metric
    assert (
        sum(
            "8 of 40 examples are held out as the development set (--dev_fraction=0.2" in note
            for note in found.notes
        )
        == 1
    )
    path.write_text("\n".join([*lines, bad]) + "\n")
    with pytest.raises(UserError, match="or leave it out with --skip_bad_rows"):
        make(tmp_path, task)
    found = make(tmp_path, task, skip_bad_rows=True)
    assert (len(found.data.train.source), len(found.data.dev["dev"].source)) == (32, 8)
    assert sum("1 of 41 rows are left out: line" in note for note in found.notes) == 1
    assert len(found.left_out) == 1 and found.left_out[0]["file"] == str(path)
    with pytest.raises(
        UserError, match="--dev_fraction=0.2 and --dev_file are two development sets"
    ):
        make(tmp_path, task, dev_file=str(path))


def test_a_run_keeps_its_split(tmp_path, capsys):
    write_model(tmp_path)
    _, _, columns, name, lines, _ = TASKS["classification"]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    options = ClassificationOptions(
        do_train=True,
        do_eval=True,
        train_file=f"{tmp_path}/{name}",
        output_dir=f"{tmp_path}/out",
        max_seq_length=16,
        dev_fraction=0.2,
        bert_config_file=f"{tmp_path}/bert_config.json",
        num_train_epochs=1,
        **columns,
    )
    run(options)
    assert "the development set is the training set" not in capsys.readouterr().out
    expected = (tmp_path / "out" / "eval_predictions.jsonl").read_text()
    assert len(expected.splitlines()) == 8
    for other in (dict(split_seed=1), dict(dev_fraction=0.3)):
        with pytest.raises(
            UserError,
            match="was made from something else than now .*other training data in .*train.csv",
        ):
            run(options.replace(num_train_epochs=2, **other))
    run(options.replace(do_train=False))
    assert (tmp_path / "out" / "eval_predictions.jsonl").read_text() == expected
    assert "the development set is the training set" not in capsys.readouterr().out
    run(options.replace(do_train=False, split_seed=1))
    assert "the development set is the training set" in capsys.readouterr().out


def test_squad(tmp_path):
    write_model(tmp_path)
    path = tmp_path / "train.json"
    path.write_text(
        json.dumps(
            {
                "data": [
                    {
                        "paragraphs": [
                            {
                                "context": f"the film {a}",
                                "qas": [
                                    {
                                        "id": str(a),
                                        "question": "what?",
                                        "answers": [{"text": "film", "answer_start": 4}],
                                    }
                                ],
                            }
                        ]
                    }
                    for a in range(20)
                ]
            }
        )
    )
    options = SquadOptions(
        do_train=True,
        do_predict=True,
        train_file=str(path),
        output_dir=f"{tmp_path}/out",
        bert_config_file=f"{tmp_path}/bert_config.json",
        max_seq_length=16,
        doc_stride=4,
        max_query_length=5,
        dev_fraction=0.1,
    )
    options.check()
    found = SquadTask(options)
    assert (len(found.data.train), len(found.data.dev["predict"])) == (18, 2)
    with pytest.raises(
        UserError, match="--dev_fraction=0.1 and --predict_file are two development sets"
    ):
        options.replace(predict_file=str(path)).check()
