import csv
import glob
import json

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras import teachers
from bert_tf.inference.predictor import Predictor
from bert_tf.tasks.classification.task import run
from bert_tf.training.run_directory import read_metrics
from modeling.encoder import BertEncoder
from modeling.fine_tuning import CLASSIFICATION_LOSS
from modeling.losses import mean_soft_labels
from tests.bert_tf.tasks.classification.toy_task import (
    MODEL,
    WORDS,
    glue_task,
    own_task,
    refused,
    sentences,
    write_csv,
)
from tests.refusals import assert_refused


@pytest.fixture(scope="module")
def transfer(folder) -> str:
    path = folder / "transfer.jsonl"
    path.write_text("".join(json.dumps({"review": text}) + "\n" for text, _ in sentences(120, 9)))
    return str(path)


def _student(folder, output_dir, trained, **changes):
    return own_task(
        folder,
        output_dir,
        **{
            **dict(teacher_checkpoint=(str(trained),), do_train=True, do_eval=True, seed=5),
            **changes,
        },
    )


def _outputs(output_dir) -> list[str]:
    return sorted(glob.glob(f"{output_dir}/.teacher_outputs/*.npy"))


def test_transfer_text_alone_teaches_the_task(folder, trained, tmp_path, capsys):
    """No label is read: they come from the teacher, which the student ends up agreeing with."""
    options = _student(
        folder,
        tmp_path / "run",
        trained,
        train_file=None,
        transfer_file=str(tmp_path / "gaps.csv"),
        skip_bad_rows=True,
        num_train_epochs=6,
    )
    # An empty cell is no text.
    texts = [text for text, _ in sentences(120, 9)]
    (tmp_path / "gaps.csv").write_text("\n".join(["review", texts[0], "", *texts[1:]]) + "\n")
    assert run(options) == 0
    assert f"{trained}: outputs for 120 texts (transfer)" in capsys.readouterr().out
    results = json_files.read(str(tmp_path / "run" / "eval_results.json"))
    assert results["eval_accuracy"] > 0.9
    training = [line for line in read_metrics(str(tmp_path / "run")) if line["split"] == "train"]
    assert training[-1]["accuracy"] > 0.9


def test_its_outputs_are_those_of_predict(folder, trained, transfer, tmp_path):
    """Kept in files, in the order of the texts; read back where they fit and computed again where
    they don't."""
    options = _student(
        folder, tmp_path / "run", trained, transfer_file=transfer, num_train_epochs=1
    )
    assert run(options) == 0
    train, unlabeled = _outputs(tmp_path / "run")
    assert "/train-" in train and "/transfer-" in unlabeled
    kept = np.load(train)
    with open(folder / "train.csv") as file:
        texts = [row["review"] for row in csv.DictReader(file)]
    means = [
        [row["probabilities"][label] for label in ("no", "yes")]
        for row in Predictor.from_checkpoint(str(trained))(texts)
    ]
    np.testing.assert_allclose(mean_soft_labels(CLASSIFICATION_LOSS, [kept], 1.0), means, atol=1e-5)


def test_damaged_outputs_are_not_believed(tmp_path):
    path, sources, logits = (
        str(tmp_path / "outputs.npy"),
        {"weights": "1"},
        np.ones((40, 2), np.float32),
    )
    teachers.write_outputs(path, sources, logits)
    np.testing.assert_array_equal(teachers.read_outputs(path, sources, (40, 2)), logits)
    for others, shape in (({"weights": "2"}, (40, 2)), (sources, (41, 2)), (sources, (40, 3))):
        assert teachers.read_outputs(path, others, shape) is None
    whole = (tmp_path / "outputs.npy").read_bytes()
    # Another value of the right type is damage, too.
    for damaged in (b"", whole[:200], whole[:-4] + np.float32(9).tobytes(), b"\0" * len(whole)):
        (tmp_path / "outputs.npy").write_bytes(damaged)
        assert teachers.read_outputs(path, sources, (40, 2)) is None
    teachers.write_outputs(path, sources, np.full((40, 2), np.nan, np.float32))
    assert teachers.read_outputs(path, sources, (40, 2)) is None


def test_another_vocabulary_and_another_order_of_labels(folder, trained, tmp_path):
    """The teacher reads texts with its own tokenizer; its classes are found by their names."""
    other = tmp_path / "data"
    other.mkdir()
    config = json_files.read(f"{folder}/bert_config.json")
    words = [*WORDS[:5], *reversed(WORDS[5:])]
    (other / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    json_files.write(str(other / "bert_config.json"), config)
    for name, count, seed in (("train", 203, 1), ("dev", 45, 2)):
        write_csv(other / f"{name}.csv", count, seed)
    options = _student(
        other, tmp_path / "run", trained, num_train_epochs=4, distillation_weight=1.0
    )
    assert run(options) == 0
    assert json_files.read(str(tmp_path / "run" / "eval_results.json"))["eval_accuracy"] > 0.9


def test_a_selection_asks_its_teacher_once(folder, trained, tmp_path, capsys):
    options = _student(
        folder,
        tmp_path / "run",
        trained,
        num_train_epochs=1,
        max_train_examples=40,
        sweep={"distillation_weight": (0.5, 1.0)},
    )
    assert run(options) == 0
    assert capsys.readouterr().out.count("outputs for 40 texts") == 1
    selection = json_files.read(str(tmp_path / "run" / "selection.json"))
    assert len(selection["runs"]) == 2
    # Another teacher, other results.
    second = tmp_path / "second"
    assert run(own_task(folder, second, do_train=True, seed=8, num_train_epochs=1)) == 0
    with pytest.raises(
        UserError, match=r"made from something else than now \(other teacher .* in .*second"
    ):
        run(options.replace(teacher_checkpoint=(str(second),)))


@pytest.mark.parametrize("name", ["mrpc", "sts-b"])
def test_pairs_and_scores(name, folder, tmp_path):
    teacher = tmp_path / "teacher"
    assert run(glue_task(name, folder, teacher, do_train=True)) == 0
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "a\tb\n"
        + "".join(
            f"{one}\t{other}\n"
            for (one, _), (other, _) in zip(sentences(20, 4), sentences(20, 5), strict=True)
        )
    )
    options = glue_task(
        name,
        folder,
        tmp_path / "run",
        do_train=True,
        do_eval=True,
        teacher_checkpoint=(str(teacher),),
        transfer_file=str(pairs),
        text_a_column="a",
        text_b_column="b",
    )
    assert run(options) == 0
    train, unlabeled = (np.load(path) for path in _outputs(tmp_path / "run"))
    assert train.shape[0] == 40 and unlabeled.shape == (20, 1 if name == "sts-b" else 2)
    refused(
        options.replace(output_dir=str(tmp_path / "new"), text_b_column=None),
        "--text_b_column must be given",
    )


def test_what_is_refused(folder, trained, tmp_path):
    output = tmp_path / "run"

    def student(**changes):
        return _student(folder, output, trained, **changes)

    BertEncoder(MODEL, seed=1).save_checkpoint(
        str(folder / "encoder"), vocab_file=f"{folder}/vocab.txt", do_lower_case=True
    )
    refused(student(teacher_checkpoint=(f"{folder}/encoder",)), "is no classifier")
    refused(
        student(teacher_checkpoint=(), distillation_weight=0.5),
        "--distillation_weight has no effect without",
        "--teacher_checkpoint",
    )
    assert {"gs://a/b", "c"} < set(student(teacher_checkpoint=("gs://a/b", "c")).paths())
    assert_refused(student(teacher_checkpoint=(f"{folder}/nothing",)).check_inputs, "nothing")
    refused(
        student(teacher_checkpoint=(), transfer_file="x.csv"),
        "--transfer_file has no effect without",
    )
    write_csv(tmp_path / "other.csv", 30, 1, ("bad", "good"))
    refused(
        student(train_file=f"{tmp_path}/other.csv", dev_file=None, do_eval=False),
        "is for the labels no, yes, this task has bad, good",
    )
    (tmp_path / "scores.csv").write_text(
        "review,verdict\n" + "".join(f"{text},{float(good)}\n" for text, good in sentences(9))
    )
    refused(
        student(train_file=f"{tmp_path}/scores.csv", dev_file=None, do_eval=False, regression=True),
        "predicts one of several classes, this task is for a score",
    )
    refused(
        student(
            train_file=f"{tmp_path}/scores.csv",
            dev_file=None,
            do_eval=False,
            regression=True,
            distillation_temperature=2.0,
        ),
        "--distillation_temperature is for classes",
    )
    refused(
        student(train_file=None, transfer_file=f"{tmp_path}/scores.csv", class_weights="balanced"),
        "--class_weights is for labels",
    )
    refused(
        glue_task("mrpc", folder, output, do_train=True, teacher_checkpoint=(str(trained),)),
        "is for the labels no, yes, this task has 0, 1",
    )
    assert not output.exists()
