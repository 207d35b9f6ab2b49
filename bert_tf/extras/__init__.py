"""What no run needs: formats, clients, trackers and engines that a user asks for by name.

The core never imports a module of this package. It names them in tables of plug-ins (`bert_common/plugins.py`), and
imports the one that is asked for; without this package everything else works.

    beam.py          work on the machines of an Apache Beam runner: an engine for data (`data_gen/options.py:ENGINES`)
    compare.py       what several runs differ in: `python -m bert_tf.extras.compare`
    keras_hub.py     checkpoints of KerasHub, read: in the table of `modeling/checkpoints/load.py`
    search.py        nearest documents by their vectors: `python -m bert_tf.extras.search`
    search_index.py  its index on disk
"""
