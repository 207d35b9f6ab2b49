import os
import stat
import subprocess
import sys
import zipfile

import pytest

from bert_tf.evaluation.glue_submission import write_submission_file


@pytest.fixture
def run(project):
    def call(*arguments: str, cwd=None) -> subprocess.CompletedProcess:
        command = [sys.executable, str(project / "make_glue_submission.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd)

    return call


@pytest.mark.parametrize("fill, members", [((), 2), (("--fill_missing",), 11)])
def test_zip(run, tmp_path, fill, members):
    (tmp_path / "run").mkdir()
    write_submission_file(
        str(tmp_path / "run" / "RTE.tsv"), range(3000), ["entailment"] * 3000, regression=False
    )
    output = tmp_path / "new" / "glue.zip"
    result = run(f"--input_dir={tmp_path}/run", f"--output_file={output}", *fill)
    assert result.returncode == 0 and not result.stderr
    assert "RTE.tsv           3,000  entailment: 3000 " in result.stdout
    assert "WNLI.tsv            146  0: 146 " in result.stdout
    assert ("missing: CoLA.tsv, SST-2.tsv" in result.stdout) == (not fill)
    with zipfile.ZipFile(output) as archive:
        assert len(archive.namelist()) == members


def test_devices_and_names_of_any_bytes(run, tmp_path):
    folder = tmp_path / "w\udcff"
    folder.mkdir()
    write_submission_file(
        str(folder / "RTE.tsv"), range(3000), ["entailment"] * 3000, regression=False
    )
    for output in ("a.zip", "/dev/null"):
        result = run("--input_dir=.", f"--output_file={output}", cwd=folder)
        assert (result.returncode, result.stderr) == (0, "")
    assert sorted(os.listdir(folder)) == ["RTE.tsv", "a.zip"] and stat.S_ISCHR(
        os.stat("/dev/null").st_mode
    )
