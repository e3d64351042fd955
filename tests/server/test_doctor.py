"""`agentserver doctor` finds what is missing and says what to do."""

import pytest
from django.core.management import call_command

from agentserver import conf
from agentserver.observability import doctor

pytestmark = pytest.mark.django_db


@pytest.fixture
def found(monkeypatch):
    """Callable: what the doctor says of each part, with these settings."""

    def _found(**settings):
        monkeypatch.setattr(conf, "current", lambda: conf.read().model_copy(update=settings))
        return {finding.part: finding for finding in doctor.findings()}

    return _found


def test_an_installation_that_lacks_nothing_is_called_so(found, tmp_path):
    parts = found(persistence_dir=tmp_path, session_api_keys=["one"])

    assert {parts[name].level for name in ("data", "database", "agent SDK", "keys")} == {"ok"}
    assert str(tmp_path) in parts["data"].says


def test_a_data_directory_that_cannot_be_written_is_named_with_what_to_do(found, tmp_path):
    (tmp_path / "file").touch()

    data = found(persistence_dir=tmp_path / "file")["data"]

    assert data.level == "bad"
    assert "--data" in data.says


def test_a_redis_that_is_not_there_ends_the_command_with_code_1(monkeypatch, tmp_path, capsys):
    settings = {"persistence_dir": tmp_path, "redis_url": "redis://:password@127.0.0.1:1"}
    monkeypatch.setattr(conf, "current", lambda: conf.read().model_copy(update=settings))

    with pytest.raises(SystemExit) as ended:
        call_command("doctor")

    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "bad  Redis" in said
    assert "REDIS_URL" in said
    assert "password" not in said


def test_nobody_is_let_in_unknowingly(found, tmp_path):
    assert "this machine only" in found(persistence_dir=tmp_path)["keys"].says
    assert "whoever reaches it" in found(persistence_dir=tmp_path, insecure=True)["keys"].says
