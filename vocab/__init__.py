"""Vocabularies: the tool that builds one from a prepared corpus, and a ready one for English.

`build_vocab` (the command) → `word_counts` → `wordpiece_learner`.
"""
