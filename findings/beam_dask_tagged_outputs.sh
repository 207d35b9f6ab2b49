#!/usr/bin/env bash
# A Beam pipeline with three outputs writes one of them on Dask, with the elements of all three, and ends well.
#
# Guess before the run: every runner of Beam gives a tagged output the elements of its tag, and
# writes what every branch of the pipeline writes, or refuses what it can't do.
# Seen: Apache Beam 2.77.0 on Dask 2026.8.0. FnApiRunner: main 101 102 103, even 2, odd 1 3.
# DaskRunner: no file of main and none of even; odd holds 1 101 102 103 2 3; the pipeline's state is
# DONE. It computes the last transform only, and does not separate tags.
# The pipelines of this project have neither tagged outputs nor branches that nothing later depends on
# (data_gen/beam/pipelines.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apache-beam==2.77.0 dask==2026.8.0 \
    distributed==2026.8.0
cat > "$folder/program.py" <<'PYTHON'
import glob
import sys
import tempfile

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import create_runner


class Split(beam.DoFn):
    def process(self, number):
        yield number + 100
        yield beam.pvalue.TaggedOutput("odd" if number % 2 else "even", number)


if __name__ == "__main__":
    folder = tempfile.mkdtemp()
    names = ("main", "even", "odd")
    pipeline = beam.Pipeline(create_runner(sys.argv[1]), PipelineOptions([]))
    outputs = pipeline | beam.Create([1, 2, 3]) | beam.ParDo(Split()).with_outputs("even", "odd", main="main")
    for name in names:
        lines = outputs[name] | f"lines of {name}" >> beam.Map(str)
        lines | f"write {name}" >> beam.io.WriteToText(f"{folder}/{name}", num_shards=1)
    result = pipeline.run()
    result.wait_until_finish()
    words = [result.state]
    for name in names:
        found = glob.glob(f"{folder}/{name}*")
        words += [f"{name}:", *(sorted(open(found[0]).read().split()) if found else ["no file"])]
    print(" ".join(words))
PYTHON
seen() { "$folder/venv/bin/python" "$folder/program.py" "$1" 2>/dev/null | tail -1; }
local_runner=$(seen apache_beam.runners.portability.fn_api_runner.FnApiRunner)
dask_runner=$(seen apache_beam.runners.dask.dask_runner.DaskRunner)
echo "FnApiRunner: $local_runner"
echo "DaskRunner: $dask_runner"
test "$local_runner" = "DONE main: 101 102 103 even: 2 odd: 1 3"
test "$dask_runner" = "DONE main: no file even: no file odd: 1 101 102 103 2 3"
