"""Readers of labeled files: examples in memory as flat arrays of ids, without padding.

    rows.py             shared by all readers: bad rows, the split into training and development set
    row_formats.py      TSV, CSV and JSON lines → rows; the table of formats
    table.py            `Table`: columns, and what their values mean
    named_columns.py    files of these formats → `Table`
    labeled_texts.py    the same → `LabeledTexts`
    tables.py           all names of the four, for programs that import them from there
    arrow_files.py      columns of Parquet and Arrow files
    row_stream.py       the rows of a table one by one, for predictions beside them
    glue.py             official files of GLUE and XNLI → `LabeledTexts`
    pair_features.py    texts and pairs → `PairFeatures`; long texts → `WindowFeatures`
    read_part.py        the part of a long text that a model reads, before it is tokenized
    squad.py            SQuAD files → `SquadData`, checked and repaired for training
    squad_features.py   `SquadData` → `ContextTokens` and `Windows`
    triviaqa.py         TriviaQA → a SQuAD file
    multiple_choice.py  SWAG, HellaSwag, CODAH and custom files → `ChoiceQuestions`
    sentence_pairs.py   pairs, triples, scores and single texts → `SentencePairs`;
                        queries and documents → `Retrieval`
    tagged_files.py     CoNLL columns and JSON lines → `TaggedSentences`
    word_columns.py     a word in every line → sentences, for `tagged_files.py`
    annotation_tools.py  objects of doccano, Prodigy and Label Studio → those of `tagged_files.py`
    column_kinds.py     what a column holds: words, tags, numbers, ids
    tag_schemes.py      tags → chunks, in the schemes IOB1, IOB2 and IOBES
    word_windows.py     words → sub-tokens → `WordWindows`, with document context

Files may be on any file system and gzipped. Readers get the file as a `SourceFile` of rows.py; the
argument `flag` of others is the name of the flag that the path came from, for error messages.
"""
