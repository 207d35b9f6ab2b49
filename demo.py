"""Pre-trains a BERT from raw text on this machine in about ten minutes; `make demo` runs it.

  python demo.py                        # everything, into demo_output/
  python demo.py --num_train_steps=500  # shorter: all commands, but little is learned

The text is the English documentation in some installed Python packages, so that nothing is
downloaded. Every command is printed before it runs and can be typed as it is. The end is a report,
beside filled masks and pictures. docs/pretraining.md has the sources of the recipe.
"""

import os
import statistics
import time

from bert_common import cli, files, json_files
from bert_common.options import Options, option, option_class
from bert_tf.commands import run_command
from bert_tf.runs.evaluation import EVAL_RESULTS

# Much text of one kind, in documents long enough that the next segment is often a true one.
PACKAGES = ("numpy", "scipy", "sklearn", "matplotlib", "keras", "tensorflow")
MIN_WORDS = 60
# The shape of the records; small, so that thousands of steps take minutes.
VOCAB_SIZE = 5000
SEQUENCE_LENGTH = 64
PREDICTIONS = 10
BATCH_SIZE = 32
LEARNING_RATE = 1e-3
# At a width of 128, the paper's 0.02 is a quarter of 1 / sqrt(width): the model then learns nothing
# but token frequencies for thousands of steps.
INITIALIZER_RANGE = 0.08
# More of the masked tokens become [MASK] than the paper's 80 %: there is more to learn from them.
MASKING = "90,5,5"
STEPS = 4000
# Accuracy at [MASK] on held-out documents after these steps, of three seeds (docs/pretraining.md).
EXPECTED_ACCURACY = "24.9 % ± 2.3"
SENTENCES = (
    "The [MASK] of the array is returned.",
    "Returns a new [MASK] with the same shape as the input.",
    "If [MASK] is true, the result is a list of strings.",
    "The default [MASK] is None.",
)
ATTENTION_TEXT = "Returns a new array with the same shape as the input. ||| The default is None."


@option_class
class DemoOptions(Options):
    """Options of the demo."""

    output_dir: str = option("demo_output", "Directory of all files.", required=True)
    num_train_steps: int = option(STEPS, "Training steps.", minimum=1)
    seed: int = option(
        12345, "Seed of masks, initial weights and the order of the data.", minimum=0
    )


def main(options: DemoOptions) -> None:
    start = time.perf_counter()
    directory = options.output_dir
    files.make_output_directory(directory, "output_dir")
    text = os.path.join(directory, "text")
    vocab = os.path.join(directory, "vocab")
    run = os.path.join(directory, "run")
    os.makedirs(text, exist_ok=True)
    print_expectations(options.num_train_steps)
    make_data(text, vocab, options.seed)
    train(text, vocab, run, options)
    results = json_files.read(os.path.join(run, EVAL_RESULTS))
    step(
        "6. Filling masks (in held-out text the first guess is right in "
        f"{results['masked_lm_accuracy_at_mask']:.1%})",
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
        f"--sentence={ATTENTION_TEXT}",
    )
    report(directory, text, vocab, run, time.perf_counter() - start)


def print_expectations(num_steps: int) -> None:
    """Prints the time and the accuracy of earlier runs."""
    if num_steps == STEPS:
        print(
            "expect 10 minutes on two quiet cores; step 5 says how long it takes here, the other "
            f"steps take 3 minutes\nexpect {EXPECTED_ACCURACY} accuracy at [MASK] in held-out "
            "text; a constant guess has 6 %"
        )


def make_data(text: str, vocab: str, seed: int) -> None:
    """Makes corpus, vocabulary and records with the scripts."""
    # Scripts are run as a user runs them, so that each line of the demo can be repeated alone.
    step(
        "1. Text: the documentation of the installed packages, one docstring per document",
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
        "3. WordPiece vocabulary, and the configuration of a BERT-Tiny with it",
        "vocab/build_vocab.py",
        f"--input_file={text}/corpus.txt",
        f"--held_out_file={text}/held_out.txt",
        f"--output_dir={vocab}",
        f"--vocab_size={VOCAB_SIZE}",
        "--model_size=tiny",
    )
    # Held-out records need fixed masks, so that evaluations are comparable.
    flags_by_name = {
        "corpus": ("--dynamic_masking", "--dupe_factor=3"),
        "held_out": ("--dupe_factor=1",),
    }
    for name, flags in flags_by_name.items():
        step(
            f"4. Records, several sequences packed into a row: {name}",
            "data_gen/create_pretraining_data.py",
            f"--input_file={text}/{name}.txt",
            f"--output_file={text}/{name}.tfrecord",
            f"--vocab_file={vocab}/vocab.txt",
            "--packed",
            *flags,
            f"--max_seq_length={SEQUENCE_LENGTH}",
            f"--max_predictions_per_seq={PREDICTIONS}",
            f"--random_seed={seed}",
        )


def train(text: str, vocab: str, run: str, options: DemoOptions) -> None:
    """Pre-trains, with ten evaluations on the held-out documents."""
    num_steps = options.num_train_steps
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
        f"--num_train_steps={num_steps}",
        f"--num_warmup_steps={num_steps // 10}",
        f"--eval_steps={max(num_steps // 10, 1)}",
        f"--initializer_range={INITIALIZER_RANGE}",
        f"--masking={MASKING}",
        # So few passes over the text need no dropout: nothing is seen often enough to be learned by
        # heart.
        "--hidden_dropout_prob=0",
        "--attention_probs_dropout_prob=0",
        f"--seed={options.seed}",
        f"--max_seq_length={SEQUENCE_LENGTH}",
        f"--max_predictions_per_seq={PREDICTIONS}",
    )


def step(title: str, script: str, *arguments: str) -> None:
    """Prints a command and runs it."""
    print(f"\n=== {title}")
    start = time.perf_counter()
    run_command(script, *arguments)
    print(f"({time.perf_counter() - start:.0f} s)", flush=True)


def report(directory: str, text: str, vocab: str, run: str, seconds: float) -> None:
    """Prints the amount of training, the metrics at its start and end, and the baselines."""
    from bert_tf.training.run_directory import read_metrics
    from modeling.checkpoints.tensorflow_files import latest_checkpoint

    # The first report has the metrics at the start, on training data, as the last has at the end.
    counts = json_files.read(f"{text}/corpus.tfrecord.stats.json")["counts"]
    lines = read_metrics(run)
    training = [line for line in lines if line["split"] == "train"]
    held_out = [line for line in lines if line["split"] == "eval"][-1]
    first = training[0]
    last = training[-1]
    rate = statistics.median(line["examples_per_second"] for line in training)
    print(f"""
=== Report
corpus       {counts["documents"]:,} documents, {counts["tokens"]:,} tokens
records      {counts["instances"]:,} examples
training     {last["step"]:,} steps of {BATCH_SIZE} examples of up to {SEQUENCE_LENGTH} tokens
throughput   {rate:.0f} examples/s, {last["input_wait_share"]:.1%} of the time waiting for input

                          at the start   at the end   held-out documents""")
    # Accuracy at [MASK] is the one to look at: unchanged tokens can be copied.
    for name, label in (
        ("masked_lm_accuracy", "masked-LM accuracy"),
        ("masked_lm_accuracy_at_mask", "  at [MASK] alone"),
        ("masked_lm_loss", "masked-LM loss"),
        ("next_sentence_accuracy", "next-sentence accuracy"),
        ("next_sentence_loss", "next-sentence loss"),
    ):
        print(f"  {label:24}{first[name]:12.4f} {last[name]:12.4f} {held_out[name]:20.4f}")
    print_baselines(text, vocab)
    print(f"""
checkpoint   {latest_checkpoint(run)}
pictures     {directory}/plots
TensorBoard  tensorboard --logdir={run}
time         {seconds / 60:.1f} minutes""")


def print_baselines(text: str, vocab: str) -> None:
    """Prints the accuracies of constant guesses on the held-out documents."""
    from bert_tf.tasks.pretraining.task import measure_baselines
    from data_gen.pretraining.records import read_examples
    from data_gen.tokenization.vocabulary import Vocabulary

    vocabulary = Vocabulary.from_file(f"{vocab}/vocab.txt")
    examples = read_examples(f"{text}/held_out.tfrecord")
    print("\n  Without a model, on the held-out documents:")
    for name, share in measure_baselines(examples, vocabulary.mask_id).items():
        print(f"  {name:34}{share:10.4f}")


if __name__ == "__main__":
    cli.run(DemoOptions, main)
