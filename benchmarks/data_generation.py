r"""How fast pre-training records are made, against the original algorithm on the same text, in one
run.

  python benchmarks/data_generation.py --threads=1 --clock=cpu
  python benchmarks/data_generation.py --corpus_file=corpus.txt --vocab_file=vocab.txt
  --repetitions=5 python benchmarks/data_generation.py --corpus_mb=4        # a quick look

Without --corpus_file the text is what `data_gen/extract_docstrings.py` and
`data_gen/prepare_corpus.py` make of the installed packages. Both sides read the same file, with the
same flags (128 tokens, 20 predictions, 5 passes), and write records to the same disk; ours with as
many worker processes as --threads. Start-up is left out on both sides: importing, and reading the
vocabulary; starting our worker processes is counted. The reference is
tests/oracles/data_generation.py.
"""

import contextlib
import dataclasses
import glob
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from benchmarks import interleaved
from bert_common import cli, files
from bert_common.options import option
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from data_gen.pretraining.workers import load_tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.data_generation import ReferenceGenerator
from tests.oracles.tokenizer import ReferenceTokenizer

_SETTINGS = {"dupe_factor": 5, "max_seq_length": 128, "max_predictions_per_seq": 20}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataGenerationOptions(interleaved.VocabularyOptions, interleaved.TurnsOptions):
    """Options of the benchmark."""

    corpus_file: str | None = option(
        None,
        "A sentence a line, a blank line between documents.",
        default_text="the docstrings of the installed packages",
    )
    corpus_mb: float = option(20, "Text used of the corpus.", above=0)
    repetitions: int = option(3, "Turns of each side.", minimum=1)


def docstring_corpus(folder: str) -> str:
    """Writes a prepared corpus of the docstrings of the installed packages into a folder; returns
    its path."""
    docstrings, corpus = (
        os.path.join(folder, "docstrings.jsonl"),
        os.path.join(folder, "docstrings.txt"),
    )
    for script, *flags in (
        ("extract_docstrings.py", f"--output_file={docstrings}"),
        ("prepare_corpus.py", f"--input_file={docstrings}", f"--output_file={corpus}"),
    ):
        subprocess.run(
            [sys.executable, str(interleaved.PROJECT / "data_gen" / script), *flags],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return corpus


def main(options: DataGenerationOptions) -> None:
    vocab_file = files.check_readable(options.vocab_file, "vocab_file")
    with tempfile.TemporaryDirectory() as folder:
        corpus = os.path.join(folder, "corpus.txt")
        source = options.corpus_file and files.check_readable(options.corpus_file, "corpus_file")
        with open(source or docstring_corpus(folder), "rb") as file, open(corpus, "wb") as output:
            text = file.read(int(options.corpus_mb * 1e6))
            # Up to the end of a document.
            text = text[: text.rfind(b"\n\n") + 2 or len(text)] if file.read(1) else text
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
    print(
        f"{source or 'docstrings of the installed packages'}: {len(text) / 1e6:.1f} MB of text, {_SETTINGS}"
    )
    interleaved.print_rates(seconds, [len(text) / 1e3] * options.repetitions, "kB")


def _build(
    corpus: str, vocab_file: str, threads: int | None, folder: str, name: str
) -> Callable[[], None]:
    output = os.path.join(folder, f"{name}.tfrecord")
    if name == "original":
        import tensorflow as tf

        # TensorFlow's own start-up happens at the first use.
        with tf.io.TFRecordWriter(output) as writer:
            writer.write(tf.train.Example().SerializeToString())

        def turn() -> None:
            generator = ReferenceGenerator(
                ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens), **_SETTINGS
            )
            with open(corpus, encoding="utf-8") as file:
                generator.write(generator.instances(file), output)

        return turn
    options = PretrainingDataOptions(
        input_file=glob.escape(corpus),
        output_file=output,
        vocab_file=vocab_file,
        num_workers=threads,
        **_SETTINGS,
    )

    def turn() -> None:
        # A new one each time: the last run's has its words in a cache.
        load_tokenizer.cache_clear()
        with contextlib.redirect_stderr(io.StringIO()):
            generate(options)

    return turn


if __name__ == "__main__":
    cli.run(DataGenerationOptions, main)
