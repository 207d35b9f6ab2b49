"""Multiple choice: SWAG, HellaSwag, CODAH and custom files.

    options.py    options of `run_swag.py`
    data.py       files → questions with all their choices
    task.py       the task as the driver runs it, with files of results
    inference.py  predictions and exports
"""
