"""A plan as text: what `--print_plan` shows."""

import shlex
from collections.abc import Sequence

from experiments.runner.jobs import Plan
from experiments.runner.results import Planned
from experiments.runner.scales import Scale
from modeling.config import PRESETS
from modeling.costs import training_flops

_BASE = PRESETS["bert-base-uncased"]
# What hours are estimated for: FLOP/s of matrix products in training, for a model of the device's liking, and who
# measured them; smaller models reach less.
DEVICES = {
    "one core": (4.6e10, "a server's, float32: 242 sequences/s of 64 tokens, 2 layers, 128 hidden units, 4,000 tokens"),
    "A100 80 GB": (485.59 * training_flops(PRESETS["bert-large-uncased"], 128, 20),
                   "NVIDIA's BERT-Large in TensorFlow 2, 128 tokens, float16: 485.6 sequences/s"),
    "H100 80 GB": (3407 * training_flops(_BASE, 128, 20),
                   "this project's BERT-Base, 128 tokens, bfloat16: 3,407 sequences/s"),
    "16 TPU v2 chips": (
        1e6 * 256 * (0.9 * training_flops(_BASE, 128, 20) + 0.1 * training_flops(_BASE, 512, 77)) / (4 * 86_400),
        "the paper, appendix A.2: BERT-Base in 4 days")}


def describe(plan: Plan, planned: Sequence[Planned], scale: Scale) -> str:
  """Every command with its examples and arithmetic, in an order that works, and hours on some devices."""
  lines = []
  for one in planned:
    lines += [f"{one.experiment.name}: {one.experiment.title}", f"  {one.experiment.about}"]
    if scale.name in one.experiment.expect:
      lines.append(f"  expect: {one.experiment.expect[scale.name]}")
    lines += [f"  {len(one.rows)} rows × {', '.join(column.title for column, _ in one.columns.values())}",
              *(f"  note: {note}" for note in one.notes)]
  for job in plan.jobs.values():
    amount = f"{job.examples:,} examples, {job.flops:.2g} FLOP" if job.flops else "no training"
    lines += ["", f"# {job.name}: {amount}",
              " \\\n    ".join(["python " + job.script, *map(shlex.quote, plan.command(job)[1:])])]
  flops, examples = (sum(getattr(job, name) for job in plan.jobs.values()) for name in ("flops", "examples"))
  lines += ["", f"{len(plan.jobs)} jobs, {examples:,} examples, {flops:.2g} FLOP of matrix products", "",
            "hours, of training alone"]
  for name, (rate, source) in DEVICES.items():
    hours = flops / rate / 3600
    lines.append(f"{name:16}{format(hours, '.2g' if hours < 100 else ',.0f'):>12}   {source}")
  lines.append("Fine-tuning is counted as if all sequences had the greatest length.")
  return "\n".join(lines)
