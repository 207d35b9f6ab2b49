"""All names of the readers of tables, for programs that import them from here.

row_formats.py     files → rows
table.py           `Table`, columns and what their values mean
named_columns.py   files → `Table`
labeled_texts.py   files → `LabeledTexts`
"""
# ruff: noqa: F403

from bert_common.text_lines import *
from data_gen.labeled.labeled_texts import *
from data_gen.labeled.named_columns import *
from data_gen.labeled.row_formats import *
from data_gen.labeled.table import *
