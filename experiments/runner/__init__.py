"""What the experiments share.

    options       the flags of every experiment
    experiment    rows of models, columns of measurements, the paper's numbers
    scales        what "BERT-Base" and its training are on a laptop, in a test, and in the paper
    recipes       from a model and a measurement to the commands that make them
    jobs          a command with what it reads and makes; a plan of many
    schedule      runs a plan, in parallel and only what is not done; what is known of its jobs
    plans         a plan as text: commands, arithmetic, hours
    results       from the files of finished jobs to numbers
    report        Markdown, JSON, pictures of curves

`run.py` shows the way of an experiment from top to bottom.
"""
