"""Data generation in pipelines of Apache Beam, for `--beam_pipeline_options`; nothing imports it
but `PIPELINES` in data_gen/options.py.

pipelines.py     options, runners, errors, files; what the steps of a pipeline are made of
records.py       a corpus → records
corpus.py        raw text → a corpus
words.py         a corpus → counts of its words

Input and output: those of the scripts, on any file system that Beam knows. The output has the bytes
of the same command without Beam, whose functions do the work: a pipeline carries their inputs and
results from one machine to another.
"""
