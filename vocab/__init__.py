"""Vocabularies: the tool that builds one from a prepared corpus, and a ready one for English.

    build_vocab.py        the command
    building.py           its options and the order of the work; how well a vocabulary fits a text
    word_counts.py        a corpus → words and how often they occur
    wordpiece_learner.py  words → word pieces, exactly as many as asked for
    english_uncased/      a vocabulary of 30,522 tokens, see README.md
"""
