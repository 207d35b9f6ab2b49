"""What contributors and their tools are told is true: commands, versions, workflows."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest
import yaml

import bert_tf
from tests.page_commands import PROJECT, blocks, commands


def _agent_commands() -> list[list[str]]:
    listed: list[list[str]] = []
    for _, content in blocks("AGENTS.md"):
        listed += commands(content)
    return listed


@pytest.mark.parametrize("words", _agent_commands(), ids=shlex.join)
def test_commands_for_agents_work(words):
    if words[0] == "make":
        subprocess.run([*words, "--dry-run"], cwd=PROJECT, check=True, capture_output=True)
    elif words[0] == "python":
        arguments = [word for word in words[2:] if not word.startswith("--help")]
        assert len(arguments) < len(words[2:]) and (PROJECT / words[1]).exists()
    else:
        assert words[:2] == [".venv/bin/python", "-m"], words
        module, *arguments = words[2:]
        # Rewriting files or running tests is no part of this test: is the program there?
        checks = {"ruff": ["--check"], "pytest": ["--collect-only"]}
        if module in checks:
            command = [sys.executable, "-m", module, *arguments, *checks[module]]
            subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
        else:
            assert (PROJECT / f"{module.replace('.', '/')}.py").exists()


def test_instructions_for_agents_are_short():
    assert len((PROJECT / "AGENTS.md").read_text("utf-8").splitlines()) <= 60


def test_version_and_date_of_the_release_agree():
    released = re.search(
        r"^## (\d\S*), (\S+)$", (PROJECT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], str(citation["date-released"])) == released.groups()
    assert bert_tf.__version__ == released[1]


def test_the_tag_of_the_version_is_of_this_release():
    """A tag of today's version exists only on commits whose changelog has nothing unreleased."""
    done = subprocess.run(
        ["git", "tag", "--points-at", "HEAD"], cwd=PROJECT, capture_output=True, text=True
    )
    if not done.stdout.strip():
        pytest.skip("this commit has no tag")
    assert f"v{bert_tf.__version__}" in done.stdout.split()
    assert "## Not released yet" not in (PROJECT / "CHANGELOG.md").read_text("utf-8")


def test_workflows_call_make_and_pinned_actions_only():
    targets = set(re.findall(r"^(\w+):", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE))
    workflows = list((PROJECT / ".github/workflows").iterdir())
    assert workflows
    for path in workflows:
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            rows = job["strategy"]["matrix"]["include"]
            assert {row["target"].split()[0] for row in rows} <= targets
            for step in job["steps"]:
                if "uses" in step:
                    assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])
                else:
                    assert step["run"].startswith("make ${{ matrix.target }} PYTHON=")


def test_the_suite_runs_on_every_python_that_is_promised():
    """Classifiers, the Makefile, the workflow and CI name the same versions."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    promised = set()
    for classifier in project["classifiers"]:
        promised.update(re.findall(r"Python :: (3\.\d+)", classifier))
    workflow = yaml.safe_load((PROJECT / ".github/workflows/test.yml").read_text("utf-8"))
    rows = workflow["jobs"]["suite"]["strategy"]["matrix"]["include"]
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    assert {row["python"] for row in rows if row["target"] == "test"} == promised
    assert set(re.search(r"^PYTHONS := (.*)", makefile, re.MULTILINE)[1].split()) == promised
    ci = (PROJECT / ".ci/run").read_text("utf-8")
    assert set(re.search(r"versions=\((.*)\)", ci)[1].split()) == promised


def test_ruff_of_pre_commit_is_that_of_the_environment():
    (repository,) = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())["repos"]
    groups = tomllib.loads((PROJECT / "pyproject.toml").read_text())["dependency-groups"]
    assert f"ruff=={repository['rev'].removeprefix('v')}" in groups["dev"]
