r"""A folder of documents → JSON lines, one document per line.

  python data_gen/read_folder.py --input_dir=handbook --output_file=documents.jsonl
  python data_gen/read_folder.py --input_dir=mails --text_field=body --output_file=documents.jsonl

Text, Markdown, HTML, JSON lines and lists, CSV, TSV and Parquet are read, in all sub-folders, also
compressed. Tags, navigation and code are taken out; a page is a document. Output: what
`prepare_corpus.py` reads. docs/adapt.md shows the way from there to an encoder of one's own.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from data_gen.options import FolderOptions

if __name__ == "__main__":
    cli.run(FolderOptions, "data_gen.text.folders:run")
