"""Finds the nearest documents for queries, by vectors of run_sentence_embedding.py or of a
published sentence encoder.

  # build an index of one document per line, a text or {"id": ..., "text": ...}
  python -m bert_tf.extras.search --init_checkpoint=out --documents_file=documents.jsonl \\
      --index_dir=index

  # the ten nearest documents for each line
  python -m bert_tf.extras.search --init_checkpoint=out --index_dir=index \\
      --input_file=lines.txt --output_file=nearest.jsonl

  # a query from standard input
  echo 'How tall is the tower?' | python -m bert_tf.extras.search --init_checkpoint=out \\
      --index_dir=index --top_k=3

The search is exact and reads the vectors from the disk, a part at a time (`search_index.py`).
"""

import os

from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import FILE, option, option_class
from bert_tf.inference.options import FileOptions, InputOptions

INDEX_FILE = "index.json"


@option_class
class SearchOptions(FileOptions, InputOptions):
    """Search."""

    index_dir: str = option(
        None, "Directory of the index, on a local disk.", required=True, path=True
    )
    documents_file: str | None = option(
        None,
        "Documents to build a new index of, one per line: a text, or a JSON object with text and "
        "id.",
        path=FILE,
    )
    input_file: str = option(
        "-",
        "One query per line; - is standard input. Not read with --documents_file.",
        path=FILE,
    )
    top_k: int = option(10, "Number of documents for each query.", minimum=1)
    batch_size: int = option(64, "Texts per batch.", minimum=1)

    def check(self) -> None:
        super().check()
        # An index is made once: documents are never added to an existing one.
        if self.documents_file:
            files.refuse_existing(self.index_dir, "index_dir")

    def check_inputs(self) -> None:
        super().check_inputs()
        if not self.documents_file and not files.is_file(os.path.join(self.index_dir, INDEX_FILE)):
            raise UserError(
                f"--index_dir: {self.index_dir} holds no index: make it with --documents_file"
            )


if __name__ == "__main__":
    cli.run(SearchOptions, "bert_tf.extras.search_index:run")
