import os
import re

import pytest

from bert_common.errors import UserError
from bert_tf.evaluation.classification import (
    CUSTOM_MULTI_LABEL,
    CUSTOM_TWO_CLASSES,
    TASK_METRICS,
)
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions


def test_directories_of_a_selection_name_what_has_several_values():
    options = ClassificationOptions(task_name="mrpc", output_dir="out", weight_decay=0.1)
    one_rate = options.replace(sweep={"learning_rate": (1e-5, 2e-5)}).combinations()
    assert [os.path.basename(one.output_dir) for one in one_rate] == [
        "lr1e-05_bs32_ep3_seed12345",
        "lr2e-05_bs32_ep3_seed12345",
    ]
    assert {one.weight_decay for one in one_rate} == {0.1}
    others = options.replace(
        sweep={"lr_schedule": ("cosine", "constant"), "hidden_dropout_prob": (0.0, 0.2)}
    )
    assert [
        (os.path.basename(one.output_dir), one.lr_schedule, one.hidden_dropout_prob)
        for one in others.combinations()
    ][1:3] == [
        ("lr5e-05_bs32_ep3_seed12345_lr_schedulecosine_hidden_dropout_prob0.2", "cosine", 0.2),
        ("lr5e-05_bs32_ep3_seed12345_lr_scheduleconstant_hidden_dropout_prob0", "constant", 0.0),
    ]


def test_steps_of_a_run_here_and_in_the_original():
    # As many as MRPC has.
    ours = ClassificationOptions(task_name="mrpc", output_dir="out")
    original = ours.replace(original_batches=True)
    assert (ours.steps_per_epoch(3668), ours.num_train_steps(3668)) == (115, 345)
    assert (original.steps_per_epoch(3668), original.num_train_steps(3668)) == (114, 343)
    assert (original.steps_per_epoch(5), original.num_train_steps(5)) == (1, 1)
    # Half an epoch of 115 steps is rounded up; the original rounds down.
    half = {"num_train_epochs": 0.5}
    assert (
        ours.replace(**half).num_train_steps(3668),
        original.replace(**half).num_train_steps(3668),
    ) == (58, 57)


def classes(**changes) -> ClassificationOptions:
    return ClassificationOptions(
        **{"task_name": "mnli", "output_dir": "out", "do_train": True, **changes}
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"class_weights": "1,nan"},
            "--class_weights=1,nan: balanced or a list of numbers is expected",
        ),
        ({"class_weights": "even"}, "--class_weights=even: balanced or a list"),
        ({"class_weights": "0,0"}, "not all 0"),
        ({"eval_files": ("dev.tsv",)}, "--eval_files=dev.tsv: a name and a file are expected"),
        (
            {"eval_files": ("gs://dev.tsv",)},
            "--eval_files=gs://dev.tsv: a name and a file are expected",
        ),
        ({"eval_files": ("a:1.tsv", "a:2.tsv")}, "two files are called a"),
        ({"early_stopping_patience": 2, "eval_steps": 0}, "--eval_steps=0 asks for none"),
        (
            {"lr_schedule": "cosine", "sweep": {"lr_schedule": ("cosine", "square")}},
            "--lr_schedule=square is unknown",
        ),
        (
            {"decay_proportion": 0.2, "given": {"decay_proportion"}},
            "--decay_proportion has no effect without",
        ),
        (
            {"decay_proportion": 0.95, "lr_schedule": "wsd"},
            "--decay_proportion=0.95: warm-up and decay are longer than",
        ),
        (
            {"decay_proportion": 1.5, "lr_schedule": "wsd"},
            "--decay_proportion is 1.5, it must be at most 1",
        ),
        ({"weight_decay": -0.1}, "--weight_decay is -0.1, it must be at least 0"),
        (
            {"do_train": True, "output_dir": "out", "sweep": {"weight_decay": (0.01, 0.01000001)}},
            "two runs of the selection would be in one directory",
        ),
        ({"split_seed": 2}, "--split_seed has no effect without --dev_fraction"),
        (
            {"task_name": "custom", "label_separator": "|"},
            "--label_separator has no effect without --multi_label",
        ),
        ({"lora_alpha": 2.0}, "--lora_alpha has no effect without --lora_rank"),
        ({"multi_label": True}, "--multi_label has no effect without --task_name=custom"),
        ({"task_name": "custom", "multi_label": True, "regression": True}, "contradict"),
        ({"hidden_dropout_prob": 1.0}, "--hidden_dropout_prob is 1.0, it must be at most"),
    ],
)
def test_options_that_can_not_be(changes, message):
    with pytest.raises(UserError, match=re.escape(message)):
        classes(**changes).check()


def test_names_of_evaluation_files():
    options = classes(eval_files=("hard:gs://bucket/dev2.tsv", "easy:C:/dev3.tsv"))
    options.check()
    splits = {"dev_hard": "gs://bucket/dev2.tsv", "dev_easy": "C:/dev3.tsv"}
    assert options.eval_splits == splits
    assert set(splits.values()) < set(options.paths())


def test_no_metric_of_a_file_has_the_name_of_another_metric():
    ranking = SentenceEmbeddingOptions(
        queries_file="q", documents_file="d", relevance_file="r", dev_file="p", do_eval=True
    ).metric_names()
    searched = [f"retrieval_{metric}" for metric in ranking["retrieval"]]
    tasks = [
        (*CUSTOM_TWO_CLASSES, "loss"),
        (*CUSTOM_MULTI_LABEL, "loss"),
        # Of `TokenClassificationTask.score`.
        ("f1", "precision", "recall", "surface_f1", "accuracy", "loss"),
        (*ranking["dev"], *ranking["retrieval"], *searched),
        *TASK_METRICS.values(),
    ]
    refused = set()
    for metrics in tasks:
        for metric in metrics:
            for end in metrics:
                name = metric.removesuffix(f"_{end}")
                if name != metric:
                    refused.add(name)
    assert refused == {"macro", "retrieval", "surface"}
    for name in refused:
        # The second is the first one's metric where there are two files, a and a_macro.
        for full_name in (name, f"a_{name}"):
            with pytest.raises(UserError, match=f"begin with {name}_ as well"):
                classes(eval_files=(f"{full_name}:dev.tsv",)).check()


@pytest.mark.parametrize(
    ("devices", "size", "accumulated"),
    [(1, 32, 32), (3, 33, 36), (5, 35, 40), (6, 36, 48), (7, 35, 56)],
)
def test_default_batch_sizes_fit_any_number_of_devices(devices, size, accumulated):
    options = ClassificationOptions(task_name="mrpc", output_dir="out")
    assert options.fit_devices(devices).train_batch_size == size
    micro = options.replace(gradient_accumulation_steps=4)
    assert micro.fit_devices(devices).train_batch_size == accumulated
    # A size that was given stays, and is refused later.
    given = options.replace(train_batch_size=16)
    assert given.fit_devices(devices).train_batch_size == 16
