r"""How fast the questions of a SQuAD training set become windows, and in how much memory, against plain Python.

  python benchmarks/squad_featurization.py --vocab_file=vocab.txt --input_file=train-v1.1.json
  python benchmarks/squad_featurization.py --vocab_file=vocab.txt --num_questions=10000    # of samples/

Measured is `make_windows` for training with the original's default lengths, in one process, with a new tokenizer that
has seen no text. As many questions as the official training set has are made from what --input_file holds by
repetition, each time with the words of every context and question in another order and some of them in a spelling not
seen before, so that nothing but words comes back, as in real text. The plain Python way (tests/oracles/squad.py) does a
sample of the questions, and the windows of the sample must be equal (exit status 1 otherwise).
"""

import dataclasses
import random
import statistics
import string

import numpy as np

from benchmarks import resources, texts
from bert_common import cli
from bert_common.options import option
from data_gen.labelled.squad import Answer, Question, SquadData, read_squad
from data_gen.labelled.squad_features import make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.squad import reference_features, same_windows
from tests.oracles.tokenizer import ReferenceTokenizer

_LENGTHS = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}
# Of all words, those that get a spelling of their own.
_NEW_WORDS = 0.01


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadFeaturizationOptions(texts.VocabularyOptions):
  """Options of the benchmark."""

  input_file: str = option(str(texts.PROJECT / "samples/questions_train.json"), "SQuAD file.",
                           default_text="samples/questions_train.json")
  num_questions: int = option(88_000, "Questions to make windows of.", minimum=1)
  sample: int = option(500, "Questions that the plain Python way does.", minimum=1)
  repetitions: int = option(3, "Timed repetitions of ours; the median counts.", minimum=1)


def make_data(base: SquadData, num_questions: int) -> SquadData:
  """Repeats contexts and questions in ever other shapes; the answer of each question is a few words of its context."""
  draw = random.Random(12345)
  contexts: list[str] = []
  questions: list[Question] = []
  while len(questions) < num_questions:
    offset = len(contexts)
    contexts += [_reshape(context, draw) for context in base.contexts]
    for one in base.questions[:num_questions - len(questions)]:
      answer = _some_words(contexts[offset + one.context], draw)
      questions.append(Question(str(len(questions)), _reshape(one.text, draw), offset + one.context, (answer,), False))
  return SquadData("made.json", contexts[:questions[-1].context + 1], questions, True, False)


def _reshape(text: str, draw: random.Random) -> str:
  words = text.split()
  draw.shuffle(words)
  return " ".join([word + "".join(draw.choices(string.ascii_lowercase, k=3)) if draw.random() < _NEW_WORDS else word
                   for word in words])


def _some_words(context: str, draw: random.Random) -> Answer:
  words = context.split(" ")
  first = draw.randrange(len(words))
  text = " ".join(words[first:first + draw.randint(1, 5)])
  return Answer(text, sum(map(len, words[:first])) + first)


def main(options: SquadFeaturizationOptions) -> int:
  vocabulary = Vocabulary.from_file(options.vocab_file)
  data = make_data(read_squad(options.input_file, "input_file"), options.num_questions)
  print(f"{len(data.questions):,} questions about {len(data.contexts):,} contexts of "
        f"{statistics.mean(len(context.split()) for context in data.contexts):.0f} words, "
        f"{', '.join(f'{name} {value}' for name, value in _LENGTHS.items())}")
  timings, before = [], resources.peak_mib()
  for _ in range(options.repetitions):
    # Its caches hold the words of what it has seen.
    tokenizer = Tokenizer(vocabulary)
    contexts = windows = None
    watch = resources.Stopwatch()
    contexts, windows = make_windows(data, tokenizer, **_LENGTHS, training=True)
    timings.append(watch.read())
  own, own_cpu = (statistics.median(column) for column in zip(*timings, strict=True))
  kept = sum(array.nbytes for part in (contexts, windows) for array in vars(part).values()
             if isinstance(array, np.ndarray))
  print(f"this project: {own:.2f} s ({own_cpu:.2f} s of one core's time), {len(data.questions) / own:,.0f} "
        f"questions/s, {len(windows):,} windows of {len(windows.input_ids):,} tokens")
  print(f"peak memory of the process: {resources.peak_mib():.0f} MiB ({before:.0f} MiB with the questions read; the "
        f"windows and contexts take {kept / 2**20:.0f} MiB)")

  # Spread over everything, so that contexts share nothing.
  chosen = data.questions[::max(len(data.questions) // options.sample, 1)][:options.sample]
  sample = SquadData(data.path, data.contexts, chosen, True, False)
  reference = ReferenceTokenizer(vocabulary.tokens)
  watch = resources.Stopwatch()
  features = list(reference_features(sample, reference, **_LENGTHS, training=True))
  plain, plain_cpu = (seconds / len(chosen) for seconds in watch.read())
  print(f"plain Python: {1 / plain:,.0f} questions/s; this project is {plain / (own / len(data.questions)):,.0f} times "
        f"as fast ({plain_cpu / (own_cpu / len(data.questions)):,.0f} times by CPU time)")
  if not same_windows(features, *make_windows(sample, Tokenizer(vocabulary), **_LENGTHS, training=True), vocabulary):
    print("NOT EQUAL: a window of the sample differs from the plain algorithm's")
    return 1
  return 0


if __name__ == "__main__":
  cli.run(SquadFeaturizationOptions, main)
