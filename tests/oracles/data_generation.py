"""The data generation of the BERT paper's code as it is usually written in Python: one core,
everything in memory.

The baseline of `benchmarks/data_generation.py`: tokens are strings in lists, random numbers come
one at a time from one `random.Random`, instances are objects, and each record is a
`tf.train.Example` built from Python lists. It shares nothing with `data_gen/`. Verified on a sample
corpus, where it makes the very records that the original code makes from the same seed
(tests/data_gen/pretraining/test_generation.py).
"""

import dataclasses
import random
from collections.abc import Iterable, Iterator

from tests.oracles.tokenizer import ReferenceTokenizer


@dataclasses.dataclass
class ReferenceInstance:
    """A pair of segments, some of its tokens masked."""

    tokens: list[str]
    segment_ids: list[int]
    is_random_next: bool
    masked_positions: list[int]
    masked_labels: list[str]


@dataclasses.dataclass
class ReferenceGenerator:
    """The flags of the original, and what is derived from them."""

    tokenizer: ReferenceTokenizer
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    dupe_factor: int = 10
    short_seq_prob: float = 0.1
    masked_lm_prob: float = 0.15
    do_whole_word_mask: bool = False
    random_seed: int = 12345

    def __post_init__(self):
        self.rng = random.Random(self.random_seed)
        self.vocabulary = list(self.tokenizer.ids)

    def instances(self, lines: Iterable[str]) -> list[ReferenceInstance]:
        """All instances of a corpus (a sentence a line, a blank line between documents),
        shuffled."""
        documents = self._read(lines)
        self.rng.shuffle(documents)
        instances = []
        for _ in range(self.dupe_factor):
            for index in range(len(documents)):
                instances.extend(self._instances_of(documents, index))
        self.rng.shuffle(instances)
        return instances

    def write(self, instances: list[ReferenceInstance], path: str) -> None:
        import tensorflow as tf

        with tf.io.TFRecordWriter(path) as writer:
            for instance in instances:
                features = {}
                for name, values in self.features(instance).items():
                    if name == "masked_lm_weights":
                        features[name] = tf.train.Feature(
                            float_list=tf.train.FloatList(value=values)
                        )
                    else:
                        features[name] = tf.train.Feature(
                            int64_list=tf.train.Int64List(value=values)
                        )
                writer.write(
                    tf.train.Example(
                        features=tf.train.Features(feature=features)
                    ).SerializeToString()
                )

    def features(self, instance: ReferenceInstance) -> dict[str, list]:
        input_ids = [self.tokenizer.ids[token] for token in instance.tokens]
        labels = [self.tokenizer.ids[token] for token in instance.masked_labels]
        padding = [0] * (self.max_seq_length - len(input_ids))
        label_padding = [0] * (self.max_predictions_per_seq - len(labels))
        return {
            "input_ids": input_ids + padding,
            "input_mask": [1] * len(input_ids) + padding,
            "segment_ids": instance.segment_ids + padding,
            "masked_lm_positions": instance.masked_positions + label_padding,
            "masked_lm_ids": labels + label_padding,
            "masked_lm_weights": [1.0] * len(labels) + [0.0] * len(label_padding),
            "next_sentence_labels": [int(instance.is_random_next)],
        }

    def _read(self, lines: Iterable[str]) -> list[list[list[str]]]:
        documents: list[list[list[str]]] = [[]]
        for line in lines:
            line = line.strip()
            if not line:
                documents.append([])
            tokens = self.tokenizer.tokenize(line)
            if tokens:
                documents[-1].append(tokens)
        return [document for document in documents if document]

    def _instances_of(
        self, documents: list[list[list[str]]], index: int
    ) -> Iterator[ReferenceInstance]:
        document = documents[index]
        room = self.max_seq_length - 3
        target = room
        if self.rng.random() < self.short_seq_prob:
            target = self.rng.randint(2, room)
        chunk: list[list[str]] = []
        length = 0
        i = 0
        while i < len(document):
            chunk.append(document[i])
            length += len(document[i])
            if i == len(document) - 1 or length >= target:
                split = self.rng.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
                first = [token for sentence in chunk[:split] for token in sentence]
                is_random_next = len(chunk) == 1 or self.rng.random() < 0.5
                if is_random_next:
                    second = self._random_segment(documents, index, target - len(first))
                    # The sentences that were not used come again in the next instance.
                    i -= len(chunk) - split
                else:
                    second = [token for sentence in chunk[split:] for token in sentence]
                self._truncate(first, second, room)
                yield self._make_instance(first, second, is_random_next)
                chunk = []
                length = 0
            i += 1

    def _random_segment(
        self, documents: list[list[list[str]]], index: int, wanted: int
    ) -> list[str]:
        for _ in range(10):
            other = self.rng.randint(0, len(documents) - 1)
            if other != index:
                break
        document = documents[other]
        segment: list[str] = []
        for sentence in document[self.rng.randint(0, len(document) - 1) :]:
            segment.extend(sentence)
            if len(segment) >= wanted:
                break
        return segment

    def _truncate(self, first: list[str], second: list[str], room: int) -> None:
        while len(first) + len(second) > room:
            longer = first if len(first) > len(second) else second
            if self.rng.random() < 0.5:
                del longer[0]
            else:
                longer.pop()

    def _make_instance(
        self, first: list[str], second: list[str], is_random_next: bool
    ) -> ReferenceInstance:
        tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
        segment_ids = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        tokens, positions, labels = self._mask(tokens)
        return ReferenceInstance(tokens, segment_ids, is_random_next, positions, labels)

    def _mask(self, tokens: list[str]) -> tuple[list[str], list[int], list[str]]:
        words: list[list[int]] = []
        for position, token in enumerate(tokens):
            if token in ("[CLS]", "[SEP]"):
                continue
            if self.do_whole_word_mask and words and token.startswith("##"):
                words[-1].append(position)
            else:
                words.append([position])
        self.rng.shuffle(words)
        output = list(tokens)
        wanted = min(
            self.max_predictions_per_seq, max(1, int(round(len(tokens) * self.masked_lm_prob)))
        )
        masked: list[tuple[int, str]] = []
        for word in words:
            if len(masked) >= wanted:
                break
            if len(masked) + len(word) > wanted:
                continue
            for position in word:
                if self.rng.random() < 0.8:
                    output[position] = "[MASK]"
                elif self.rng.random() >= 0.5:
                    output[position] = self.vocabulary[
                        self.rng.randint(0, len(self.vocabulary) - 1)
                    ]
                masked.append((position, tokens[position]))
        masked.sort()
        return output, [position for position, _ in masked], [label for _, label in masked]
