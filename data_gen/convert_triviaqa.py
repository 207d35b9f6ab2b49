r"""TriviaQA-Wiki → training data in the layout of SQuAD 1.1, for a first stage of fine-tuning (paper, section 4.2).

  python data_gen/convert_triviaqa.py --qa_file=qa/wikipedia-train.json --evidence_dir=evidence/wikipedia \
      --output_file=triviaqa-train.json

An example is a question with the first 400 tokens of one of its articles that name the answer (the paper's footnote
12). Comes before: the official archive, unpacked. Comes after: `run_squad.py --train_file=triviaqa-train.json`.
"""

import os
import sys
from collections.abc import Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from common import cli, files
from common.errors import UserError
from data_gen.labelled import triviaqa

_QA_FILE = flags.DEFINE_string("qa_file", None, "Questions and answers, e.g. qa/wikipedia-train.json.")
_EVIDENCE_DIR = flags.DEFINE_string("evidence_dir", None, "The folder of the articles, e.g. evidence/wikipedia.")
_OUTPUT_FILE = flags.DEFINE_string("output_file", None, "SQuAD file to write.")
_MAX_TOKENS = flags.DEFINE_integer(
    "max_tokens", 400, "Tokens, as white space delimits them, that are used of each article.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  cli.require_flags(qa_file=_QA_FILE.value, evidence_dir=_EVIDENCE_DIR.value, output_file=_OUTPUT_FILE.value)
  qa_file = files.check_readable(_QA_FILE.value, "qa_file")
  if not os.path.isdir(_EVIDENCE_DIR.value):
    raise UserError(f"--evidence_dir: {_EVIDENCE_DIR.value} is no directory")
  if os.path.isdir(_OUTPUT_FILE.value):
    raise UserError(f"--output_file: {_OUTPUT_FILE.value} is a directory, a file name is wanted")
  files.make_output_directory(os.path.dirname(_OUTPUT_FILE.value) or ".", "output_file")
  contents, counts = triviaqa.convert(qa_file, _EVIDENCE_DIR.value, _MAX_TOKENS.value)
  files.write_json(_OUTPUT_FILE.value, contents)
  print(counts.report())


if __name__ == "__main__":
  cli.run(main)
