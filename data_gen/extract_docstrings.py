r"""The docstrings of the installed Python packages → JSON lines, a document a line.

  python data_gen/extract_docstrings.py --output_file=docstrings.jsonl
  python data_gen/extract_docstrings.py --output_file=docstrings.jsonl --packages=numpy,scipy,pandas

Real English prose that every machine with this project's environment holds, so that everything can be tried
without a download. The packages are read as text (`ast`), not imported. Repeated docstrings and paragraphs are
kept once, so that documents held out for evaluation don't stand in the training text as well. Comes after:
`prepare_corpus.py`, which reads the result as it is.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from common import cli, files, parallel
from common.errors import UserError
from data_gen.text import docstrings

_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "JSON lines with the fields package and text.")
_PACKAGES = flags.DEFINE_list(
    "packages", None,
    f"Top-level packages to read; {docstrings.STANDARD_LIBRARY} is the standard library. Default: all.")
_MIN_WORDS = flags.DEFINE_integer("min_words", 20, "Docstrings with less prose are left out.", lower_bound=1)
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", None, "Processes; the output does not depend on it. Default: all cores.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(output_file=_OUTPUT_FILE.value)
  output_file = _OUTPUT_FILE.value
  if os.path.isdir(output_file):
    raise UserError(f"--output_file: {output_file} is a directory, a file name is wanted")
  files.make_output_directory(os.path.dirname(output_file) or ".", "output_file")
  sources = docstrings.find_source_files(_PACKAGES.value)
  counts: dict[str, docstrings.PackageCounts] = defaultdict(docstrings.PackageCounts)
  num_workers = _NUM_WORKERS.value or parallel.default_num_workers()
  with files.atomic_write(output_file) as file:
    for package, paragraphs in docstrings.extract_documents(sources, num_workers, _MIN_WORDS.value, counts):
      json.dump({"package": package, "text": "\n".join(paragraphs)}, file, ensure_ascii=False)
      file.write("\n")
    if not any(count.documents for count in counts.values()):
      raise UserError("--packages: no docstring of the wanted length was found")
  print(docstrings.report(counts))


if __name__ == "__main__":
  cli.run(main)
