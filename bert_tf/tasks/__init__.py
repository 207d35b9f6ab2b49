"""The driver of all runs, and a package for each task: its options, data, model, results and predictions.

Every run has the same skeleton: check → data → model → train / evaluate / predict.

    run.py                 the driver
    running.py             a model in its run directory, which it trains
    task.py                what it asks of a task
    fine_tuning.py         what tasks on labelled files share
    options.py             options that scripts share
    development_sets.py    options of development sets
    many_runs.py           runs with several hyperparameters; the best one
    preview.py             what --dry_run shows
    model_card.py          README.md of a run directory
    run_inputs.py          what runs, caches and indexes were made from
    pretraining/           masked LM and next sentence
    classification/        classes and scores of texts
    question_answering/    SQuAD
    multiple_choice/       SWAG
    token_classification/  named entities
    sentence_embedding/    vectors of texts, retrieval
    evaluation.py          what an evaluation found
    inference.py           base class of predictions and exports
"""
