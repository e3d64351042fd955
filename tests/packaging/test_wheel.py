"""The built package, installed into an environment of its own, is all that a stranger needs."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
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
def built(tmp_path_factory):
    """The directory of sdist and wheel, which uv builds out of the sdist."""
    target = tmp_path_factory.mktemp("dist")
    build, _ = [block.text for block in blocks_of("docs/how-to/install.md", "bash")]
    assert build == "uv build\n"
    _run(UV, "build", "--quiet", "--out-dir", target, seconds=120)
    return target


def test_the_wheel_holds_every_file_of_the_packages(built):
    (wheel,) = built.glob("*.whl")
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
@pytest.mark.timeout(600)
def test_what_the_page_on_installing_says_gives_the_command_and_its_demo(built, tmp_path):
    """In an empty directory and home, by the page's own words; with the versions of uv.lock.

    uv installs in pip's place, as it has the packages at hand: pip would fetch each of them anew.
    """
    _, install = [block.text for block in blocks_of("docs/how-to/install.md", "bash")]
    pins = tmp_path / "pins.txt"
    _run(
        UV, "export", "-q", "--locked", "--no-dev", "--no-hashes", "--no-emit-project", "-o", pins, seconds=60
    )
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "dist").symlink_to(built)
    there = {
        "HOME": str(stranger),
        "cwd": stranger,
        "UV_CONSTRAINT": str(pins),
        "UV_CACHE_DIR": _run(UV, "cache", "dir", seconds=30).strip(),
    }
    python = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # `python3` is new enough

    pip = "agentserver/bin/pip install"
    assert pip in install
    install = install.replace(pip, f"{UV} pip install --quiet --python agentserver/bin/python")
    told = _run("bash", "-euc", install, seconds=500, **there, **python)

    assert "All of it happened." in told
    assert f"data       {stranger}/" in told
    command = stranger / "agentserver" / "bin" / "agentserver"
    _run(command, "migrate", "-v", "0", seconds=60, **there)
    assert _run(command, "prune", "--older-than", "7d", seconds=60, **there) == "0 bash events deleted.\n"

    (sdist,) = built.glob("*.tar.gz")
    again = [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--reinstall",
        "--python",
        command.with_name("python"),
        sdist,
    ]
    _run(UV, *again, seconds=120, **there)
    assert "agent SDK" in _run(command, "doctor", seconds=60, **there)
