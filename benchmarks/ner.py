"""Fine-tuning on tags of words and tagging, in sentences per second, beside the peers, in one run.

  python benchmarks/ner.py --train_file=wnut17_train.conll --vocab_file=vocab.txt   # a whole epoch, in five turns
  python benchmarks/ner.py --predict                            # tagging instead of training
  python benchmarks/ner.py --max_steps=8                        # the first 8 steps of a turn

The same network (6 layers, 384 units), batch 32, at most 128 tokens, float32. Training: dropout on, forward, backward,
clipping, AdamW, and the making of the batches. Compared: this project; the Model Garden's BertTokenClassifier padded
to 128, and in batches of similar length; and, where PyTorch is installed (requirements-peers.txt), Hugging Face's
BertForTokenClassification with fused AdamW and tanh GELU as one kernel, each batch padded to its longest sentence,
with and without batches of similar length. Compilation is not counted: every program has seen all the shapes that are
measured.

Without --train_file the lengths are drawn from a distribution like WNUT-17's, and the tokens are random.
"""

import dataclasses

from benchmarks.finetuning import LIMIT, LONGEST, EpochOptions, Program, measure
from bert_tf.common import cli
from bert_tf.common.options import option

_PROGRAMS = {
    "ours": Program("ours"), "model_garden": Program("model_garden", LIMIT),
    "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", LONGEST),
    "pytorch_grouped": Program("pytorch"), "ours_predict": Program("ours", predicts=True),
    "model_garden_predict": Program("model_garden", LIMIT, predicts=True),
    "model_garden_grouped_predict": Program("model_garden", predicts=True),
    "pytorch_predict": Program("pytorch", predicts=True)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class NerBenchmarkOptions(EpochOptions):
  """Options of the benchmark."""

  train_file: str | None = option(None, "Tagged sentences, as run_ner.py reads them.", default_text="synthetic ones")
  predict: bool = option(False, "Measure tagging.")
  programs: tuple[str, ...] = option(
      (), "What is measured.", choices=tuple(_PROGRAMS), default_text="all, of training or of tagging")


def main(options: NerBenchmarkOptions) -> None:
  programs = {name: program for name, program in _PROGRAMS.items()
              if (name in options.programs if options.programs else program.predicts == options.predict)}
  measure(options, "token_classification", programs, _read_examples, "sentences")


def _read_examples(options: NerBenchmarkOptions):
  from benchmarks.examples import CLASSES, synthetic_sentences

  if options.train_file is None:
    return synthetic_sentences(options.max_seq_length)
  from bert_tf.tasks.token_classification.data import window_examples
  from data_gen.labelled.tagged_files import read_tagged_file
  from data_gen.labelled.word_windows import encode_words, make_windows
  from data_gen.tokenization.tokenizer import Tokenizer

  tokenizer = Tokenizer.from_file(options.vocab_file, True)
  sentences = read_tagged_file(options.train_file, "train_file")
  windows = make_windows(encode_words(tokenizer, sentences.words), sentences.row_lengths, None, tokenizer.vocabulary,
                         max_seq_length=options.max_seq_length)
  return window_examples(windows, sentences.tags % CLASSES["token_classification"])


if __name__ == "__main__":
  cli.run(NerBenchmarkOptions, main)
