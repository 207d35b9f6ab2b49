"""Whether results in a directory belong to its run.

Input: a run directory, and the name of a file in it. Output: what `inputs.json` notes on the file.
"""

import os

from bert_common import files, json_files
from bert_common.manifests import file_digest
from modeling.checkpoints.companion_files import INPUTS_FILE, RUN_ID

_INPUTS_FIELDS = {RUN_ID: str | None, "results": dict[str, dict] | None}
_NOTE_FIELDS = {RUN_ID: str, "files": list[str], "digests": dict[str, str] | None}


def note_of_results(directory: str, name: str) -> dict | None:
    """Returns what `inputs.json` notes on a file of results, with the "files" that these are of;
    empty for runs of earlier versions; None if the results are of another run."""
    path = os.path.join(directory, INPUTS_FILE)
    inputs = json_files.read_object(path, _INPUTS_FIELDS)
    notes = inputs.get("results") or {}
    file = os.path.join(directory, name)
    for kind, note in notes.items():
        json_files.check_object(note, _NOTE_FIELDS, f"{path}: results: {kind}")
        digest = (note.get("digests") or {}).get(name)
        is_of_run = note[RUN_ID] == inputs.get(RUN_ID, "") and digest is not None
        if is_of_run and files.is_file(file) and digest == file_digest(file):
            return note
    return None if notes or inputs.get(RUN_ID) else {}
