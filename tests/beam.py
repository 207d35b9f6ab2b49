"""Apache Beam in tests: its runner in this process where it is installed, and its place taken where
it is not."""

import pickle
import threading
import types
from collections.abc import Callable, Sequence

IN_PROCESS = "runner=FnApiRunner"
NEEDS_BEAM = "Apache Beam is not installed: pip install --only-binary apache-beam --group beam"


def start_without_beam(
    function: Callable, items: Sequence, unused_flags: Sequence[str]
) -> types.SimpleNamespace:
    """What `bert_tf.extras.beam` starts, with all that workers do and the files by which they
    answer."""
    # As on other machines: what is sent must be what can be sent.
    function, items = pickle.loads(pickle.dumps((function, items)))
    for item in items:
        function(item)
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    return types.SimpleNamespace(thread=thread, result=None, error=None)
