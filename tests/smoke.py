"""The wheel on the other Pythons of this machine: README's three commands, and a tiny run of every task.

  make smoke                                    # installs the wheel into environments of their own
  python -I tests/smoke.py DIRECTORY SAMPLES    # the runs alone, with the Python that has it, in an empty directory

The exit status is 0 where there is no other Python, or no index to install packages from; a line says so.
"""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_VERSIONS = ("3.11", "3.12", "3.13")
_TINY = ("--do_train", "--train_batch_size=4", "--num_train_epochs=1", "--max_seq_length=24")


def main() -> int:
  others = {version: python for version in _VERSIONS if version != f"{sys.version_info[0]}.{sys.version_info[1]}"
            and (python := _python(version))}
  pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
  with tempfile.TemporaryDirectory() as folder:
    probe = [*pip, "download", "--no-deps", f"--dest={folder}/probe", "absl-py"]
    if not others or subprocess.run(probe, capture_output=True, check=False).returncode:
      print(f"smoke: not run: {'no package index answers' if others else f'none of {_VERSIONS} beside this one'}")
      return 0
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={folder}", str(_PROJECT)],
                   check=True)
    wheel, = glob.glob(f"{folder}/*.whl")
    # At the same time: each waits for its disk and for packages, above all.
    started = {version: subprocess.Popen([sys.executable, __file__, "--on", version, python, wheel, folder])
               for version, python in others.items()}
    statuses = {version: process.wait() for version, process in started.items()}
  return int(any(statuses.values()))


def _python(version: str) -> str | None:
  """One that starts: pyenv leaves names on the path that do not."""
  of_pyenv = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
  for python in filter(None, [shutil.which(f"python{version}"), *of_pyenv]):
    if not subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False).returncode:
      return python
  return None


def _install_and_run(version: str, python: str, wheel: str, folder: str) -> None:
  begun, environment, work = time.monotonic(), f"{folder}/{version}", f"{folder}/work-{version}"
  subprocess.run([python, "-m", "venv", environment], check=True)
  subprocess.run([f"{environment}/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install",
                  "--no-compile", f"--constraint={_PROJECT / 'requirements.lock'}", wheel], check=True)
  installed = time.monotonic()
  os.mkdir(work)
  samples = shutil.copytree(_PROJECT / "samples", f"{work}/samples")
  with open(f"{work}/log", "w+", encoding="utf-8") as log:
    done = subprocess.run([f"{environment}/bin/python", "-I", __file__, work, samples], check=False, stdout=log,
                          stderr=subprocess.STDOUT)
    log.seek(0)
    print(f"smoke: Python {version}: {'failed' if done.returncode else 'passed'}, installed in "
          f"{installed - begun:.0f} s, run in {time.monotonic() - installed:.0f} s"
          f"{chr(10) + log.read() if done.returncode else ''}", flush=True)
  raise SystemExit(done.returncode)


def _run_all(samples: str) -> None:
  """README's commands, then one run of each task in this process."""
  commands = os.path.dirname(sys.executable)
  model, text = f"{samples}/tiny_books", subprocess.PIPE
  filled = subprocess.run([f"{commands}/bert-fill-mask", f"--init_checkpoint={model}", "He opened the [MASK]."],
                          stdout=text, check=True)
  assert filled.stdout.strip()
  subprocess.run([f"{commands}/bert-run-classifier", "--task_name=custom", f"--train_file={samples}/reviews_dev.csv",
                  f"--dev_file={samples}/reviews_dev.csv", f"--test_file={samples}/reviews_test.csv",
                  "--text_a_column=review", "--label_column=label", f"--init_checkpoint={model}",
                  "--output_dir=reviews", "--do_eval", "--do_predict", *_TINY], check=True)
  answer = subprocess.run([f"{commands}/bert-predict", "--init_checkpoint=reviews"], input=b"What a lovely film.\n",
                          stdout=text, check=True)
  assert json.loads(answer.stdout)["label"] in ("negative", "positive")

  from bert_common import cli
  from bert_tf.tasks.multiple_choice import task as swag
  from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
  from bert_tf.tasks.pretraining import task as pretraining
  from bert_tf.tasks.pretraining.options import PretrainingOptions
  from bert_tf.tasks.question_answering import task as squad
  from bert_tf.tasks.question_answering.options import SquadOptions
  from bert_tf.tasks.sentence_embedding import task as sentences
  from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
  from bert_tf.tasks.token_classification import feature_based as ner
  from bert_tf.tasks.token_classification.options import TokenClassificationOptions
  from data_gen.options import PretrainingDataOptions
  from data_gen.pretraining import generation

  for name, content in {
      "corpus.txt": "the old house stood by the river .\nthe door was open .\nshe went in .\n\n" * 20,
      "choices.jsonl": '{"context": "we saw", "choices": ["a dog .", "a tree ."], "label": 1}\n' * 8,
      "pairs.csv": "sentence1,sentence2\n" + "a dog,the dog\na tree,the tree\nold,very old\nred,so red\n" * 2,
      "train.txt": "Ann B-PER\nsaw O\nRome B-LOC\n\n" * 8}.items():
    pathlib.Path(name).write_text(content, "utf-8")
  for options, work, *flags in (
      (PretrainingDataOptions, generation.run, "--input_file=corpus.txt", "--output_file=records",
       f"--vocab_file={model}/vocab.txt", "--max_seq_length=24", "--num_workers=2", "--max_predictions_per_seq=4"),
      (PretrainingOptions, pretraining.run, "--do_train", "--input_file=records", "--max_predictions_per_seq=4",
       "--num_train_steps=2", "--num_warmup_steps=0", *_TINY[1::2]),
      (SquadOptions, squad.run, f"--train_file={samples}/questions_dev.json", "--do_predict", "--max_query_length=12",
       f"--predict_file={samples}/questions_dev.json", "--doc_stride=8", *_TINY),
      (MultipleChoiceOptions, swag.run, "--train_file=choices.jsonl", *_TINY),
      (SentenceEmbeddingOptions, sentences.run, "--train_file=pairs.csv", *_TINY),
      (TokenClassificationOptions, ner.run, "--train_file=train.txt", *_TINY)):
    if options is not PretrainingDataOptions:
      flags += [f"--init_checkpoint={model}", f"--output_dir=output/{options.__name__}"]
    assert not work(cli.parse(options, ["script.py", *flags])), options
  assert os.path.exists("output/SquadOptions/predictions.json")


if __name__ == "__main__":
  if sys.argv[1:2] == ["--on"]:
    _install_and_run(*sys.argv[2:])
  elif len(sys.argv) == 3:
    os.chdir(sys.argv[1])
    _run_all(sys.argv[2])
  else:
    raise SystemExit(main())
