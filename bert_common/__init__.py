"""Modules that every package may use; none of them imports TensorFlow, so the text tools start at once.

    environment.py   the Python and the packages that are needed
    options.py       options, each declared once
    cli.py           the start and the end of every script
    config_files.py  values of flags in YAML and JSON files
    errors.py        `UserError`
    files.py         files and directories on any file system, gzipped or not, written whole or not at all
    outputs.py       whether a path may be written: names of checkpoints, runs and indexes
    remote_files.py  what `files.py` needs of TensorFlow
    json_files.py    JSON files and their fields
    locks.py         locks on directories and files
    parallel.py      work on several processes, results in order
    gpus.py          the driver of GPUs, options of XLA, the cache of compiled programs
    plugins.py       tables of what is imported when it is asked for by name
    progress.py      the progress bar, and colours on a terminal
"""

import os

from bert_common import environment

environment.check()
# TensorFlow reads it when it is imported, which all other packages leave until this one is there. It would log a dozen
# lines about the CPU and missing GPU drivers; what goes wrong is raised in Python anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
