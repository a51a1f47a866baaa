"""The documentation keeps up with the code."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import apiserver.flags
import controllers.__main__
import controllers.scheduler.__main__
import kubelet_sim.__main__
import kubelet_sim.metrics.__main__
from kubeloop.cli.main import app
from tests.architecture.source import ROOT
from tests.e2e.clients.table import PAGE, TOOLS, marked_tests, with_table

CLI = (ROOT / "docs" / "cli.md").read_text()
PARSERS = {
    "apiserver": apiserver.flags.parser(),
    "controllers": controllers.__main__._parser(),
    "controllers.scheduler": controllers.scheduler.__main__._parser(),
    "kubelet_sim": kubelet_sim.__main__._parser(),
    "kubelet_sim.metrics": kubelet_sim.metrics.__main__._parser(),
}


def _command_flags() -> Iterator[tuple[str, str]]:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        for parameter in command.params:
            for flag in (*parameter.opts, *parameter.secondary_opts):
                yield f"kubeloop {name}", flag


def _process_flags() -> Iterator[tuple[str, str]]:
    for name, parser in PARSERS.items():
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction):
                for flag in action.option_strings:
                    yield f"python -m {name}", flag


FLAGS = sorted({*_command_flags(), *_process_flags()})


@pytest.mark.parametrize(("command", "flag"), FLAGS)
def test_every_flag_is_documented(command: str, flag: str) -> None:
    """docs/cli.md has the command and the flag."""
    assert command in CLI
    assert re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", CLI)


def test_no_flag_is_documented_that_does_not_exist() -> None:
    """What was removed from a command is removed from the page."""
    documented = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", CLI)) - {"--flag"}

    assert set() == documented - {flag for _, flag in FLAGS}


def test_every_environment_variable_is_documented() -> None:
    """KUBELOOP_… of each flag stands beside it."""
    group = typer.main.get_command(app)
    commands = group.commands.values()
    variables = {str(parameter.envvar) for command in commands for parameter in command.params if parameter.envvar}

    assert set() == variables - set(re.findall(r"KUBELOOP_[A-Z_]+", CLI))


def test_every_dependency_has_its_reason() -> None:
    """docs/dependencies.md names each package of pyproject.toml and of the tests' tools, and no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(package for extra in optional.values() for package in extra)]
    wanted += [line for line in TOOLS.read_text().splitlines() if not line.startswith("#")]
    packages = {re.split(r"[>=;\[ ]", package)[0].lower() for package in wanted} - {"kubeloop"}

    rows = re.findall(r"^\| ([\w., -]+?) \|", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.MULTILINE)
    documented = {name.lower() for row in rows for name in row.split(", ")} - {"package", "---"}

    assert packages == documented


PAGES = [page for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for page in sorted(ROOT.glob(pattern))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    """A link to a file of this project, and a path in the tour, leads to one."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())

    assert [] == [link for link in links if not (page.parent / link).exists()]


def test_the_tour_of_the_readme_leads_through_folders_that_exist() -> None:
    """Each path in the section on how it is built is there."""
    section = (ROOT / "README.md").read_text().partition("## How it is built")[2].partition("\n## ")[0]
    paths = re.findall(r"`([a-z_]+/[\w/.]*)`", section)

    assert len(paths) > 8
    assert [] == [path for path in paths if not (ROOT / path).exists()]


def test_the_table_of_clients_is_what_the_tests_show() -> None:
    """`python -m tests.e2e.clients.table` would change nothing."""
    page = PAGE.read_text()

    assert page == with_table(page)


def test_every_test_of_a_client_says_what_it_shows() -> None:
    """By its mark, and every client of the table is shown by one."""
    assert [] == [test.name for test in marked_tests() if not test.client]
