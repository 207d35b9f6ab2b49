r"""Measures how fast pre-training records are made, against the original algorithm in one run.

  python benchmarks/data_generation.py --threads=1 --clock=cpu
  python benchmarks/data_generation.py --corpus_file=corpus.txt --repetitions=5
  python benchmarks/data_generation.py --corpus_mb=4        # a quick look

Without --corpus_file the text is made from the installed packages with
`data_gen/extract_docstrings.py` and `data_gen/prepare_corpus.py`. Both sides read the same file
with the same flags (128 tokens, 20 predictions, 5 passes) and write records to the same disk; ours
with as many worker processes as --threads. Imports and reading the vocabulary are not counted on
either side; the start of our worker processes is. The reference is
tests/oracles/data_generation.py.
"""

import contextlib
import glob
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from benchmarks import interleaved
from bert_common import cli, files
from bert_common.options import option, option_class
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from data_gen.pretraining.workers import load_tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.data_generation import ReferenceGenerator
from tests.oracles.tokenizer import ReferenceTokenizer

# The paper's first phase, with half of its passes over the text.
_SETTINGS = {"dupe_factor": 5, "max_seq_length": 128, "max_predictions_per_seq": 20}


@option_class
class DataGenerationOptions(interleaved.VocabularyOptions, interleaved.TurnsOptions):
    """Options of the benchmark."""

    corpus_file: str | None = option(
        None,
        "Text with a sentence per line and a blank line between documents.",
        default_text="the docstrings of the installed packages",
    )
    corpus_mb: float = option(20, "Megabytes of the corpus to use.", above=0)
    repetitions: int = option(3, "Turns of each side.", minimum=1)


def docstring_corpus(folder: str) -> str:
    """Writes the docstrings of the installed packages as a prepared corpus; returns its path."""
    # Nothing is downloaded, and every machine with the same packages has the same text.
    docstrings = os.path.join(folder, "docstrings.jsonl")
    corpus = os.path.join(folder, "docstrings.txt")
    _run_script("extract_docstrings.py", f"--output_file={docstrings}")
    _run_script("prepare_corpus.py", f"--input_file={docstrings}", f"--output_file={corpus}")
    return corpus


def _run_script(name: str, *flags: str) -> None:
    subprocess.run(
        [sys.executable, str(interleaved.PROJECT / "data_gen" / name), *flags],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def main(options: DataGenerationOptions) -> None:
    vocab_file = files.check_readable(options.vocab_file, "vocab_file")
    with tempfile.TemporaryDirectory() as folder:
        if options.corpus_file:
            title = options.corpus_file
            source = files.check_readable(options.corpus_file, "corpus_file")
        else:
            title = "docstrings of the installed packages"
            source = docstring_corpus(folder)
        with open(source, "rb") as file:
            text = file.read(int(options.corpus_mb * 1e6))
        # End after a whole document, if there are several.
        if b"\n\n" in text:
            text = text[: text.rindex(b"\n\n") + 2]
        corpus = os.path.join(folder, "corpus.txt")
        with open(corpus, "wb") as output:
            output.write(text)
        seconds = interleaved.take_turns(
            options,
            ("ours", "original"),
            options.repetitions,
            _build,
            corpus,
            vocab_file,
            options.threads,
            folder,
        )

    print(f"{title}: {len(text) / 1e6:.1f} MB of text, {_SETTINGS}")
    options.record("pre-training data", f"{len(text) / 1e6:.1f} MB, {title}", seconds)
    interleaved.print_rates(seconds, [len(text) / 1e3] * options.repetitions, "kB")


def _build(
    corpus: str, vocab_file: str, threads: int | None, folder: str, name: str
) -> Callable[[], None]:
    """Returns a function that makes the records of the corpus with one of the programs."""
    output = os.path.join(folder, f"{name}.tfrecord")
    if name == "original":
        return _build_original(corpus, vocab_file, output)
    # A name with * or ? is no pattern here.
    options = PretrainingDataOptions(
        input_file=glob.escape(corpus),
        output_file=output,
        vocab_file=vocab_file,
        num_workers=threads,
        **_SETTINGS,
    )

    def turn() -> None:
        # The tokenizer of the last turn has its words in a cache.
        load_tokenizer.cache_clear()
        # Progress bars of two programs would mix.
        with contextlib.redirect_stderr(io.StringIO()):
            generate(options)

    return turn


def _build_original(corpus: str, vocab_file: str, output: str) -> Callable[[], None]:
    import tensorflow as tf

    # TensorFlow's own start-up happens at the first use.
    with tf.io.TFRecordWriter(output) as writer:
        writer.write(tf.train.Example().SerializeToString())

    def turn() -> None:
        tokenizer = ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens)
        generator = ReferenceGenerator(tokenizer, **_SETTINGS)
        with open(corpus, encoding="utf-8") as file:
            generator.write(generator.instances(file), output)

    return turn


if __name__ == "__main__":
    cli.run(DataGenerationOptions, main)
