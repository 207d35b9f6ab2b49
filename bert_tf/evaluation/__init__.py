"""Scores and files for graders, in numpy and scipy. Nothing here imports a model or TensorFlow.

- `classification.py`: metrics of classification and regression, confusion matrices.
- `glue_submission.py`: files for the GLUE server; `make_glue_submission.py`.
- `retrieval.py`: exact search, scores of rankings.
- `squad_answers.py`: logits of windows → n best answers.
- `squad_scores.py`: exact match, F1 and the threshold of "no answer".
- `conlleval.py`: the official scorer of CoNLL-2003, further scores of entities.
- `significance.py`: paired tests of differences.
"""
