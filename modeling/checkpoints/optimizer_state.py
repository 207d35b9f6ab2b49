"""The optimizer's slots and the step of a checkpoint, under the names of TensorFlow 1.

The original's AdamW calls the slots of NAME `NAME/adam_m` and `NAME/adam_v`, MLPerf's LAMB
`NAME/LAMB` and `NAME/LAMB_1`; ours are at `optimizer/m/...` and `optimizer/lamb_m/...`. MLPerf's
`beta1_power` and `beta2_power` follow from the step and are left out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bert_common.errors import UserError
from modeling.checkpoints.companion_files import SUFFIX
from modeling.checkpoints.weights import native_path

if TYPE_CHECKING:
    from modeling.checkpoints.tensorflow_files import TensorBundle

STEP = "global_step"
# Scale of the loss at the beginning of a training in float16.
INITIAL_LOSS_SCALE = 2.0**15
_SLOTS = "optimizer/"
# Name of a slot in our checkpoints → ending of its name in TensorFlow 1's.
_ENDINGS = {"m": "/adam_m", "v": "/adam_v", "lamb_m": "/LAMB", "lamb_v": "/LAMB_1"}


def read_state(bundle: "TensorBundle", names: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Returns the slots of these weights and `global_step` under TensorFlow 1's names.

    Args:
      bundle: one of our checkpoints, or one of TensorFlow 1.
      names: original names of the weights.

    Raises:
      UserError: no step or no slots of AdamW or LAMB, or slots of some weights only.
    """
    state = {}
    for slot, ending in _ENDINGS.items():
        for name in names:
            key = f"{_SLOTS}{slot}/{native_path(name)}{SUFFIX}"
            for candidate in (key, name + ending):
                if candidate in bundle.shapes:
                    state[name + ending] = bundle.read(candidate)
    if len(state) != 2 * len(names):
        raise UserError(
            f"{bundle.prefix} holds {len(state)} slots of AdamW or LAMB for {len(names)} weights, "
            "two for each are expected: leave out --optimizer_state"
        )
    key = STEP if STEP in bundle.shapes else "step" + SUFFIX
    if key not in bundle.shapes:
        raise UserError(f"{bundle.prefix} holds no {STEP}: leave out --optimizer_state")
    state[STEP] = bundle.read_as(key, np.dtype(np.int64))
    return state


def native_state(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the state under the paths of our checkpoints, so that a run resumes from it.

    The order of the training examples of another program is not known: they begin anew, as does
    the scaling of losses in float16.
    """
    paths: dict[str, np.ndarray] = {
        "step": state[STEP],
        "examples": np.zeros((), np.int64),
        "steps_since_overflow": np.zeros((), np.int64),
        "loss_scale": np.full((), INITIAL_LOSS_SCALE, np.float32),
    }
    for slot, ending in _ENDINGS.items():
        for name, value in state.items():
            if name.endswith(ending):
                paths[f"{_SLOTS}{slot}/{native_path(name.removesuffix(ending))}"] = value
    return paths
