"""Configuration files: the flags of a script as `name: value` in YAML or JSON, or the `flags.json` of a run.

Input: a file and a class of options. Output: texts as they stand behind `--name=` on a command line, with the lines
that they are from; `cli.py` sets the flags, so values mean and are checked what they are on a command line.

Of a YAML file its characters count, not the types that YAML 1.1 finds in them: `1e-4` is a number, `on` a word unless
the flag is true or false. Python objects are never made of it.
"""

import os
from typing import Any

from bert_common import files, json_files
from bert_common.errors import UserError, did_you_mean
from bert_common.options import FILES, DeclaredOption, Options, declared_options

_TAG = "tag:yaml.org,2002:"
# What YAML 1.1 finds in values that have no tag of their own.
_UNTAGGED = {f"{_TAG}{name}" for name in ("bool", "int", "float", "str", "timestamp", "value", "merge")}
# Configurations that come with the project: beside this package in a checkout, in bert_tf/ in an installation.
_RECIPES = "recipes"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TRUTH = {"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false"}


def read_settings(path: str, options: type[Options]) -> dict[str, tuple[str, str]]:
  """Option → (its value as on a command line, file and line, e.g. "run.yaml:3"), without those that are null.

  A path recipes/NAME is that of this project's, in whatever directory the command is run, unless that has one.
  Of a run's `flags.json` they are those that were given or differ from the defaults.

  Raises:
    UserError: the file can't be read or is no mapping in YAML or JSON; or a name in it is no option or is there twice,
      or a value is one that no flag can have.
  """
  folder, name = os.path.split(path)
  if folder == _RECIPES and not os.path.exists(path):
    places = [os.path.join(parent, _RECIPES) for parent in (_ROOT, os.path.join(_ROOT, "bert_tf"))]
    path = next((os.path.join(place, name) for place in places if os.path.isdir(place)), path)
  entries = _parse(path)
  root = {str(key.value): node for key, node in entries}
  is_run = "flags" in root and root["flags"].id == "mapping"
  known = {name: one for one in declared_options(options) for name in (one.name, *one.declaration.aliases)}
  settings = {}
  for key, node in root["flags"].value if is_run else entries:
    where = f"{path}:{key.start_mark.line + 1}"
    name = key.value if key.id == "scalar" else "a list or a mapping"
    one = known.get(name)
    if one is None:
      raise UserError(f"{where}: {name[:100]!r} is no flag of this script{did_you_mean(name[:100], known)} (--help=all "
                      "lists the flags)")
    if node.tag == f"{_TAG}null":
      continue
    if one.name in settings:
      raise UserError(f"{where}: --{one.name} is set twice in this file")
    settings[one.name] = _text(one, node, where), where
  named = root.get("given")
  given = {str(name.value) for name in named.value} if named is not None and named.id == "sequence" else ()
  return {name: setting for name, setting in settings.items()
          if not is_run or name in given or setting[0] != known[name].text_of_default()}


def _parse(path: str) -> list[tuple[Any, Any]]:
  """(node of the name, node of the value) of each entry of the file's mapping."""
  import yaml

  text, loader = files.read_text(files.check_readable(path, "config")).removeprefix("\ufeff"), yaml.SafeLoader
  if path.endswith(".json"):
    json_files.parse(text, path)
    # YAML has JSON in it, but for tabs. The loader in C, which a long flags.json is for, ends the process where values
    # are nested too deeply; JSON like that has been refused above.
    text, loader = text.expandtabs(1), getattr(yaml, "CSafeLoader", loader)
  try:
    # Nodes only: nothing is constructed of them.
    root = yaml.compose(text, Loader=loader)
  except yaml.YAMLError as error:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", "characters that it can't hold")
    raise UserError(f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML: {problem}") from None
  if root is None or root.id != "mapping":
    raise UserError(f"{path}: names of flags and their values are expected, e.g. learning_rate: 3e-5")
  return root.value


def _text(one: DeclaredOption, node: Any, where: str) -> str:
  """The value as on a command line, lists with commas."""
  declared, is_list = one.declaration, node.tag == f"{_TAG}seq"
  if is_list and not (one.is_list or declared.sweep or declared.path == FILES or (
      one.kind is str and not declared.path and not declared.choices)):
    raise UserError(f"{where}: --{one.name} takes one value, not a list")
  words = []
  for part in node.value if is_list else [node]:
    if part.id != "scalar" or part.tag not in _UNTAGGED:
      raise UserError(f"{where}: --{one.name}: a value{', or a list of values,' if one.is_list else ''} is expected")
    if is_list and "," in part.value:
      raise UserError(f"{where}: --{one.name}: a value of a list can't hold a comma")
    # JSON writes a character of a higher plane as two escapes.
    word = part.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    words.append(_TRUTH.get(word.lower(), word) if one.kind is bool or "true" in declared.choices else word)
  return ",".join(words)
