import re

import numpy as np
import pytest

from bert_common import progress
from data_gen.pretraining import statistics

COUNTS = {
    "documents": 10,
    "sentences": 200,
    "tokens": 4000,
    "unknown_tokens": 10,
    "one_sentence_documents": 1,
    "longest_sentence": 80,
    "lines_without_tokens": 0,
    "nul_bytes": 0,
    "instances": 100,
    "random_next": 51,
    "rows": 100,
    "positions": 12800,
    "real_tokens": 11520,
    "full_length": 80,
    "segment_a_tokens": 5000,
    "segment_b_tokens": 6220,
    "masked": 1728,
    "masked_mask": 1382,
    "masked_random": 173,
    "masked_same": 173,
}


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({}, None),
        ({"documents": 1}, "one document"),
        ({"one_sentence_documents": 9}, "no segment has a true next one"),
        (
            {"random_next": 56},
            "56.0% of the next segments are random .*: --max_seq_length=128 holds 6.2 sentences",
        ),
        (
            {"random_next": 56, "documents": 100},
            "56.0% of the next .*: a document has 2.0 sentences on average",
        ),
        ({"unknown_tokens": 41}, r"1.0% of the tokens are \[UNK\]"),
        ({"tokens": 200 * 129}, "no sentence breaks"),
        ({"nul_bytes": 1000}, "NUL bytes"),
        ({"instances": 3, "random_next": 1}, "fewer instances"),
    ],
)
def test_warnings(change, warning):
    found = statistics.find_warnings(
        {**COUNTS, **change}, max_seq_length=128, next_sentence_prediction=True, shards=4
    )
    if warning is None:
        assert found == []
    else:
        (line,) = found
        assert "\n" not in line
        assert re.search(warning, line)


def test_an_example_is_readable():
    tokens = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "!"]
    example = {
        "input_ids": np.array([1, 3, 5, 2, 6, 2, 0]),
        "input_mask": np.array([1] * 6 + [0]),
        "masked_lm_positions": np.array([1, 4, 0]),
        "masked_lm_ids": np.array([4, 5, 0]),
        "masked_lm_weights": np.array([1.0, 1.0, 0.0]),
        "next_sentence_labels": np.array([1]),
    }
    assert (
        statistics.format_example(example, tokens)
        == "[random next] [CLS] [MASK]{hello} world [SEP] !{world} [SEP]"
    )
    assert (
        statistics.format_example(example, tokens, longest=2)
        == "[random next] [CLS] [MASK]{hello} …"
    )
    painted = statistics.format_example(
        example, tokens, paint=lambda text, style: f"<{style}:{text}>"
    )
    assert painted == (
        f"[random next] [CLS] <{progress.HIDDEN}:[MASK]{{hello}}> world [SEP] "
        f"<{progress.RANDOM}:!{{world}}> [SEP]"
    )
