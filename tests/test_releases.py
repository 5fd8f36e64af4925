"""What a release has to agree on, and what hosted machines and hooks run."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == VERSION
    heading = re.search(r"^## (\S+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert heading is not None
    assert heading[1] == VERSION.removesuffix(".dev0")
    assert (heading[2] == "unreleased") == VERSION.endswith(".dev0")
    assert ("date-released" in citation) == (not VERSION.endswith(".dev0"))


def test_hosted_machines_run_targets_that_exist() -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"].values()
    matrix = job["strategy"]["matrix"]
    assert set(matrix["target"]) <= TARGETS
    assert "test" in matrix["target"]
    lowest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert lowest in matrix["python"]


def test_hooks_need_no_network() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        for word in hook["entry"].split():
            assert not word.endswith(".py") or (ROOT / word).exists()
