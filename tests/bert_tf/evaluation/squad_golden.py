"""The original's n best answers to logits that were made for it, and ours; for several tests."""

import dataclasses
import functools
import gzip
import json
import pathlib

import numpy as np

from bert_tf.evaluation.squad_answers import AnswerOptions, find_answers
from data_gen.labeled.squad import read_squad
from data_gen.labeled.squad_features import make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from tests.bert_tf.evaluation.squad_reference import nbest_of_questions, original_text

# (fixture, questions, max_seq_length, doc_stride, max_query_length, version_2_with_negative)
CASES = [
    *(
        ("golden", "v20", *lengths, version_2)
        for version_2 in (False, True)
        for lengths in ((384, 128, 64), (128, 32, 24))
    ),
    ("golden", "corner", 128, 32, 24, False),
    *(
        ("full_golden", name, *lengths, version_2)
        for name, version_2 in (("v11", False), ("v20", False), ("v20", True), ("corner", False))
        for lengths in ((384, 128, 64), (128, 32, 24))
    ),
]


@dataclasses.dataclass(frozen=True)
class Case:
    """Number `number` of `CASES`: `golden` the original's n best, `found` ours, both from logits
    with padding."""

    number: int
    folder: pathlib.Path
    name: str
    version_2: bool
    data: object
    tokenizer: object
    contexts: object
    windows: object
    start_logits: np.ndarray  # [W, S], S the same for all windows
    end_logits: np.ndarray
    options: AnswerOptions
    golden: dict
    found: list

    @functools.cached_property
    def null_odds(self):
        return read_json(self.folder / f"null_odds_{self.name}_v2.json")

    def predictions(self, mode):
        """The original's answers; `mode` is v1, v2_thr0 or v2_thr-1.5."""
        return read_json(self.folder / f"predictions_{self.name}_{mode}.json")

    def scores(self, mode):
        name, setting = self.name.split("_", 1)
        return read_json(self.folder / f"squad_{name}_info.json")["settings"][setting]["eval"][mode]

    def reference(self, text_of):
        return nbest_of_questions(
            self.data,
            self.tokenizer,
            self.contexts,
            self.windows,
            self.start_logits.astype(np.float64).tolist(),
            self.end_logits.astype(np.float64).tolist(),
            text_of,
            self.options,
        )

    @functools.cached_property
    def reference_of_original(self):
        return self.reference(original_text)


@functools.cache
def tokenizer_of(vocab_file):
    return Tokenizer.from_file(vocab_file)


def load(request, golden, case):
    """The `Case` of an entry of `CASES`; skips the test where its values are missing.

    Args:
      request: pytest's, of a test.
      golden: the fixture's folder, for the vocabulary.
      case: the entry.
    """
    vocab_file = str(golden / "bert" / "uncased_vocab.txt")
    return _load(
        CASES.index(case), request.getfixturevalue(case[0]) / "squad", vocab_file, *case[1:]
    )


@functools.cache
def _load(
    number, folder, vocab_file, name, max_seq_length, doc_stride, max_query_length, version_2
):
    full_name = f"{name}_{max_seq_length}_{doc_stride}_{max_query_length}"
    data = read_squad(str(folder / f"squad_{name}_eval.json"), "predict_file")
    tokenizer = tokenizer_of(vocab_file)
    contexts, windows = make_windows(
        data,
        tokenizer,
        max_seq_length=max_seq_length,
        doc_stride=doc_stride,
        max_query_length=max_query_length,
        training=False,
    )
    options = AnswerOptions(version_2_with_negative=version_2)
    with np.load(folder / f"squad_logits_{full_name}.npz") as logits:
        start_logits, end_logits = logits["start_logits"], logits["end_logits"]
    padded = dataclasses.replace(windows, row_lengths=np.full(len(windows), max_seq_length))
    found = find_answers(data, contexts, padded, start_logits.ravel(), end_logits.ravel(), options)
    golden_nbest = read_json(
        folder / f"nbest_predictions_{full_name}_v{2 if version_2 else 1}.json.gz"
    )
    return Case(
        number,
        folder,
        full_name,
        version_2,
        data,
        tokenizer,
        contexts,
        windows,
        start_logits,
        end_logits,
        options,
        golden_nbest,
        found,
    )


def read_json(path):
    return json.loads((gzip.open if path.suffix == ".gz" else open)(path).read())
