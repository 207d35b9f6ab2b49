"""Model card of a run directory, `README.md`: what the model is, from what it was made, how good it is, how to use it.

Input: the directory's own files, so that nothing is said twice in two ways. Output: Markdown, written again by each
run. A `README.md` that does not begin with our first line is somebody's own and left alone.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping

from bert_common import files, json_files, run_results
from bert_common.errors import UserError, in_one_line
from bert_common.markdown import code, one_line, readable_table
from bert_common.options import declared_options
from bert_common.tables import with_deviation
from bert_tf.tasks.eval_results import EVAL_RESULTS
from bert_tf.tasks.options import TrainingOptions
from bert_tf.training import run_directory
from modeling.checkpoints.companion_files import BEST_DIRECTORY, CONFIG_FILE, FLAGS_FILE, TASK_FILE, read_best_record
from modeling.config import BertConfig

CARD_FILE = "README.md"
_MARK = "<!-- Written by bert-tf, again by each run in this directory. Without this line it is left alone. -->\n"
# Options that are no settings of the training.
_NO_SETTINGS = {"do_train", "do_eval", "do_predict", "init_checkpoint", "bert_config_file", "vocab_file", "output_dir"}
SCORE_FILES = (EVAL_RESULTS, "test_results.json")
# "kind" of task.json → an input of predict.py; what has none is filled in or made a vector.
_PAIR = {"text_a": "A man plays the guitar.", "text_b": "A person makes music."}
_TEXT = {"text": "Anna Berg plays the guitar in Oslo."}
_INPUTS: Mapping[str, Mapping[str, object]] = {
    "question_answering": {"question": "Where was Ruth born?", "context": "Ruth was born in Oslo in 1901."},
    "multiple_choice": {"context": "She opens the door.", "choices": ["She goes in.", "It sings."]},
}


def write(directory: str, options: type[TrainingOptions]) -> None:
  """Writes the card where the directory has weights and no card of the user's own; a warning where that fails.

  Args:
    options: the class of the run's options, for what differs from their defaults.
  """
  path = os.path.join(directory, CARD_FILE)
  try:
    if files.exists(path):
      with files.open_file(path, "rb") as file:
        if not file.read(len(_MARK)) == _MARK.encode():
          return
    if (text := describe(directory, options)) is not None:
      with files.atomic_write(path) as file:
        file.write(_MARK + text)
  except (OSError, UserError) as error:
    print(f"warning: {path} can't be written: {in_one_line(error)}", file=sys.stderr, flush=True)


def describe(directory: str, options: type[TrainingOptions]) -> str | None:
  """The card without its first line; None where the directory holds no model."""
  best = os.path.join(directory, BEST_DIRECTORY)
  # That of a selection has the chosen weights only there.
  source = next((one for one in (directory, best) if files.exists(os.path.join(one, CONFIG_FILE))), None)
  if source is None:
    return None
  found = json_files.read_object(os.path.join(source, FLAGS_FILE), {"flags": dict | None})
  flags, task = found.get("flags") or {}, json_files.read_object(os.path.join(source, TASK_FILE))
  name = os.path.basename(os.path.abspath(directory)) if "://" not in directory else directory
  scores = [*score_tables(directory), *_best(directory), *_selection(directory)]
  parts = [
      f"# {one_line(name)}",
      summary(BertConfig.from_file(os.path.join(source, CONFIG_FILE)), found.get("script"), flags, task),
      ("Data", _data(directory, flags, options)), ("Scores", "\n\n".join(scores)),
      ("Settings", _settings(flags, options)), ("Use", _use(directory, task, source)),
      ("Record", _record(directory))]
  return "\n\n".join(part if isinstance(part, str) else f"## {part[0]}\n\n{part[1]}" for part in parts if part[1]
                     ) + "\n"


def summary(config: BertConfig, script: object, flags: Mapping[str, object], task: Mapping[str, object]) -> str:
  """What the model is, and from what it was made, in a sentence.

  Args:
    script, flags: of `flags.json`, the run's; None and empty where they are unknown.
    task: of `task.json`; empty for pre-training.
  """
  sizes = (f"BERT{' (left-to-right)' if config.causal else ''} with L={config.num_hidden_layers}, "
           f"H={config.hidden_size}, A={config.num_attention_heads} and {config.vocab_size:,} tokens")
  if not flags and not task:
    return f"{sizes}."
  what = f"trained for {str(task['kind']).replace('_', ' ')}" if task.get("kind") else "pre-trained"
  labels = [code(label) for label in task.get("labels") or ()]
  start = flags.get("init_checkpoint")
  begun = f"from the weights `{start}`" if start else "from random weights"
  shown = f" of {len(labels)} labels ({', '.join(labels[:20])}{', …' if len(labels) > 20 else ''})" if labels else ""
  return f"{sizes}, {what}{shown} {begun}{f' by `{script}`' if script else ''}."


def _data(directory: str, flags: Mapping[str, object], options: type[TrainingOptions]) -> str:
  """The files of the run, with their sizes, and the digests that a selection has made of them."""
  paths = {one.name: str(flags[one.name]) for one in declared_options(options)
           if one.declaration.path and flags.get(one.name) and one.name not in _NO_SETTINGS}
  sources = json_files.read_object(os.path.join(directory, run_results.RESULT_FILE)).get("sources") or {}
  digests = [(name, "", value) for name, value in sources.items() if name.endswith(" data")]
  rows = [(f"--{name}", path, _size(path, name)) for name, path in paths.items()]
  return "\n\n".join([*([readable_table(("flag", "path", "bytes"), rows)] if rows else []),
                      *([readable_table(("split", "", "digest"), digests)] if digests else [])])


def _size(pattern: str, flag: str) -> int | str:
  """Bytes of a file, or of those that a pattern means; of directories, and of what is gone, nothing."""
  try:
    return sum(map(files.file_size, files.expand_patterns(pattern, flag)))
  except (OSError, UserError):
    return ""


def score_tables(directory: str) -> list[str]:
  """A table of each file of scores."""
  tables = []
  for name in SCORE_FILES:
    found = json_files.read_object(os.path.join(directory, name))
    degenerate = found.pop("degenerate", None)
    if found:
      tables.append(f"`{name}`:\n\n{readable_table(('metric', 'value'), _shown(found))}")
    if degenerate:
      tables.append(f"**{one_line(degenerate)}**")
  return tables


def _best(directory: str) -> list[str]:
  """The metric that the best weights were chosen by."""
  record = read_best_record(os.path.join(directory, BEST_DIRECTORY)) or {}
  return [f"`best/` has the weights of step {record['step']}, which have the highest `{record['metric']}` on the "
          f"development set: {record['metrics'][record['metric']]:.4f}."] if record else []


def _selection(directory: str) -> list[str]:
  """Mean ± sample standard deviation of what several runs came to."""
  found = json_files.read_object(os.path.join(directory, run_results.SELECTION_FILE))
  if not found:
    return []
  metric = found["main_metric"]
  rows = []
  for one in found["settings"]:
    values = one["metrics"][metric]
    setting = {name: value for name, value in one.items()
               if name not in ("seeds", "num_degenerate", "metrics", "best")}
    rows.append((", ".join(f"{name} {value}" for name, value in setting.items()),
                 with_deviation(values["mean"], values["standard_deviation"]), len(one["seeds"])))
  return [f"The best of several runs, see `{run_results.SELECTION_FILE}`; mean ± standard deviation over seeds:\n\n"
          f"{readable_table(('setting', metric, 'runs'), rows)}"]


def _shown(values: Mapping[str, object]) -> list[tuple[str, object]]:
  return [(name, round(value, 4) if isinstance(value, float) else value) for name, value in values.items()]


def _settings(flags: Mapping[str, object], options: type[TrainingOptions]) -> str:
  """What differs from the defaults."""
  rows = []
  for one in declared_options(options):
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    if one.name in flags and flags[one.name] != default and not one.declaration.path and one.name not in _NO_SETTINGS:
      rows.append((f"--{one.name}", json.dumps(flags[one.name]), json.dumps(default)))
  return readable_table(("flag", "value", "default"), rows) if rows else "All as their defaults."


def _use(directory: str, task: Mapping[str, object], source: str) -> str:
  """Commands and a program that run as they are, in the directory where the run was started."""
  kind, where = task.get("kind"), shlex.quote(directory)
  causal = BertConfig.from_file(os.path.join(source, CONFIG_FILE)).causal
  example = _INPUTS.get(str(kind), _PAIR if task.get("pair") else _TEXT)
  chosen = ""
  if kind is None:
    chosen = "features" if causal else "fill_mask"
    example = _TEXT if causal else {"text": "Anna Berg plays the [MASK] in Oslo."}
  flag, argument = (f" --task={chosen}", f", task={chosen!r}") if chosen else ("", "")
  export = "features" if kind is None else ""
  return "\n".join([
      "```bash", f"echo {shlex.quote(json.dumps(example))} | python predict.py --init_checkpoint={where}{flag}",
      f"python export_model.py --init_checkpoint={where} --export_dir={shlex.quote(os.path.join(directory, 'export'))}"
      f"{f' --task={export}' if export else ''}", "```", "", "```python",
      "from bert_tf.inference.predictor import Predictor", "from modeling import BertEncoder", "",
      f"print(Predictor.from_checkpoint({directory!r}{argument})([{dict(example)!r}]))",
      f"encoder = BertEncoder.from_checkpoint({directory!r})  # a Keras layer", "```"])


def _record(directory: str) -> str:
  """The last start, and where the others are."""
  starts = run_directory.read_starts(directory)
  if not starts:
    return ""
  last = starts[-1]
  commit = last["commit"]
  rows = [("time", last["time"]), ("host", last["host"]), ("devices", last["devices"] or ""),
          ("versions", ", ".join(f"{name} {version}" for name, version in last["versions"].items())),
          *([("commit", f"{commit['id']}{', with changes' if commit['modified'] else ''}")] if commit else [])]
  return "\n\n".join([
      f"`{FLAGS_FILE}` has all starts of runs in this directory. The last one:",
      f"```bash\n{last['command']}\n```", readable_table(("", ""), rows)])
