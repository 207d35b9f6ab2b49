"""Adds the frequent words of a text to a vocabulary, and their rows to the embeddings.

  python -m bert_tf.extras.add_words --init_checkpoint=bert_base --input_file=corpus.txt \\
      --num_words=500 --output_dir=bert_base_words

A word that was cut into pieces becomes one token, at the end of the vocabulary: no id changes. Its
vector and its bias in the masked-LM head begin as the means of those of its pieces; further
pre-training on the text teaches the rest. Output: a checkpoint for --init_checkpoint, with its
vocabulary (docs/adapt.md).
"""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np

from bert_common import cli, files, parallel
from bert_common.errors import UserError, say
from bert_common.options import FILES, Options, option, option_class
from data_gen.options import TEXT_FILES
from data_gen.text.word_counts import MAX_COUNTED_WORDS, count_words
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import temporary_vocabulary
from modeling.checkpoints.convert import write_checkpoint
from modeling.checkpoints.weights import NATIVE, model_shapes

_WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"
_OUTPUT_BIAS = "cls/predictions/output_bias"
_LISTED_WORDS = 20


@option_class
class AddWordsOptions(Options):
    """Words of a text for a vocabulary."""

    init_checkpoint: str = option(
        None, "Checkpoint in any format, with its vocabulary.", required=True, path=True
    )
    input_file: str = option(None, TEXT_FILES, required=True, path=FILES)
    output_dir: str = option(
        None, "Directory of the new checkpoint; it must not exist.", required=True, path=True
    )
    num_words: int = option(500, "Maximum number of words to add.", minimum=1)
    min_count: int = option(20, "Minimum number of occurrences of a word.", minimum=1)

    def check(self) -> None:
        super().check()
        files.refuse_existing(self.output_dir, "output_dir")


def run(options: AddWordsOptions) -> None:
    """Writes the checkpoint.

    Raises:
      UserError: the checkpoint can't be read, or no word of the text is worth a token.
    """
    # Imported here, so that --help and wrong flags answer at once.
    from modeling.checkpoints.load import open_checkpoint

    opened = open_checkpoint(options.init_checkpoint)
    opened.say_notes()
    tokenizer = opened.tokenizer
    vocabulary = tokenizer.vocabulary
    counts = count_words(
        files.expand_patterns(options.input_file, "input_file"),
        tokenizer.do_lower_case,
        functools.partial(parallel.ordered_map, num_workers=parallel.default_num_workers()),
        MAX_COUNTED_WORDS,
        strip_accents=vocabulary.strip_accents,
    ).words
    words = choose_words(counts, tokenizer, options.num_words, options.min_count)
    if not words:
        raise UserError(
            f"--input_file: no word that is cut into pieces occurs {options.min_count} times: the "
            "vocabulary fits the text as it is"
        )
    source = opened.source
    config = dataclasses.replace(opened.config, vocab_size=len(vocabulary) + len(words))
    weights = {}
    for name in model_shapes(opened.config, source.tensors):
        if name in source.tensors:
            weights[name] = source.read(name)
    for name in (_WORD_EMBEDDINGS, _OUTPUT_BIAS):
        if name in weights:
            # Rows that only fill the table up have no tokens: the new ones take their place.
            rows = weights[name][: len(vocabulary)]
            new_rows = [rows[tokenizer.encode(word)].mean(axis=0) for word in words]
            weights[name] = np.concatenate([rows, np.array(new_rows, rows.dtype)])
    settings = vocabulary.settings(tokenizer.do_lower_case, None)
    vocab_file = temporary_vocabulary([*vocabulary.tokens, *words], settings)
    with files.new_directory(options.output_dir, "output_dir") as directory:
        write_checkpoint(NATIVE, directory, weights, config, vocab_file, tokenizer.do_lower_case)
    say(
        f"wrote {options.output_dir}: {len(words):,} new words with "
        f"{sum(counts[word] for word in words) / counts.total():.2%} of the text, "
        f"{', '.join(words[:_LISTED_WORDS])}{', …' if len(words) > _LISTED_WORDS else ''}"
    )


def choose_words(
    counts: Mapping[str, int], tokenizer: Tokenizer, num_words: int, min_count: int
) -> list[str]:
    """Returns the words that save the most tokens, the best first.

    Args:
      counts: word of `basic_tokenize` → number of its occurrences.
    """
    candidates = [word for word, count in counts.items() if count >= min_count and word.isalpha()]
    encoding = tokenizer.encode_batch(candidates)
    rows = np.repeat(np.arange(len(candidates)), encoding.row_lengths)
    has_unknown = np.zeros(len(candidates), bool)
    has_unknown[rows[encoding.ids == tokenizer.vocabulary.unk_id]] = True
    saved = {}
    for word, length, is_unknown in zip(
        candidates, encoding.row_lengths.tolist(), has_unknown.tolist(), strict=True
    ):
        # A word with unknown letters has no pieces whose mean it could begin with.
        if length > 1 and not is_unknown:
            saved[word] = counts[word] * (length - 1)
    return sorted(saved, key=lambda word: (-saved[word], word))[:num_words]


if __name__ == "__main__":
    cli.run(AddWordsOptions, "bert_tf.extras.add_words:run")
