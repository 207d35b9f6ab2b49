"""Finds the nearest documents for queries, by the vectors of a model of run_sentence_embedding.py.

  # make an index of one document per line, a text or {"id": ..., "text": ...}
  python search.py --init_checkpoint=out --documents_file=documents.jsonl --index_dir=index

  # the ten nearest documents of each line
  python search.py --init_checkpoint=out --index_dir=index --input_file=lines.txt --output_file=found.jsonl
  echo 'How tall is the tower?' | python search.py --init_checkpoint=out --index_dir=index --top_k=3

The search is exact and reads the vectors from the disk, a part at a time.
"""

from bert_common import cli
from bert_tf.extras.search import SearchOptions

if __name__ == "__main__":
  cli.run(SearchOptions, "bert_tf.extras.search_index:run")
