"""A plan as text or shell commands: what `--print_plan` shows."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from experiments.runner.jobs import Job, Plan
from experiments.runner.options import SHELL, ExperimentOptions
from experiments.runner.results import Planned
from experiments.runner.scales import DISTILLATION, Scale
from modeling.config import PRESETS
from modeling.costs import training_flops


class Device(NamedTuple):
  """What hours are estimated for: a rate of matrix products in training, in FLOP/s, and who measured it."""

  name: str
  rate: float
  source: str


_BASE, _LARGE = (PRESETS[f"bert-{size}-uncased"] for size in ("base", "large"))
_LARGE_128 = training_flops(_LARGE, 128, 20)
_BASE_RUN = 1e6 * 256 * (0.9 * training_flops(_BASE, 128, 20) + 0.1 * training_flops(_BASE, 512, 77))
# Rates that a model of the device's liking reaches: smaller models reach less.
DEVICES = (
    Device("one core", 4.6e10, "a server's, float32: 242 sequences/s of 64 tokens, 2 layers, 128 hidden units, 4,000 "
           "tokens"),
    Device("V100 32 GB", 206.5 * _LARGE_128,
           "NVIDIA's BERT-Large in TensorFlow 2, 128 tokens, float16: 206.5 sequences/s"),
    Device("A100 80 GB", 485.59 * _LARGE_128, "the same: 485.6 sequences/s"),
    Device("8 A100 80 GB", 3799 * _LARGE_128, "the same: 3,799 sequences/s"),
    Device("H100 80 GB", 3407 * training_flops(_BASE, 128, 20),
           "this project's BERT-Base, 128 tokens, bfloat16: 3,407 sequences/s"),
    Device("16 TPU v2 chips", _BASE_RUN / (4 * 86_400), "the paper, appendix A.2: BERT-Base in 4 days"),
)


def describe(plan: Plan, planned: Sequence[Planned], options: ExperimentOptions, scale: Scale) -> str:
  """The plan in --plan_format."""
  return _shell(plan) if options.plan_format == SHELL else _text(plan, planned, scale)


def settings(scale: Scale, planned: Sequence[Planned]) -> dict[str, object]:
  """Settings of a scale that these experiments use, for people: name → value."""
  sizes = {row.model.size for one in planned for row in one.rows}
  recipes = {scale.recipe(row, column) for one in planned for row in one.rows for column, _ in one.columns.values()}
  recipes |= {DISTILLATION for one in planned for row in one.rows if row.teacher}
  phases = "; ".join(f"{phase.share:.0%} of the steps with {phase.length} tokens and at most {phase.predictions} "
                     "predictions" for phase in scale.phases)
  found = {
      "scale": scale.name, "vocabulary": f"{scale.vocab_size:,}",
      "pre-training": f"{scale.steps:,} steps of {scale.batch_size} sequences, peak rate {scale.learning_rate:g}, "
                      f"{scale.warmup_steps:,} steps of warm-up", "sequences": phases,
      f"passes over the text{'' if scale.dynamic_masking else ' with masks of their own'}": scale.dupe_factor,
      "held-out documents": f"{scale.held_out:.1%}",
      "repetitions": "each with a pre-training of its own" if scale.pretraining_seeds else
                     "of fine-tuning; all start from one pre-training"}
  if scale.dynamic_masking:
    found["masks"] = "made while training, others in every epoch"
  if all(scale.sizes[size].directory for size in sizes):
    found = {"scale": scale.name, "repetitions": "of fine-tuning"}
  for name, size in scale.sizes.items():
    if name in sizes:
      own = f"; trained: {size.directory}" if size.directory else "" if size.learning_rate is None else (
          f"; peak rate {size.learning_rate:g}, initial weights with a deviation of {size.initializer_range:g}")
      found[f"model {name}"] = f"{size.layers} layers, {size.hidden} hidden units, {size.heads} attention heads{own}"
  for kind, one in scale.fine_tuning.items():
    if kind not in recipes:
      continue
    rates = ", ".join(f"{rate:g}" for rate in one.grid or (one.learning_rate,))
    batches = ", ".join(map(str, one.batch_size if isinstance(one.batch_size, tuple) else (one.batch_size,)))
    limit = "" if one.most_examples is None else f", at most {one.most_examples:,} examples"
    found[f"fine-tuning, {kind}"] = (f"{one.epochs:g} epochs, batches of {batches}, learning rate {rates}"
                                     f"{', the best on the development set' if len(one.grid) > 1 else ''}, "
                                     f"{one.length} tokens{limit}")
  return found


def _text(plan: Plan, planned: Sequence[Planned], scale: Scale) -> str:
  lines = []
  for one in planned:
    lines += [f"{one.experiment.name}: {one.experiment.title}", f"  {one.experiment.about}"]
    if scale.name in one.experiment.expect:
      lines.append(f"  expect: {one.experiment.expect[scale.name]}")
    lines += [f"  {len(one.rows)} rows × {', '.join(column.title for column, _ in one.columns.values())}"]
    lines += [f"  note: {note}" for note in one.notes]
  lines += ["", *(f"{name:46} {value}" for name, value in settings(scale, planned).items()), ""]
  for job in plan.jobs.values():
    lines += [f"# {job.name}: {_amount(job)}", _command(plan, job), ""]
  flops = sum(job.work.flops for job in plan.jobs.values())
  examples = sum(job.work.examples for job in plan.jobs.values())
  lines += [f"{len(plan.jobs)} jobs, {examples:,} examples, {flops:.2g} FLOP of matrix products", "",
            f"{'hours, of training alone':26}{'all':>12}{'longest way':>14}"]
  longest = max(plan.work_to_the_end().values())
  lines += [f"{device.name:26}{_hours(flops, device):>12}{_hours(longest, device):>14}   {device.source}"
            for device in DEVICES]
  lines.append("The longest way is what would remain with as many devices as jobs. Fine-tuning is counted as if all "
               "sequences had the greatest length.")
  return "\n".join(lines)


def _amount(job: Job) -> str:
  if not job.work.flops:
    return "no training"
  hours = ", ".join(f"{_hours(job.work.flops, device)} h on {device.name}" for device in DEVICES)
  return f"{job.work.examples:,} examples, {job.work.flops:.2g} FLOP: {hours}"


def _hours(flops: float, device: Device) -> str:
  return f"{flops / device.rate / 3600:.2g}" if flops / device.rate < 3.6e5 else f"{flops / device.rate / 3600:,.0f}"


def _command(plan: Plan, job: Job) -> str:
  return " \\\n    ".join(["python " + job.script, *map(shlex.quote, plan.command(job)[1:])])


def _shell(plan: Plan) -> str:
  lines = ["#!/bin/sh", "# From the project's directory. A command that was stopped can be given again.", "set -e"]
  for name, job in plan.jobs.items():
    lines += [f"# {name}", f"mkdir -p {shlex.quote(plan.job_directory(name))}", _command(plan, job)]
  return "\n".join(lines)
