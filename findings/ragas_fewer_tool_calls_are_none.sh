#!/usr/bin/env bash
# Three of four tool calls are right and the fourth is missing: ragas documents a score in proportion, and returns 0.
#
# Guess before the run: as its documentation says, "length mismatches result in warnings and proportional penalty":
# three right calls of four score 3/4, or 9/16 with the penalty on top; a call with arguments that nobody asked for is
# not fully right.
# Seen: ragas 0.4.3. Before the penalty the lists of all names must be equal, which lists of different lengths never
# are: the score is 0 for three of four as for a call too many, in both modes, and the penalty is never used. A call
# with two superfluous arguments is 1.00. Where the order is free, calls are sorted by their arguments and then compared
# one by one: one wrong argument of four shifts the calls, and all four are wrong.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ragas==0.4.3 langchain-community==0.4.1
cat > "$folder/program.py" <<'PYTHON'
import asyncio
import importlib.metadata
import warnings

from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall
from ragas.metrics import ToolCallAccuracy

warnings.simplefilter("ignore")


def calls(cities, **more):
    return [ToolCall(name="weather", args={"city": city, **more}) for city in cities]


def score(predicted, strict_order=True):
    sample = MultiTurnSample(
        user_input=[HumanMessage(content="How is the weather?"), AIMessage(content="", tool_calls=predicted)],
        reference_tool_calls=calls("ABCD"),
    )
    metric = ToolCallAccuracy(strict_order=strict_order)
    return f"{asyncio.run(metric.multi_turn_ascore(sample)):.2f}"


print(
    f"ragas {importlib.metadata.version('ragas')}: all four calls {score(calls('ABCD'))}, three {score(calls('ABC'))},",
    f"five {score(calls('ABCDE'))}, superfluous arguments {score(calls('ABCD', when='now', unit='K'))};",
    f"the first is wrong, in order {score(calls('ZBCD'))}, in any order {score(calls('ZBCD'), False)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ragas 0.4.3: all four calls 1.00, three 0.00, five 0.00, superfluous arguments 1.00; the first is wron\
g, in order 0.75, in any order 0.00"
