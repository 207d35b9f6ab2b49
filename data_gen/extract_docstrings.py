r"""The docstrings of the installed Python packages → JSON lines, one document per line.

  python data_gen/extract_docstrings.py --output_file=docstrings.jsonl
  python data_gen/extract_docstrings.py --output_file=docstrings.jsonl --packages=numpy,scipy,pandas

Real English prose that every machine with this project's environment holds, so that everything can
be tried without a download. The packages are read as text (`ast`), not imported. Repeated
docstrings and paragraphs are kept once, so that documents held out for evaluation don't stand in
the training text as well. Output: what `prepare_corpus.py` reads as it is.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from data_gen.options import DocstringOptions

if __name__ == "__main__":
    cli.run(DocstringOptions, "data_gen.text.docstrings:run")
