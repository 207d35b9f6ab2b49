"""Start and end of every script of the project.

    if __name__ == "__main__":
        cli.run(MyOptions, "bert_tf.tasks.my_task.task:run")

makes flags of the options (`bert_common/options.py`), answers `--help` and wrong flags before
anything slow is imported, checks the values, and calls `bert_tf.tasks.my_task.task.run(options)`.
Work that is in the script itself is given as a function: `cli.run(MyOptions, main)`.

Exit status: 0 done (also: interrupted, saved, and can be resumed), 2 a user error, 130 interrupted
with nothing to save, 141 nobody reads the output any more (`… | head`), 1 a bug (with its
traceback). Code that reads an input checks it and raises `UserError`; every other error of files,
texts, disks and memory becomes one line here, see `errors.as_user_error`; --debug adds its
traceback.
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
import tempfile
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from absl import app, flags, logging

from bert_common import check_tensorflow, files, gpus, json_files, version
from bert_common.errors import UserError, as_user_error, did_you_mean
from bert_common.foreign_flags import name_here
from bert_common.options import (
    FILES,
    Option,
    Options,
    declared_options,
    docstring_of,
    from_texts,
)

_WIDTH = 100
# A script with this many options shows only the common ones in its short help.
_MANY_OPTIONS = 30
_ALL_HELP = "--help=all"
_HELP = ("--help", "-help", "--helpshort", "-h", "-?", _ALL_HELP)
# The flag that names configuration files: flags of a script as `name: value` in YAML or JSON, or
# the `flags.json` of a run. In a YAML file the characters of a value count, not the type that YAML
# 1.1 finds in them: `1e-4` is a number, and `on` is a word unless the flag is true or false. No
# Python objects are ever made from the file.
_CONFIG = "config"
_RUN_FLAGS = "flags.json"
# Flags that absl defines and reads in `app.run`, which the scripts don't start with.
_ONLY_CHECK = "only_check_args"
_WITHOUT_EFFECT = (
    "log_dir",
    "pdb",
    "pdb_post_mortem",
    "profile_file",
    "run_with_pdb",
    "run_with_profiling",
    "use_cprofile_for_profiling",
)
# absl's flag that names files with flags, one a line.
_FLAG_FILE = "flagfile"
_TAG = "tag:yaml.org,2002:"
# Types that YAML 1.1 finds in values without a tag of their own.
_UNTAGGED = {
    f"{_TAG}{name}" for name in ("bool", "int", "float", "str", "timestamp", "value", "merge")
}
# Configurations that come with the project: beside this package in a checkout, in bert_tf/ in an
# installation.
_RECIPES = "recipes"
# Status of a program that SIGPIPE ends.
_NOBODY_READS = 141
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INPUT = "input_file"
_TRUTH = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
}
# Keras imports these where they are installed, for pictures and wrappers that no script uses, and
# TensorFlow then takes half as long again to import. Our own uses import them in functions, later.
_OPTIONAL_IN_KERAS = ("cv2", "matplotlib", "pandas", "sklearn")
# Lines of information that TensorFlow 2.21 logs while its libraries are loaded, before any setting
# of its log counts.
INFORMATION = re.compile("I0000 |WARNING: All log messages before absl::InitializeLog")
# Modules of the scripts that compute with TensorFlow; the others work without it.
_ON_TENSORFLOW = ("bert_tf.tasks.", "bert_tf.inference.")


def run(options: type[Options], target: str | Callable, positional: str | None = None) -> None:
    """Makes the flags, parses them, and calls the target with the checked options.

    Args:
      target: "module:function", whose module is imported when the options are checked; or a
        function of the script. It takes the options and returns an exit status or None.
      positional: name of the field, a tuple, that takes the words that are no flags; None if the
        script takes no such words.
    """
    _repair_standard_streams()
    _define_all(options, flags.FLAGS)
    if any(word in _HELP for word in sys.argv[1:]):
        # A wrong flag beside --help must not hide the help.
        with contextlib.suppress(flags.Error):
            flags.FLAGS(sys.argv, known_only=True)
        present = {
            name: flags.FLAGS[name].value for name in flags.FLAGS if flags.FLAGS[name].present
        }

        def print_help() -> None:
            print(help_text(options, present, _ALL_HELP in sys.argv))

        raise SystemExit(status_of(print_help))
    app.define_help_flags()
    # `app.run` starts in the same way.
    logging.use_absl_handler()
    with contextlib.suppress(OSError, RuntimeError):
        faulthandler.enable()
    raise SystemExit(status_of(lambda: _call(options, target, positional)))


def _repair_standard_streams() -> None:
    """Opens streams that the shell has closed, and lets stdout print any character."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            # The next file to be opened would take the number of the closed stream, and receive
            # everything that is printed.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Texts and file names may have characters that the terminal's encoding does not have.
        sys.stdout.reconfigure(errors="backslashreplace")


def parse(
    options: type[Options], arguments: Sequence[str], positional: str | None = None
) -> Options:
    """Returns the checked options of a command line, as `run` makes them.

    Python code that calls the work of a script uses it. The first word of `arguments` is the
    script's name.

    Raises:
      UserError: a wrong flag or value.
    """
    values = flags.FlagValues()
    _define_all(options, values)
    return _checked(options, values, list(arguments), positional)


def help_text(
    options: type[Options], flag_values: Mapping[str, object], all_options: bool = True
) -> str:
    """Returns what `--help` prints: the script's docstring, then its options class by class.

    Args:
      flag_values: values of the other flags, by which a script may choose the options to show.
      all_options: show all options; else a script with many shows the common ones.
    """
    script = sys.modules["__main__"]
    # An installed command has another name than the script in its docstring.
    translate = getattr(script, "translate_help", str)
    lines = [translate(docstring_of(script))]
    listed = options.options_in_help(flag_values)
    if all_options or len(listed) < _MANY_OPTIONS:
        visible = list(listed)
    else:
        visible = [option for option in listed if option.common or option.required]
    group = None
    for option in visible:
        if option.group != group:
            group = option.group
            lines += ["", group]
        lines += _help_lines(option)
    lines.append("")
    if len(visible) < len(listed):
        lines.append(f"{len(listed) - len(visible)} more flags: {_ALL_HELP} lists them.")
    lines.append(
        "--config=FILE reads the values of flags from a YAML or JSON file, --flagfile=FILE the "
        "flags themselves;"
    )
    lines.append("--debug shows the traceback of an error, --helpfull lists the libraries' flags.")
    return "\n".join(lines)


def _help_lines(option: Option) -> list[str]:
    """Returns the line of an option's name and its wrapped help text."""
    name = f"  --[no]{option.name}" if option.kind is bool else f"  --{option.name}"
    details = []
    choices = "|".join(option.choices)
    if choices and len(choices) <= _WIDTH - len(name) - len("=<>"):
        name += f"=<{choices}>"
    elif choices:
        details.append(f"one of {', '.join(option.choices)}")
    if option.default_text is None:
        default = option.text_of_default()
    else:
        default = option.default_text
    if default:
        details.append(f"default: {default}")
    if option.range_text():
        details.append(option.range_text())
    if option.required:
        details.append("required")
    details += [f"also --{alias}" for alias in option.aliases]
    text = option.help
    if details:
        text += f" ({'; '.join(details)})"
    wrapped = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="      ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [name, *wrapped]


class _Parser(flags.ArgumentParser):
    """Parses a number, or a choice also under its former name.

    Lists and sweeps stay text; the options check all values later.
    """

    def __init__(self, option: Option):
        super().__init__()
        self._option = option

    def parse(self, argument: str) -> str | int | float:
        option = self._option
        if option.is_list or option.sweep or option.kind is str:
            return option.former_choices.get(argument, argument)
        try:
            return option.kind(argument)
        except ValueError:
            number = "whole number" if option.kind is int else "number"
            raise ValueError(f"a {number} is expected") from None


class _CountParser(flags.BooleanParser):
    """Parses true, false, or a number from 2 on: 0 and 1 are false and true, as in absl."""

    def parse(self, argument: str | bool | int) -> bool | int:
        if isinstance(argument, str) and argument.isdecimal() and int(argument) > 1:
            return int(argument)
        return super().parse(argument)


def _define_all(options: type[Options], values: flags.FlagValues) -> None:
    """Defines the flags of a script, and --config and --debug, which are no options of a run."""
    for option in declared_options(options):
        # Lists and sweeps stay text until `from_texts` parses them.
        default = option.default
        if option.is_list:
            default = None
        elif option.sweep and default is not None:
            default = str(default)
        flag: flags.Flag
        if option.counts:
            flag = flags.Flag(_CountParser(), None, option.name, default, option.help, boolean=True)
        elif option.kind is bool:
            flag = flags.BooleanFlag(option.name, default, option.help)
        else:
            flag = flags.Flag(
                _Parser(option), flags.ArgumentSerializer(), option.name, default, option.help
            )
        # absl lists a flag with the module that defines it: the running script.
        flags.DEFINE_flag(flag, values, module_name=sys.argv[0])
        for alias in option.aliases:
            flags.DEFINE_alias(alias, option.name, values)
    flags.DEFINE_multi_string(
        _CONFIG, [], "YAML or JSON files with the values of flags.", flag_values=values
    )
    flags.DEFINE_boolean("debug", False, "Shows the traceback of an error.", flag_values=values)


def _checked(
    options: type[Options],
    values: flags.FlagValues,
    arguments: list[str],
    positional: str | None,
    reads_inputs: bool = False,
) -> Options:
    """Parses a command line and its configuration files, and returns the checked options.

    Args:
      reads_inputs: also check that the input files exist.

    Raises:
      UserError: a wrong flag or value, with the file and line that set it.
    """
    try:
        script, *words = values(arguments)
    except flags.UnrecognizedFlagError as error:
        here = name_here(error.flagname, values)
        hint = f": it is called {here} here" if here else ""
        message = f"{' '.join(str(error).split())}{hint}"
        raise UserError(f"{message} (--help=all lists the flags)") from None
    # A UnicodeDecodeError comes from a --flagfile that is not UTF-8.
    except (flags.Error, UnicodeDecodeError) as error:
        raise UserError(f"{' '.join(str(error).split())} (--help=all lists the flags)") from None
    if words and positional is None:
        hint = "; texts are read from --input_file=FILE" if _INPUT in values else ""
        raise UserError(
            f"unexpected argument {words[0]!r}: values are given as --flag=value; quote patterns "
            f"with *{hint}"
        )
    # A script that reads its inputs is the only command of its process.
    files.register.begin(opened=reads_inputs)
    _note_files_of_flags(values, arguments)
    names = [option.name for option in declared_options(options)]
    positions = _apply_config_files(options, values, names)
    fields = {}
    if positional is not None:
        fields[positional] = tuple(words)
    # Names in other bytes than UTF-8 would end the run when they are first written or shown.
    for name in names:
        json_files.check_text(str(values[name].value), f"--{name}: ")
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
        match = re.match(r"--(\w+)", str(error))
        if match and match[1] in positions:
            raise UserError(f"{positions[match[1]]}: {error}") from None
        raise
    return parsed


def _note_files_of_flags(values: flags.FlagValues, arguments: Sequence[str]) -> None:
    """Registers the files of --config and --flagfile as inputs."""
    for path in values[_CONFIG].value:
        # A run adds its next start to its own record, which no other output may replace anyway.
        if os.path.basename(path) != _RUN_FLAGS:
            files.register.note(path, _CONFIG)
    for path in _flag_files(arguments[1:]):
        files.register.note(path, _FLAG_FILE)


def _flag_files(words: Sequence[str]) -> Iterator[str]:
    """Yields the files that --flagfile names, on the command line or in another such file."""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0).strip()
        if word == "--":
            return
        match = re.fullmatch(rf"--?{_FLAG_FILE}(?:=(.*))?", word)
        if match is None:
            continue
        if match[1] is not None:
            name = match[1]
        elif waiting:
            name = waiting.pop(0)
        else:
            return
        path = os.path.expanduser(name.strip())
        # absl has read it already, and its errors are known.
        with contextlib.suppress(OSError, UnicodeDecodeError), files.open_file(path) as file:
            waiting += file
            yield path


def _apply_config_files(
    options: type[Options], values: flags.FlagValues, names: Sequence[str]
) -> dict[str, str]:
    """Sets the flags to the values in the files of --config.

    Later files win over earlier ones, and the command line wins over all of them.

    Returns:
      flag → file and line that set it.

    Raises:
      UserError: a wrong value, also one that the command line overrides.
    """
    on_command_line = {name for name in names if values[name].present}
    positions = {}
    for path in values[_CONFIG].value:
        for name, setting in _read_settings(path, options).items():
            if name in on_command_line:
                # Check the value without setting it.
                flag = copy.deepcopy(values[name])
            else:
                flag = values[name]
                positions[name] = setting.position
            try:
                flag.parse(setting.text)
            except flags.Error as error:
                raise UserError(f"{setting.position}: {error}") from None
    return positions


def _call(options: type[Options], target: str | Callable, positional: str | None) -> int:
    # TensorFlow and Keras log through absl; --verbosity may set another level.
    logging.set_verbosity(logging.WARNING)
    parsed = _checked(options, flags.FLAGS, sys.argv, positional, reads_inputs=True)
    for name in _WITHOUT_EFFECT:
        if flags.FLAGS[name].present:
            raise UserError(f"--{name}: absl's flag has no effect here: leave it out")
    if flags.FLAGS[_ONLY_CHECK].value:
        return 0
    if not isinstance(target, str):
        return target(parsed)
    if target.startswith(_ON_TENSORFLOW):
        check_tensorflow()
    # XLA reads where to keep compiled programs, and whether they must be deterministic, only once:
    # when TensorFlow is imported.
    driver = gpus.read_driver()
    warning = gpus.prepare(
        driver,
        os.environ,
        getattr(parsed, "compilation_cache_dir", ""),
        getattr(parsed, "deterministic", False),
    )
    if warning:
        print(warning, file=sys.stderr, flush=True)
    if driver is not None and flags.FLAGS["debug"].value:
        print(f"debug: {gpus.describe_ptxas(os.environ)}", file=sys.stderr, flush=True)
    module, _, function = target.partition(":")
    # Scripts about text import no TensorFlow, and need not wait to learn its version.
    quiet = _without_information() if target.startswith("bert_tf.") else contextlib.nullcontext()
    with _fast_imports(), quiet:
        work = getattr(importlib.import_module(module), function)
    return work(parsed)


@contextlib.contextmanager
def _fast_imports() -> Iterator[None]:
    """Imports of the block skip packages that Keras alone would want, and collect no garbage."""
    absent = [package for package in _OPTIONAL_IN_KERAS if package not in sys.modules]
    modules: dict[str, Any] = sys.modules
    # None in `sys.modules` makes an import raise ModuleNotFoundError.
    modules.update(dict.fromkeys(absent))
    gc.disable()
    try:
        yield
    finally:
        # TensorFlow's half a million objects stay until the end of the process: a frozen generation
        # is never searched for garbage.
        gc.freeze()
        gc.enable()
        for package in absent:
            del sys.modules[package]


@contextlib.contextmanager
def _without_information() -> Iterator[None]:
    """Passes on what the block writes to standard error when it ends, without `INFORMATION`."""
    release = version("tensorflow")
    if release is None or release < "2.21" or os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0":
        yield
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)
            written.seek(0)
            for line in written:
                if not INFORMATION.match(line.decode(errors="replace")):
                    os.write(2, line)


def status_of(work: Callable[[], int | None]) -> int:
    """Runs some work and returns its exit status, when its output has been written."""
    try:
        status = work()
        sys.stdout.flush()
        return 0 if status is None else status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        try:
            sys.stdout.flush()
        except OSError:
            # Standard output can't be written any more, or nobody reads it (`… | head`). The
            # interpreter flushes it once more at exit, which must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return _NOBODY_READS
        user_error = as_user_error(error)
        if user_error is None:
            raise
        if flags.FLAGS.is_parsed() and "debug" in flags.FLAGS and flags.FLAGS["debug"].value:
            traceback.print_exc()
        with contextlib.suppress(OSError):
            print(f"error: {user_error}", file=sys.stderr, flush=True)
        return 2


class _Setting(NamedTuple):
    """A value in a configuration file.

    Attributes:
      text: the value as written on a command line.
      position: file and line, e.g. "run.yaml:3".
    """

    text: str
    position: str


def _read_settings(path: str, options: type[Options]) -> dict[str, _Setting]:
    """Reads a configuration file.

    Of a run's `flags.json` only the flags count that were given or differ from the defaults.

    Returns:
      option → its setting, without those that are null.

    Raises:
      UserError: not YAML or JSON, an unknown flag, or a value that a flag can't have.
    """
    path = _recipe_path(path)
    mapping = _compose(path)
    entries = mapping.value
    root = {str(key.value): node for key, node in entries}
    is_run = "flags" in root and root["flags"].id == "mapping"
    if is_run:
        entries = root["flags"].value
    by_name = {}
    for declared in declared_options(options):
        for name in (declared.name, *declared.aliases):
            by_name[name] = declared
    settings: dict[str, _Setting] = {}
    for key, node in entries:
        position = f"{path}:{key.start_mark.line + 1}"
        name = key.value if key.id == "scalar" else "a list or a mapping"
        option = by_name.get(name)
        if option is None:
            raise UserError(
                f"{position}: {name[:100]!r} is no flag of this script"
                f"{did_you_mean(name[:100], by_name)} (--help=all lists the flags)"
            )
        if node.tag == f"{_TAG}null":
            continue
        if option.name in settings:
            raise UserError(f"{position}: --{option.name} is set twice in this file")
        settings[option.name] = _Setting(_text(option, node, position), position)
    if is_run:
        return _changed_settings(settings, root.get("given"), by_name)
    return settings


def _changed_settings(
    settings: Mapping[str, _Setting], given_node: Any, by_name: Mapping[str, Option]
) -> dict[str, _Setting]:
    """Returns the settings of a `flags.json` that were given or differ from the defaults."""
    if given_node is not None and given_node.id == "sequence":
        given_names = {str(name.value) for name in given_node.value}
    else:
        given_names = set()
    changed = {}
    for name, setting in settings.items():
        if name in given_names or setting.text != by_name[name].text_of_default():
            changed[name] = setting
    return changed


def _recipe_path(path: str) -> str:
    """Returns where recipes/NAME of this project is; other paths, and files that exist, stay."""
    folder, name = os.path.split(path)
    if folder == _RECIPES and not os.path.exists(path):
        for parent in (_ROOT, os.path.join(_ROOT, "bert_tf")):
            recipes = os.path.join(parent, _RECIPES)
            if os.path.isdir(recipes):
                return os.path.join(recipes, name)
    return path


def _compose(path: str) -> Any:
    """Reads a YAML or JSON file as a node of a mapping; no objects are constructed.

    Raises:
      UserError: the file is neither, or holds no mapping.
    """
    import yaml

    text = files.read_text(files.check_readable(path, _CONFIG)).removeprefix("\ufeff")
    loader = yaml.SafeLoader
    if path.endswith(".json"):
        json_files.parse(text, path)
        # JSON is YAML, except for tabs. A long flags.json needs the loader in C, which crashes
        # where values are nested too deeply; the JSON parser has refused such files above.
        text = text.expandtabs(1)
        loader = getattr(yaml, "CSafeLoader", loader)
    try:
        mapping: Any = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f"{path}:{mark.line + 1}" if mark else path
        # A reader's error, of characters that YAML does not allow, has a reason only.
        reason = getattr(error, "reason", "characters that it can't hold")
        problem = getattr(error, "problem", reason)
        raise UserError(f"{position}: not YAML: {problem}") from None
    except RecursionError:
        raise UserError(f"{path}: not YAML: values are nested too deeply") from None
    if mapping is None or mapping.id != "mapping":
        raise UserError(
            f"{path}: names of flags and their values are expected, e.g. learning_rate: 3e-5"
        )
    return mapping


def _text(option: Option, node: Any, position: str) -> str:
    """Returns the value of a YAML node as written on a command line, lists with commas."""
    is_list = node.tag == f"{_TAG}seq"
    is_free_text = option.kind is str and not option.path and not option.choices
    takes_list = option.is_list or option.sweep or option.path == FILES or is_free_text
    if is_list and not takes_list:
        raise UserError(f"{position}: --{option.name} takes one value, not a list")
    takes_truth = option.kind is bool or "true" in option.choices
    words = []
    for item in node.value if is_list else [node]:
        if item.id != "scalar" or item.tag not in _UNTAGGED:
            expected = "a value, or a list of values," if option.is_list else "a value"
            raise UserError(f"{position}: --{option.name}: {expected} is expected")
        if is_list and "," in item.value:
            raise UserError(f"{position}: --{option.name}: a value of a list can't contain a comma")
        # JSON writes a character beyond the basic plane as two escapes, which belong together.
        word = item.value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        words.append(_TRUTH.get(word.lower(), word) if takes_truth else word)
    return ",".join(words)
