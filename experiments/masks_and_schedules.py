"""What a masking rate, a learning-rate schedule and means of checkpoints are worth for as many tokens, with BERT-Tiny.

  python data_gen/create_pretraining_data.py --input_file=train.txt --output_file=train.tfrecord --packed \\
      --vocab_file=samples/tiny_books/vocab.txt --max_seq_length=64 --max_predictions_per_seq=20 \\
      --masked_lm_prob=0.3 --dynamic_masking
  for most in 10 20; do python data_gen/create_pretraining_data.py --input_file=held_out.txt --dupe_factor=1 \\
      --output_file=held_out$most.tfrecord --vocab_file=samples/tiny_books/vocab.txt --max_seq_length=64 \\
      --max_predictions_per_seq=$most; done                        # the same masks, with room for training's
  python experiments/masks_and_schedules.py --input_file=train.tfrecord --held_out=held_out --glue_dir=glue \\
      --output_dir=results --results_file=masks_and_schedules.json

One process, one run after the other; the same command resumes. What is complete is in the results, whatever is missing.
"""

import dataclasses
import glob
import os
import pkgutil
import shutil
import time

from bert_common import cli, json_files
from bert_common.options import Options, option
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.evaluation import EVAL_RESULTS
from bert_tf.tasks.pretraining.options import PretrainingOptions

_MODEL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "samples", "tiny_books")
_PEAK_RATE, _BATCH_SIZE, _LENGTH = 1e-3, 32, 64
# Folder → name in the results, share of the steps, flags, (folder, share of the steps) of the run that it goes on from.
_RUNS = {
    "linear": ("15 %, linear", 1.0, {}, None),
    "falling": ("30 → 15 %, linear", 1.0, {"masked_lm_prob": (0.3, 0.15)}, None),
    "constant30": ("30 %, linear", 1.0, {"masked_lm_prob": (0.3,)}, None),
    "wsd10": ("15 %, wsd, decay 10 %", 1.0, {"lr_schedule": "wsd", "decay_proportion": 0.1}, None),
    "wsd30": ("15 %, wsd, decay 30 %", 1.0, {"lr_schedule": "wsd", "decay_proportion": 0.3}, ("wsd10", 0.7)),
    "wsd10-constant30": ("30 %, wsd, decay 10 %", 1.0, {
        "masked_lm_prob": (0.3,), "lr_schedule": "wsd", "decay_proportion": 0.1}, None),
    "wsd30-half": ("half the steps: 15 %, wsd, decay 30 %", 0.5, {
        "lr_schedule": "wsd", "decay_proportion": 0.3}, ("wsd10", 0.35)),
    "linear-half": ("half the steps: 15 %, linear", 0.5, {}, None)}
# Folder → name, run, share of the steps of the last checkpoint, number of checkpoints, a twentieth of the steps apart.
_MEANS = {f"{run}-mean{count}": (f"{text}, mean of {count}", run, last, count)
          for run, text, last in (("linear", "15 %, linear", 1.0), ("wsd10", "15 %, wsd, before the decay", 0.9))
          for count in (3, 5)}
_TASKS = {"sst-2": {"max_train_examples": 4000}, "mrpc": {}}
_COLUMNS = {"masked_lm_loss": "masked-LM loss", "masked_lm_accuracy_at_mask": "at [MASK], %",
            "next_sentence_accuracy": "next sentence, %", "sst-2": "SST-2, %", "mrpc": "MRPC, %"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MasksOptions(Options):
  """Masks and schedules."""

  input_file: str = option(None, "Records to train on, without masks.", required=True, path=True)
  held_out: str = option(None, "Masked records to measure by: NAME10.tfrecord and NAME20.tfrecord.", required=True)
  glue_dir: str = option(None, "Where GLUE's folders are.", required=True)
  output_dir: str = option(None, "Where the runs go.", required=True)
  results_file: str | None = option(None, "JSON with every number; a picture goes beside it.", path=True)
  num_train_steps: int = option(3000, "Of a run.", minimum=40)
  seeds: tuple[int, ...] = option((1, 2, 3), "Seeds of the repetitions, one whole one after the other.", minimum=0)
  report_only: bool = option(False, "Train nothing, report what is there.")


def main(options: MasksOptions) -> None:
  for seed in () if options.report_only else options.seeds:
    folder = os.path.join(options.output_dir, f"seed{seed}")
    for name in _RUNS:
      _pretrain(options, folder, name, seed)
    for name in _MEANS:
      _mean(options, folder, name)
    for name in (*(name for name, (_, share, *_) in _RUNS.items() if share == 1.0), *_MEANS):
      for task in _TASKS:
        # The weights after two epochs are those that are measured.
        _run("classification", ClassificationOptions(
            task_name=task, data_dir=options.glue_dir, do_train=True, do_eval=True,
            output_dir=os.path.join(folder, f"{name}-{task}"),
            init_checkpoint=os.path.join(folder, name, "mean" if name in _MEANS else ""), max_seq_length=_LENGTH,
            train_batch_size=_BATCH_SIZE, learning_rate=3e-4, num_train_epochs=2.0, eval_steps=0, seed=seed,
            save_checkpoints_steps=1_000_000, report_to=(), **_TASKS[task]))
  if options.results_file:
    _report(options)


def _pretrain(options: MasksOptions, folder: str, name: str, seed: int) -> None:
  out, whole, (_, share, flags, begins) = os.path.join(folder, name), options.num_train_steps, _RUNS[name]
  predictions = 20 if "masked_lm_prob" in flags else 10
  os.makedirs(out, exist_ok=True)
  if begins and not glob.glob(os.path.join(glob.escape(out), "ckpt-*")):
    for path in glob.glob(os.path.join(glob.escape(folder), begins[0], f"ckpt-{round(begins[1] * whole)}.*")):
      shutil.copy(path, out)
  _run("pretraining", PretrainingOptions(
      do_train=True, do_eval=True, input_file=options.input_file, eval_file=f"{options.held_out}{predictions}.tfrecord",
      bert_config_file=os.path.join(_MODEL, "bert_config.json"), vocab_file=os.path.join(_MODEL, "vocab.txt"),
      output_dir=out, max_seq_length=_LENGTH, max_predictions_per_seq=predictions, train_batch_size=_BATCH_SIZE,
      eval_batch_size=64, learning_rate=_PEAK_RATE, num_train_steps=round(share * whole), num_warmup_steps=whole // 10,
      eval_steps=whole // 10, max_eval_steps=40, save_checkpoints_steps=whole // 20, keep_checkpoint_max=0,
      report_to=(), seed=seed, masking="90,5,5", **flags))


def _mean(options: MasksOptions, folder: str, name: str) -> None:
  """The mean of checkpoints, and its evaluation."""
  from modeling.checkpoints.convert import convert

  out, whole, (_, source, last, count) = os.path.join(folder, name), options.num_train_steps, _MEANS[name]
  if not os.path.exists(os.path.join(out, "mean")):
    os.makedirs(out, exist_ok=True)
    steps = [round(last * whole) - whole // 20 * number for number in range(count)]
    convert(",".join(os.path.join(folder, source, f"ckpt-{step}") for step in steps), "native",
            os.path.join(out, "mean"))
  _run("pretraining", PretrainingOptions(
      do_eval=True, input_file=f"{options.held_out}10.tfrecord", eval_file=f"{options.held_out}10.tfrecord",
      init_checkpoint=os.path.join(out, "mean"), output_dir=out, max_seq_length=_LENGTH, max_predictions_per_seq=10,
      eval_batch_size=64, max_eval_steps=40, report_to=()))


def _run(task: str, options: PretrainingOptions | ClassificationOptions) -> None:
  """A run that is not complete."""
  results = os.path.join(options.output_dir, EVAL_RESULTS)
  if os.path.exists(results):
    return
  print(f"{time.strftime('%H:%M:%S')} {options.output_dir}", flush=True)
  pkgutil.resolve_name(f"bert_tf.tasks.{task}.task:run")(options)
  if not os.path.exists(results):
    raise SystemExit(f"{options.output_dir} was told to stop, and has saved: the same command resumes")


def _report(options: MasksOptions) -> None:
  from bert_tf.plotting import Picture, line_style, write
  from bert_tf.training.run_directory import read_metrics

  def found(seed: int, name: str, metric: str) -> float | None:
    value = json_files.read_object(os.path.join(options.output_dir, f"seed{seed}", name, EVAL_RESULTS)).get(metric)
    return value if value is None or metric == "masked_lm_loss" else 100 * value

  rows = []
  for name, (title, *_) in {**_RUNS, **_MEANS}.items():
    cells = {column: {"seeds": {str(seed): value for seed in options.seeds if (value := found(
        seed, f"{name}-{column}" if column in _TASKS else name, "eval_accuracy" if column in _TASKS else column)
    ) is not None}} for column in _COLUMNS}
    rows.append({"name": title, "columns": cells})
  json_files.write(options.results_file, {
      "name": "masks_and_schedules", "title": "Masking rates and schedules, BERT-Tiny", "columns": _COLUMNS,
      "decimals": 2, "rows": rows, "compared": [[one["name"], rows[0]["name"], "masked_lm_loss"] for one in rows[1:6]
                                                if len(one["columns"]["masked_lm_loss"]["seeds"]) > 1],
      "settings": {"steps": options.num_train_steps, "batch": _BATCH_SIZE, "tokens": _LENGTH, "peak rate": _PEAK_RATE}})

  def draw(figure) -> None:
    axes = figure.subplots()
    for number, name in enumerate(name for name, (_, share, *_) in _RUNS.items() if share == 1.0):
      curves = [{line["step"]: line["masked_lm_loss"] for line in read_metrics(
          os.path.join(options.output_dir, f"seed{seed}", name)) if line["split"] == "eval"}
                for seed in options.seeds if found(seed, name, "masked_lm_loss") is not None]
      steps = sorted(set.intersection(*map(set, curves))) if curves else []
      values = [[curve[step] for curve in curves] for step in steps]
      if steps:
        axes.plot(steps, [sum(some) / len(some) for some in values], label=_RUNS[name][0], **line_style(number))
        axes.fill_between(steps, list(map(min, values)), list(map(max, values)), alpha=0.15,
                          color=line_style(number)["color"])
    axes.set(xlabel="step", ylabel="held-out masked-LM loss at 15 % masks",
             title=f"mean, least and largest of {len(options.seeds)} seeds")
    axes.grid(alpha=0.3)
    axes.legend()

  folder, name = os.path.split(options.results_file)
  write(Picture(os.path.splitext(name)[0], draw, (7.5, 5)), folder or ".", ("png",))


if __name__ == "__main__":
  cli.run(MasksOptions, main)
