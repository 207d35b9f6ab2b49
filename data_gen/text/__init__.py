"""Raw text → a prepared corpus: one sentence per line, a blank line between documents.

    lines.py               a file → its lines, decoded; plain or gzipped, on any file system
    corpus_readers.py      lines → documents: plain text, JSON lines, WikiExtractor
    sentences.py           a paragraph → sentences
    corpus_preparation.py  documents → the prepared corpus and its statistics
    docstrings.py          installed Python packages → documents, for a corpus without a download
"""
