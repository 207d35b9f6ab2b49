"""From the files of a multiple-choice task to examples in memory, and whether the checkpoint fits them.

Input: questions with choices (`data_gen/labelled/multiple_choice.py`). Output: sequences with labels, which
`bert_tf/tasks/multiple_choice/task.py` trains on.
"""

import os

from bert_common import files
from bert_common.errors import UserError
from bert_tf.tasks.multiple_choice.examples import ChoiceExamples
from bert_tf.tasks.multiple_choice.options import CODAH, CUSTOM, HELLASWAG, NUM_FOLDS, SWAG, MultipleChoiceOptions
from bert_tf.tasks.splits import Split, TaskData
from data_gen.labelled import multiple_choice
from data_gen.labelled.multiple_choice import ChoiceQuestions
from data_gen.labelled.pair_features import END, START_OF_A, encode_pairs
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.load import Checkpoint
from modeling.checkpoints.weights import HEADS

KIND = "multiple_choice"
SPLITS = ("train", "dev", "test")
# Heads of pre-training: what is trained on the encoder beside them is no other task.
_PRETRAINING_HEADS = ("masked_lm", "next_sentence")

# Names of the files in --data_dir, the first that is there is read. {fold} is a number.
_FILES = {
    SWAG: {"train": ("train.csv",), "dev": ("val.csv",), "test": ("test.csv",)},
    HELLASWAG: {split: (f"hellaswag_{name}.jsonl",) for split, name in (("train", "train"), ("dev", "val"),
                                                                         ("test", "test"))},
    CODAH: {split: (f"fold_{{fold}}/{split}.tsv", f"fold_{{fold}}/{split}.csv", f"codah_fold{{fold}}_{split}.swag.csv")
            for split in SPLITS},
    CUSTOM: dict.fromkeys(SPLITS, ()),
}


def read_data(options: MultipleChoiceOptions, opened: Checkpoint) -> TaskData:
  """Reads what a run needs and makes sequences of it."""
  paths = find_files(options)
  limits = {"train": options.max_train_examples, "test": options.max_predict_examples}
  notes: list[str] = []
  splits: dict[str, Split] = {}
  for name, path in paths.items():
    questions = read_split(options, name, path).first(limits.get(name, options.max_eval_examples))
    examples, truncated = encode(opened.tokenizer, questions, options.max_seq_length,
                                 options.truncate == "context_start")
    splits[name] = Split(questions, examples)
    if truncated:
      notes.append(f"{name}: {truncated:,} of {len(examples.row_lengths):,} sequences, of a question with one choice "
                   f"each, were truncated to {options.max_seq_length} tokens")
  return TaskData(
      train=splits.pop("train", None), test={"test": splits.pop("test")} if "test" in splits else {}, dev=splits,
      notes=notes,
      description={"kind": KIND, "task_name": options.task_name, "max_seq_length": options.max_seq_length,
                   "truncate": options.truncate})


def find_files(options: MultipleChoiceOptions) -> dict[str, str]:
  """Split → file, of those that the run needs; further names are those of --eval_files."""
  needed = {"train": options.do_train, "dev": options.do_eval or bool(options.evaluates and options.eval_files),
            "test": options.do_predict}
  found = {}
  for split in SPLITS:
    path = getattr(options, f"{split}_file") or _in_directory(options, split, needed[split])
    # Without --do_eval, training still evaluates on what there is.
    if path is not None and (needed[split] or split == "dev" and options.evaluates):
      found[split] = files.check_readable(path, f"{split}_file")
  if options.evaluates:
    found |= {name: files.check_readable(path, "eval_files") for name, path in options.named_eval_files.items()}
  return found


def _in_directory(options: MultipleChoiceOptions, split: str, is_needed: bool) -> str | None:
  names = [name.format(fold=options.fold) for name in _FILES[options.task_name][split]]
  if options.data_dir is None or not names:
    if is_needed:
      also = " or --data_dir" if names else ""
      raise UserError(f"--task_name={options.task_name}: {options.asked_by(split)} needs --{split}_file{also}")
    return None
  paths = [os.path.join(options.data_dir, name) for name in names]
  path = next(filter(files.exists, paths), None)
  if path is None and is_needed:
    raise UserError(f"--data_dir: {options.data_dir} has no {' or '.join(names)}: give the directory that has, or "
                    f"--{split}_file")
  return path


def read_split(options: MultipleChoiceOptions, split: str, path: str) -> ChoiceQuestions:
  """The questions of a file; a test file may be without labels."""
  flag, needs_labels = f"{split}_file" if split in SPLITS else "eval_files", split != "test"
  if options.task_name == CUSTOM:
    return multiple_choice.read_own(
        path, flag, choices_columns=options.choices_columns, question_column=options.question_column,
        context_column=options.context_column, label_column=options.label_column if needs_labels else None,
        id_column=options.id_column, label_kind=options.label_kind, file_format=options.file_format)
  if options.task_name == HELLASWAG:
    return multiple_choice.read_hellaswag(path, flag, needs_labels)
  is_tsv = options.task_name == CODAH and path.removesuffix(".gz").endswith(".tsv")
  return (multiple_choice.read_codah if is_tsv else multiple_choice.read_swag)(path, flag, needs_labels)


def encode(tokenizer: Tokenizer, questions: ChoiceQuestions, max_seq_length: int, keep_end_of_context: bool
           ) -> tuple[ChoiceExamples, int]:
  """The sequences of all choices, and how many of them were truncated."""
  features = encode_pairs(tokenizer, *questions.pairs(), max_seq_length,
                          lose=START_OF_A if keep_end_of_context else END)
  values = {} if questions.labels is None else {"label_ids": questions.labels}
  examples = ChoiceExamples({"input_ids": features.input_ids, "segment_ids": features.segment_ids},
                            features.row_lengths, values, num_choices=questions.num_choices)
  return examples, features.truncated


def check_head(opened: Checkpoint) -> str | None:
  """Why the checkpoint's head can't be used for this task; None where it can, or there is none."""
  others = [HEADS[name].title for name in opened.heads if name not in (KIND, *_PRETRAINING_HEADS)]
  if KIND in opened.heads or not others:
    return None
  return f"that of the checkpoint is a {others[0]}"


def check_folds(options: MultipleChoiceOptions) -> list[dict[str, str]]:
  """Returns the files of every fold: split → path.

  Raises:
    UserError: one is missing, or the folds do not divide the same number of questions.
  """
  found, sizes = [], []
  for fold in range(NUM_FOLDS):
    one = options.replace(fold=fold, do_train=True, do_eval=True, do_predict=True, eval_files=())
    found.append(find_files(one))
    sizes.append(sum(len(read_split(one, split, path)) for split, path in found[-1].items()))
    if sizes[fold] != sizes[0]:
      raise UserError(f"--data_dir: the files of fold {fold} in {options.data_dir} have {sizes[fold]:,} questions, "
                      f"those of fold 0 have {sizes[0]:,}: each fold must divide all of them into train, dev and test")
  return found
