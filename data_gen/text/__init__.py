"""Raw text → a prepared corpus: one sentence per line, a blank line between documents.

corpus_readers.py      files → documents: plain text, JSON lines, WikiExtractor; gzipped or not
folders.py             a folder of documents in different formats → JSON lines
markup.py              HTML and Markdown → paragraphs
corpus_preparation.py  documents → sentences: the prepared corpus and its statistics
duplicates.py          documents and paragraphs that occurred before
word_counts.py         counts of the words of a text, for a vocabulary
docstrings.py          installed Python packages → documents, for a corpus without a download
"""
