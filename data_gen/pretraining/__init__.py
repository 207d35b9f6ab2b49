"""A prepared corpus → pre-training records; `generation.py` has the order of things and the words.

generation.py        the whole job
workers.py           what a worker process does in each half of it
corpus.py            where the documents are; the tokens of a portion of the corpus
instances.py         segment pairs or full-length segments
external_shuffle.py  runs and buckets: one random order of more instances than fit into memory
masking.py           which tokens are hidden, and by what
packing.py           several sequences in one row
schema.py            the features of a record
record_writer.py     sequences → records
records.py           records → sequences; names of shards and statistics, files of a pattern
work_directory.py    what makes the job resumable
statistics.py        counts, shares, warnings
"""
