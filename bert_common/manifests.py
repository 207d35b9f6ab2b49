"""Manifests of files that are kept between processes: sources, sizes and digests.

{"version": 2, "sources": {"model": "sha256:…"}, "files": {"vectors.f32": [bytes, "SHA-256"]}, …}
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import IO

from bert_common import files, json_files
from bert_common.errors import UserError


def write_manifest(
    path: str, version: int, sources: Mapping[str, object], names: Sequence[str], **content: object
) -> None:
    """Writes a manifest: the sources of the files of these names beside it, and their digests.

    Args:
      content: further keys, values of JSON.
    """
    entries = {}
    for name in names:
        file = os.path.join(os.path.dirname(path), name)
        entries[name] = (files.file_size(file), file_digest(file))
    manifest = {"version": version, "sources": sources, **content, "files": entries}
    json_files.write(path, manifest)


def read_manifest(
    path: str,
    version: int,
    sources: Mapping[str, object],
    names: Sequence[str],
    fields: Mapping[str, object],
    opened: contextlib.ExitStack,
) -> tuple[dict, list[IO[bytes]]]:
    """Opens the files of a manifest, if its sources and their contents are as expected.

    Args:
      names: of files in the directory of the manifest.
      fields: further keys of the manifest, see `json_files.check_object`.
      opened: closes the files.

    Returns:
      the manifest, and the files of these names, open at their beginning. Who reads these, and
      opens none again, gets the contents that were compared, whatever comes to the path meanwhile.

    Raises:
      UserError: a file is missing or damaged, or is made from something else.
    """
    manifest = json_files.read(path)
    all_fields = {"version": int, "sources": dict, "files": dict[str, list], **fields}
    json_files.check_object(manifest, all_fields, path)
    if manifest["version"] != version:
        raise UserError(
            f"{path} is of version {manifest['version']} of the format, {version} is expected"
        )
    # JSON has lists for tuples.
    expected = json.loads(json.dumps(sources))
    if manifest["sources"] != expected:
        changed = [name for name in expected if manifest["sources"].get(name) != expected[name]]
        raise UserError(f"{path}: made from something else ({', '.join(sorted(changed))})")
    opened_files = []
    for name in names:
        entry = manifest["files"].get(name, [])
        if [type(value) for value in entry] != [int, str]:
            raise UserError(f"{path}: 'files' has another form")
        size, content = entry
        file_path = os.path.join(os.path.dirname(path), name)
        with files.user_error(f"can't read {file_path}"):
            if not files.is_file(file_path):
                raise UserError(f"{file_path} is damaged")
            file = opened.enter_context(files.open_file(file_path, "rb"))
            # The size is compared first: a file that was cut off need not be read.
            is_whole = file.seek(0, os.SEEK_END) == size
            file.seek(0)
            if not is_whole or hashlib.file_digest(file, "sha256").hexdigest() != content:
                raise UserError(f"{file_path} is damaged")
            file.seek(0)
            opened_files.append(file)
    return manifest, opened_files


def file_digest(path: str) -> str:
    """Returns the SHA-256 of a file; raises `UserError` if it can't be read."""
    with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
