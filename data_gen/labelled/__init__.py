"""Labelled files → examples in memory: flat arrays of ids, without padding. The files may be on any
file system.

    rows.py             what all readers share: bad rows, a part of a file held out for evaluation
    tables.py           TSV, CSV, JSON lines → columns, `LabelledTexts`
    glue.py             the official files of GLUE and XNLI → `LabelledTexts`
    pair_features.py    texts and pairs → `PairFeatures`, sequences of ids; long texts →
    `WindowFeatures` squad.py            SQuAD files → `SquadData`, checked and repaired for
    training squad_features.py   `SquadData` → `ContextTokens` and `Windows`
    triviaqa.py         TriviaQA → a SQuAD file
    multiple_choice.py  SWAG, HellaSwag, CODAH, custom files → `ChoiceQuestions`
    sentence_pairs.py   pairs, triples, scores, texts alone → `SentencePairs`; queries, documents →
    `Retrieval` tagged_files.py     columns of CoNLL, JSON lines → `TaggedSentences`
    tag_schemes.py      their tags as chunks: IOB1, IOB2, IOBES
    word_windows.py     words → sub-tokens → `WordWindows`, with document context

Of a reader's arguments `flag` is the name of the flag that a path came from, for errors;
`skip_bad_rows` see `BadRows`.
"""
