"""The options of `run_ner.py`."""

import dataclasses

from bert_tf.common.errors import UserError
from bert_tf.common.options import Options, option
from bert_tf.tasks.options import DevelopmentSetOptions, FineTuningOptions, HeadDropoutOptions
from data_gen.labelled.tag_schemes import CHUNK_SCHEMES, SCHEMES
from data_gen.labelled.tagged_files import FORMATS

AUTO, SENTENCE, DOCUMENT, VOTE = "auto", "sentence", "document", "vote"
CONTEXTS = (AUTO, SENTENCE, DOCUMENT, VOTE)
COMBINATIONS = ("concat", "sum", "weighted_sum")
# What --feature_based found, in --output_dir.
FEATURE_BASED_FILE = "feature_based.json"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggedFileOptions(Options):
  """Files of tagged sentences."""

  data_dir: str | None = option(
      None, "Where the files are, under the names of CoNLL-2003: eng.train, eng.testa and eng.testb, or train, valid "
      "(or dev) and test with .txt, .conll, .conllu or .jsonl.", path=True)
  train_file: str | None = option(None, "What is trained on, in place of the file in --data_dir.", path=True)
  dev_file: str | None = option(
      None, "What is evaluated on, while training and at the end, in place of the file in --data_dir.", path=True)
  test_file: str | None = option(
      None, "What is predicted, in place of the file in --data_dir; scored, too, where it has labels.", path=True)
  format: str = option(
      "auto", "Of the files. auto: by their names and first lines, else columns (conll).", choices=FORMATS)
  word_column: str | None = option(
      None, "The column of the words: a number from 0, a name in CoNLL-U, a key in JSON lines.",
      default_text="as the format has it; the first in conll")
  label_column: str | None = option(
      None, "The column of the labels; misc:NER is NER=… in the last column of CoNLL-U.",
      default_text="as the format has it; the last in conll, upos in conllu")
  label_names: tuple[str, ...] = option((), "What the labels of JSON lines mean where they are numbers.")
  tag_scheme: str = option(
      AUTO, "Of the files. auto: found out. lenient: chunks as conlleval reads them, whatever the tags. plain: every "
      "word has a tag and there are no chunks, such as parts of speech.", choices=SCHEMES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureOptions(Options):
  """A BiLSTM on fixed activations, with --feature_based; learning rate and epochs are then 1e-3 and 15 if not given."""

  feature_based: bool = option(
      False, "Leave the encoder as it is and train a BiLSTM on its activations, which are computed once and kept in "
      "--output_dir.")
  layers: tuple[str, ...] = option(
      ("-4", "-3", "-2", "-1"), "Whose activations: numbers of layers from 1, -1 is the last one, 0 the embeddings. "
      "all: the six rows of table 7 of the paper, one after the other.")
  combine: str = option("concat", "How several layers become one vector.", choices=COMBINATIONS)
  lstm_units: int = option(768, "Units of each direction of the BiLSTM.", minimum=1)
  lstm_layers: int = option(2, "Layers of the BiLSTM.", minimum=1)
  activation_precision: str = option("float16", "Of the activations that are kept.", choices=("float16", "float32"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenClassificationOptions(TaggedFileOptions, FeatureOptions, HeadDropoutOptions, DevelopmentSetOptions,
                                 FineTuningOptions):
  """Tags of words, such as named entities."""

  label_scheme: str = option("iob2", "What the model learns chunks in.", choices=CHUNK_SCHEMES)
  context: str = option(
      AUTO, "What is read with a sentence. document: what stands around it in its document, as much as fits. vote: the "
      "same, and predictions are the mean of several windows. auto: document where the file has borders of documents.",
      choices=CONTEXTS)
  max_seq_length: int = option(
      128, "Most tokens that the model sees at once: [CLS], a token and [SEP] at least. Sentences that are longer are "
      "read in parts.", minimum=3)
  min_context: int = option(
      64, "Tokens of context on either side of what a window scores; at most a quarter of the window.", minimum=0)
  sentences_per_window: int | None = option(
      None, "Most sentences that a window of training scores; 1 is a sentence an example, as in the paper.", minimum=1,
      default_text="as many as fit beside their context")
  votes: int = option(4, "With --context=vote: windows begin every 1/votes of their length.", minimum=2)
  worst_sentences: int = option(
      50, "How many of the sentences with the most errors are shown in TensorBoard and in worst_sentences.txt.",
      minimum=0)

  def check(self) -> None:
    super().check()
    if not (self.do_train or self.do_eval or self.do_predict):
      raise UserError("nothing to do: give --do_train, --do_eval, --do_predict or several of them")
    if self.feature_based:
      if not self.do_train:
        raise UserError("--feature_based trains a BiLSTM: give --do_train; a finished run is not trained again")
      if self.context == VOTE:
        raise UserError("--feature_based computes every word once: --context=vote is for fine-tuned models")
      if others := [f"--{name}" for name in self.sweep if name != "seed"]:
        raise UserError(f"{', '.join(others)}: with --feature_based only --seed takes several values")
      if self.bilstm_units is not None:
        raise UserError("--bilstm_units is for fine-tuning: --feature_based has --lstm_units and --lstm_layers")
      if not self.init_checkpoint:
        raise UserError("--feature_based takes the activations of a trained encoder: give --init_checkpoint")
    if self.label_names and len(set(self.label_names)) < len(self.label_names):
      raise UserError(f"--label_names={','.join(self.label_names)}: a name is there twice")
