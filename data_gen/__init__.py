"""From raw text and labeled files to token ids, records and arrays; nothing here imports a model.

text/                       raw text of any form → one sentence per line
tokenization/               text → words → word pieces → ids, with offsets
pretraining/                sentences → segment pairs → masks → records
labeled/                   GLUE, tables, SQuAD → examples in memory
options.py                  the options of the scripts
read_folder.py              script: a folder of documents → raw text
prepare_corpus.py           script: raw text → a corpus
extract_docstrings.py       script: installed packages → raw text
create_pretraining_data.py  script: a corpus → records
convert_triviaqa.py         script: TriviaQA → a SQuAD file
"""
