"""Start and end of every script of the project.

    if __name__ == "__main__":
      cli.run(MyOptions, "bert_tf.tasks.my_task.task:run")

makes flags of the options (`bert_common/options.py`), answers `--help` and wrong flags before
anything slow is imported, checks the values, and calls `tasks.my_task.task.run(options)`. Work that
is in the script itself is given as a function: `cli.run(MyOptions, main)`.

Exit status: 0 done (also: interrupted, saved, and can be resumed), 2 a user error, 130 interrupted
with nothing to save, 1 a bug (with its traceback). What is plausible is checked where it is read
and raises `UserError`; every other error of files, texts, disks and memory becomes one line here,
see `errors.as_user_error`; --debug adds its traceback.
"""

import contextlib
import copy
import faulthandler
import gc
import importlib
import io
import os
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import app, flags, logging

from bert_common import check_tensorflow, files, gpus, json_files
from bert_common.errors import UserError, as_user_error, did_you_mean
from bert_common.options import FILES, DeclaredOption, Options, declared_options, from_texts

_WIDTH = 100
# Options from which on `--help` shows the common ones only.
_MANY_OPTIONS = 30
_ALL_HELP = "--help=all"
_HELP = ("--help", "-help", "--helpshort", "-h", "-?", _ALL_HELP)
# The flag that names configuration files: flags of a script as `name: value` in YAML or JSON, or
# the `flags.json` of a run. Of a YAML file its characters count, not the types that YAML 1.1 finds
# in them: `1e-4` is a number, `on` a word unless the flag is true or false. Python objects are
# never made of it.
_CONFIG = "config"
_TAG = "tag:yaml.org,2002:"
# What YAML 1.1 finds in values that have no tag of their own.
_UNTAGGED = {
    f"{_TAG}{name}" for name in ("bool", "int", "float", "str", "timestamp", "value", "merge")
}
# Configurations that come with the project: beside this package in a checkout, in bert_tf/ in an
# installation.
_RECIPES = "recipes"
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TRUTH = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
}
# Keras imports them with itself where they are installed, for pictures and wrappers that no script
# uses: with them TensorFlow takes half as long again to import. Our own uses of them are imports in
# functions, later.
_OPTIONAL_IN_KERAS = ("cv2", "matplotlib", "pandas", "sklearn")
# Where scripts that compute have their work; the others, of texts, work without TensorFlow or with
# any.
_ON_TENSORFLOW = ("bert_tf.tasks.", "bert_tf.inference.")


def run(options: type[Options], target: str | Callable, positional: str | None = None) -> None:
    """Makes the flags, parses them, and calls the target with the checked options.

    Args:
      target: "module:function", whose module is imported when the options are checked; or a
        function of the script. It takes the options and returns an exit status or None.
      positional: name of the field that takes the words that are no flags, a tuple; None where
        there may be none.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The shell has closed it: the next file to be opened would take its place, and get all
            # that is printed.
            setattr(sys, name, open(os.devnull, "r" if number == 0 else "w", encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Texts and names that the terminal's encoding has no characters for.
        sys.stdout.reconfigure(errors="backslashreplace")
    _define_all(options, flags.FLAGS)
    if any(word in _HELP for word in sys.argv[1:]):
        # Those beside it; none where one of them is wrong.
        with contextlib.suppress(flags.Error):
            flags.FLAGS(sys.argv, known_only=True)
        given = {name: flags.FLAGS[name].value for name in flags.FLAGS if flags.FLAGS[name].present}
        raise SystemExit(status_of(lambda: print(help_text(options, given, _ALL_HELP in sys.argv))))
    app.define_help_flags()
    # As `app.run` does it.
    logging.use_absl_handler()
    with contextlib.suppress(OSError, RuntimeError):
        faulthandler.enable()
    raise SystemExit(status_of(lambda: _call(options, target, positional)))


def parse(
    options: type[Options], arguments: Sequence[str], positional: str | None = None
) -> Options:
    """The checked options of a command line, as `run` makes them, for calls of a script's work from
    Python.

    The first word of `arguments` is the script's name. Raises `UserError` for a wrong flag or
    value.
    """
    values = flags.FlagValues()
    _define_all(options, values)
    return _checked(options, values, list(arguments), positional)


def help_text(options: type[Options], given: Mapping[str, object], all_options: bool = True) -> str:
    """The script's docstring, then its options with defaults and ranges, class by class, as
    `--help` prints them; of many options all, or those that most people need. `given` are values of
    the other flags."""
    script = sys.modules["__main__"]
    # Where the script runs as a command of another name.
    translate = getattr(script, "translate_help", str)
    lines = [translate((script.__doc__ or "").strip())]
    group, listed = None, options.options_in_help(given)
    shown = (
        listed
        if all_options or len(listed) < _MANY_OPTIONS
        else [one for one in listed if one.declaration.common or one.declaration.required]
    )
    for one in shown:
        if one.group != group:
            group = one.group
            lines += ["", group]
        default = (
            one.text_of_default()
            if one.declaration.default_text is None
            else one.declaration.default_text
        )
        facts = [
            *([f"default: {default}"] if default else []),
            *([one.range_text()] if one.range_text() else []),
            *(["required"] if one.declaration.required else []),
            *(f"also --{alias}" for alias in one.declaration.aliases),
        ]
        name = f"  --{'[no]' if one.kind is bool else ''}{one.name}"
        choices = "|".join(one.declaration.choices)
        if choices and len(choices) <= _WIDTH - len(name) - len("=<>"):
            name += f"=<{choices}>"
        elif choices:
            facts.insert(0, f"one of {', '.join(one.declaration.choices)}")
        text = one.declaration.help + (f" ({'; '.join(facts)})" if facts else "")
        lines += [
            name,
            *textwrap.wrap(
                text,
                _WIDTH,
                initial_indent="      ",
                subsequent_indent="      ",
                break_long_words=False,
                break_on_hyphens=False,
            ),
        ]
    more = len(listed) - len(shown)
    return "\n".join(
        [
            *lines,
            "",
            *([f"{more} more flags: {_ALL_HELP} lists them."] if more else []),
            "--config=FILE reads the values of flags from a YAML or JSON file, --flagfile=FILE the flags themselves;",
            "--debug shows the traceback of an error, --helpfull lists the libraries' flags.",
        ]
    )


class _Parser(flags.ArgumentParser):
    """Reads a number, or a choice also under its former name; lists and sweeps stay text. Checks
    come with the options."""

    def __init__(self, one: DeclaredOption):
        super().__init__()
        self._one = one

    def parse(self, argument: str) -> str | int | float:
        if self._one.is_list or self._one.declaration.sweep or self._one.kind is str:
            return self._one.declaration.former_choices.get(argument, argument)
        try:
            return self._one.kind(argument)
        except ValueError:
            raise ValueError(
                f"a {'whole ' if self._one.kind is int else ''}number is expected"
            ) from None


def _define_all(options: type[Options], values: flags.FlagValues) -> None:
    """The flags of a script, and --config and --debug, which are no options of a run itself."""
    for one in declared_options(options):
        default = (
            str(one.default) if one.declaration.sweep and one.default is not None else one.default
        )
        default, help = None if one.is_list else default, one.declaration.help
        flag = (
            flags.BooleanFlag(one.name, default, help)
            if one.kind is bool
            else flags.Flag(_Parser(one), flags.ArgumentSerializer(), one.name, default, help)
        )
        # As one of the running script's own.
        flags.DEFINE_flag(flag, values, module_name=sys.argv[0])
        for alias in one.declaration.aliases:
            flags.DEFINE_alias(alias, one.name, values)
    flags.DEFINE_multi_string(
        _CONFIG, None, "YAML or JSON files with the values of flags.", flag_values=values
    )
    flags.DEFINE_boolean("debug", False, "Shows the traceback of an error.", flag_values=values)


def _checked(
    options: type[Options],
    values: flags.FlagValues,
    arguments: list[str],
    positional: str | None,
    reads_inputs: bool = False,
) -> Options:
    """Sets the flags; returns their options, checked, and with `reads_inputs` their files, too.

    Raises:
      UserError: a wrong flag or value.
    """
    try:
        script, *words = values(arguments)
    except (flags.Error, UnicodeDecodeError) as error:
        # The latter: a --flagfile that is not UTF-8.
        raise UserError(f"{' '.join(str(error).split())} (--help=all lists the flags)") from None
    if words and positional is None:
        raise UserError(
            f"unexpected argument {words[0]!r}: values are given as --flag=value; quote patterns with *"
        )
    names = [one.name for one in declared_options(options)]
    on_command_line, places = {name for name in names if values[name].present}, {}
    # Later files win over earlier ones, and the command line over all; what it overrides must be
    # right, too.
    for path in values[_CONFIG].value or ():
        for name, (text, where) in _read_settings(path, options).items():
            flag = copy.deepcopy(values[name]) if name in on_command_line else values[name]
            try:
                flag.parse(text)
            except flags.Error as error:
                raise UserError(f"{where}: {error}") from None
            if name not in on_command_line:
                places[name] = where
    fields = {} if positional is None else {positional: tuple(words)}
    try:
        parsed = from_texts(
            options,
            {name: values[name].value for name in names},
            [name for name in names if values[name].present],
            script=os.path.basename(script),
            **fields,
        )
        parsed.check()
        if reads_inputs:
            parsed.check_inputs()
    except UserError as error:
        named = re.match(r"--(\w+)", str(error))
        raise (
            UserError(f"{places[named[1]]}: {error}") if named and named[1] in places else error
        ) from None
    return parsed


def _call(options: type[Options], target: str | Callable, positional: str | None) -> int:
    # TensorFlow and Keras log through absl; --verbosity may set another level.
    logging.set_verbosity(logging.WARNING)
    parsed = _checked(options, flags.FLAGS, sys.argv, positional, reads_inputs=True)
    if not isinstance(target, str):
        return target(parsed)
    if target.startswith(_ON_TENSORFLOW):
        check_tensorflow()
    # Of scripts that compile programs: where these are kept, and whether they must be
    # deterministic.
    warning = gpus.prepare(
        gpus.read_driver(),
        os.environ,
        getattr(parsed, "compilation_cache_dir", ""),
        getattr(parsed, "deterministic", False),
    )
    if warning:
        print(warning, file=sys.stderr, flush=True)
    absent = [package for package in _OPTIONAL_IN_KERAS if package not in sys.modules]
    # Python's own way to say that there is no such package.
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(absent))
    # TensorFlow's half a million objects stay until the end: garbage is not to be looked for among
    # them.
    gc.disable()
    module, _, function = target.partition(":")
    try:
        work = getattr(importlib.import_module(module), function)
    finally:
        gc.freeze()
        gc.enable()
        for package in absent:
            del sys.modules[package]
    return work(parsed)


def status_of(work: Callable[[], int | None]) -> int:
    """The exit status of some work, whose output has been written when it is over."""
    try:
        status = work() or 0
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if isinstance(error, OSError) and not error.filename:
            # Nothing more can be written, or nobody reads it (`… | head`): the interpreter must not
            # try again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return 0
        user_error = as_user_error(error)
        if user_error is None:
            raise
        if flags.FLAGS.is_parsed() and "debug" in flags.FLAGS and flags.FLAGS["debug"].value:
            traceback.print_exc()
        with contextlib.suppress(OSError):
            print(f"error: {user_error}", file=sys.stderr, flush=True)
        return 2


def _read_settings(path: str, options: type[Options]) -> dict[str, tuple[str, str]]:
    """Option → (its value as on a command line, file and line, e.g. "run.yaml:3"), without those
    that are null.

    A path recipes/NAME is that of this project's, in whatever directory the command is run, unless
    that has one. Of a run's `flags.json` they are those that were given or differ from the
    defaults.
    """
    folder, name = os.path.split(path)
    if folder == _RECIPES and not os.path.exists(path):
        places = [
            os.path.join(parent, _RECIPES) for parent in (_ROOT, os.path.join(_ROOT, "bert_tf"))
        ]
        path = next((os.path.join(place, name) for place in places if os.path.isdir(place)), path)
    import yaml

    text, loader = (
        files.read_text(files.check_readable(path, _CONFIG)).removeprefix("\ufeff"),
        yaml.SafeLoader,
    )
    if path.endswith(".json"):
        json_files.parse(text, path)
        # YAML has JSON in it, but for tabs. The loader in C, which a long flags.json is for, ends
        # the process where values are nested too deeply; JSON like that has been refused above.
        text, loader = text.expandtabs(1), getattr(yaml, "CSafeLoader", loader)
    try:
        # Nodes only, (that of the name, that of the value) of each entry: nothing is constructed of
        # them.
        mapping: Any = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(
            error, "reason", "characters that it can't hold"
        )
        raise UserError(
            f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML: {problem}"
        ) from None
    if mapping is None or mapping.id != "mapping":
        raise UserError(
            f"{path}: names of flags and their values are expected, e.g. learning_rate: 3e-5"
        )
    entries = mapping.value
    root = {str(key.value): node for key, node in entries}
    is_run = "flags" in root and root["flags"].id == "mapping"
    known = {
        name: one
        for one in declared_options(options)
        for name in (one.name, *one.declaration.aliases)
    }
    settings = {}
    for key, node in root["flags"].value if is_run else entries:
        where = f"{path}:{key.start_mark.line + 1}"
        name = key.value if key.id == "scalar" else "a list or a mapping"
        one = known.get(name)
        if one is None:
            raise UserError(
                f"{where}: {name[:100]!r} is no flag of this script{did_you_mean(name[:100], known)} (--help=all "
                "lists the flags)"
            )
        if node.tag == f"{_TAG}null":
            continue
        if one.name in settings:
            raise UserError(f"{where}: --{one.name} is set twice in this file")
        settings[one.name] = _text(one, node, where), where
    named = root.get("given")
    given = (
        {str(name.value) for name in named.value}
        if named is not None and named.id == "sequence"
        else ()
    )
    return {
        name: setting
        for name, setting in settings.items()
        if not is_run or name in given or setting[0] != known[name].text_of_default()
    }


def _text(one: DeclaredOption, node: Any, where: str) -> str:
    """The value as on a command line, lists with commas."""
    declared, is_list = one.declaration, node.tag == f"{_TAG}seq"
    if is_list and not (
        one.is_list
        or declared.sweep
        or declared.path == FILES
        or (one.kind is str and not declared.path and not declared.choices)
    ):
        raise UserError(f"{where}: --{one.name} takes one value, not a list")
    words = []
    for part in node.value if is_list else [node]:
        if part.id != "scalar" or part.tag not in _UNTAGGED:
            raise UserError(
                f"{where}: --{one.name}: a value{', or a list of values,' if one.is_list else ''} is expected"
            )
        if is_list and "," in part.value:
            raise UserError(f"{where}: --{one.name}: a value of a list can't hold a comma")
        # JSON writes a character of a higher plane as two escapes.
        word = part.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        words.append(
            _TRUTH.get(word.lower(), word)
            if one.kind is bool or "true" in declared.choices
            else word
        )
    return ",".join(words)
