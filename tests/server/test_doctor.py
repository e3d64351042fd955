"""`agentserver doctor` finds what is broken, says what to do, and shows no secret."""

import shutil

import pytest

from agentserver import conf
from agentserver.observability import doctor

SECRETS = {
    "OH_SESSION_API_KEYS_0": "canary-session-key-long",
    "OH_SECRET_KEY": "canary-secret-key",
    "OH_METRICS_TOKEN": "canary-metrics-token",
    "SENTRY_DSN": "http://canarydsn@127.0.0.1:9/1",
    "OH_OTEL_HEADERS": '{"Authorization": "Bearer canary-otel"}',
}


def test_a_well_installation_is_0_and_every_part_has_a_line(run):
    ended = run("doctor", **SECRETS)

    assert ended.returncode == 0, ended.stdout + ended.stderr
    for part in (
        "settings",
        "data",
        "keys",
        "secret key",
        "database",
        "agent SDK",
        "git",
        "tmux",
        "open files",
    ):
        assert f"ok   {part} " in ended.stdout
    assert "canary" not in ended.stdout + ended.stderr


def test_what_is_away_is_1_with_sentences_and_without_passwords(run):
    ended = run(
        "doctor",
        DATABASE_URL="postgres://user:canary-password@127.0.0.1:1/name",
        REDIS_URL="redis://:canary-password@127.0.0.1:1/0",
        OH_SESION_API_KEYS_0="canary-misspelt",
    )

    assert ended.returncode == 1
    for part, setting in (("database", "DATABASE_URL"), ("Redis", "REDIS_URL")):
        line = next(line for line in ended.stdout.splitlines() if line.startswith(f"bad  {part}"))
        assert setting in line
    assert "OH_SESION_API_KEYS_0: no setting of this server" in ended.stdout
    assert "Set OH_SESSION_API_KEYS_0." in ended.stdout
    assert "Traceback" not in ended.stderr
    assert "canary" not in ended.stdout + ended.stderr


def test_a_data_directory_that_cannot_be_used_is_said_before_all(run, tmp_path):
    (tmp_path / "file").write_text("")

    ended = run("doctor", OH_PERSISTENCE_DIR=str(tmp_path / "file" / "data"))

    assert ended.returncode == 1
    assert "OH_PERSISTENCE_DIR" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.fixture
def found(monkeypatch):
    """Callable: the first finding of a check, under these settings."""

    def _found(check, **settings):
        for name, value in settings.items():
            monkeypatch.setattr(conf.current(), name, value)
        return next(check())

    return _found


def test_a_short_session_key_is_worth_a_thought(found):
    assert found(doctor.access, session_api_keys=["short"]).level == "note"
    assert found(doctor.access, session_api_keys=["long-enough-to-keep"]).level == "ok"


def test_a_secret_key_that_others_may_read_is_broken(found):
    kept = conf.current().persistence_dir / "secret_key"
    assert found(doctor.secret_key).level == "ok"
    kept.chmod(0o644)
    try:
        finding = found(doctor.secret_key)
    finally:
        kept.chmod(0o600)

    assert finding.level == "bad"
    assert f"chmod 600 {kept}" in finding.says


@pytest.mark.parametrize(("free", "level"), [(0, "bad"), (100 * 1024**2, "note"), (10**10, "ok")])
def test_little_space_is_told(found, monkeypatch, free, level):
    monkeypatch.setattr("agentserver.observability.disk.free_bytes", lambda: free)
    assert found(doctor.data).level == level


def test_programs_that_are_missing_are_told_with_what_to_do(found, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert found(doctor.git).level == "bad"
    assert "apt-get install tmux" in found(doctor.tmux).says


@pytest.mark.django_db
def test_secrets_that_no_key_opens_are_told(found, monkeypatch):
    from agentserver import sdk
    from agentserver.configuration.models import Secret

    Secret.objects.create(name="one", value=sdk.encrypt("text"))
    assert found(doctor.secrets_at_rest).level == "ok"
    Secret.objects.create(name="two", value="gAAAAAnothing-that-opens")

    finding = found(doctor.secrets_at_rest)

    assert finding.level == "bad"
    assert finding.says.startswith("1 of 2")
    assert "OH_PREVIOUS_SECRET_KEYS_0" in finding.says


def test_a_package_that_a_setting_asks_for_has_to_be_there(found, monkeypatch):
    monkeypatch.setattr(doctor, "_installed", lambda module: False)
    finding = found(doctor.extras, otel_endpoint="http://127.0.0.1:4318")
    assert finding.level == "bad"
    assert "uv sync --extra otel" in finding.says


def test_nobody_is_let_in_unknowingly(found):
    assert "this machine only" in found(doctor.access).says
    assert "whoever reaches" in found(doctor.access, insecure=True).says
