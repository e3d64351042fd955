"""The command `agentserver`: its own short names, and every command of Django behind them."""

from importlib import metadata

import pytest
from django.core.management import get_commands

from agentserver import cli


def test_without_a_command_it_says_which_there_are(capsys):
    cli.main(["agentserver"])

    said = capsys.readouterr().out
    assert [name for name in cli.COMMANDS if f"\n  {name} " not in said] == []
    assert [name for name in cli.DJANGO if name not in said] == []


def test_every_command_it_tells_of_is_there():
    behind = {name for name, _ in cli.COMMANDS.values()} | set(cli.DJANGO)

    assert behind - set(get_commands()) == {"demo", "help"}  # its own, and Django's command line's


def test_it_knows_its_version(capsys):
    cli.main(["agentserver", "--version"])

    assert capsys.readouterr().out == f"{metadata.version('agentserver')}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["agentserver", "prune_bash_events", "--data", "directory", "--older-than", "7d"],
        ["agentserver", "prune_bash_events", "--older-than", "7d", "--data=directory"],
    ],
)
def test_the_data_directory_is_no_option_that_django_would_refuse(words, monkeypatch):
    ran = []
    monkeypatch.setattr("django.core.management.execute_from_command_line", ran.append)
    monkeypatch.setenv("OH_PERSISTENCE_DIR", "before")

    cli.run(words)

    assert ran == [["agentserver", "prune_bash_events", "--older-than", "7d"]]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_short_name_means_the_command_behind_it(name, monkeypatch):
    ran = []
    monkeypatch.setattr(cli, "run", ran.append)
    monkeypatch.setattr("sys.argv", ["agentserver"])

    cli.main(["agentserver", name, "--help"])

    assert ran == [["agentserver", cli.COMMANDS[name][0], "--help"]]
