"""Statistics of generated pre-training data: added up over portions and shards, checked,
printed."""

from collections.abc import Callable, Sequence

import numpy as np

from bert_common import progress
from data_gen.pretraining.masking import Masked
from data_gen.pretraining.schema import MASK_FEATURES
from data_gen.tokenization.vocabulary import MASK

# Shares above which the data will disappoint.
_MOST_RANDOM_NEXT = 0.55
_MOST_UNKNOWN = 0.01
_MOST_ONE_SENTENCE_DOCUMENTS = 0.5
_MOST_NUL_BYTES = 0.01


def add(total: dict[str, int], part: dict[str, int]) -> None:
    """Adds counts to `total` in place; of `longest_…` it keeps the largest."""
    for name, value in part.items():
        total[name] = (
            max(total.get(name, 0), value)
            if name.startswith("longest_")
            else total.get(name, 0) + value
        )


def count_instances(
    masked: Masked | None,
    width: int,
    length: np.ndarray,
    a_length: np.ndarray,
    b_length: np.ndarray,
    random_next: np.ndarray,
) -> dict[str, int]:
    """Counts of some instances, each in a record of `width` tokens; lengths, in tokens, and
    random_next, 0 or 1: [B]."""
    batch = len(length)
    masks = (
        {
            "masked": int(masked.count.sum()),
            **{f"masked_{kind}": count for kind, count in masked.kind_counts.items()},
        }
        if masked
        else {"masked": 0}
    )
    return {
        "instances": batch,
        "rows": batch,
        "random_next": int(random_next.sum()),
        "positions": batch * width,
        "real_tokens": int(length.sum()),
        "full_length": int((length == width).sum()),
        "segment_a_tokens": int(a_length.sum()),
        "segment_b_tokens": int(b_length.sum()),
        **masks,
    }


def summarize(counts: dict[str, int]) -> dict[str, float]:
    """Means and shares of the counts of `corpus.load` and `count_instances`, added up."""
    ratios = {
        "mean_length": ("real_tokens", "instances"),
        "mean_segment_a": ("segment_a_tokens", "instances"),
        "mean_segment_b": ("segment_b_tokens", "instances"),
        "mean_masked": ("masked", "instances"),
        "sequences_per_row": ("instances", "rows"),
        "share_full_length": ("full_length", "instances"),
        "fraction_padding": ("real_tokens", "positions"),
        "share_random_next": ("random_next", "instances"),
        "share_masked": ("masked", "real_tokens"),
        "share_mask": ("masked_mask", "masked"),
        "share_random": ("masked_random", "masked"),
        "share_kept": ("masked_same", "masked"),
        "share_unknown": ("unknown_tokens", "tokens"),
        "sentences_per_document": ("sentences", "documents"),
        "tokens_per_sentence": ("tokens", "sentences"),
    }
    summary = {
        name: round(counts.get(part, 0) / max(counts.get(whole, 0), 1), 6)
        for name, (part, whole) in ratios.items()
    }
    return summary | {"fraction_padding": round(1 - summary["fraction_padding"], 6)}


def find_warnings(
    counts: dict[str, int], max_seq_length: int, next_sentence_prediction: bool, shards: int = 1
) -> list[str]:
    """Warnings about this data, one per line, each with a remedy; `counts` as for `summarize`."""
    summary = summarize(counts)
    found = []
    if next_sentence_prediction and counts["documents"] == 1:
        found.append(
            "the corpus is one document: random next segments had to come from the same document, so "
            "next sentence prediction learns little; put blank lines between its parts (chapters, articles), or "
            "give --next_sentence_prediction=false"
        )
    if next_sentence_prediction and summary["tokens_per_sentence"] > max_seq_length:
        found.append(
            f"a line has {summary['tokens_per_sentence']:,.0f} tokens on average, more than a sequence: the "
            "documents have no sentence breaks, and most of a line is lost; split them with "
            "data_gen/prepare_corpus.py"
        )
    elif counts["one_sentence_documents"] > _MOST_ONE_SENTENCE_DOCUMENTS * max(
        counts["documents"], 2
    ):
        consequence = (
            "no segment has a true next one" if next_sentence_prediction else "sequences stay short"
        )
        found.append(
            f"{counts['one_sentence_documents'] / counts['documents']:.0%} of the documents have one sentence "
            f"(a blank line after every sentence?): {consequence}; blank lines belong between documents only"
        )
    if next_sentence_prediction and summary["share_random_next"] > _MOST_RANDOM_NEXT:
        # A single sentence, of a document or of what fills a sequence, has no true next segment.
        in_document, in_sequence = (
            summary["sentences_per_document"],
            (max_seq_length - 3) / summary["tokens_per_sentence"],
        )
        found.append(
            f"{summary['share_random_next']:.1%} of the next segments are random (50 % is meant), as single "
            "sentences have no true next one: "
            + (
                f"a document has {in_document:.1f} sentences on average; use longer documents, with blank lines between "
                "documents only"
                if in_document < in_sequence
                else f"--max_seq_length={max_seq_length} holds {in_sequence:.1f} sentences of {summary['tokens_per_sentence']:.0f} "
                "tokens; make sequences longer, or split long sentences"
            )
        )
    if summary["share_unknown"] > _MOST_UNKNOWN:
        found.append(
            f"{summary['share_unknown']:.1%} of the tokens are [UNK]: the vocabulary does not cover this text; "
            "check --vocab_file and --do_lower_case, or build a vocabulary with vocab/build_vocab.py"
        )
    if counts.get("nul_bytes", 0) > _MOST_NUL_BYTES * counts["tokens"]:
        found.append(
            f"the text holds {counts['nul_bytes']:,} NUL bytes, which were dropped: is it UTF-16? Convert it "
            "to UTF-8"
        )
    if counts["instances"] < shards:
        found.append(
            f"there are fewer instances ({counts['instances']}) than files ({shards}): some are empty"
        )
    return found


def format_table(counts: dict[str, int], next_sentence_prediction: bool) -> str:
    """The statistics as the lines printed at the end."""
    summary = summarize(counts)
    lines = [
        (
            "documents",
            f"{counts['documents']:,}",
            f"{summary['sentences_per_document']:.1f} sentences each",
        ),
        (
            "sentences",
            f"{counts['sentences']:,}",
            f"{summary['tokens_per_sentence']:.1f} tokens each, the longest {counts['longest_sentence']:,}",
        ),
        ("tokens", f"{counts['tokens']:,}", f"{summary['share_unknown']:.2%} [UNK]"),
        ("instances", f"{counts['instances']:,}", f"{summary['mean_length']:.1f} tokens each"),
        (
            "full length",
            f"{summary['share_full_length']:.1%}",
            f"padding {summary['fraction_padding']:.1%} of all",
        ),
    ]
    if counts["rows"] < counts["instances"]:
        lines.append(
            (
                "rows",
                f"{counts['rows']:,}",
                f"{summary['sequences_per_row']:.2f} sequences packed in each",
            )
        )
    if next_sentence_prediction:
        lines.append(
            (
                "random next",
                f"{summary['share_random_next']:.1%}",
                f"segments of {summary['mean_segment_a']:.1f} and {summary['mean_segment_b']:.1f} tokens",
            )
        )
    lines.append(
        (
            "masked",
            f"{summary['share_masked']:.1%}",
            f"{summary['share_mask']:.1%} [MASK], {summary['share_random']:.1%} random, "
            f"{summary['share_kept']:.1%} same",
        )
        if counts["masked"]
        else ("masked", "no token", "training masks them")
    )
    return "\n".join(f"  {name:<12} {value:>14}   {note}" for name, value, note in lines)


def format_example(
    example: dict[str, np.ndarray],
    tokens: Sequence[str],
    longest: int = 128,
    paint: Callable[[str, str], str] = lambda text, style: text,
) -> str:
    """A record, readable: what was hidden stands after what is shown, `[MASK]{word}`.

    Of a packed row the first sequence, of a longer one the first tokens. `paint` see
    `bert_common/progress.py`.
    """
    # Of a packed row the first sequence has the tokens of number 1.
    length, sequences = int((example["input_mask"] == 1).sum()), int(example["input_mask"].max())
    shown = [tokens[index] for index in example["input_ids"][:length].tolist()]
    masks = [example[name].tolist() for name in MASK_FEATURES if name in example]
    for position, label, weight in zip(*masks, strict=True):
        if weight and position < length:
            word = shown[position]
            style = (
                progress.HIDDEN
                if word == MASK
                else progress.RIGHT
                if word == tokens[label]
                else progress.RANDOM
            )
            shown[position] = paint(f"{word}{{{tokens[label]}}}", style)
    text = " ".join(shown[:longest]) + (" …" if length > longest else "")
    more = f" (and {sequences - 1} more in the row)" if sequences > 1 else ""
    return f"[{'random next' if example['next_sentence_labels'][0] else 'next'}] {text}{more}"
