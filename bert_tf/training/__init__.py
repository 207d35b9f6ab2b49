"""Input pipelines, the loop, the optimizer, devices, run directories and reports: nothing about any one task.

    inputs.py         record files → batches of every replica
    examples.py       examples in memory → batches
    batches.py        their sizes, micro-batches
    cluster.py        the machines of a run, from TF_CONFIG, Slurm or Kubernetes
    devices.py        strategy, precision, XLA
    speed.py          shares of peaks, time ahead, when XLA pays
    step.py           the training step, AdamW of the original
    joint_gradients.py  the step of losses that compare the examples of a batch
    loop.py           the training loop
    prediction.py     passes over a whole set
    checkpoints.py    checkpoints of a run
    run_directory.py  what a run writes and must agree with
    hparams.py        TensorBoard's page HParams
    reports.py        lines, progress bar, `metrics.jsonl`, TensorBoard, observers
    signals.py        SIGTERM and SIGINT

The loop steps through `strategy.run` itself (`bert_tf/training/loop.py`), which is written for Keras' TensorFlow
backend.
"""

import modeling  # noqa: F401  (chooses the Keras backend where the user has not)
