"""The image's recipe: what can be known of it without a container engine."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "Dockerfile").read_text()
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
