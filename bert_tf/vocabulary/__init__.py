"""Learning a WordPiece vocabulary from a prepared corpus, for `vocab/build_vocab.py`.

- `building.py`: its options and the order of the work; the fit of a vocabulary to a text; a
  configuration of any shape for a vocabulary (`write_config.py`).
- `wordpiece_learner.py`: words → word pieces, exactly as many as requested.
"""
