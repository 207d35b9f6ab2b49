r"""Text of any common form → one sentence a line and a blank line between documents.

  python data_gen/prepare_corpus.py --input_file='books/*.txt' --output_file=corpus/train.txt
  python data_gen/prepare_corpus.py --input_file='wiki/*/wiki_*.gz' --output_file=corpus/train.txt \
      --held_out_fraction=0.02 --held_out_file=corpus/held_out.txt
  python data_gen/prepare_corpus.py --input_file=docs.jsonl --text_field=body --output_file=corpus/train.txt.gz

Reads plain text, JSON lines and WikiExtractor output, gzipped or not (`corpus_readers.py`), splits it into
sentences (`sentences.py`) on all cores, and holds a few megabytes of it in memory at a time. The output is the
same for any number of workers. Comes after: `vocab/build_vocab.py` and `create_pretraining_data.py`.
"""

import os
import sys
from collections.abc import Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from common import cli, files, parallel
from common.errors import UserError
from data_gen.text import corpus_preparation, corpus_readers

_INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Text files: paths and patterns, separated by commas; gzip is recognised.")
_OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "The prepared corpus; gzipped if the name ends in .gz.")
_INPUT_FORMAT = flags.DEFINE_enum(
    "input_format", "auto", corpus_readers.FORMATS,
    "text: plain text; json: an object a line; wiki: WikiExtractor's <doc …>; auto: by each file's first line.")
_TEXT_FIELD = flags.DEFINE_string("text_field", "text", "Name of the field with the text in JSON lines.")
_DOCUMENT_SEPARATOR = flags.DEFINE_enum(
    "document_separator", "auto", corpus_readers.DOCUMENT_SEPARATORS,
    "What ends a document in plain text: a blank line, the end of the file, or the end of every line. auto: a blank "
    "line, but the end of the file where blank lines separate paragraphs.")
_HARD_WRAPPED = flags.DEFINE_enum(
    "hard_wrapped", "auto", ["auto", "true", "false"],
    "Whether the lines of a paragraph are to be joined (true) or every line is a paragraph (false). auto: looks.")
_ON_BAD_UTF8 = flags.DEFINE_enum(
    "on_bad_utf8", "error", ["error", "replace"], "What to do about bytes that are not UTF-8.")
_HELD_OUT_FRACTION = flags.DEFINE_float(
    "held_out_fraction", 0.0, "Share of the documents that is put aside for evaluation, into --held_out_file.",
    lower_bound=0.0, upper_bound=0.9)
_HELD_OUT_FILE = flags.DEFINE_string("held_out_file", None, "The held-out documents, prepared in the same way.")
_SEED = flags.DEFINE_integer("seed", 12345, "Chooses the documents that are held out.")
_NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", None, "Processes; the output does not depend on it. Default: all cores.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(input_file=_INPUT_FILE.value, output_file=_OUTPUT_FILE.value)
  if bool(_HELD_OUT_FRACTION.value) != bool(_HELD_OUT_FILE.value):
    raise UserError("--held_out_fraction and --held_out_file belong together: give both or neither")
  input_files = files.expand_patterns(_INPUT_FILE.value, "input_file")
  for path in input_files:
    files.check_readable(path, "input_file")
  outputs = {"output_file": _OUTPUT_FILE.value}
  if _HELD_OUT_FILE.value:
    outputs["held_out_file"] = _HELD_OUT_FILE.value
  corpus_preparation.check_outputs(input_files, outputs)

  options = corpus_readers.ReaderOptions(
      format=_INPUT_FORMAT.value, text_field=_TEXT_FIELD.value, document_separator=_DOCUMENT_SEPARATOR.value,
      hard_wrapped={"auto": None, "true": True, "false": False}[_HARD_WRAPPED.value],
      on_bad_utf8=_ON_BAD_UTF8.value)
  statistics, held_out, notes = corpus_preparation.prepare_corpus(
      input_files, _OUTPUT_FILE.value, options, _NUM_WORKERS.value or parallel.default_num_workers(),
      _HELD_OUT_FRACTION.value, _HELD_OUT_FILE.value, _SEED.value)
  found = corpus_preparation.warnings(statistics, held_out, notes, bool(_HELD_OUT_FILE.value))
  written = list(zip(outputs.values(), (statistics, held_out), strict=False))
  print(corpus_preparation.report(len(input_files), written, notes, found))


if __name__ == "__main__":
  cli.run(main)
