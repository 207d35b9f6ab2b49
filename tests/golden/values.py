"""Reading the values of this folder: unpacking them, and comparing with arrays of which a sample is
kept."""

import lzma
import pathlib
import shutil
import tarfile
from collections.abc import Mapping

import numpy as np

# Of an array with more entries than this the folder keeps the L2 norm, followed by so many entries.
SAMPLE_SIZE = 256


def unpack(source: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the files of `source` below `target`: what is named x.xz as x, what is in a .tar.xz
    under its own names.

    Files ending in .gz or .npz stay as they are: what is in them is read through gzip or numpy.
    """
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if not path.is_file() or path.suffix in (".md", ".py", ".pyc"):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as archive:
                for member in archive:
                    (target / member.name).parent.mkdir(parents=True, exist_ok=True)
                    (target / member.name).write_bytes(archive.extractfile(member).read())
        elif path.suffix == ".xz":
            (target / name.with_suffix("")).write_bytes(lzma.decompress(path.read_bytes()))
        else:
            shutil.copyfile(path, target / name)


def sample(array: np.ndarray) -> np.ndarray:
    """What this folder keeps of an array: all of a small one, else its norm and `SAMPLE_SIZE`
    evenly spaced entries."""
    array = np.asarray(array)
    if array.size <= SAMPLE_SIZE:
        return array
    flat = array.ravel()
    places = np.linspace(0, array.size - 1, SAMPLE_SIZE).astype(np.int64)
    return np.concatenate([[np.linalg.norm(flat.astype(np.float64))], flat[places]]).astype(
        np.float32
    )


def assert_close(
    found: Mapping[str, np.ndarray], path: pathlib.Path, atol: float, of_largest: float = 0.0
) -> None:
    """Compares arrays with those of an .npz file, which holds each of them whole or as `sample`
    gives it.

    Args:
      found: name → array; the same names as in the file.
      path: the .npz file.
      atol: allowed difference of each entry.
      of_largest: allowed beside `atol`, as a share of the array's largest entry.
    """
    with np.load(path) as file:
        expected = dict(file)
    assert set(found) == set(expected)
    for name, wanted in expected.items():
        value = np.asarray(found[name])
        tolerance = atol + of_largest * np.abs(value).max()
        if wanted.shape != value.shape:
            assert wanted.shape == (SAMPLE_SIZE + 1,), (
                f"{name} is {value.shape} here and {wanted.shape} there"
            )
            norm, wanted = wanted[0], wanted[1:]
            found_norm, *value = sample(value)
            # No entry is off by more than the tolerance: then the norm is not by more than this.
            assert abs(found_norm - norm) <= tolerance * np.sqrt(np.size(found[name])), name
        np.testing.assert_allclose(value, wanted, rtol=0, atol=tolerance, err_msg=name)
