"""From raw text and labelled files to token ids, records and arrays; nothing here imports a model.

    text/          raw text of any form → one sentence a line           prepare_corpus.py, extract_docstrings.py
    tokenization/  text → words → word pieces → ids, with offsets
    pretraining/   sentences → segment pairs → masks → records          create_pretraining_data.py
    labelled/      GLUE, tables, SQuAD → examples in memory             convert_triviaqa.py
    options.py     the options of the scripts
"""
