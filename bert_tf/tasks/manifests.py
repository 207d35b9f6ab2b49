"""Files that are kept between processes, such as a cache or an index, and the manifest that makes them believable.

  {"version": 2, "sources": {"model": "sha256:…"}, "files": {"vectors.f32": [bytes, "…"]}, …}

Files are verified where a manifest is read: what was edited, cut off, exchanged or made from something else is refused.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError


def file_digest(path: str, size: int | None = None) -> "hashlib._Hash":
  """SHA-256 of a file, or of its first bytes, as far as it has so many; raises `OSError` where it can't be read."""
  found, left = hashlib.sha256(), -1 if size is None else size
  with files.open_file(path, "rb") as file:
    while block := file.read(1 << 20 if size is None else min(1 << 20, left)):
      found.update(block)
      left -= len(block)
  return found


def write(path: str, version: int, sources: Mapping[str, object],
          contents: Mapping[str, tuple[int, str]] | Sequence[str], **facts: object) -> None:
  """Writes a manifest.

  Args:
    sources: what the files were made from, for JSON.
    contents: names of the files beside it; or name → bytes from its beginning, and their digest.
    facts: further keys.
  """
  if not isinstance(contents, Mapping):
    places = {name: os.path.join(os.path.dirname(path), name) for name in contents}
    contents = {name: (files.file_size(place), file_digest(place).hexdigest()) for name, place in places.items()}
  json_files.write(path, {"version": version, "sources": sources, "files": contents, **facts})


def read(path: str, version: int, sources: Mapping[str, object], fields: Mapping[str, object]) -> dict:
  """A manifest whose files are what they were.

  Args:
    fields: of its further keys, see `json_files.check_object`.

  Raises:
    UserError: says why they can't be used.
  """
  found = json_files.read(path)
  json_files.check_object(found, {"version": int, "sources": dict, "files": dict[str, list], **fields}, path)
  if found["version"] != version:
    raise UserError(f"{path} is of version {found['version']} of the format, {version} is expected")
  expected = json.loads(json.dumps(sources))
  if found["sources"] != expected:
    other = sorted(name for name, value in expected.items() if found["sources"].get(name) != value)
    raise UserError(f"{path}: made from something else ({', '.join(other)})")
  if not all([type(one) for one in entry] == [int, str] for entry in found["files"].values()):
    raise UserError(f"{path}: 'files' has another form")
  for name, (size, content) in found["files"].items():
    file = os.path.join(os.path.dirname(path), os.path.basename(name))
    with files.user_error(f"can't read {file}"):
      if not files.is_file(file) or files.file_size(file) < size or file_digest(file, size).hexdigest() != content:
        raise UserError(f"{file} is damaged")
  return found
