"""Pictures of runs, records, predictions and models, drawn with matplotlib: what `plot.py` does. Nothing imports it."""
