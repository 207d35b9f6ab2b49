"""Text → ids of word pieces, exactly as the original `FullTokenizer`, with the offsets of every token.

    basic.py             text → words                     `BasicTokenizer` of the original
    wordpiece.py         a word → its word pieces         `WordpieceTokenizer`
    vectorized.py        the same for large batches, two to three times as fast
    tokenizer.py         `Tokenizer`: texts → ids, whichever way is quicker
    vocabulary.py        tokens and their ids
    tokenizer_config.py  casing and fingerprint beside a vocabulary
"""
