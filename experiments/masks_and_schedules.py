"""What a masking rate, a learning-rate schedule and means of checkpoints are worth for as many
tokens, with BERT-Tiny.

  python data_gen/create_pretraining_data.py --input_file=train.txt --output_file=train.tfrecord
  --packed \\
      --vocab_file=samples/tiny_books/vocab.txt --max_seq_length=64 --max_predictions_per_seq=20 \\
      --masked_lm_prob=0.3 --dynamic_masking
  for most in 10 20; do python data_gen/create_pretraining_data.py --input_file=held_out.txt
  --dupe_factor=1 \\
      --output_file=held_out$most.tfrecord --vocab_file=samples/tiny_books/vocab.txt
      --max_seq_length=64 \\ --max_predictions_per_seq=$most; done                        # the same
      masks, with room for training's
  python experiments/masks_and_schedules.py --input_file=train.tfrecord --held_out=held_out
  --glue_dir=glue \\
      --output_dir=results --results_file=masks_and_schedules.json

One job after the other; the same command resumes. What is complete is in the results, whatever is
missing.
"""

import dataclasses
import os

from bert_common import cli, json_files
from bert_common.options import Options, option
from bert_tf.runs.evaluation import EVAL_RESULTS
from experiments.runner.jobs import Given, Job, Made, Plan, State, launcher, run_jobs
from experiments.runner.run import finish

_MODEL = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "samples", "tiny_books"
)
_WSD = {"lr_schedule": "wsd", "decay_proportion": 0.1}
# Name → title, share of the steps, flags.
_RUNS = {
    "linear": ("15 %, linear", 1.0, {}),
    "falling": ("30 → 15 %, linear", 1.0, {"masked_lm_prob": (0.3, 0.15)}),
    "constant30": ("30 %, linear", 1.0, {"masked_lm_prob": 0.3}),
    "wsd10": ("15 %, wsd, decay 10 %", 1.0, _WSD),
    "wsd30": ("15 %, wsd, decay 30 %", 1.0, _WSD | {"decay_proportion": 0.3}),
    "wsd10-constant30": ("30 %, wsd, decay 10 %", 1.0, _WSD | {"masked_lm_prob": 0.3}),
    "wsd30-half": ("half the steps: 15 %, wsd, decay 30 %", 0.5, _WSD | {"decay_proportion": 0.3}),
    "linear-half": ("half the steps: 15 %, linear", 0.5, {}),
}
# Name → title, run, share of the steps of the last checkpoint, number of checkpoints, a twentieth
# of the steps apart.
_MEANS = {
    f"{run}-mean{count}": (f"{text}, mean of {count}", run, last, count)
    for run, text, last in (
        ("linear", "15 %, linear", 1.0),
        ("wsd10", "15 %, wsd, before the decay", 0.9),
    )
    for count in (3, 5)
}
_TASKS = {"sst-2": {"max_train_examples": 4000}, "mrpc": {}}
_COLUMNS = {
    "masked_lm_loss": "masked-LM loss",
    "masked_lm_accuracy_at_mask": "at [MASK], %",
    "next_sentence_accuracy": "next sentence, %",
    "sst-2": "SST-2, %",
    "mrpc": "MRPC, %",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MasksOptions(Options):
    """Masks and schedules."""

    input_file: str = option(None, "Records to train on, without masks.", required=True, path=True)
    held_out: str = option(
        None, "Masked records to measure by: NAME10.tfrecord and NAME20.tfrecord.", required=True
    )
    glue_dir: str = option(None, "Where GLUE's folders are.", required=True)
    output_dir: str = option(None, "Where the jobs go.", required=True)
    results_file: str = option(None, "JSON with every number.", required=True, path=True)
    num_train_steps: int = option(3000, "Of a run.", minimum=40)
    seeds: tuple[int, ...] = option(
        (1, 2, 3), "Seeds of the repetitions, one whole one after the other.", minimum=0
    )


def main(options: MasksOptions) -> int:
    plan = Plan(options.output_dir)
    for seed in options.seeds:
        add_jobs(plan, options, seed)
    plan.check()
    outcome = run_jobs(
        plan, State(plan, "masks_and_schedules"), 1, launcher(None), "masks_and_schedules"
    )
    rows = []
    for name, (title, *_) in {**_RUNS, **_MEANS}.items():
        cells = {}
        for column in _COLUMNS:
            key, factor = (
                ("eval_accuracy", 100)
                if column in _TASKS
                else (column, 1 if column == "masked_lm_loss" else 100)
            )
            jobs = {
                str(seed): f"{name}-{column if column in _TASKS else 'eval'}-seed{seed}"
                for seed in options.seeds
            }
            cells[column] = {
                "seeds": {
                    seed: factor
                    * json_files.read_object(plan.path(job, EVAL_RESULTS), {key: float})[key]
                    for seed, job in jobs.items()
                    if job in outcome.complete
                }
            }
        rows.append({"name": title, "columns": cells})
    json_files.write(
        options.results_file,
        {
            "name": "masks_and_schedules",
            "title": "Masking rates and schedules, BERT-Tiny",
            "columns": _COLUMNS,
            "decimals": 2,
            "rows": rows,
            "compared": [
                [one["name"], rows[0]["name"], "masked_lm_loss"]
                for one in rows[1:6]
                if len(one["columns"]["masked_lm_loss"]["seeds"]) > 1
            ],
        },
    )
    return finish(plan, outcome)


def add_jobs(plan: Plan, options: MasksOptions, seed: int) -> None:
    """Pre-trainings, means of their checkpoints, and fine-tuning of all that had the whole
    steps."""
    steps, starts = options.num_train_steps, {}
    common = {"max_seq_length": 64, "eval_batch_size": 64, "max_eval_steps": 40}
    for name, (_, share, flags) in _RUNS.items():
        most = 20 if "masked_lm_prob" in flags else 10
        job = f"{name}-eval-seed{seed}"
        plan.add(
            Job(
                job,
                "run_pretraining.py",
                {
                    "do_train": True,
                    "do_eval": True,
                    "input_file": Given(options.input_file),
                    "eval_file": Given(f"{options.held_out}{most}.tfrecord"),
                    "max_predictions_per_seq": most,
                    "bert_config_file": Given(f"{_MODEL}/bert_config.json"),
                    "vocab_file": Given(f"{_MODEL}/vocab.txt"),
                    "train_batch_size": 32,
                    "learning_rate": 1e-3,
                    "num_train_steps": round(share * steps),
                    "num_warmup_steps": steps // 10,
                    "eval_steps": steps // 10,
                    "save_checkpoints_steps": steps // 20,
                    "keep_checkpoint_max": 0,
                    "masking": "90,5,5",
                    "seed": seed,
                    **common,
                    **flags,
                    "output_dir": Made(job),
                },
                EVAL_RESULTS,
            )
        )
        starts |= {name: Made(job)} if share == 1.0 else {}
    for name, (_, run, last, count) in _MEANS.items():
        checkpoints = [round(last * steps) - steps // 20 * number for number in range(count)]
        starts[name] = Made(f"{name}-seed{seed}", "mean")
        plan.add(
            Job(
                starts[name].job,
                "convert_checkpoint.py",
                {
                    "input": tuple(Made(starts[run].job, f"ckpt-{step}") for step in checkpoints),
                    "output_format": "native",
                    "output": starts[name],
                },
                "mean/bert_config.json",
            )
        )
        job = f"{name}-eval-seed{seed}"
        records = Given(f"{options.held_out}10.tfrecord")
        plan.add(
            Job(
                job,
                "run_pretraining.py",
                {
                    "do_eval": True,
                    "input_file": records,
                    "eval_file": records,
                    "init_checkpoint": starts[name],
                    "max_predictions_per_seq": 10,
                    **common,
                    "output_dir": Made(job),
                },
                EVAL_RESULTS,
            )
        )
    for name, start in starts.items():
        for task, flags in _TASKS.items():
            job = f"{name}-{task}-seed{seed}"
            # The weights after two epochs are those that are measured.
            plan.add(
                Job(
                    job,
                    "run_classifier.py",
                    {
                        "task_name": task,
                        "data_dir": Given(options.glue_dir),
                        "do_train": True,
                        "do_eval": True,
                        "init_checkpoint": start,
                        "max_seq_length": 64,
                        "train_batch_size": 32,
                        "learning_rate": 3e-4,
                        "num_train_epochs": 2.0,
                        "eval_steps": 0,
                        "save_checkpoints_steps": 1_000_000,
                        "seed": seed,
                        **flags,
                        "output_dir": Made(job),
                    },
                    EVAL_RESULTS,
                )
            )


if __name__ == "__main__":
    cli.run(MasksOptions, main)
