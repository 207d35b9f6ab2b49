import itertools
import json

import pytest

from bert_tf.runs.sweep import best_run, summary, write_json

# The ranges of the paper's appendix A.3.
LEARNING_RATES = (5e-5, 3e-5, 2e-5)
BATCH_SIZES = (16, 32)
EPOCHS = (2.0, 3.0, 4.0)
SEEDS = (1, 2, 3)


def _run(
    number: int = 0,
    accuracy: float = 0.5,
    degenerate: bool = False,
    others: dict | None = None,
    **changes,
) -> dict:
    return {
        "directory": f"run_{number}",
        "learning_rate": 5e-5,
        "train_batch_size": 32,
        "num_train_epochs": 3.0,
        "seed": number,
        "metrics": {"loss": 0.25, "accuracy": accuracy},
        "degenerate": degenerate,
        "seconds": 60.0,
        "others": others or {},
        **changes,
    }


def _paper() -> list[dict]:
    """All combinations; the best is learning rate 3e-5, batch 16, 4 epochs, seed 2."""
    results = []
    for rate, batch, epochs, seed in itertools.product(LEARNING_RATES, BATCH_SIZES, EPOCHS, SEEDS):
        accuracy = (
            0.8 + 0.01 * (rate == 3e-5) + 0.01 * (batch == 16) + 0.01 * epochs + 0.001 * (seed == 2)
        )
        results.append(
            _run(
                seed, accuracy, learning_rate=rate, train_batch_size=batch, num_train_epochs=epochs
            )
        )
    return results


@pytest.mark.parametrize(
    "runs, best",
    [
        ([_run(0, 0.5), _run(1, 0.7), _run(2, 0.7)], 1),
        ([_run(0, 0.9, degenerate=True), _run(1, 0.4), _run(2, 0.3)], 1),
        ([_run(0, 0.8, degenerate=True), _run(1, 0.9, degenerate=True)], 1),
        ([_run(0, float("nan")), _run(1, 0.1), _run(2, float("nan"))], 1),
        ([_run(0, -0.2), _run(1, -0.1)], 1),
        ([_run(0, float("nan")), _run(1, 0.1, degenerate=True)], 0),
    ],
)
def test_ties_degenerate_runs_and_what_is_no_number(runs, best):
    assert best_run(runs, "accuracy") is runs[best]


def test_table_computed_by_hand():
    runs = [
        _run(1, 0.70),
        _run(2, 0.73),
        _run(3, 0.76, degenerate=True),
        _run(4, 0.75, learning_rate=2e-5, train_batch_size=16, num_train_epochs=2.5),
    ]
    assert summary(runs, "accuracy").splitlines() == [
        "   learning_rate  batch  epochs  runs         accuracy             loss  best accuracy  degenerate",
        "           5e-05     32       3     3  0.7300 ± 0.0300  0.2500 ± 0.0000         0.7300           1",
        "*          2e-05     16     2.5     1           0.7500           0.2500         0.7500           -",
        "* best: accuracy 0.7500 with seed 4 in run_4",
    ]


def test_other_options_with_several_values_are_part_of_the_setting(tmp_path):
    runs = [
        _run(number, 0.7 + 0.01 * number, others={"weight_decay": decay, "lr_schedule": "cosine"})
        for number, decay in enumerate((0.01, 0.1, 0.1))
    ]
    assert [line.split()[:6] for line in summary(runs, "accuracy").splitlines()[:3]] == [
        ["learning_rate", "batch", "epochs", "weight_decay", "lr_schedule", "runs"],
        ["5e-05", "32", "3", "0.01", "cosine", "1"],
        ["*", "5e-05", "32", "3", "0.1", "cosine"],
    ]
    write_json(str(tmp_path), runs, runs[2], "accuracy")
    settings = json.loads((tmp_path / "selection.json").read_text())["settings"]
    assert [(one["weight_decay"], one["lr_schedule"], one["seeds"]) for one in settings] == [
        (0.01, "cosine", [0]),
        (0.1, "cosine", [1, 2]),
    ]


def test_json(tmp_path):
    runs = _paper()
    runs[0] |= {"metrics": {"loss": float("nan"), "accuracy": 0.5}, "degenerate": True}
    write_json(str(tmp_path), runs, best_run(runs, "accuracy"), "accuracy")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    read = json.loads((tmp_path / "selection.json").read_text(), parse_constant=refuse)
    assert (
        read["main_metric"] == "accuracy"
        and len(read["runs"]) == 54
        and len(read["settings"]) == 18
    )
    assert read["best"] == best_run(runs, "accuracy")
    assert read["runs"][1] == runs[1] and list(read["runs"][1]) == list(runs[1])
    first, last = read["settings"][0], read["settings"][-1]
    assert read["runs"][0]["metrics"]["loss"] is None and first["metrics"]["loss"]["mean"] is None
    assert first["num_degenerate"] == 1 and first["seeds"] == [1, 2, 3]
    accuracies = [run["metrics"]["accuracy"] for run in runs[-3:]]
    mean = sum(accuracies) / 3
    assert last["metrics"]["accuracy"] == pytest.approx(
        {
            "mean": mean,
            "standard_deviation": (sum((value - mean) ** 2 for value in accuracies) / 2) ** 0.5,
        }
    )
    assert last["best"] == max(accuracies)
