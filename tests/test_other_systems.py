"""What Windows and macOS lack, taken away: modules, functions and flags of the operating system,
and forks."""

import os
import pathlib
import subprocess
import sys

import pytest

from bert_common import remote_files

# Everything in one process, as a user's commands do it. Worker processes start anew, as they do
# where there is no fork.
_PROGRAM = """
import asyncio, multiprocessing, os, sys, warnings  # asyncio, which others import, asks for what this system has
warnings.simplefilter("ignore")  # filelock's, that it has no fcntl
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios")))
for name in ("O_NOFOLLOW", "O_NONBLOCK", "chown", "copy_file_range", "fork", "getuid", "sched_getaffinity",
             "set_blocking", "sysconf"):
  delattr(os, name)
multiprocessing.set_start_method("spawn", force=True)

from bert_common import cli, locks
locks.WINDOWS = True

def run(options, work, *flags):
  assert not work(cli.parse(options, ["script.py", *flags]))

if __name__ == "__main__":
  from bert_tf.inference import predictor
  from bert_tf.inference.options import PredictOptions
  from bert_tf.tasks.classification import task
  from bert_tf.tasks.classification.options import ClassificationOptions
  from bert_tf.tasks.pretraining import task as pretraining
  from bert_tf.tasks.pretraining.options import PretrainingOptions
  from data_gen.options import PretrainingDataOptions
  from data_gen.pretraining import generation

  model = f"{sys.argv[1]}/samples/tiny_books"
  for workers in (1, 2):
    run(PretrainingDataOptions, generation.run, "--input_file=corpus.txt", f"--output_file=records{workers}",
        f"--vocab_file={model}/vocab.txt", "--max_seq_length=24", "--max_predictions_per_seq=4",
        f"--num_workers={workers}")
  run(PretrainingOptions, pretraining.run, "--do_train", "--input_file=records2", "--output_dir=pretrained",
      f"--init_checkpoint={model}", "--train_batch_size=4", "--num_train_steps=2", "--num_warmup_steps=0",
      "--max_seq_length=24", "--max_predictions_per_seq=4")
  run(ClassificationOptions, task.run, "--task_name=custom", "--train_file=train.csv", "--dev_file=dev.csv",
      "--init_checkpoint=pretrained", "--output_dir=tuned", "--do_train", "--do_eval", "--text_a_column=text",
      "--label_column=label", "--max_seq_length=16", "--train_batch_size=4", "--num_train_epochs=1")
  run(PredictOptions, predictor.run, "--init_checkpoint=tuned", "--input_file=texts.txt", "--output_file=answers.jsonl")
"""


@pytest.mark.processes
def test_records_training_and_predictions(project, tmp_path):
    (tmp_path / "corpus.txt").write_text(
        "".join(
            f"the old house stood by the river .\nthe {color} door was open .\nshe went in and sat down .\n\n"
            for color in ("red", "green", "white", "black", "brown", "blue") * 4
        )
    )
    for name in ("train.csv", "dev.csv"):
        (tmp_path / name).write_text("text,label\n" + "a good film,yes\na bad film,no\n" * 4)
    (tmp_path / "texts.txt").write_text("good\n")
    (tmp_path / "program.py").write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", str(project)],
        cwd=tmp_path,
        text=True,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(project)},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "records1").read_bytes() == (tmp_path / "records2").read_bytes()
    assert '"label"' in (tmp_path / "answers.jsonl").read_text()
    assert not [str(path) for path in tmp_path.iterdir() if path.suffix == ".lock"]


def test_paths_of_windows_are_local():
    for path in ("C:/data/run", "C:\\data\\run", "C://data", "//server/share/run", "data\\run"):
        assert not remote_files.is_remote(
            str(pathlib.PureWindowsPath(path))
        ) and not remote_files.is_remote(path)
    assert remote_files.is_remote("gs://bucket/run")
