"""Fine-tunes PyTorch's models with the settings of the run scripts, to compare the scores.

  python benchmarks/scores.py --task=classification --task_name=mrpc --data_dir=glue
  --model=hf_directory --seed=1,2,3 python benchmarks/scores.py --task=question_answering
  --train_file=train-v1.1.json --predict_file=dev-v1.1.json \\
      --model=hf_directory --train_batch_size=16 --num_train_epochs=2

The same as in the run scripts, whose flags name the files (the peer of run_sentence_embedding.py is
sentence-transformers): the sequences, batches of similar length and, with the same seed, their
order, the learning rate of every step, clipping at 1, weight decay 0.01 but for biases and
LayerNorm, dropout, an evaluation after every epoch, of which the best one counts, and how answers,
thresholds and tags are found and scored. Of PyTorch's own: AdamW with bias correction (ours has it
with --optimizer_bias_correction) and the weights of the new head. A test set needs labels. Needs
pyproject.toml's group peers.
"""

import dataclasses
import functools
import os
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.finetuning import TASKS, TaskOptions
from bert_common import cli
from bert_common.options import option
from bert_tf.tables import show_mean

if TYPE_CHECKING:
    from bert_tf.runs.fine_tuning import FineTuningTask

_SENTENCES = "sentence_embedding"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoresOptions(TaskOptions):
    """Models, files to score, training."""

    task: str = option(None, "What the model is fine-tuned for.", required=True, choices=TASKS)
    model: str = option(
        None, "Hugging Face directory with model.safetensors and vocab.txt.", required=True
    )
    dev_file: str | None = option(None, "What is evaluated on after every epoch.")
    test_file: str | None = option(None, "What the best weights are tested on.")
    predict_file: str | None = option(
        None, "SQuAD file with answers, which is evaluated on after every epoch."
    )
    context: str | None = option(
        None, "As in run_ner.py.", choices=("auto", "sentence", "document"), default_text="auto"
    )
    seed: int = option(
        12345, "Of the new head, dropout and the order of the batches.", minimum=0, sweep=True
    )
    learning_rate: float | None = option(
        None, "Peak learning rate.", above=0, default_text="that of the run script"
    )
    num_train_epochs: int = option(3, "Passes over the training data.", minimum=1)


def main(options: ScoresOptions) -> None:
    """Fine-tunes with each of the seeds; prints the scores, then mean and standard deviation."""
    from benchmarks import pytorch_peers  # noqa: F401 (says before the data is read whether PyTorch is missing)
    from bert_tf.extras.token_id_formats import RUNS

    tests = (
        {"do_predict": True} if options.task in ("multiple_choice", "token_classification") else {}
    )
    task = options.read_task(
        os.path.join(options.model, "unused"),
        init_checkpoint=options.model,
        **tests,
        **{RUNS[options.task][2]: True},
    )
    results = []
    for seed in options.sweep.get("seed", (options.seed,)):
        started = time.monotonic()
        results.append(fine_tune(options, task, seed))
        scores = ", ".join(f"{name} {value:.4f}" for name, value in results[-1].items())
        print(f"seed {seed}: {scores}; {time.monotonic() - started:.0f} s", flush=True)
    for name in results[0]:
        print(f"{name} of {len(results)} seeds: {show_mean([result[name] for result in results])}")


def fine_tune(options: ScoresOptions, task: "FineTuningTask", seed: int) -> dict[str, float]:
    """One fine-tuning: the scores of its best epoch, those of the test set included."""
    import torch

    from benchmarks import pytorch_peers
    from bert_tf.training.examples import assemble, epoch_batches
    from modeling.optimizer import WarmupDecay

    torch.manual_seed(seed)
    if options.task == _SENTENCES:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(options.model, device="cpu")
    else:
        import transformers

        model = getattr(transformers, pytorch_peers.MODELS[options.task]).from_pretrained(
            options.model, **pytorch_peers.class_count(task, options.task)
        )
    loss_of = (
        pytorch_peers.sentence_loss(model, options.task_name)
        if options.task == _SENTENCES
        else functools.partial(pytorch_peers.loss_of, model)
    )
    settings, examples = task.options, task.train_examples
    optimizer = pytorch_peers.adamw(model, settings.learning_rate)
    steps = options.num_train_epochs * -(-len(examples) // settings.train_batch_size)
    rates = WarmupDecay(1.0, steps, steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: float(rates(step)))
    lengths = np.arange(1, task.description["max_seq_length"] + 1)
    best: tuple[float, dict[str, float]] | None = None
    for epoch in range(options.num_train_epochs):
        model.train()
        for chosen in epoch_batches(examples.lengths, settings.train_batch_size, seed, epoch):
            pytorch_peers.update(
                model, optimizer, loss_of(assemble(examples, chosen, len(chosen), lengths))
            )
            schedule.step()
        scores = evaluate(options, task, model.eval())
        # The first development set chooses.
        score = next(
            value for name, value in scores.items() if name.rpartition(" ")[2] == task.main_metric
        )
        if best is None or score > best[0]:
            best = score, scores | evaluate(options, task, model, is_test=True)
    return best[1]


def evaluate(
    options: ScoresOptions, task: "FineTuningTask", model, is_test: bool = False
) -> dict[str, float]:
    """Scores of PyTorch's model on the development sets, or on the test sets."""
    import torch

    from benchmarks import pytorch_peers
    from bert_tf.extras.token_id_formats import as_task_outputs, predicting
    from bert_tf.training.prediction import run_batches

    run = predicting(
        task,
        lambda examples: run_batches(
            lambda batches: [
                as_task_outputs(options.task, pytorch_peers.outputs(model, batch))
                for batch in batches
            ],
            examples,
            task.options.predict_batch_size,
            np.arange(1, task.description["max_seq_length"] + 1),
            task.token_outputs,
        ),
    )
    with torch.no_grad():
        if options.task == "question_answering":
            return {} if is_test else task.evaluate(run).metrics
        return {
            f"{name} {metric}": value
            for name, split in (task.data.test if is_test else task.data.dev).items()
            for metric, value in task.score(split, task.answer(run, split)).items()
        }


if __name__ == "__main__":
    cli.run(ScoresOptions, main)
