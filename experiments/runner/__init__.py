"""Code that the experiments share.

- experiment: the definition of a table (rows, columns, published values) and the command's options.
- scales: model sizes and training settings of the paper, of a laptop and of a test.
- recipes: the commands that measure a row of a table in a column.
- jobs: a command with its result, and the loop that runs those that have no result yet.
- run: the main function: plan, run, and write a Markdown table beside the paper's values.
"""
