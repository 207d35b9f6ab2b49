r"""From installed docstrings to a vocabulary: how long each command takes, and the search against tensorflow_text's.

  python benchmarks/build_vocab.py
  python benchmarks/build_vocab.py --input_file=corpus/train.txt --megabytes=40

The commands are timed as a user meets them, start-up included. The peer is `learn` of tensorflow_text's
wordpiece_tokenizer_learner_lib, which our learner calls for every threshold it tries: same words, same function,
another search. The peer's time leaves out its import of TensorFlow and the counting of words. Takes some minutes,
most of them the peer's.
"""

import dataclasses
import os
import tempfile
import time

from benchmarks import texts
from bert_common import cli, files, parallel
from bert_common.options import Options, option
from bert_tf.vocabulary import word_counts, wordpiece_learner
from data_gen.tokenization.vocabulary import Vocabulary


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildVocabOptions(Options):
  """Options of the benchmark."""

  input_file: str | None = option(
      None, "A prepared corpus.", default_text="the docstrings of the installed packages")
  megabytes: float = option(40, "Text used of the corpus, if it has as much.", above=0)
  vocab_size: int = option(8000, "Tokens of the vocabulary.", minimum=1)
  num_workers: int | None = option(None, "Processes.", minimum=1, default_text="all cores")


def main(options: BuildVocabOptions) -> None:
  workers = f"--num_workers={options.num_workers or parallel.default_num_workers()}"
  with tempfile.TemporaryDirectory() as folder:
    corpus = options.input_file and files.check_readable(options.input_file, "input_file")
    if not corpus:
      corpus, scripts, megabytes = texts.docstring_corpus(folder, workers)
      for script, seconds in scripts.items():
        print(f"{script:21} {seconds:7.1f} s   {megabytes:.1f} MB, {megabytes / seconds:.1f} MB/s")
    text = os.path.join(folder, "text")
    size = texts.cut(corpus, text, options.megabytes)
    ours = texts.run_script("vocab/build_vocab.py", f"--input_file={text}", f"--vocab_size={options.vocab_size}",
                            f"--output_dir={folder}", "--held_out_fraction=0", workers)
    tokens = Vocabulary.from_file(os.path.join(folder, "vocab.txt")).size
    print(f"build_vocab.py         {ours:6.1f} s   {size / 1e6:.1f} MB → {tokens:,} tokens, all included", flush=True)

    words = word_counts.count_words([text], True, map, 5_000_000).words
    learner = wordpiece_learner.load_learner()
    start = time.perf_counter()
    found = learner.learn(words, options.vocab_size, wordpiece_learner.special_tokens(0))
    peer = time.perf_counter() - start
    print(f"tensorflow_text learn  {peer:6.1f} s   → {len(found):,} tokens, learning only")
    print(f"ours is {peer / ours:.1f} times as fast")


if __name__ == "__main__":
  cli.run(BuildVocabOptions, main)
