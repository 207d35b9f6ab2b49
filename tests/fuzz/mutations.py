"""Ways of spoiling one thing of a right command: a flag, a word, or an input file.

Or nothing is wrong by itself: an output is one of the inputs, or inputs of a run or an index are
exchanged for others. All follow from a seed.
"""

import copy
import csv
import dataclasses
import gzip
import json
import pathlib
import random
import shutil
from collections.abc import Callable

import numpy as np

from bert_common.options import Option, declared_options
from tests.fuzz.workspace import OTHERS, Command, write_parquet

# Large values of these are long runs, and no mistakes of the program's.
_LONG = {"num_train_steps", "num_train_epochs", "dupe_factor", "eval_steps"}
_NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e400",
    "1e-400",
    "9" * 5000,
    "1" + "0" * 30,
    str(2**63),
    "1e15",
    "0.999999",
    "1,nan",
    "1,1",
    "",
    " ",
    "x",
    "0x10",
    "1_0",
    "٣",
)
_LARGE_NUMBERS = (str(2**31 - 1), "1000000", "1e6")
_TEXTS = (
    "",
    ",",
    ",,",
    "x",
    "missing/name",
    ".",
    "corpus.txt",
    "encoder",
    "squad.json",
    "table.csv",
    "vocab.txt",
    "train.tfrecord",
    "classification/task.json",
    "a\nb",
    "a\x1b[31mb",
    "[",
    "*",
    "run[1]",
    "a,a",
    "x" * 300,
    "ü",
    "\udcff",
    "\ud800",
    "nan,nan,nan",
    "out@0",
    "out@99999",
    "/dev/null",
    "/dev/full",
    "gone://bucket/x",
    "-",
    "true",
    "1",
    "9" * 5000,
    f"{'9' * 5000}:1:train.tfrecord",
    f"16:{'9' * 5000}:train.tfrecord",
    f"out@{'9' * 5000}",
    "x/" * 2000,
    "\0",
)

# Options of what is written, and what no command may write over: parts of checkpoints, runs,
# indexes.
_OUTPUTS = ("output_file", "output_dir", "output", "export_dir", "index_dir", "held_out_file")
_KEPT = (
    "encoder/ckpt-0.index",
    "huggingface",
    "huggingface/model.safetensors",
    "sentences",
    "sentences/modules.json",
    "index",
    "index/vectors.f32",
    "index/documents.jsonl",
    "begun/flags.json",
    "begun/metrics.jsonl",
)
# Parts of JSON in the place of any other.
_JSON_VALUES = (
    None,
    True,
    [],
    {},
    "",
    "x",
    "\ud800",
    "ü" * 10,
    -1,
    0,
    10**30,
    1.5,
    [[]],
    {"a": None},
    ["x", 1],
    float("nan"),
    float("inf"),
    "\x00",
)


_TWINS = (None, 1, "x", [])


@dataclasses.dataclass(frozen=True)
class Case:
    """A spoiled command.

    Attributes:
      command: with the flags as they are given.
      change: what was done, in words.
      spoil: what is to be done to the files of a workspace.
      kept: files and directories whose files stay as they are even if the command is accepted.
      exchanged: files or directories in the place of which others stand; who accepts these has made
        them anew.
      while_read: file that becomes another one, and at which opening, from 1; by default its own.
      opened: file whose opening it is.
    """

    command: Command
    change: str
    spoil: Callable[[pathlib.Path], None] = lambda folder: None
    kept: tuple[str, ...] = ()
    exchanged: tuple[str, ...] = ()
    while_read: tuple[str, int] | None = None
    opened: str | None = None


def make_case(commands: tuple[Command, ...], seed: int, number: int) -> Case:
    """The case of a number: the same for the same commands and seed."""
    rng = random.Random(f"{seed}/{number}")
    command = rng.choice(commands)
    kind = rng.random()
    if command.exchanges and kind < 0.25:
        return exchange(command, rng.choice(command.exchanges))
    if command.exchanges and kind < 0.5:
        return _exchange_while_read(command, rng)
    if command.changing and kind < 0.4:
        name = rng.choice(command.changing)
        weights = f"{command.arguments['init_checkpoint']}/ckpt-0.index"
        return Case(command, f"others' {name} later", while_read=(name, 1), opened=weights)
    if kind < 0.35 and (options := declared_options(command.entry[0])):
        return _spoil_flag(command, rng.choice(options), rng)
    if kind < 0.38:
        return _point_output_at_flags(command, rng)
    if kind < 0.5 and not command.words:
        return _point_output_at_input(command, rng)
    if kind < 0.5:
        word = rng.choice(_TEXTS)
        return Case(dataclasses.replace(command, words=(word,)), f"word {ascii(word)[:80]}")
    return _spoil_file(command, rng)


def _given(command: Command, name: str, value: str) -> Command:
    return dataclasses.replace(command, arguments={**command.arguments, name: value})


def exchange(command: Command, names: tuple[str, ...]) -> Case:
    """Files are those of another run, which are right by themselves."""

    def spoil(folder: pathlib.Path) -> None:
        for name in names:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
                shutil.copytree(folder / OTHERS / name, folder / name)
            else:
                shutil.copyfile(folder / OTHERS / name, folder / name)

    return Case(command, f"others' {', '.join(names)}", spoil, exchanged=names)


def _exchange_while_read(command: Command, rng: random.Random) -> Case:
    """An input of a run or an index becomes another one at the moment in which it is opened."""
    names = sorted({name for group in command.exchanges for name in group})
    name, opening = rng.choice(names), rng.randint(1, 4)
    return Case(
        command, f"others' {name} when it is opened ({opening})", while_read=(name, opening)
    )


def _point_output_at_input(command: Command, rng: random.Random) -> Case:
    """An output is a file that the command reads, or part of a checkpoint, a run or an index, by
    any road."""
    outputs = [name for name in _OUTPUTS if name in command.arguments]
    if not outputs:
        return _spoil_file(command, rng)
    name, target = rng.choice(outputs), rng.choice((*command.inputs, *_KEPT))
    # A run may write into its own directory.
    kept = () if target.startswith(f"{command.arguments[name]}/") else (target,)
    road, way = rng.choice(sorted(ROADS)), rng.choice(("flag", "flag", "config", "flagfile"))
    path, lay = ROADS[road](target)
    arguments, contents = _given_by(way, {**command.arguments, name: path}, name)

    def spoil(folder: pathlib.Path) -> None:
        lay(folder)
        for file, content in contents.items():
            (folder / file).write_text(content)

    return Case(
        dataclasses.replace(command, arguments=arguments),
        f"--{name}={path} ({road} to {target}, by {way})",
        spoil,
        kept=kept,
    )


def _given_by(
    way: str, arguments: dict[str, str], name: str
) -> tuple[dict[str, str], dict[str, str]]:
    """One argument in a file of flags or of configuration, which the others name: arguments, and
    file → content."""
    if way == "flag":
        return arguments, {}
    others = {other: value for other, value in arguments.items() if other != name}
    if way == "config":
        return {**others, "config": "given.yaml"}, {"given.yaml": f"{name}: {arguments[name]}\n"}
    # A file of flags may name another one.
    return {**others, "flagfile": "given.flags"}, {
        "given.flags": "--flagfile=inner.flags\n",
        "inner.flags": f"--{name}={arguments[name]}\n",
    }


def _hard_link(folder: pathlib.Path, target: str) -> None:
    # A directory has one name only.
    link = (
        (folder / "same").symlink_to
        if (folder / target).is_dir()
        else (folder / "same").hardlink_to
    )
    link(folder / target)


# Road → target → its path, and what lays the road in a workspace.
ROADS: dict[str, Callable[[str], tuple[str, Callable[[pathlib.Path], None]]]] = {
    "path": lambda target: (target, lambda folder: None),
    "detour": lambda target: (f"./evidence/../{target}", lambda folder: None),
    "symbolic link": lambda target: (
        "link",
        lambda folder: (folder / "link").symlink_to(folder / target),
    ),
    "link in a chain": lambda target: (
        "chain",
        lambda folder: (
            (
                (folder / "link").symlink_to(target),
                (folder / "chain").symlink_to("link"),
            )
            and None
        ),
    ),
    "linked directory": lambda target: (
        f"linked/{pathlib.PurePath(target).name}",
        lambda folder: (folder / "linked").symlink_to((folder / target).parent),
    ),
    "hard link": lambda target: ("same", lambda folder: _hard_link(folder, target)),
}


def _point_output_at_flags(command: Command, rng: random.Random) -> Case:
    """An output is the file that some of the flags come from."""
    outputs = [name for name in ("output_file", "held_out_file") if name in command.arguments]
    if not outputs:
        return _point_output_at_input(command, rng)
    name, way = rng.choice(outputs), rng.choice(("config", "flagfile"))
    # The file's own value does not count: the command line has another one.
    arguments, contents = _given_by(way, command.arguments, name)
    target = rng.choice(sorted(contents))
    path, lay = ROADS[rng.choice(sorted(ROADS))](target)

    def spoil(folder: pathlib.Path) -> None:
        for file, content in contents.items():
            (folder / file).write_text(content)
        lay(folder)

    return Case(
        dataclasses.replace(command, arguments={**arguments, name: path}),
        f"--{name}={path} is {target}, of --{way}",
        spoil,
        kept=tuple(contents),
    )


def _spoil_flag(command: Command, option: Option, rng: random.Random) -> Case:
    if option.name in command.arguments and rng.random() < 0.1:
        arguments = {
            name: value for name, value in command.arguments.items() if name != option.name
        }
        return Case(dataclasses.replace(command, arguments=arguments), f"no --{option.name}")
    values = _TEXTS
    if option.kind in (int, float):
        values = _NUMBERS + (() if option.name in _LONG else _LARGE_NUMBERS)
    elif option.kind is bool:
        values = ("true", "true", "false", "perhaps", "")
    elif option.choices:
        values = (*option.choices, "x", "")
    value = rng.choice(values)
    # Nothing listens there, and asking takes minutes.
    if option.name in ("tpu_name", "use_tpu", "distribution_strategy"):
        value = "none" if option.kind is str else "false"
    command = _given(command, option.name, value)
    if rng.random() < 0.1:
        command = _given(command, "debug", rng.choice(("true", "perhaps")))
    return Case(command, f"--{option.name}={ascii(value)[1:-1][:80]}")


def _spoil_file(command: Command, rng: random.Random) -> Case:
    name = rng.choice(command.inputs)
    kinds = [*_PLACES, *_BYTES.values()]
    if name.endswith((".json", ".jsonl")):
        kinds += [_json] * 3
    elif name.endswith(".tfrecord"):
        kinds += [_record] * 3
    elif name.endswith((".index", ".safetensors")):
        kinds += [not_finite] * 3
    elif name.endswith((".csv", ".tsv", ".parquet")):
        kinds += [_table] * 3
    change, seed = rng.choice(kinds), rng.random()

    def spoil(folder: pathlib.Path) -> None:
        path, chosen = folder / name, random.Random(seed)
        if change in (*_PLACES, _record, _table, not_finite):
            change(path, chosen)
        else:
            path.write_bytes(change(path.read_bytes(), chosen))

    label = next(
        (name for name, one in _BYTES.items() if one is change), change.__name__.strip("_")
    )
    return Case(command, f"{name}: {label}", spoil)


def _missing(path: pathlib.Path, rng: random.Random) -> None:
    path.unlink()


def _directory(path: pathlib.Path, rng: random.Random) -> None:
    """A directory in the file's place, perhaps with the file in it."""
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    if rng.random() < 0.5:
        (path / path.name).write_bytes(content)


def _link(path: pathlib.Path, rng: random.Random) -> None:
    """A symbolic link: to nothing, to itself, or to a device."""
    path.unlink()
    path.symlink_to(rng.choice(("missing", path.name, "/dev/null", "/dev/zero", "/proc/self/mem")))


_PLACES = (_missing, _directory, _link)


def not_finite(path: pathlib.Path, rng: random.Random) -> None:
    """One weight is not a number, in a file that is right otherwise."""
    if path.suffix == ".index":
        import tensorflow as tf

        prefix = str(path.with_suffix(""))
        reader = tf.train.load_checkpoint(prefix)
        tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    else:
        from safetensors.numpy import load_file, save_file

        tensors = load_file(path)
    name = rng.choice(
        sorted(
            name for name, value in tensors.items() if getattr(value, "dtype", None) == np.float32
        )
    )
    tensors[name] = np.array(tensors[name])
    tensors[name].flat[rng.randrange(tensors[name].size)] = rng.choice((np.nan, np.inf, -np.inf))
    if path.suffix == ".index":
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=list(tensors),
            shape_and_slices=[""] * len(tensors),
            tensors=list(tensors.values()),
        )
    else:
        save_file(tensors, path)


def _flip(data: bytes, rng: random.Random) -> bytes:
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 1, 8))):
        spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def _insert(data: bytes, rng: random.Random) -> bytes:
    what = rng.choice(
        (
            b"\xff\xfe",
            b"\x00",
            b"\xed\xa0\x80",
            b"\t",
            b'"',
            b"\r",
            b"\n\n\n",
            b"\xe2\x80\xa8",
            b"[MASK]",
            b"\x1b[31m",
            b"##",
            b"\xf0\x9f\x98\x80" * 50,
        )
    )
    place = rng.randrange(len(data) + 1)
    return data[:place] + what + data[place:]


def _shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.5:
        del lines[first]
    else:
        lines.insert(first, lines[second])
    return b"\n".join(lines)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


_BYTES = {
    "cut off": _cut,
    "flipped bits": _flip,
    "bytes inserted": _insert,
    "a line twice or not at all": _shuffle_lines,
    "endless line": lambda data, rng: (
        data + rng.choice((b"a", b"a b ", b"[", b"\x00", b"1")) * (20 << 20)
    ),
    "empty": lambda data, rng: b"",
    "gzipped": lambda data, rng: gzip.compress(data),
    "gzipped and cut off": lambda data, rng: _cut(gzip.compress(data), rng),
    "UTF-16": lambda data, rng: data.decode("latin-1").encode("utf-16"),
    "bytes of no format": lambda data, rng: rng.randbytes(rng.choice((1, 100, 5000))),
}


def _json(data: bytes, rng: random.Random) -> bytes:
    """One value, or one key, of one of the documents is another."""
    lines = (
        data.decode().splitlines()
        if data.count(b"\n") > 1 and data.startswith(b'{"')
        else [data.decode()]
    )
    number = rng.randrange(len(lines))
    root = [json.loads(lines[number])]
    parent, key = rng.choice(list(_places(root)))
    if isinstance(parent, dict) and rng.random() < 0.1:
        # A second value of the key stands before the first.
        lines[number] = json.dumps(root[0])
        twin = f"{json.dumps(key)}: "
        lines[number] = lines[number].replace(
            twin, f"{twin}{json.dumps(rng.choice(_TWINS))}, {twin}", 1
        )
        return "\n".join(lines).encode() + b"\n"
    if isinstance(parent, dict) and rng.random() < 0.3:
        del parent[key]
    else:
        parent[key] = copy.deepcopy(rng.choice(_JSON_VALUES))
    lines[number] = json.dumps(root[0])
    return "\n".join(lines).encode() + b"\n"


def _places(value: object):
    for key, child in list(enumerate(value) if isinstance(value, list) else value.items()):
        yield value, key
        if isinstance(child, (list, dict)):
            yield from _places(child)


def _record(path: pathlib.Path, rng: random.Random) -> None:
    """One feature of one record holds what another program may have written; the checksums are
    right."""
    import tensorflow as tf

    records = [
        tf.train.Example.FromString(one)
        for one in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    ]
    features = rng.choice(records).features.feature
    name = rng.choice(sorted(features))
    is_weight = features[name].WhichOneof("kind") == "float_list"
    values = list(features[name].float_list.value if is_weight else features[name].int64_list.value)
    change = rng.choice(("none", "short", "type", "value", "value"))
    del features[name]
    if change == "short":
        values.pop()
    elif change == "value":
        values[rng.randrange(len(values))] = rng.choice(
            (float("nan"), -1.0, float("inf")) if is_weight else (-1, 2, 16, 10**6, 2**40, -(2**63))
        )
    if change != "none":
        as_floats = is_weight != (change == "type")
        (features[name].float_list if as_floats else features[name].int64_list).value.extend(
            map(float if as_floats else int, values)
        )
    with tf.io.TFRecordWriter(str(path)) as writer:
        for one in records:
            writer.write(one.SerializeToString())


def _table(path: pathlib.Path, rng: random.Random) -> None:
    """One column, row or cell of a table is another."""
    rows = _read_table(path)
    change = rng.choice(
        ("cell", "cell", "no column", "column twice", "other name", "row", "no rows")
    )
    column, row = rng.randrange(len(rows[0])), rng.randrange(1, len(rows))
    if change == "cell":
        rows[row][column] = rng.choice(
            ("", " ", "nan", "1e400", "\0", "x" * 10**6, "[SEP]", "\n", '"')
        )
    elif change == "no column":
        for cells in rows:
            del cells[column]
    elif change == "column twice":
        for cells in rows:
            cells.append(cells[column])
    elif change == "other name":
        rows[0][column] = rng.choice(("", " label", "LABEL", "label", "text", "\ufefftext", "1"))
    elif change == "row":
        # Parquet has no rows of other lengths.
        if path.suffix == ".parquet":
            rows[row] = [None] * len(rows[0])
        else:
            rows[row] += ["more"]
    else:
        del rows[1:]
    _write_table(path, rows)


def _read_table(path: pathlib.Path) -> list[list]:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        columns = pyarrow.parquet.read_table(path).to_pydict()
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def _write_table(path: pathlib.Path, rows: list[list]) -> None:
    if path.suffix == ".parquet":
        write_parquet(path, rows)
        return
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows(rows)
