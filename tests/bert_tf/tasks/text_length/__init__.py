"""A task outside the library, whole: how many words a text has, by regression.

    model.py       the model: encoder and head, and the loss of the head
    options.py     options of the command
    task.py        files → examples, and what is trained, scored and written
    inference.py   predictions and exports
    run_length.py  the command

`add_to_tables` adds a row to two tables of the library: that of heads, by which checkpoints name
weights, and that of tasks, by which predictions and exports find a class.
"""

from bert_tf.inference.options import TASKS
from modeling.checkpoints.weights import HEADS, Head


def add_to_tables() -> None:
    """What a process that trains or uses such models does first."""
    # The name and the directory below heads/, the title, and the names of the weights in each
    # format.
    HEADS["length"] = Head(
        "length",
        "length",
        "length head",
        "cls/length/",
        "length",
        (),
        "length",
        "",
        "",
        "pooled_output",
        classes=1,
    )
    TASKS["length"] = f"{__name__}.inference:LengthInference"
