"""Facts about labeled data that change what a score means, for the plan and for the run: classes,
unknown words, repeated examples, and development examples that the model was trained on.

Input: the data sets of a task on examples in memory, and its tokenizer. Output: lines for the user.
"""

import collections
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from bert_tf.training.examples import Dataset, Datasets
from data_gen.labeled.rows import LabeledFile
from data_gen.tokenization.tokenizer import Tokenizer

# Classes that are listed, and the number of examples below which a class is hardly learned.
_MAX_CLASSES = 20
_FEW_EXAMPLES = 5
# Share of [UNK] among the tokens above which the vocabulary does not fit the texts. English texts
# have less than 0.1 % with the released vocabulary.
MUCH_UNKNOWN = 0.02
# Mean number of subwords of a word from which on the vocabulary does not fit the texts. English
# texts have less than 1.3 with the released vocabulary.
MANY_SUBWORDS = 2.0
# Examples that are searched for unknown words, and the number of their characters that are listed.
_SEARCHED_EXAMPLES = 2000
_LISTED_CHARACTERS = 5


def describe(data: Datasets, tokenizer: Tokenizer) -> list[str]:
    """Returns lines on all sets; those on likely mistakes begin with "warning: "."""
    sets = data.nonempty()
    lines = []
    for name, split in sets.items():
        labels = _describe_labels(split)
        if labels:
            lines.append(f"{name}: {labels}")
    # Only what is trained on matters: a test set may lack classes.
    if data.train:
        for problem in _suspicious_labels(data.train.classes):
            lines.append(f"warning: train: {problem}")
    words = _words_of(sets, tokenizer)
    # A tagger on fixed vectors has no ids.
    if words:
        lines.append(_describe_unknown_words(words, sets, tokenizer))
        lines.append(_describe_subwords(words, tokenizer))
    lines += _describe_repetitions(sets, tuple(data.dev))
    return lines


def _describe_labels(split: Dataset) -> str:
    """Returns what the labels were taken for: classes, several of them, or scores."""
    labels = getattr(split.source, "labels", None)
    if split.classes:
        kind = "classes"
        # One column for each class.
        if isinstance(labels, np.ndarray) and labels.ndim == 2:
            mean = labels.sum() / len(labels)
            kind = f"several labels for an example, {mean:.1f} on average"
        return f"{kind}: {_list_classes(split.classes)}"
    if isinstance(labels, np.ndarray) and labels.dtype == np.float32 and len(labels):
        return f"scores from {labels.min():g} to {labels.max():g}, mean {labels.mean():.4g}"
    return ""


def _list_classes(classes: Mapping[str, int]) -> str:
    # Frequent classes first: the share of the first one is the accuracy of guessing.
    by_frequency = sorted(classes.items(), key=lambda item: -item[1])
    text = ", ".join(f"{label} {count:,}" for label, count in by_frequency[:_MAX_CLASSES])
    if len(by_frequency) > _MAX_CLASSES:
        text += f" and {len(by_frequency) - _MAX_CLASSES:,} more"
    return text


def _suspicious_labels(classes: Mapping[str, int]) -> list[str]:
    """Returns lines on labels that look like mistakes."""
    problems = []
    # "Yes" and "yes " in a table are nearly always one class.
    by_letters = collections.defaultdict(list)
    for label in classes:
        by_letters["".join(label.split()).lower()].append(label)
    for labels in by_letters.values():
        if len(labels) > 1:
            problems.append(
                f"{' and '.join(repr(value) for value in labels)} differ in case or blanks only"
            )
    rare = [repr(label) for label, count in classes.items() if count < _FEW_EXAMPLES]
    if rare:
        problems.append(
            f"fewer than {_FEW_EXAMPLES} examples to train on: {', '.join(rare[:_MAX_CLASSES])}"
        )
    return problems


def _words_of(sets: Mapping[str, Dataset], tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Returns name of a set → the ids of its tokens without [CLS] and [SEP], which would hide the
    unknown words of short texts."""
    vocabulary = tokenizer.vocabulary
    words = {}
    for name, split in sets.items():
        ids = split.examples.tokens.get("input_ids")
        if ids is not None:
            words[name] = ids[~np.isin(ids, (vocabulary.cls_id, vocabulary.sep_id))]
    return words


def _describe_unknown_words(
    words: Mapping[str, np.ndarray], sets: Mapping[str, Dataset], tokenizer: Tokenizer
) -> str:
    """Returns a line on the share of [UNK] among the tokens of each set."""
    shares = {}
    for name, ids in words.items():
        # A set of empty texts has no words, and nothing must be divided by zero.
        shares[name] = np.count_nonzero(ids == tokenizer.vocabulary.unk_id) / max(len(ids), 1)
    listed = ", ".join(f"{name} {share:.2%}" for name, share in shares.items())
    line = f"unknown words, [UNK] among the tokens: {listed}"
    worst = max(shares, key=shares.__getitem__)
    if shares[worst] <= MUCH_UNKNOWN:
        return line
    line = f"warning: {line}: the vocabulary does not fit the texts"
    characters = _unknown_characters(sets[worst].source, tokenizer)
    if characters:
        line += f"; most frequent characters of unknown words: {', '.join(characters)}"
    return line


def _describe_subwords(words: Mapping[str, np.ndarray], tokenizer: Tokenizer) -> str:
    """Returns a line on the number of subwords that a word of each set is cut into.

    A vocabulary of another language has all letters, and no [UNK], but few of the words.
    """
    continues = np.array([token.startswith("##") for token in tokenizer.vocabulary.tokens])
    means = {}
    for name, ids in words.items():
        means[name] = len(ids) / max(np.count_nonzero(~continues[ids]), 1)
    line = f"subwords per word: {', '.join(f'{name} {mean:.1f}' for name, mean in means.items())}"
    if max(means.values()) < MANY_SUBWORDS:
        return line
    return f"warning: {line}: the vocabulary has few of the words; is it of another language?"


def _unknown_characters(source: object, tokenizer: Tokenizer) -> list[str]:
    """Returns the commonest characters of unknown words, with their code points."""
    if not isinstance(source, LabeledFile):
        return []
    counts: collections.Counter[str] = collections.Counter()
    vocabulary = tokenizer.vocabulary
    for example in itertools.islice(source.inputs(), _SEARCHED_EXAMPLES):
        texts = list(example)
        encoding = tokenizer.encode_batch(texts, offsets=True)
        ends = np.cumsum(encoding.row_lengths)
        for text, end, length in zip(texts, ends, encoding.row_lengths, strict=True):
            ids = encoding.ids[end - length : end]
            for start, stop in encoding.offsets[end - length : end][ids == vocabulary.unk_id]:
                counts.update(text[start:stop])
    return [
        f"{character!r} (U+{ord(character):04X})"
        for character, _ in counts.most_common(_LISTED_CHARACTERS)
    ]


def _describe_repetitions(sets: Mapping[str, Dataset], dev_names: Sequence[str]) -> list[str]:
    """Returns lines on examples that repeat others word for word, in one set or across sets."""
    lines: list[str] = []
    train = _fingerprints(sets.get("train"))
    if train is None:
        return lines
    # Two texts with the same hash count as a repetition; at 64 bits that practically never happens.
    num_repeated = len(train) - len(np.unique(train))
    if num_repeated:
        lines.append(
            f"train: {num_repeated:,} of {len(train):,} examples repeat another one word for word"
        )
    for name in dev_names:
        dev = _fingerprints(sets.get(name))
        if dev is None:
            continue
        num_known = np.count_nonzero(np.isin(dev, train))
        if num_known:
            lines.append(
                f"warning: {name}: {num_known:,} of {len(dev):,} examples stand in the training "
                "set word for word, so that its scores are too high: remove them from one of the "
                "files"
            )
    return lines


def _fingerprints(split: Dataset | None) -> np.ndarray | None:
    """Returns a hash of the texts of each example, int64 [E]; None for a set without examples."""
    if split is None or not isinstance(split.source, LabeledFile):
        return None
    # Eight bytes for each example, however long its texts are. Python's hash of strings differs
    # between processes, so these never leave this one.
    return np.fromiter(map(hash, split.source.inputs()), np.int64)
