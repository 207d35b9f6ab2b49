#!/usr/bin/env bash
# DeepEval scores a model that calls a tool twice, as expected, with .5: equal calls are one call that is used up.
#
# Guess before the run: a run whose tool calls are the expected ones has a tool correctness of 1, however often a tool
# is called.
# Seen: deepeval 4.3.1. Without an order, the default, each expected call looks for a call that is not used yet; used
# ones are kept in a set, and calls with the same name, arguments and output are equal there. Two calls as expected are
# 0.50, four are 0.25; two calls with different arguments are 1.00, and with `should_consider_ordering=True` or
# `should_exact_match=True`, which ask for more, 1.00 for the same ones. Retries and polls, which repeat a call, are
# scored as failures.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    deepeval==4.3.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"

from deepeval.metrics import ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, ToolCall


class NoModel(DeepEvalBaseLLM):
    """Stands where a model could be: without available tools the metric asks none."""

    def __init__(self):
        self.name = "none"

    def load_model(self):
        return self

    def generate(self, prompt, *arguments, **options):
        return ""

    async def a_generate(self, prompt, *arguments, **options):
        return ""

    def get_model_name(self):
        return self.name


def measure(jobs, **options):
    """Scores calls that are the expected ones."""
    called, expected = ([ToolCall(name="status", input_parameters={"job": job}) for job in jobs] for _ in range(2))
    case = LLMTestCase(input="Wait for the jobs.", actual_output="Done.", tools_called=called, expected_tools=expected)
    metric = ToolCorrectnessMetric(model=NoModel(), async_mode=False, **options)
    return f"{metric.measure(case, _show_indicator=False):.2f}"


print(
    f"deepeval {importlib.metadata.version('deepeval')}, calls as expected: jobs 1 and 2 {measure([1, 2])},",
    f"1 and 1 {measure([1, 1])}, 1 four times {measure([1] * 4)}; 1 and 1 in order",
    f"{measure([1, 1], should_consider_ordering=True)}, exact {measure([1, 1], should_exact_match=True)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepeval 4.3.1, calls as expected: jobs 1 and 2 1.00, 1 and 1 0.50, 1 four times 0.25; 1 and 1 in orde\
r 1.00, exact 1.00"
