"""Model card of a run directory, `README.md`: model, scores, settings, use and last start.

Input: the files of the directory. Output: Markdown, written again by each run. A `README.md` that
does not begin with our first line belongs to the user and is left alone.
"""

import json
import os
import shlex
from collections.abc import Mapping

from bert_common import files, json_files
from bert_common.errors import visible
from bert_common.options import Options, declared_options
from bert_tf.report.own_results import note_of_results
from bert_tf.runs.evaluation import EVAL_RESULTS
from bert_tf.tables import code, markdown_text, readable_table
from bert_tf.training import run_directory
from bert_tf.training.callbacks import Callback, RunEnd, RunStart
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    CONFIG_FILE,
    FLAGS_FILE,
    SELECTION_FILE,
    TASK_FILE,
    read_best_record,
)
from modeling.config import BertConfig

CARD_FILE = "README.md"
_MARK = (
    "<!-- Written by bert-tf, again by each run in this directory. "
    "Without this line it is left alone. -->\n"
)
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
# "kind" of task.json → an input of predict.py, for tasks that read more than a text or two.
_INPUTS: Mapping[object, Mapping[str, object]] = {
    "question_answering": {
        "question": "Where was Ruth born?",
        "context": "Ruth was born in Oslo in 1901.",
    },
    "multiple_choice": {"context": "She opens the door.", "choices": ["She goes in.", "It sings."]},
}


class ModelCard(Callback):
    """Writes the card when a run begins to train, and when it has ended."""

    def on_run_begin(self, start: RunStart) -> None:
        self._start = start
        if start.is_training:
            write(start.directory, type(start.options))

    def on_run_end(self, end: RunEnd) -> None:
        if end.error is None:
            write(self._start.directory, type(self._start.options))


def write(directory: str, options: type[Options]) -> None:
    """Writes the card if the directory has weights and no card of the user's own.

    Args:
      options: the class of the run's options, with their defaults.
    """
    path = os.path.join(directory, CARD_FILE)
    if files.exists(path):
        with files.open_file(path, "rb") as file:
            if file.read(len(_MARK)) != _MARK.encode():
                return
    # The directory of a sweep has weights in `best/` only.
    source = directory
    # A directory without a configuration has no weights either.
    if not files.exists(os.path.join(source, CONFIG_FILE)):
        source = os.path.join(directory, BEST_DIRECTORY)
    if not files.exists(os.path.join(source, CONFIG_FILE)):
        return
    record = json_files.read_object(os.path.join(source, FLAGS_FILE), {"flags": dict | None})
    flags = record.get("flags") or {}
    task = json_files.read_object(os.path.join(source, TASK_FILE))
    config = BertConfig.from_file(os.path.join(source, CONFIG_FILE))
    if not files.is_remote(directory):
        name = os.path.basename(os.path.abspath(directory))
    else:
        name = directory
    paragraphs = [f"# {markdown_text(name)}", summary(config, record.get("script"), flags, task)]
    scores = _scores(directory)
    if scores:
        paragraphs += ["## Scores", *scores]
    settings = _settings(options, flags)
    if settings:
        paragraphs += ["## Settings", readable_table(("flag", "value", "default"), settings)]
    paragraphs += ["## Use", f"```bash\n{_prediction_command(directory, config, task)}\n```"]
    starts = run_directory.read_starts(directory)
    if starts:
        paragraphs += ["## Last start", f"```bash\n{visible(starts[-1]['command'])}\n```"]
        paragraphs.append(f"All are in `{FLAGS_FILE}`.")
    with files.atomic_write(path) as file:
        file.write(_MARK + "\n\n".join(paragraphs) + "\n")


def _scores(directory: str) -> list[str]:
    """Returns the paragraphs on the scores of a run or a sweep."""
    paragraphs = score_tables(directory)
    best = read_best_record(os.path.join(directory, BEST_DIRECTORY))
    if best:
        paragraphs.append(
            f"`best/` has the weights of step {best['step']}, with the highest `{best['metric']}` "
            f"on the development set: {best['metrics'][best['metric']]:.4f}."
        )
    if files.exists(os.path.join(directory, SELECTION_FILE)):
        paragraphs.append(
            f"The best of several runs; `{SELECTION_FILE}` has all of them, with means over seeds."
        )
    return paragraphs


def _settings(options: type[Options], flags: Mapping[str, object]) -> list[tuple[str, str, str]]:
    """Returns (flag, value, default) of the settings that differ from their defaults."""
    rows = []
    for option in declared_options(options):
        if option.name not in flags or option.name in _NO_SETTINGS:
            continue
        # JSON has lists for tuples.
        value = json.dumps(flags[option.name])
        default = json.dumps(option.default)
        if value != default:
            # Defaults of paths, such as the cache directory, are of no interest.
            if option.path:
                default = ""
            rows.append((f"--{option.name}", value, default))
    return rows


def _prediction_command(directory: str, config: BertConfig, task: Mapping[str, object]) -> str:
    """Returns a command that runs as it is, in the directory where the run was started."""
    # Pre-training has no task.json.
    kind = task.get("kind")
    text = "Anna Berg plays the guitar in Oslo."
    example = {"text": text}
    flag = ""
    if kind in _INPUTS:
        example = _INPUTS[kind]
    elif task.get("pair"):
        example = {"text_a": text, "text_b": "She sings."}
    # A pre-trained model fills masks; one that reads from left to right has learned none.
    elif kind is None and config.causal:
        flag = " --task=features"
    elif kind is None:
        flag = " --task=fill_mask"
        example = {"text": text.replace("guitar", "[MASK]")}
    return (
        f"echo {shlex.quote(json.dumps(example))} | "
        f"python predict.py --init_checkpoint={_shell_word(directory)}{flag}"
    )


def _shell_word(path: str) -> str:
    """Returns a path as Bash takes it, without characters that a terminal obeys."""
    if visible(path) == path:
        return shlex.quote(path)
    escaped = path.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{visible(escaped)}'"


def summary(
    config: BertConfig, script: object, flags: Mapping[str, object], task: Mapping[str, object]
) -> str:
    """Returns a sentence on the model and how it was made.

    Args:
      script, flags: the run's, from `flags.json`; None and empty if unknown.
      task: content of `task.json`; empty for pre-training.
    """
    name = "BERT (left-to-right)" if config.causal else "BERT"
    sizes = (
        f"{name} with L={config.num_hidden_layers}, H={config.hidden_size}, "
        f"A={config.num_attention_heads} and {config.vocab_size:,} tokens"
    )
    if not flags and not task:
        return f"{sizes}."
    if task.get("kind"):
        training = f"trained for {str(task['kind']).replace('_', ' ')}"
    else:
        training = "pre-trained"
        if flags.get("next_sentence_prediction") is False:
            training += " without a next-sentence task (its head is untrained)"
    labels = [code(label) for label in task.get("labels") or ()]
    if labels:
        examples = labels[:20]
        if len(labels) > 20:
            examples.append("…")
        training += f" of {len(labels)} labels ({', '.join(examples)})"
    start = flags.get("init_checkpoint")
    weights = f"the weights {code(start)}" if start else "random weights"
    training += f" from {weights}"
    if script:
        training += f" by `{script}`"
    return f"{sizes}, {training}."


def score_tables(directory: str) -> list[str]:
    """Returns a table for each file of scores with the names of the files that these are of, and
    the warning of a degenerate run."""
    paragraphs = []
    for name in (EVAL_RESULTS, "test_results.json"):
        results = json_files.read_object(os.path.join(directory, name))
        noted = note_of_results(directory, name)
        if noted is None:
            continue
        # A sentence that deserves more than a cell of the table.
        degenerate = results.pop("degenerate", None)
        rows = []
        for metric, value in results.items():
            if isinstance(value, float):
                value = round(value, 4)
            rows.append((metric, value))
        if rows:
            title = f"`{name}`"
            if noted:
                sets = [code(os.path.basename(path)) for path in noted["files"]]
                title += f", of {', '.join(sets)}"
            paragraphs.append(f"{title}:\n\n{readable_table(('metric', 'value'), rows)}")
        if degenerate:
            paragraphs.append(f"**{markdown_text(degenerate)}**")
    return paragraphs
