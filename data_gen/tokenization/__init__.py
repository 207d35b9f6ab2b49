"""Text → ids of word pieces, exactly as the original `FullTokenizer`, with the offsets of every
token.

wordpiece.py   text → words → word pieces: `BasicTokenizer` and `WordpieceTokenizer` of the original
vectorized.py  the same for large batches, about three times as fast
nanotoken_engine.py  the same for many texts, by a package in Rust
tokenizer.py   `Tokenizer`: texts → ids, whichever way is quicker
vocabulary.py  tokens and their ids, with the settings beside their file
settings.py    files beside a vocabulary: every key is applied, irrelevant or refused
added_tokens.py  special and added tokens, found before a text is split into words
"""
