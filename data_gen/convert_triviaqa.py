r"""TriviaQA-Wiki → training data in the format of SQuAD 1.1, for a first stage of fine-tuning
(paper, section 4.2).

  python data_gen/convert_triviaqa.py --qa_file=qa/wikipedia-train.json \
      --evidence_dir=evidence/wikipedia --output_file=triviaqa-train.json

An example is a question with the first 400 tokens of one of its articles that name the answer (the
paper's footnote 12). Input: the official archive, unpacked. Output: what `run_squad.py
--train_file=triviaqa-train.json` reads.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bert_common import cli
from data_gen.options import TriviaQaOptions

if __name__ == "__main__":
    cli.run(TriviaQaOptions, "data_gen.labeled.triviaqa:run")
