"""The image's recipe: what can be known of it without a container engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server import NOT_INHERITED

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "Dockerfile").read_text()
UV = Path(shutil.which("uv") or ROOT / ".uv" / "bin" / "uv")
HADOLINT = Path(sys.executable).with_name("hadolint")


def test_the_linter_of_recipes_has_nothing_to_say():
    found = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)

    assert (found.returncode, found.stdout) == (0, "")


def test_the_health_check_passes_on_a_server_that_is_ready_and_fails_where_none_is(agent_server):
    _, *words = json.loads(re.search(r"HEALTHCHECK .*?CMD (\[.*?\])$", RECIPE, re.M | re.S)[1])

    def healthy(url):
        there = [word.replace("http://127.0.0.1:8000", url) for word in words]
        return subprocess.run([sys.executable, *there], capture_output=True, timeout=30).returncode == 0

    assert healthy(agent_server.url)
    assert not healthy("http://127.0.0.1:1")


def test_the_server_in_the_image_is_not_root_and_serves_only_with_a_key(tmp_path):
    last_user = re.findall(r"^USER (\S+)$", RECIPE, re.M)[-1]
    program, *arguments = json.loads(re.search(r"^CMD (\[.*\])$", RECIPE, re.M)[1])
    refused = subprocess.run(
        [sys.executable, "-m", "agentserver", *arguments, "--data", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": str(tmp_path)},
    )

    assert program == "agentserver"
    assert last_user not in ("root", "0")
    assert refused.returncode == 1
    assert "OH_SESSION_API_KEYS_0" in refused.stderr


def test_the_bake_file_builds_three_variants_for_two_architectures_from_this_recipe():
    bake = (ROOT / "docker-bake.hcl").read_text()
    variants = re.findall(r'name = "(\w+)", base = "([\w.:-]+)"', bake)

    assert [name for name, _ in variants] == ["python", "java", "golang"]
    assert f"ARG BASE_IMAGE={variants[0][1]}\n" in RECIPE
    assert 'platforms  = ["linux/amd64", "linux/arm64"]' in bake


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_steps_of_the_recipe_make_a_server_out_of_what_it_is_sent(tmp_path):
    """The build stage as a shell takes it, in a directory that holds only what a builder is sent.

    Not what needs an image: the base, its packages, its user.
    """
    source, installed = tmp_path / "src", tmp_path / "installed"
    _send(source)
    steps = re.findall(r"^RUN (uv sync .*)$", RECIPE, re.M)
    # The tests' Python stands for the one that uv would fetch.
    script = "\n".join(
        step.replace("--managed-python --python 3.13", f"--python {sys.executable}") for step in steps
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OH_") and k not in NOT_INHERITED}
    environment = {
        **kept,
        "UV_PROJECT_ENVIRONMENT": str(installed),
        "PATH": f"{UV.parent}:{os.environ['PATH']}",
    }
    built = subprocess.run(
        ["bash", "-euc", script], cwd=source, env=environment, capture_output=True, text=True, timeout=400
    )
    assert built.returncode == 0, built.stderr
    shutil.rmtree(source)  # nothing of it may be needed

    command = [installed / "bin" / "agentserver", "migrate", "--data", tmp_path / "data"]
    told = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=180)

    assert len(steps) == 2
    assert told.returncode == 0, told.stdout + told.stderr
    assert "Applying conversations.0001_initial... OK" in told.stdout


def _send(target):
    """Copy what .dockerignore lets through: it ignores all, then names what is wanted."""
    first, *rest = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")
    ]
    assert first == "*"
    target.mkdir()
    for name in (line[1:] for line in rest if line.startswith("!")):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target)
