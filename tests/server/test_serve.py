"""The command line: what it refuses, and that it says what to do."""

import socket

import pytest


def test_listening_beyond_this_machine_needs_a_key(run):
    ended = run("serve", "--host", "0.0.0.0", "--port", "1")

    assert ended.returncode == 1
    assert "OH_SESSION_API_KEYS_0" in ended.stderr
    assert "--insecure" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_empty_key_is_no_key(run):
    ended = run("serve", "--host", "0.0.0.0", "--port", "1", OH_SESSION_API_KEYS_0="")
    assert "OH_SESSION_API_KEYS_0" in ended.stderr


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("DATABASE_URL", "nonsense", "DATABASE_URL"),
        ("OH_MAX_CONCURRENT_RUNS", "zero", "max_concurrent_runs"),
        ("OH_ALLOW_CORS_ORIGIN_REGEX", "(", "OH_ALLOW_CORS_ORIGIN_REGEX"),
    ],
)
def test_a_setting_that_cannot_be_used_ends_the_start_with_a_sentence(run, setting, value, said):
    ended = run("serve", "--port", "0", **{setting: value})

    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken_ends_the_start_with_an_error(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("serve", "--port", str(taken.getsockname()[1]))

    assert ended.returncode == 1
    assert "address already in use" in ended.stderr


def test_documented_production_settings_pass_the_deployment_check(run):
    ended = run(
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        "--tag",
        "security",
        OH_SESSION_API_KEYS_0="a-session-key",
        OH_SECRET_KEY="a-secret-key",
        OH_WEB_URL="https://agents.example.com",
    )
    assert ended.returncode == 0, ended.stderr
