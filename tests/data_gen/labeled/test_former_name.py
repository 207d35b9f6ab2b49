"""Former names of the package and of a module, which programs of users import."""


def test_the_former_name_is_the_same_package():
    from data_gen import labeled, labelled
    from data_gen.labeled import glue, squad
    from data_gen.labelled import glue as former
    from data_gen.labelled.squad import SquadData

    assert labelled is labeled and former is glue and SquadData is squad.SquadData


def test_the_readers_of_tables_have_their_former_place():
    from bert_common.text_lines import decoded_lines, numbered_lines
    from data_gen.labeled import labeled_texts, named_columns, row_formats, table, tables

    assert tables.read_labeled_file is labeled_texts.read_labeled_file
    assert tables.read_table is named_columns.read_table
    assert tables.FORMATS is row_formats.FORMATS and tables.Table is table.Table
    assert (tables.decoded_lines, tables.numbered_lines) == (decoded_lines, numbered_lines)
