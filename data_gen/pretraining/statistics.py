"""Statistics of generated pre-training data: added up over portions and shards, checked,
printed."""

from collections.abc import Callable, Sequence

import numpy as np

from bert_common import progress
from data_gen.pretraining.masking import Masked
from data_gen.pretraining.schema import MASK_FEATURES
from data_gen.tokenization.vocabulary import MASK

# Shares above which the data will disappoint.
_MAX_RANDOM_NEXT = 0.55
_MAX_UNKNOWN = 0.01
_MAX_ONE_SENTENCE_DOCUMENTS = 0.5
_MAX_NUL_BYTES = 0.01
# Name → (part, total): names of counts.
_RATIOS = {
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


def add(total: dict[str, int], part: dict[str, int]) -> None:
    """Adds counts to `total` in place; the largest value of `longest_…` is kept."""
    for name, value in part.items():
        if name.startswith("longest_"):
            total[name] = max(total.get(name, 0), value)
        else:
            total[name] = total.get(name, 0) + value


def count_instances(
    masked: Masked | None,
    width: int,
    length: np.ndarray,
    a_length: np.ndarray,
    b_length: np.ndarray,
    random_next: np.ndarray,
) -> dict[str, int]:
    """Returns counts of some instances, each in a record of `width` tokens.

    Args:
      length, a_length, b_length: [B], in tokens.
      random_next: [B], 0 or 1.
    """
    batch = len(length)
    counts = {
        "instances": batch,
        "rows": batch,
        "random_next": int(random_next.sum()),
        "positions": batch * width,
        "real_tokens": int(length.sum()),
        "full_length": int((length == width).sum()),
        "segment_a_tokens": int(a_length.sum()),
        "segment_b_tokens": int(b_length.sum()),
        "masked": 0,
    }
    if masked:
        counts["masked"] = int(masked.count.sum())
        for kind, count in masked.kind_counts.items():
            counts[f"masked_{kind}"] = count
    return counts


def summarize(counts: dict[str, int]) -> dict[str, float]:
    """Returns means and shares of the counts of `corpus.load` and `count_instances`."""
    summary = {}
    for name, (part, total) in _RATIOS.items():
        summary[name] = round(counts.get(part, 0) / max(counts.get(total, 0), 1), 6)
    summary["fraction_padding"] = round(1 - summary["fraction_padding"], 6)
    return summary


def find_warnings(
    counts: dict[str, int], max_seq_length: int, next_sentence_prediction: bool, shards: int = 1
) -> list[str]:
    """Returns warnings about the data, one line each, with a remedy.

    Args:
      counts: as for `summarize`.
    """
    summary = summarize(counts)
    warnings = []
    if next_sentence_prediction and counts["documents"] == 1:
        warnings.append(
            "the corpus is one document: random next segments had to come from the same document, "
            "so next sentence prediction learns little; put blank lines between its parts "
            "(chapters, articles), or give --next_sentence_prediction=false"
        )
    one_sentence_documents = counts["one_sentence_documents"]
    one_sentence_limit = _MAX_ONE_SENTENCE_DOCUMENTS * max(counts["documents"], 2)
    if next_sentence_prediction and summary["tokens_per_sentence"] > max_seq_length:
        warnings.append(
            f"a line has {summary['tokens_per_sentence']:,.0f} tokens on average, more than a "
            "sequence: the documents have no sentence breaks, and most of a line is lost; split "
            "them with data_gen/prepare_corpus.py"
        )
    elif one_sentence_documents > one_sentence_limit:
        if next_sentence_prediction:
            consequence = "no segment has a true next one"
        else:
            consequence = "sequences stay short"
        warnings.append(
            f"{one_sentence_documents / counts['documents']:.0%} of the documents have one "
            f"sentence (a blank line after every sentence?): {consequence}; blank lines belong "
            "between documents only"
        )
    if next_sentence_prediction and summary["share_random_next"] > _MAX_RANDOM_NEXT:
        warnings.append(_random_next_warning(summary, max_seq_length))
    if summary["share_unknown"] > _MAX_UNKNOWN:
        warnings.append(
            f"{summary['share_unknown']:.1%} of the tokens are [UNK]: the vocabulary does not "
            "cover this text; check --vocab_file and --do_lower_case, or build a vocabulary with "
            "vocab/build_vocab.py"
        )
    if counts.get("nul_bytes", 0) > _MAX_NUL_BYTES * counts["tokens"]:
        warnings.append(
            f"the text contains {counts['nul_bytes']:,} NUL bytes, which were dropped: is it "
            "UTF-16? Convert it to UTF-8"
        )
    if counts["instances"] < shards:
        warnings.append(
            f"there are fewer instances ({counts['instances']}) than files ({shards}): some files "
            "are empty"
        )
    return warnings


def _random_next_warning(summary: dict[str, float], max_seq_length: int) -> str:
    """Returns the warning about too many random next segments.

    A single sentence, in its document or in its sequence, has no true next segment.
    """
    in_document = summary["sentences_per_document"]
    in_sequence = (max_seq_length - 3) / summary["tokens_per_sentence"]
    if in_document < in_sequence:
        cause = (
            f"a document has {in_document:.1f} sentences on average; use longer documents, with "
            "blank lines between documents only"
        )
    else:
        cause = (
            f"--max_seq_length={max_seq_length} holds {in_sequence:.1f} sentences of "
            f"{summary['tokens_per_sentence']:.0f} tokens; make sequences longer, or split long "
            "sentences"
        )
    return (
        f"{summary['share_random_next']:.1%} of the next segments are random (50 % is expected), "
        f"as single sentences have no true next one: {cause}"
    )


def format_table(counts: dict[str, int], next_sentence_prediction: bool) -> str:
    """Returns the table of figures that is printed at the end."""
    summary = summarize(counts)
    rows = [
        (
            "documents",
            f"{counts['documents']:,}",
            f"{summary['sentences_per_document']:.1f} sentences each",
        ),
        (
            "sentences",
            f"{counts['sentences']:,}",
            f"{summary['tokens_per_sentence']:.1f} tokens each, the longest "
            f"{counts['longest_sentence']:,}",
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
        note = f"{summary['sequences_per_row']:.2f} sequences packed in each"
        rows.append(("rows", f"{counts['rows']:,}", note))
    if next_sentence_prediction:
        note = (
            f"segments of {summary['mean_segment_a']:.1f} and {summary['mean_segment_b']:.1f} "
            "tokens"
        )
        rows.append(("random next", f"{summary['share_random_next']:.1%}", note))
    if counts["masked"]:
        note = (
            f"{summary['share_mask']:.1%} [MASK], {summary['share_random']:.1%} random, "
            f"{summary['share_kept']:.1%} same"
        )
        rows.append(("masked", f"{summary['share_masked']:.1%}", note))
    else:
        rows.append(("masked", "no token", "training masks them"))
    return "\n".join(f"  {name:<12} {value:>14}   {note}" for name, value, note in rows)


def _plain(text: str, style: str) -> str:
    return text


def format_example(
    example: dict[str, np.ndarray],
    tokens: Sequence[str],
    longest: int = 128,
    paint: Callable[[str, str], str] = _plain,
) -> str:
    """Returns a readable record; the hidden token follows the visible one, `[MASK]{word}`.

    A packed row shows its first sequence, a long sequence its first tokens.

    Args:
      paint: see `progress.painter`.
    """
    # In a packed row the tokens of the first sequence have the number 1.
    length = int((example["input_mask"] == 1).sum())
    num_sequences = int(example["input_mask"].max())
    words = [tokens[index] for index in example["input_ids"][:length].tolist()]
    masks = [example[name].tolist() for name in MASK_FEATURES if name in example]
    for position, label, weight in zip(*masks, strict=True):
        if weight and position < length:
            word = words[position]
            style = progress.RANDOM
            if word == MASK:
                style = progress.HIDDEN
            elif word == tokens[label]:
                style = progress.RIGHT
            words[position] = paint(f"{word}{{{tokens[label]}}}", style)
    text = " ".join(words[:longest])
    if length > longest:
        text += " …"
    if num_sequences > 1:
        text += f" (and {num_sequences - 1} more in the row)"
    kind = "random next" if example["next_sentence_labels"][0] else "next"
    return f"[{kind}] {text}"
