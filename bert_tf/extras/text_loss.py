"""Compares masked-LM heads on texts: the loss of hidden words, by document.

  # before and after further pre-training, on text of the domain and on other text
  python -m bert_tf.extras.text_loss --init_checkpoint=bert_base,out \\
      --input_file=held_out.txt,other.txt --output_file=losses.jsonl

Input: prepared corpora, a blank line between documents. Whole words are hidden, the same ones for
every checkpoint, in the same surroundings: losses per word and per byte are comparable whatever the
vocabularies are. The words are hidden again in text whose words are shuffled: a model that has
learned a language is much worse there, one that has learned which words are frequent is not.
Output: a line for each checkpoint and document, and a table (docs/adapt.md).
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_common import cli, files, json_files, outputs
from bert_common.errors import UserError, say
from bert_common.options import FILES, OUTPUT, Options, option, option_class
from bert_common.text_lines import numbered_lines
from bert_tf.evaluation.significance import Difference, relative_change
from bert_tf.tables import named_table
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.tokenization.tokenizer import Tokenizer
from modeling.checkpoints.convert import paths_of

if TYPE_CHECKING:
    from modeling.checkpoints.load import Checkpoint

# Share of the words that are hidden, as in pre-training.
_HIDDEN_SHARE = 0.15
# Windows of a document: more documents say more than more of one.
_WINDOWS_PER_DOCUMENT = 8
_BATCH_SIZE = 16


@option_class
class TextLossOptions(Options):
    """Loss of hidden words."""

    init_checkpoint: str = option(
        None,
        "Checkpoints with a masked-LM head, separated by commas; the others are compared with the "
        "first.",
        required=True,
        path=True,
    )
    input_file: str = option(
        None,
        "Prepared corpora, separated by commas: a blank line between documents.",
        required=True,
        path=FILES,
    )
    output_file: str | None = option(
        None, "JSON lines to write, one for each checkpoint and document.", path=OUTPUT
    )
    max_seq_length: int = option(128, "Number of tokens of a window of text.", minimum=8)
    max_windows: int = option(400, "Number of windows of a file, from random documents.", minimum=1)
    seed: int = option(12345, "Seed of documents, hidden words and shuffling.", minimum=0)


@dataclasses.dataclass(frozen=True)
class Window:
    """A stretch of a document.

    Attributes:
      document: its number in the file.
      words: separated by white space.
      hidden: indices of the hidden words, int [H]; at most half of the tokens.
      order: the words' places when they are shuffled, int [W].
    """

    document: int
    words: list[str]
    hidden: np.ndarray
    order: np.ndarray


def run(options: TextLossOptions) -> None:
    """Prints the tables, and writes the losses; raises `UserError`, see `measure`."""
    if options.output_file:
        outputs.prepare_output_file(options.output_file, "output_file")
    rows = measure(options)
    if options.output_file:
        with files.atomic_write(options.output_file) as file:
            for row in rows:
                file.write(json_files.line_of(row))
    for path in dict.fromkeys(row["file"] for row in rows):
        say(_table(path, [row for row in rows if row["file"] == path]))


def measure(options: TextLossOptions) -> list[dict]:
    """Returns "file", "checkpoint", "document", numbers of hidden "words" and "bytes", their loss
    "nats" and their loss among shuffled words, "shuffled_nats", for each document of each file.

    Raises:
      UserError: a file or checkpoint can't be read, has no masked-LM head, or too few positions.
    """
    # Imported here, so that --help and wrong flags answer at once.
    from modeling.checkpoints.load import open_checkpoint

    names = paths_of(options.init_checkpoint)
    checkpoints = [open_checkpoint(name) for name in names]
    for checkpoint in checkpoints:
        checkpoint.say_notes()
        checkpoint.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    tokenizers = [checkpoint.tokenizer for checkpoint in checkpoints]
    windows_of_files = {}
    for path in files.expand_patterns(options.input_file, "input_file"):
        windows_of_files[path] = make_windows(path, tokenizers, options)
    rows = []
    for name, checkpoint in zip(names, checkpoints, strict=True):
        scorer = WordScorer(checkpoint, options.max_seq_length)
        for path, windows in windows_of_files.items():
            rows += _rows(scorer, windows, {"file": path, "checkpoint": name})
    return rows


def make_windows(
    path: str, tokenizers: Sequence[Tokenizer], options: TextLossOptions
) -> list[Window]:
    """Returns windows of random documents, each as long as all tokenizers allow.

    A word that one of them does not know is never hidden.

    Raises:
      UserError: it is no plain text, or there is no word that all of them know.
    """
    check_plain_text(path, "input_file")
    documents = list(_documents(path))
    windows: list[Window] = []
    room = options.max_seq_length - 2
    for number in np.random.default_rng(options.seed).permutation(len(documents)):
        if len(windows) >= options.max_windows:
            break
        words = documents[number]
        lengths = np.zeros(len(words), np.int64)
        is_known = np.ones(len(words), bool)
        for tokenizer in tokenizers:
            encoding = tokenizer.encode_batch(words)
            lengths = np.maximum(lengths, encoding.row_lengths)
            rows = np.repeat(np.arange(len(words)), encoding.row_lengths)
            is_known[rows[encoding.ids == tokenizer.vocabulary.unk_id]] = False
        is_known &= lengths > 0
        random = np.random.default_rng([options.seed, number])
        # A word that fills a window alone is passed over.
        short_words = np.flatnonzero(lengths <= room // 2)
        starts = [0]
        size = 0
        for index, length in enumerate(lengths[short_words]):
            size += length
            if size > room:
                starts.append(index)
                size = length
        for part in np.split(short_words, starts[1:])[:_WINDOWS_PER_DOCUMENT]:
            candidates = np.flatnonzero(is_known[part])
            hidden = random.permutation(candidates)[: math.ceil(_HIDDEN_SHARE * len(part))]
            # Words of many pieces must leave text to guess them from.
            hidden = hidden[np.cumsum(lengths[part][hidden]) <= room // 2]
            if len(hidden):
                order = random.permutation(len(part))
                part_words = np.array(words, object)[part].tolist()
                windows.append(Window(int(number), part_words, hidden, order))
    if not windows:
        raise UserError(f"--input_file: {path} has no word that the vocabularies know")
    return windows[: options.max_windows]


def _documents(path: str) -> Iterator[list[str]]:
    """Yields the words of each document."""
    words: list[str] = []
    for _, line in numbered_lines(path, "input_file"):
        line_words = line.split()
        words += line_words
        if words and not line_words:
            yield words
            words = []
    if words:
        yield words


class WordScorer:
    """Computes the loss of hidden words with a checkpoint."""

    def __init__(self, checkpoint: "Checkpoint", max_seq_length: int):
        import tensorflow as tf

        from modeling.checkpoints.load import load_with_head
        from modeling.pretraining import BertForPreTraining

        self._vocabulary = checkpoint.tokenizer.vocabulary
        self._tokenizer = checkpoint.tokenizer
        self._length = max_seq_length
        model = BertForPreTraining(checkpoint.config)
        load_with_head(model, checkpoint, "masked_lm")

        @tf.function
        def losses(features: dict, labels, weights):
            logits = model(features)["masked_lm_logits"]
            nats = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            return tf.reduce_sum(nats * weights, axis=1)

        self._losses = losses

    def nats(self, windows: Sequence[Window], is_shuffled: bool) -> np.ndarray:
        """Returns the loss of the hidden words of each window, float64 [N]."""
        totals = []
        for start in range(0, len(windows), _BATCH_SIZE):
            batch = windows[start : start + _BATCH_SIZE]
            # All batches have one shape, which is traced once.
            shape = (_BATCH_SIZE, self._length)
            ids = np.zeros(shape, np.int32)
            mask = np.zeros(shape, np.int32)
            positions = np.zeros(shape, np.int32)
            labels = np.zeros(shape, np.int32)
            weights = np.zeros(shape, np.float32)
            for row, window in enumerate(batch):
                row_ids, is_hidden = self._encode(window, is_shuffled)
                hidden = np.flatnonzero(is_hidden)
                ids[row, : len(row_ids)] = np.where(is_hidden, self._vocabulary.mask_id, row_ids)
                mask[row, : len(row_ids)] = 1
                positions[row, : len(hidden)] = hidden
                labels[row, : len(hidden)] = row_ids[hidden]
                weights[row, : len(hidden)] = 1
            width = self._length // 2
            features = {"input_ids": ids, "input_mask": mask}
            features["masked_lm_positions"] = positions[:, :width]
            totals.append(self._losses(features, labels[:, :width], weights[:, :width]).numpy())
        return np.concatenate(totals)[: len(windows)].astype(np.float64)

    def _encode(self, window: Window, is_shuffled: bool) -> tuple[np.ndarray, np.ndarray]:
        """Returns ids with [CLS] and [SEP], int [S], and whether each is hidden, bool [S]."""
        order = window.order if is_shuffled else np.arange(len(window.words))
        encoding = self._tokenizer.encode_batch([window.words[index] for index in order])
        is_hidden = np.repeat(np.isin(order, window.hidden), encoding.row_lengths)
        ids = [[self._vocabulary.cls_id], encoding.ids, [self._vocabulary.sep_id]]
        return np.concatenate(ids), np.concatenate([[False], is_hidden, [False]])


def _rows(scorer: WordScorer, windows: Sequence[Window], names: dict) -> list[dict]:
    """Returns the rows of a file and a checkpoint, see `measure`."""
    nats = scorer.nats(windows, is_shuffled=False)
    shuffled_nats = scorer.nats(windows, is_shuffled=True)
    rows: dict[int, dict] = {}
    for index, window in enumerate(windows):
        start = {"words": 0, "bytes": 0, "nats": 0.0, "shuffled_nats": 0.0}
        row = rows.setdefault(window.document, {**names, "document": window.document, **start})
        row["words"] += len(window.hidden)
        row["bytes"] += sum(len(window.words[word].encode()) for word in window.hidden)
        row["nats"] += float(nats[index])
        row["shuffled_nats"] += float(shuffled_nats[index])
    return list(rows.values())


def column(rows: Sequence[dict], checkpoint: str, name: str) -> np.ndarray:
    """Returns a number of each document for a checkpoint, in the order of the documents."""
    return np.array([row[name] for row in rows if row["checkpoint"] == checkpoint])


def show_change(change: Difference) -> str:
    """Formats a relative change with its interval: "-14.5 % (-15.3 to -13.6)"."""
    text = f"{change.mean:+.1%}".replace("%", " %")
    if change.low is None or change.high is None:
        return text
    return f"{text} ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


def _table(path: str, rows: Sequence[dict]) -> str:
    """Returns the table of a file."""
    checkpoints = list(dict.fromkeys(row["checkpoint"] for row in rows))
    first = column(rows, checkpoints[0], "nats")
    words = column(rows, checkpoints[0], "words").sum()
    num_bytes = column(rows, checkpoints[0], "bytes").sum()
    table = [["", "bits/word", "bits/byte", "change", "words shuffled"]]
    for checkpoint in checkpoints:
        nats = column(rows, checkpoint, "nats")
        bits = nats.sum() / math.log(2)
        change = "" if checkpoint == checkpoints[0] else show_change(relative_change(first, nats))
        shuffled = relative_change(nats, column(rows, checkpoint, "shuffled_nats"))
        cells = [f"{bits / words:.3f}", f"{bits / num_bytes:.3f}", change, show_change(shuffled)]
        table.append([checkpoint, *cells])
    return f"\n{path}: {words:,} hidden words of {len(first):,} documents\n{named_table(table)}"


if __name__ == "__main__":
    cli.run(TextLossOptions, "bert_tf.extras.text_loss:run")
