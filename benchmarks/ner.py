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

from benchmarks import finetuning, interleaved, texts
from bert_tf.common import cli
from bert_tf.common.options import option

_TRAINING = ("ours", "model_garden", "model_garden_grouped", "pytorch", "pytorch_grouped")
_PREDICTION = ("ours_predict", "model_garden_predict", "model_garden_grouped_predict", "pytorch_predict")


@dataclasses.dataclass(frozen=True, kw_only=True)
class NerBenchmarkOptions(interleaved.TurnsOptions):
  """Options of the benchmark."""

  train_file: str | None = option(None, "Tagged sentences, as run_ner.py reads them.", default_text="synthetic ones")
  vocab_file: str = option(
      texts.READY_VOCABULARY, "Vocabulary for --train_file.", default_text="vocab/english_uncased/vocab.txt")
  predict: bool = option(False, "Measure tagging.")
  batch_size: int = option(32, "Sentences of a step.", minimum=1)
  max_seq_length: int = option(128, "Longer sentences are read in parts.", minimum=3)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; heads of 32 units, 4 H in the feed-forward layers.", minimum=32)
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(
      (), "What is measured.", choices=(*_TRAINING, *_PREDICTION), default_text="all, of training or of tagging")


def main(options: NerBenchmarkOptions) -> None:
  from benchmarks import ner_programs
  from benchmarks.finetuning_examples import full_batches

  # Before the programs start, so that a wrong flag is one error and not one of each.
  examples = full_batches(_read_examples(options), options.batch_size)
  programs = options.programs or (_PREDICTION if options.predict else _TRAINING)
  finetuning.compare(__file__, options, programs, ner_programs, examples, "sentences")


def _read_examples(options: NerBenchmarkOptions):
  from benchmarks.ner_programs import CLASSES, synthetic_sentences

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
  return window_examples(windows, sentences.tags % CLASSES)


if __name__ == "__main__":
  cli.run(NerBenchmarkOptions, main)
