"""Apache Beam in tests: its runner in this process where it is installed, and its place taken where it is not."""

import pickle
from collections.abc import Callable, Sequence

IN_PROCESS = "runner=FnApiRunner"
NEEDS_BEAM = "Apache Beam is not installed: pip install --only-binary apache-beam -r requirements-beam.txt"


class WithoutBeam:
  """A pipeline for `beam_map.ordered_map`, with all that workers do and the files by which they answer."""

  def __init__(self, function: Callable, items: Sequence, unused_options: str):
    # As on other machines: what is sent must be what can be sent.
    function, items = pickle.loads(pickle.dumps((function, items)))
    for item in items:
      function(item)

  def wait_for(self, path: str) -> tuple[bool, object]:
    with open(path, "rb") as file:
      return pickle.load(file)

  def finish(self) -> None:
    """Nothing runs any more."""

  cancel = finish
