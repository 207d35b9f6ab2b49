"""What the experiments share.

    experiment    the flags of every experiment; rows of models, columns of measurements, the
    paper's numbers scales        what "BERT-Base" and its training are on a laptop, in a test, and
    in the paper recipes       which of the published data sets there are; from a model and a
    measurement to the commands jobs          a command with what it reads and makes; a plan of
    many, run in parallel and only where it is not done report        a plan as text; from the files
    of finished jobs to numbers, Markdown, JSON, pictures of curves

`run.py` shows the way of an experiment from top to bottom.
"""
