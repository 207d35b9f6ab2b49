"""Model card of a run directory, `README.md`: what the model is, from what it was made, how good it
is, how to use it.

Input: the directory's own files, so that nothing is said twice in two ways. Output: Markdown,
written again by each run. A `README.md` that does not begin with our first line is somebody's own
and left alone.
"""

import json
import os
import shlex
from collections.abc import Mapping

from bert_common import files, json_files
from bert_common.options import declared_options
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.runs.options import TrainingOptions
from bert_tf.runs.results import SELECTION_FILE
from bert_tf.tables import code, one_line, readable_table
from bert_tf.training import run_directory
from bert_tf.training.callbacks import Callback
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    CONFIG_FILE,
    FLAGS_FILE,
    TASK_FILE,
    read_best_record,
)
from modeling.config import BertConfig

CARD_FILE = "README.md"
_MARK = "<!-- Written by bert-tf, again by each run in this directory. Without this line it is left alone. -->\n"
# Options that are no settings of the training.
_NO_SETTINGS = {
    "do_train",
    "do_eval",
    "do_predict",
    "init_checkpoint",
    "bert_config_file",
    "vocab_file",
    "output_dir",
}
# "kind" of task.json → an input of predict.py that is no text or pair of texts.
_INPUTS: Mapping[object, Mapping[str, object]] = {
    "question_answering": {
        "question": "Where was Ruth born?",
        "context": "Ruth was born in Oslo in 1901.",
    },
    "multiple_choice": {"context": "She opens the door.", "choices": ["She goes in.", "It sings."]},
}


class ModelCard(Callback):
    """Writes the card when a run begins to train, and when it has ended."""

    def on_run_begin(self, trainer) -> None:
        if trainer.task.options.do_train:
            self.on_run_end(trainer, None)

    def on_run_end(self, trainer, error: BaseException | None) -> None:
        if error is None:
            write(trainer.task.options.output_dir, type(trainer.task.options))


def write(directory: str, options: type[TrainingOptions]) -> None:
    """Writes the card where the directory has weights and no card of the user's own.

    Args:
      options: the class of the run's options, for what differs from their defaults.
    """
    path, best = os.path.join(directory, CARD_FILE), os.path.join(directory, BEST_DIRECTORY)
    if files.exists(path):
        with files.open_file(path, "rb") as file:
            if not file.read(len(_MARK)) == _MARK.encode():
                return
    # That of a selection has the chosen weights only in `best/`.
    source = next(
        (one for one in (directory, best) if files.exists(os.path.join(one, CONFIG_FILE))), None
    )
    if source is None:
        return
    found = json_files.read_object(os.path.join(source, FLAGS_FILE), {"flags": dict | None})
    flags, task = found.get("flags") or {}, json_files.read_object(os.path.join(source, TASK_FILE))
    config, scores = (
        BertConfig.from_file(os.path.join(source, CONFIG_FILE)),
        score_tables(directory),
    )
    if record := read_best_record(best):
        scores.append(
            f"`best/` has the weights of step {record['step']}, with the highest `{record['metric']}` on the "
            f"development set: {record['metrics'][record['metric']]:.4f}."
        )
    if files.exists(os.path.join(directory, SELECTION_FILE)):
        scores.append(
            f"The best of several runs; `{SELECTION_FILE}` has all of them, with means over seeds."
        )
    settings = [
        (
            f"--{one.name}",
            json.dumps(flags[one.name]),
            "" if one.declaration.path else json.dumps(one.default),
        )
        for one in declared_options(options)
        if one.name in flags
        and one.name not in _NO_SETTINGS
        and flags[one.name]
        != (list(one.default) if isinstance(one.default, tuple) else one.default)
    ]
    kind, text = task.get("kind"), "Anna Berg plays the guitar in Oslo."
    pair_or_text = {"text_a": text, "text_b": "She sings."} if task.get("pair") else {"text": text}
    example, flag = _INPUTS.get(kind, pair_or_text), ""
    if kind is None:
        flag = " --task=features" if config.causal else " --task=fill_mask"
        example = example if config.causal else {"text": text.replace("guitar", "[MASK]")}
    # A command that runs as it is, in the directory where the run was started.
    use = f"python predict.py --init_checkpoint={shlex.quote(directory)}{flag}"
    starts = run_directory.read_starts(directory)
    parts = {
        "Scores": "\n\n".join(scores),
        "Settings": readable_table(("flag", "value", "default"), settings) if settings else "",
        "Use": f"```bash\necho {shlex.quote(json.dumps(example))} | {use}\n```",
        "Last start": f"```bash\n{starts[-1]['command']}\n```\n\nAll are in `{FLAGS_FILE}`."
        if starts
        else "",
    }
    name = os.path.basename(os.path.abspath(directory)) if "://" not in directory else directory
    with files.atomic_write(path) as file:
        file.write(
            _MARK
            + "\n\n".join(
                [
                    f"# {one_line(name)}",
                    summary(config, found.get("script"), flags, task),
                    *(f"## {title}\n\n{text}" for title, text in parts.items() if text),
                ]
            )
            + "\n"
        )


def summary(
    config: BertConfig, script: object, flags: Mapping[str, object], task: Mapping[str, object]
) -> str:
    """What the model is, and from what it was made, in a sentence.

    Args:
      script, flags: of `flags.json`, the run's; None and empty where they are unknown.
      task: of `task.json`; empty for pre-training.
    """
    sizes = (
        f"BERT{' (left-to-right)' if config.causal else ''} with L={config.num_hidden_layers}, "
        f"H={config.hidden_size}, A={config.num_attention_heads} and {config.vocab_size:,} tokens"
    )
    if not flags and not task:
        return f"{sizes}."
    what = (
        f"trained for {str(task['kind']).replace('_', ' ')}" if task.get("kind") else "pre-trained"
    )
    labels, start = (
        [code(label) for label in task.get("labels") or ()],
        flags.get("init_checkpoint"),
    )
    begun = f"from the weights `{start}`" if start else "from random weights"
    shown = (
        f" of {len(labels)} labels ({', '.join(labels[:20])}{', …' if len(labels) > 20 else ''})"
        if labels
        else ""
    )
    return f"{sizes}, {what}{shown} {begun}{f' by `{script}`' if script else ''}."


def score_tables(directory: str) -> list[str]:
    """A table of each file of scores."""
    tables = []
    for name in (EVAL_RESULTS, "test_results.json"):
        found = json_files.read_object(os.path.join(directory, name))
        degenerate = found.pop("degenerate", None)
        if found:
            rows = [
                (key, round(value, 4) if isinstance(value, float) else value)
                for key, value in found.items()
            ]
            tables.append(f"`{name}`:\n\n{readable_table(('metric', 'value'), rows)}")
        if degenerate:
            tables.append(f"**{one_line(degenerate)}**")
    return tables
