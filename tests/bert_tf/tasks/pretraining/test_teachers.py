import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from bert_tf.extras.teachers import Teachers
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.task import pretraining_forward, pretraining_loss, run
from bert_tf.training.run_directory import read_metrics
from modeling.encoder import BertEncoder
from modeling.pretraining import MASKED_LM, BertForPreTraining
from tests.bert_tf.training.common import LENGTH, ONE_LAYER, TINY, VOCAB, instances
from tests.refusals import assert_refused


@pytest.fixture(scope="module")
def teacher(data) -> str:
    """A model of another shape than the student's."""
    BertForPreTraining(TINY, seed=4).save_checkpoint(
        f"{data}/teacher", vocab_file=f"{data}/vocab.txt", do_lower_case=True
    )
    return f"{data}/teacher"


@pytest.fixture
def options(options, data, teacher) -> PretrainingOptions:
    return options.replace(
        vocab_file=f"{data}/vocab.txt",
        teacher_checkpoint=(teacher,),
        do_eval=True,
        num_train_steps=4,
        num_warmup_steps=1,
    )


def test_the_loss_is_that_of_the_teachers_distribution(teacher):
    """Against float64; nothing is learned by the teacher."""
    options = PretrainingOptions(
        output_dir="",
        input_file="x",
        distillation_weight=0.25,
        distillation_temperature=2.0,
        teacher_checkpoint=(teacher,),
    )
    student = BertForPreTraining(ONE_LAYER)
    teachers = Teachers(
        options.teacher_checkpoint,
        "masked_lm",
        lambda config, dtype: BertForPreTraining(config),
        ONE_LAYER,
        LENGTH,
    )
    teachers.load("float32")
    features = {name: tf.constant(values) for name, values in instances(6).items()}
    loss = pretraining_loss(
        student,
        masked_lm=teachers.distilled(
            MASKED_LM, options, lambda outputs: outputs["masked_lm_logits"]
        ),
    )
    with tf.GradientTape() as tape:
        sums = loss.sums(pretraining_forward(student, features, None), features)
    gradients = tape.gradient(
        sums["masked_lm_loss_sum"], [one.value for one in teachers._models[0].variables]
    )
    assert set(gradients) == {None}
    taught = (
        BertForPreTraining(TINY, seed=4)(features)["masked_lm_logits"].numpy().astype(np.float64)
    )
    own = student(features)["masked_lm_logits"].numpy().astype(np.float64)
    labels = features["masked_lm_ids"].numpy()[..., None]
    hard = -np.take_along_axis(special.log_softmax(own, axis=-1), labels, axis=-1)[..., 0]
    soft = -4 * (special.softmax(taught / 2, axis=-1) * special.log_softmax(own / 2, axis=-1)).sum(
        -1
    )
    exact = (features["masked_lm_weights"].numpy() * (0.25 * soft + 0.75 * hard)).sum()
    assert float(sums["masked_lm_loss_sum"]) == pytest.approx(exact, rel=1e-5)


def test_a_run_trains_with_its_teacher_and_is_evaluated_without(options, tmp_path, capsys):
    assert run(options) == 0
    run(dataclasses.replace(options, num_train_steps=6))
    assert "resuming from" in capsys.readouterr().out
    # The same weights evaluated where nobody knows of a teacher.
    alone = dataclasses.replace(
        options,
        teacher_checkpoint=(),
        do_train=False,
        output_dir=str(tmp_path / "alone"),
        init_checkpoint=options.output_dir,
    )
    assert run(alone) == 0
    taught, again = (
        [line for line in read_metrics(one.output_dir) if line["split"] == "eval"][-1]
        for one in (options, alone)
    )
    assert taught["masked_lm_loss"] == pytest.approx(again["masked_lm_loss"], rel=1e-5)
    assert "masked_lm_perplexity" in taught


def test_what_is_refused(options, data, tmp_path):
    def refused(teacher: str, *parts: str, **changes) -> None:
        assert_refused(
            lambda: run(dataclasses.replace(options, teacher_checkpoint=(teacher,), **changes)),
            *parts,
        )

    assert_refused(
        lambda: run(dataclasses.replace(options, teacher_checkpoint=(), distillation_weight=1.0)),
        "--distillation_weight has no effect without --teacher_checkpoint",
    )
    (tmp_path / "vocab.txt").write_text((data / "vocab.txt").read_text().replace("word", "token"))
    BertForPreTraining(TINY).save_checkpoint(
        str(tmp_path / "other"), vocab_file=f"{tmp_path}/vocab.txt", do_lower_case=True
    )
    refused(
        f"{tmp_path}/other",
        "--teacher_checkpoint=",
        "is not the vocabulary of",
        "take a teacher with",
    )
    BertForPreTraining(dataclasses.replace(TINY, vocab_size=VOCAB + 1)).save_checkpoint(
        str(tmp_path / "larger")
    )
    refused(str(tmp_path / "larger"), f"{VOCAB + 1:,} entries, this model of {VOCAB}")
    BertEncoder(TINY).save_checkpoint(
        str(tmp_path / "encoder"), vocab_file=f"{data}/vocab.txt", do_lower_case=True
    )
    refused(str(tmp_path / "encoder"), "has no masked-LM head")
    assert not (tmp_path / "out").exists()
