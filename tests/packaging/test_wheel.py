"""The built package, installed into an environment of its own, is all that a stranger needs."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.server import NOT_INHERITED

ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")


def _run(*command, seconds, **environment):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=environment.pop("cwd", ROOT),
        env={**inherited, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, which uv builds out of the sdist it has built before: so this tests both."""
    target = tmp_path_factory.mktemp("dist")
    _run(UV, "build", "--quiet", "--out-dir", target, seconds=120)
    (sdist,) = target.glob("*.tar.gz")
    assert sdist.stat().st_size
    (wheel,) = target.glob("*.whl")
    return wheel


def test_the_wheel_holds_every_file_of_the_packages(wheel):
    tracked = subprocess.run(
        ["git", "ls-files", "agentserver", "conversations", "bashevents"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    packed = set(zipfile.ZipFile(wheel).namelist())

    assert [name for name in tracked if name not in packed] == []
    assert not any(name.startswith(("tests/", "docs/", "examples/")) for name in packed)


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_the_installed_command_shows_the_demo_and_looks_after_itself(wheel, tmp_path):
    pins, environment = tmp_path / "pins.txt", tmp_path / "environment"
    _run(
        UV,
        "export",
        "--quiet",
        "--locked",
        "--no-dev",
        "--no-hashes",
        "--no-emit-project",
        "-o",
        pins,
        seconds=60,
    )
    _run(UV, "venv", "--quiet", "--python", sys.executable, environment, seconds=60)
    python = environment / "bin" / "python"
    _run(UV, "pip", "install", "--quiet", "--python", python, "-c", pins, wheel, seconds=200)
    command, home = environment / "bin" / "agentserver", {"HOME": str(tmp_path / "home"), "cwd": tmp_path}

    shown = _run(command, "demo", seconds=200, **home)
    told = _run(command, "doctor", seconds=60, **home)
    _run(command, "migrate", "-v", "0", seconds=60, **home)
    pruned = _run(command, "prune", "--older-than", "7d", seconds=60, **home)

    assert "All of it happened." in shown
    assert "SQLite" in told
    assert str(tmp_path / "home") in told
    assert pruned == "0 bash events deleted.\n"
