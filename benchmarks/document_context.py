"""Measures what the document around a sentence is worth to run_ner.py: names in books, found without capital letters.

  python data_gen/prepare_corpus.py --input_file='novels/*.txt' --output_file=train.txt
  python data_gen/prepare_corpus.py --input_file='other_novels/*.txt' --output_file=dev.txt
  python benchmarks/document_context.py --train_file=train.txt --dev_file=dev.txt --init_checkpoint=all-MiniLM-L6-v2 \\
      --output_dir=names --seed=1,2,3

No corpus of named entities with documents is free to give away, so one is made of text: a word with a capital letter
inside a sentence is a name. At the beginning of a sentence or behind a quotation mark it is one if the document has it
elsewhere inside a sentence and nowhere in small letters. An uncased model does not see the letters, and has to know
from what stands around. Sentences alone, in their document, and with votes; the same number of updates. The same
command again resumes.
"""

import dataclasses
import itertools
import os
import sys

import numpy as np

from bert_tf.common import cli, files, json_files
from bert_tf.common.errors import UserError
from bert_tf.common.options import LARGEST_INT64, Options, option
from bert_tf.common.tables import show_mean
from bert_tf.tasks.eval_results import EVAL_RESULTS
from data_gen.tokenization.basic import basic_tokenize

# The option --context → that of training; votes are for predictions.
_CONTEXTS = {"sentence": "sentence", "document": "document", "vote": "document"}
# A word behind these may have a capital letter without being a name.
_OPENING = frozenset(".!?:;\"'“”‘’()[]—-–*_")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DocumentContextOptions(Options):
  """Text, and how a tagger is trained on it."""

  train_file: str = option(None, "Prepared text to train on: a sentence a line, blank lines between documents.",
                           required=True)
  dev_file: str = option(None, "The same, to evaluate on.", required=True)
  init_checkpoint: str = option(None, "An uncased encoder.", required=True)
  output_dir: str = option(None, "For tagged files and runs.", required=True)
  train_sentences: int = option(1500, "So many at most.", minimum=1)
  dev_sentences: int = option(1000, "So many at most.", minimum=1)
  document_sentences: int = option(30, "The first ones of every document.", minimum=1)
  max_seq_length: int = option(128, "Most tokens of a window.", minimum=3)
  train_batch_size: int = option(
      16, "Sentences of a batch; with documents so many windows that there are as many batches.", minimum=1)
  num_train_epochs: float = option(3.0, "Of each run.", minimum=0.1)
  learning_rate: float = option(1e-4, "Of each run.", above=0)
  seed: int = option(1, "Of each run; several, separated by commas, for mean and deviation.", minimum=0,
                     maximum=LARGEST_INT64, sweep=True)


def tag_names(document: list[str]) -> list[list[tuple[str, str]]]:
  """(word, tag) of the sentences of a document, tags in IOB2; see the top of this file.

  Args:
    document: sentences.
  """
  sentences = [basic_tokenize(sentence, do_lower_case=False) for sentence in document]
  inside = {word for words in sentences for before, word in itertools.pairwise(words)
            if before not in _OPENING and _is_capitalised(word)}
  small = {word for words in sentences for word in words if word[:1].islower()}
  tagged = []
  for words in sentences:
    tags, last = [], "O"
    for before, word in zip([".", *words], words, strict=False):
      is_name = _is_capitalised(word) and (
          before not in _OPENING or (word in inside and word.lower() not in small))
      last = "O" if not is_name else "B-NAME" if last == "O" else "I-NAME"
      tags.append(last)
    tagged.append(list(zip(words, tags, strict=True)))
  return tagged


def write_tagged(path: str, text_file: str, flag: str, most: int, of_document: int) -> int:
  """Writes the first sentences of documents in the layout of CoNLL-2003; returns how many.

  The documents are spread over the whole text.
  """
  with files.open_file(files.check_readable(text_file, flag)) as file:
    documents = [[line.rstrip("\n") for line in lines][:of_document]
                 for is_text, lines in itertools.groupby(file, key=lambda line: bool(line.strip())) if is_text]
  documents = [document for document in documents if len(document) > 1]
  if not documents:
    raise UserError(f"{text_file}: no document has two sentences; expected are sentences, one a line, with blank lines "
                    "between documents, as data_gen/prepare_corpus.py writes them")
  count = min(len(documents), -(-most // of_document))
  chosen = [documents[number] for number in np.linspace(0, len(documents) - 1, count).round().astype(int)]
  written = 0
  with files.atomic_write(path) as file:
    for document in chosen:
      file.write("-DOCSTART- O\n\n")
      for sentence in tag_names(document)[:most - written]:
        file.write("".join(f"{word} {tag}\n" for word, tag in sentence) + "\n")
        written += 1
  return written


def main(options: DocumentContextOptions) -> None:
  files.make_output_directory(options.output_dir, "output_dir")
  _check(options)
  paths = {name: os.path.join(options.output_dir, f"{name}.conll") for name in ("train", "dev")}
  counts = [write_tagged(path, getattr(options, f"{name}_file"), f"{name}_file", getattr(options, f"{name}_sentences"),
                         options.document_sentences) for name, path in paths.items()]
  print(f"{counts[0]:,} sentences to train on, {counts[1]:,} to evaluate on", flush=True)
  found = {context: [] for context in _CONTEXTS}
  for seed in options.sweep.get("seed", (options.seed,)):
    for context, trained in _CONTEXTS.items():
      found[context].append(_f1(options, paths, context, trained, seed))
      print(f"seed {seed}, {context}: f1 {found[context][-1]:.4f}", flush=True)
  base = np.array(found["sentence"])
  for context, scores in found.items():
    gain = np.array(scores) - base
    gained = f"  gain {show_mean(gain)}" if context != "sentence" else ""
    print(f"{context:10} f1 {show_mean(scores)}{gained}")


def _check(options: DocumentContextOptions) -> None:
  """Refuses a model that sees the capital letters, and runs with other settings than those in --output_dir."""
  from bert_tf.training.run_directory import FLAGS_FILE, changed_flags
  from modeling.checkpoints.load import read_checkpoint

  if read_checkpoint(options.init_checkpoint).do_lower_case is False:
    raise UserError(f"--init_checkpoint={options.init_checkpoint} is cased, and would see the capital letters that "
                    "names are told by: take an uncased model")
  settings = {name: value for name, value in options.values().items() if name not in ("output_dir", "seed")}
  if changed := changed_flags(options.output_dir, settings):
    raise UserError(f"--output_dir={options.output_dir} has runs with other settings ({'; '.join(changed)}): choose "
                    "another directory")
  json_files.write(os.path.join(options.output_dir, FLAGS_FILE), {"flags": settings})


def _f1(options: DocumentContextOptions, paths: dict[str, str], context: str, trained: str, seed: int) -> float:
  """Of one run, from its directory where it is finished."""
  from bert_tf.tasks.token_classification import task

  def run_options(**flags):
    given = {"train_file": paths["train"], "max_seq_length": options.max_seq_length, "context": context, **flags}
    return task.TokenClassificationOptions(**given, given=frozenset(given))

  directories = {name: os.path.join(options.output_dir, f"{name}_seed{seed}") for name in (context, trained)}
  result = os.path.join(directories[context], EVAL_RESULTS)
  if not files.exists(result):
    flags = {"init_checkpoint": directories[trained]}
    if context == trained:
      flags = {"init_checkpoint": options.init_checkpoint, "do_train": True}
      train = task.TokenClassificationTask(run_options(**flags, output_dir=options.output_dir)).data.train
      # With documents an example is a window of several sentences: so many that an epoch has as many updates.
      flags |= {"train_batch_size": max(1, round(options.train_batch_size * len(train.windows) / len(train))),
                **{name: getattr(options, name) for name in ("num_train_epochs", "learning_rate")}, "seed": seed}
    task.run(run_options(**flags, output_dir=directories[context], do_eval=True, dev_file=paths["dev"]))
  # A run that was interrupted has said so.
  return json_files.read_object(result)["eval_f1"] if files.exists(result) else sys.exit(0)


def _is_capitalised(word: str) -> bool:
  return word[:1].isupper() and word != "I"


if __name__ == "__main__":
  cli.run(DocumentContextOptions, main)
