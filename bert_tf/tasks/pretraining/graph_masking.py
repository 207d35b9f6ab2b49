"""Masks made by TensorFlow operations, for input pipelines that can't call Python.

Input: batches of records without masks. Output: the same with masks, bit for bit those that
`mask_records` of `data.py` makes by NumPy, which is several times as fast. A TPU's hosts run the
input pipeline in TensorFlow's server, where there is no Python.

Letters: b records, K sequences of a record, S tokens, P predictions of a record.
"""

import numpy as np
import tensorflow as tf

from data_gen.pretraining.masking import Masking

# Multipliers of the two pairs of words, and what is added to the key in every round, of Philox 4x64
# (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_KEY_STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_ROUNDS = 10
_LOW_BITS = 0xFFFFFFFF
_LARGEST = np.iinfo(np.int64).max


def philox_words(first_key: tf.Tensor, second_key: tf.Tensor, count: int) -> tf.Tensor:
    """Returns the first words of counter-based generators, uint64 [..., count].

    Args:
      first_key, second_key: uint64 [...], as `np.random.Philox(key=[first, second])` takes them.
    """
    blocks = -(-count // 4)
    shape = tf.concat([tf.shape(first_key), [blocks]], 0)
    # NumPy increments the counter before it makes a block.
    counter = tf.cast(tf.range(1, blocks + 1, dtype=tf.int64), tf.uint64)
    words = [tf.broadcast_to(counter, shape)] + 3 * [tf.zeros(shape, tf.uint64)]
    keys = [first_key[..., None], second_key[..., None]]
    for _ in range(_ROUNDS):
        high_0, low_0 = _product(words[0], _MULTIPLIERS[0])
        high_1, low_1 = _product(words[2], _MULTIPLIERS[1])
        words = [
            tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(high_1, words[1]), keys[0]),
            low_1,
            tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(high_0, words[3]), keys[1]),
            low_0,
        ]
        keys = [key + _word(step) for key, step in zip(keys, _KEY_STEPS, strict=True)]
    stacked = tf.stack(words, axis=-1)  # [..., blocks, 4]
    return tf.reshape(stacked, tf.concat([shape[:-1], [4 * blocks]], 0))[..., :count]


def _word(value: int) -> tf.Tensor:
    return tf.constant(value, tf.uint64)


def _product(words: tf.Tensor, factor: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the upper and the lower 64 bits of products, by halves of 32 bits."""
    low = tf.bitwise.bitwise_and(words, _word(_LOW_BITS))
    high = tf.bitwise.right_shift(words, _word(32))
    factor_low = _word(factor & _LOW_BITS)
    factor_high = _word(factor >> 32)
    # No sum below exceeds 64 bits.
    middle = high * factor_low + tf.bitwise.right_shift(low * factor_low, _word(32))
    other_middle = low * factor_high + tf.bitwise.bitwise_and(middle, _word(_LOW_BITS))
    upper = high * factor_high + tf.bitwise.right_shift(middle, _word(32))
    upper += tf.bitwise.right_shift(other_middle, _word(32))
    return upper, words * _word(factor)


def mask_in_graph(
    features: dict, masking: Masking, masked_lm_prob, seed: int, passes, keys
) -> dict[str, tf.Tensor]:
    """Masks the sequences of b records without masks; the arguments are as in `mask_records`.

    Args:
      features: int32 tensors, as they are in the files; b, S and K must be known.
      masking: rule, but for the share of the tokens.
      masked_lm_prob: float64 [] or [b].
      passes, keys: int64 [b].

    Returns:
      "input_ids" int32 [b, S], "masked_lm_positions" and "masked_lm_ids" int32 [b, P],
      "masked_lm_weights" float32 [b, P].
    """
    ids = features["input_ids"]
    width = ids.shape[1]
    max_predictions = masking.max_predictions_per_seq
    starts = features.get("next_sentence_positions", tf.zeros_like(ids[:, :1]))  # [b, K]
    max_sequences = starts.shape[1]
    column = tf.range(width)
    # A row of the file becomes K sequences, of which the last ones may be empty.
    numbers = tf.range(1, max_sequences + 1)[:, None]
    is_member = features["input_mask"][:, None] == numbers  # [b, K, S]
    lengths = tf.math.count_nonzero(is_member, axis=2, dtype=tf.int32)  # [b, K]
    columns = tf.minimum(starts[..., None] + column, width - 1)
    is_token = column < lengths[..., None]
    tokens = tf.where(is_token, _at(ids, columns), 0)  # [b, K, S]
    is_b = tf.logical_and(is_token, _at(features["segment_ids"], columns) == 1)
    first_b = tf.argmax(tf.cast(is_b, tf.int32), axis=2, output_type=tf.int32)
    segment_b = tf.where(tf.reduce_any(is_b, axis=2), first_b, lengths)
    # Neither [CLS] nor a [SEP] is predicted.
    is_candidate = tf.logical_and(column > 0, column < lengths[..., None] - 1)
    is_candidate = tf.logical_and(is_candidate, column != segment_b[..., None] - 1)

    # A Python number would pass through float32 in a cast.
    share = tf.convert_to_tensor(masked_lm_prob, tf.float64)
    share = tf.broadcast_to(share, tf.shape(ids)[:1])[:, None]
    predictions = tf.cast(tf.math.rint(tf.cast(lengths, tf.float64) * share), tf.int32)
    predictions = tf.clip_by_value(predictions, 1, max_predictions)
    predictions = tf.where(lengths > 0, predictions, 0)
    before = tf.cumsum(predictions, axis=1, exclusive=True)
    limit = tf.minimum(predictions, tf.maximum(max_predictions - before, 0))
    num_candidates = tf.math.count_nonzero(is_candidate, axis=2, dtype=tf.int32)
    goal = tf.minimum(limit, num_candidates)  # [b, K]

    first_key = _word((seed % 2**32) << 32) + tf.bitwise.bitwise_and(
        tf.cast(passes, tf.uint64), _word(_LOW_BITS)
    )
    second_key = keys[:, None] * max_sequences + tf.range(max_sequences, dtype=tf.int64)
    words = philox_words(
        tf.broadcast_to(first_key[:, None], tf.shape(second_key)),
        tf.bitcast(second_key, tf.uint64),
        width + 2 * max_predictions,
    )  # [b, K, S + 2 P]
    order_words, kind_words, token_words = tf.split(
        words, [width, max_predictions, max_predictions], axis=2
    )
    if masking.is_continuation is None:
        order = _random_order(is_candidate, order_words, tf.constant(width))
        rank = tf.range(width)
        chosen = tf.where(rank < goal[..., None], order, width)
        count = goal
    else:
        is_start = tf.logical_not(tf.gather(tf.constant(masking.is_continuation), tokens))
        is_chosen, count = _choose_words(
            is_candidate, tf.logical_and(is_candidate, is_start), goal, order_words
        )
        chosen = tf.where(is_chosen, column, width)
    chosen = tf.sort(chosen, axis=2)[..., :max_predictions]
    # A file of short records may have fewer tokens than predictions.
    missing = max_predictions - min(width, max_predictions)
    chosen = tf.pad(chosen, [[0, 0], [0, 0], [0, missing]])
    used = tf.range(max_predictions) < count[..., None]  # [b, K, P]
    positions = tf.where(used, chosen, 0)
    labels = _at_each(tokens, positions)
    replacements = _replacements(labels, kind_words, token_words, masking)

    # Put the K sequences of a row back, one after the other; what is unused goes to a last column,
    # which is cut off.
    batch = tf.shape(ids)[0]
    places = tf.where(used, positions + starts[..., None], width)
    slots = tf.cumsum(count, axis=1, exclusive=True)[..., None] + tf.range(max_predictions)
    slots = tf.where(used, slots, max_predictions)

    def put(target, columns, values):
        rows = tf.broadcast_to(tf.range(batch)[:, None, None], tf.shape(columns))
        target = tf.pad(target, [[0, 0], [0, 1]])
        return tf.tensor_scatter_nd_update(target, tf.stack([rows, columns], -1), values)[:, :-1]

    no_predictions = tf.zeros([batch, max_predictions], tf.int32)
    return {
        "input_ids": put(ids, places, replacements),
        "masked_lm_positions": put(no_predictions, slots, positions + starts[..., None]),
        "masked_lm_ids": put(no_predictions, slots, labels),
        "masked_lm_weights": put(
            tf.cast(no_predictions, tf.float32), slots, tf.cast(used, tf.float32)
        ),
    }


def _at(values: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Returns values [b, S] at columns [b, K, S]."""
    return tf.gather(values, columns, batch_dims=1)


def _at_each(values: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """Returns values [b, K, S] at columns [b, K, n] of the same sequence."""
    return tf.gather(values, columns, batch_dims=2)


def _replacements(labels, kind_words, token_words, masking: Masking) -> tf.Tensor:
    """Returns what stands in place of the predicted tokens, int32 [b, K, P]."""
    # The same bits as in `KeyedDraws`.
    draws = tf.bitwise.right_shift(kind_words, _word(11))
    draws = tf.cast(tf.cast(draws, tf.int64), tf.float64) * 2.0**-53
    random = tf.math.floormod(token_words, _word(masking.vocab_size))
    ratios = masking.ratios
    is_random = draws < ratios.mask + ratios.random
    others = tf.where(is_random, tf.cast(random, tf.int32), labels)
    return tf.where(draws < ratios.mask, masking.mask_id, others)


def _random_order(is_valid: tf.Tensor, words: tf.Tensor, num_columns: tf.Tensor) -> tf.Tensor:
    """Returns the columns in random order, the invalid ones last, int32 [b, K, n].

    Args:
      is_valid: bool [b, K, n].
      words: uint64 [b, K, n].
      num_columns: int32 [], the columns of which some are valid: `masking._random_order` has so
        many.
    """
    # Number of bits of the last column.
    powers = tf.constant([2**bit for bit in range(31)], tf.int32)
    last = tf.maximum(num_columns - 1, 1)
    bits = tf.math.count_nonzero(powers <= last, dtype=tf.int64)
    digits = tf.bitwise.left_shift(tf.constant(1, tf.int64), bits) - 1
    is_short = num_columns <= 1024
    shift = tf.cast(tf.where(is_short, 32, 0), tf.uint64)
    random = tf.bitcast(tf.bitwise.right_shift(words, shift), tf.int64)
    largest = tf.where(is_short, tf.constant(2**31 - 1, tf.int64), _LARGEST)
    random = tf.bitwise.bitwise_and(
        random, tf.bitwise.bitwise_and(largest, tf.bitwise.invert(digits))
    )
    column = tf.range(is_valid.shape[2], dtype=tf.int64)
    keys = tf.where(is_valid, tf.bitwise.bitwise_or(random, column), _LARGEST)
    return tf.cast(tf.bitwise.bitwise_and(tf.sort(keys, axis=2), digits), tf.int32)


def _choose_words(is_candidate, is_start, goal, words) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses whole words in random order, except those that exceed the rest of `goal`.

    Returns bool [b, K, S], the chosen tokens, and int32 [b, K], their number.
    """
    width = is_candidate.shape[2]
    # The first candidate begins a word even if it is a "##" token.
    num_before = tf.cumsum(tf.cast(is_candidate, tf.int32), axis=2)
    is_first = tf.logical_and(is_candidate, num_before == 1)
    is_start = tf.logical_or(is_start, is_first)
    word = tf.cumsum(tf.cast(is_start, tf.int32), axis=2) - 1  # [b, K, S]
    num_words = word[..., -1] + 1  # [b, K]
    shape = tf.shape(word)
    sequence = tf.range(shape[0] * shape[1])[:, None]
    flat_word = tf.reshape(sequence, [shape[0], shape[1], 1]) * width + tf.maximum(word, 0)
    sizes = tf.math.unsorted_segment_sum(
        tf.cast(is_candidate, tf.int32), flat_word, shape[0] * shape[1] * width
    )
    sizes = tf.reshape(sizes, shape)
    order = _random_order(tf.range(width) < num_words[..., None], words, tf.reduce_max(num_words))
    order = tf.minimum(order, width - 1)
    size_by_rank = _at_each(sizes, order)
    is_word = tf.range(width) < num_words[..., None]

    def consider(rest, rank):
        size = size_by_rank[..., rank]
        fits = is_word[..., rank] & (rest > 0) & (size <= rest)
        return rest - tf.where(fits, size, 0)

    # What is left of the goal after each word; a word is chosen if that is less than before.
    rests = tf.scan(consider, tf.range(width), initializer=goal)  # [S, b, K]
    rests = tf.concat([goal[None], rests], 0)
    is_chosen_rank = tf.transpose(rests[1:] < rests[:-1], [1, 2, 0])
    rank_of_word = tf.argsort(tf.where(is_word, order, width), axis=2, stable=True)
    is_chosen_word = _at_each(is_chosen_rank, rank_of_word)
    is_chosen = tf.logical_and(is_candidate, _at_each(is_chosen_word, tf.maximum(word, 0)))
    return is_chosen, goal - rests[-1]
