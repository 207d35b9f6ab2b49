"""The package's former name, which programs of users import."""


def test_the_former_name_is_the_same_package():
    from data_gen import labeled, labelled
    from data_gen.labeled import glue, squad
    from data_gen.labelled import glue as former
    from data_gen.labelled.squad import SquadData

    assert labelled is labeled and former is glue and SquadData is squad.SquadData
