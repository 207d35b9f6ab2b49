"""From text to a pre-trained BERT that has learnt something, here, in about ten minutes: what `make
demo` runs.

  python demo.py                        # everything, into demo_output/
  python demo.py --num_train_steps=500  # shorter: commands, files and pictures, but little is
  learnt

The text is the English documentation in some installed Python packages, so nothing is downloaded.
Every command is printed before it runs and can be typed as it is. The first lines show what to
expect on this machine. At the end: a report, filled masks beside those of the same model before
training, and a picture of the curves. docs/pretraining.md has the sources of the recipe.
"""

import dataclasses
import os
import shlex
import statistics
import subprocess
import sys
import time

from bert_common import cli, files, json_files
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.runs.evaluation import EVAL_RESULTS

ROOT = os.path.dirname(os.path.abspath(__file__))
# Much text of one kind; documents long enough that the next segment is often a true one.
PACKAGES, MIN_WORDS = ("numpy", "scipy", "sklearn", "matplotlib", "keras", "tensorflow"), 60
VOCAB_SIZE = 5000
SEQUENCE_LENGTH, PREDICTIONS, BATCH_SIZE = 64, 10, 32
# For a width of 128 initial weights of 0.02 are a quarter of 1 / sqrt(width): the model then learns
# nothing but frequencies for thousands of steps. Few passes over the text need no dropout.
LEARNING_RATE, INITIALIZER_RANGE = 1e-3, 0.08
# More of the masked tokens are [MASK] than the paper's 80 %: there is more to learn from, and less
# to copy.
MASKING = "90,5,5"
# The same everywhere; accuracy at [MASK] on held-out documents after these, of three seeds
# (docs/pretraining.md).
STEPS, EXPECTED = 4000, "24.9 % ± 2.3"
# Fraction of the matrix-multiply rate that so small a model reaches in training on two cores.
UTILISATION = 0.45
SENTENCES = (
    "The [MASK] of the array is returned.",
    "Returns a new [MASK] with the same shape as the input.",
    "If [MASK] is true, the result is a list of strings.",
    "The default [MASK] is None.",
)
ATTENDED = "Returns a new array with the same shape as the input. ||| The default is None."


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """Options of the demo."""

    output_dir: str = option("demo_output", "Where everything goes.", required=True)
    num_train_steps: int = option(STEPS, "Training steps.", minimum=1)
    seed: int = option(
        12345, "Drives the masks, the initial weights and the order of the data.", minimum=0
    )


def main(options: DemoOptions) -> None:
    from bert_tf.training.speed import matmul_rate
    from modeling.config import PRESETS
    from modeling.costs import training_flops

    began = time.perf_counter()
    directory = options.output_dir
    files.make_output_directory(directory, "output_dir")
    text, vocab, run = (os.path.join(directory, name) for name in ("text", "vocab", "run"))
    os.makedirs(text, exist_ok=True)
    steps = options.num_train_steps
    sizes = (f"--max_seq_length={SEQUENCE_LENGTH}", f"--max_predictions_per_seq={PREDICTIONS}")
    # How long the demo takes here, and what the model reaches.
    rate = matmul_rate(seconds=1.0)
    config = dataclasses.replace(PRESETS["tiny"], vocab_size=VOCAB_SIZE)
    flops = steps * BATCH_SIZE * training_flops(config, SEQUENCE_LENGTH, PREDICTIONS)
    print(
        f"expect {flops / (UTILISATION * rate) / 60 + 3:.0f} minutes or so here, 3 of them for text, records and "
        f"pictures (a guess from {rate / 1e9:.0f} GFLOP/s of matrix multiplication)"
    )
    if steps == STEPS:
        print(
            f"expect {EXPECTED} right guesses at [MASK] in held-out text at the end, where a constant guess has 6 %"
        )

    step(
        "1. Text: the documentation of the installed packages, a document a docstring",
        "data_gen/extract_docstrings.py",
        f"--output_file={text}/docstrings.jsonl",
        f"--packages={','.join(PACKAGES)}",
        f"--min_words={MIN_WORDS}",
    )
    step(
        "2. Corpus: one sentence per line; 2 % of the documents are held out",
        "data_gen/prepare_corpus.py",
        f"--input_file={text}/docstrings.jsonl",
        f"--output_file={text}/corpus.txt",
        "--held_out_fraction=0.02",
        f"--held_out_file={text}/held_out.txt",
    )
    step(
        "3. Vocabulary of word pieces, and the configuration of a BERT-Tiny that uses it",
        "vocab/build_vocab.py",
        f"--input_file={text}/corpus.txt",
        f"--held_out_file={text}/held_out.txt",
        f"--output_dir={vocab}",
        f"--vocab_size={VOCAB_SIZE}",
        "--model_size=tiny",
    )
    for name, more in (
        ("corpus", ("--dynamic_masking", "--dupe_factor=3")),
        ("held_out", ("--dupe_factor=1",)),
    ):
        step(
            f"4. Records, several sequences packed in a row: {name}{', which training masks' * (name == 'corpus')}",
            "data_gen/create_pretraining_data.py",
            f"--input_file={text}/{name}.txt",
            f"--output_file={text}/{name}.tfrecord",
            f"--vocab_file={vocab}/vocab.txt",
            "--packed",
            *more,
            *sizes,
            f"--random_seed={options.seed}",
        )
    step(
        "5. Pre-training (the same command resumes it after an interruption)",
        "run_pretraining.py",
        "--do_train",
        "--do_eval",
        f"--input_file={text}/corpus.tfrecord",
        f"--eval_file={text}/held_out.tfrecord",
        f"--bert_config_file={vocab}/bert_config.json",
        f"--output_dir={run}",
        f"--train_batch_size={BATCH_SIZE}",
        "--eval_batch_size=64",
        f"--learning_rate={LEARNING_RATE}",
        f"--num_train_steps={steps}",
        f"--num_warmup_steps={steps // 10}",
        f"--eval_steps={max(steps // 10, 1)}",
        f"--initializer_range={INITIALIZER_RANGE}",
        f"--masking={MASKING}",
        "--hidden_dropout_prob=0",
        "--attention_probs_dropout_prob=0",
        f"--seed={options.seed}",
        *sizes,
    )
    at_mask = json_files.read(os.path.join(run, EVAL_RESULTS))["masked_lm_accuracy_at_mask"]
    step(
        f"6. Filling masks (of those in held-out text the first guess is right in {at_mask:.1%})",
        "fill_mask.py",
        f"--init_checkpoint={run}",
        "--top_k=3",
        *SENTENCES,
    )
    step(
        "7. Pictures of the curves, and of what every head attends to",
        "plot.py",
        run,
        "--what=curves,attention",
        f"--output_dir={directory}/plots",
        f"--sentence={ATTENDED}",
    )
    report(directory, text, vocab, run, time.perf_counter() - began)
    print_learnt(run)


def step(title: str, script: str, *arguments: str) -> None:
    """Prints a command and runs it."""
    shown = " \\\n    ".join(["python " + script, *map(shlex.quote, arguments)])
    print(f"\n=== {title}\n$ {shown}\n", flush=True)
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, os.path.join(ROOT, script), *arguments])
    try:
        status = process.wait()
    except KeyboardInterrupt:
        # The script has got the signal too, and may be saving.
        process.wait()
        raise
    if status:
        raise UserError(
            f"the demo stopped: {script} ended with status {status}, its message is above"
        )
    print(f"({time.perf_counter() - began:.0f} s)", flush=True)


def report(directory: str, text: str, vocab: str, run: str, seconds: float) -> None:
    """Prints what was done and reached."""
    from bert_tf.tasks.pretraining.task import measure_baselines
    from bert_tf.training.run_directory import read_metrics
    from data_gen.pretraining.records import read_examples
    from data_gen.tokenization.vocabulary import Vocabulary
    from modeling.checkpoints.tensorflow_files import latest_checkpoint

    counts = json_files.read(f"{text}/corpus.tfrecord.stats.json")["counts"]
    lines = read_metrics(run)
    training, evaluations = (
        [line for line in lines if line["split"] == split] for split in ("train", "eval")
    )
    first, last, held_out = training[0], training[-1], evaluations[-1]
    vocabulary = Vocabulary.from_file(f"{vocab}/vocab.txt")
    baselines = "\n".join(
        f"  {name:34}{share:10.4f}"
        for name, share in measure_baselines(
            read_examples(f"{text}/held_out.tfrecord"), vocabulary.mask_id
        ).items()
    )
    rate = statistics.median(line["examples_per_second"] for line in training)
    print(f"""
=== Report
corpus       {counts["documents"]:,} documents, {counts["tokens"]:,} tokens, {counts["instances"]:,} examples
trained      {last["step"]:,} steps of {BATCH_SIZE} examples of up to {SEQUENCE_LENGTH} tokens
throughput   {rate:.0f} examples/s, {last["input_wait_share"]:.1%} of the time waiting for input

                          at the start   at the end   held-out documents""")
    for name, label in (
        ("masked_lm_accuracy", "masked-LM accuracy"),
        ("masked_lm_accuracy_at_mask", "  at [MASK] alone"),
        ("masked_lm_loss", "masked-LM loss"),
        ("next_sentence_accuracy", "next-sentence accuracy"),
        ("next_sentence_loss", "next-sentence loss"),
    ):
        print(f"  {label:24}{first[name]:12.4f} {last[name]:12.4f} {held_out[name]:20.4f}")
    print(f"""
  Without a model, on the held-out documents:
{baselines}

checkpoint   {latest_checkpoint(run)}
pictures     {directory}/plots
TensorBoard  tensorboard --logdir={run}
time         {seconds / 60:.1f} minutes""")


def print_learnt(run: str) -> None:
    """Prints masks filled by the model and by the same one before training."""
    from bert_tf.inference.fill_mask import load_mask_filler
    from bert_tf.inference.options import FillMaskOptions
    from modeling.config import BertConfig
    from modeling.pretraining import BertForPreTraining

    untrained = os.path.join(run, "untrained")
    if not os.path.exists(untrained):
        config = BertConfig.from_file(f"{run}/bert_config.json")
        BertForPreTraining(config).save_checkpoint(
            untrained, vocab_file=f"{run}/vocab.txt", do_lower_case=True
        )
    fillers = {
        name: load_mask_filler(FillMaskOptions(init_checkpoint=path, top_k=3))
        for name, path in (("trained", run), ("untrained", untrained))
    }
    print("\n=== What it has learnt")
    for sentence in SENTENCES:
        print(sentence)
        for name, filler in fillers.items():
            guesses = ", ".join(
                f"{guess.token} {guess.probability:.0%}" for guess in filler.fill(sentence)[0]
            )
            print(f"  {name:10} {guesses}")


if __name__ == "__main__":
    cli.run(DemoOptions, main)
