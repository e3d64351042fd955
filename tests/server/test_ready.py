"""`/ready` asks every part, tells states and times, and is 503 with a sentence when one is missing."""

import httpx
import pytest

from agentserver.observability import health

PARTS = ["runner", "database", "migrations", "channel_layer", "disk"]


def test_the_parts_are_told_when_asked_for(agent_server):
    body = httpx.get(f"{agent_server.url}/ready", params={"verbose": "true"}).json()

    assert body["status"] == "ready"
    assert [part["name"] for part in body["parts"]][: len(PARTS)] == PARTS
    assert all(part["ok"] and 0 <= part["milliseconds"] < 60_000 for part in body["parts"])


def test_a_verbose_that_is_no_boolean_is_refused(agent_server):
    assert httpx.get(f"{agent_server.url}/ready", params={"verbose": "perhaps"}).status_code == 422


@pytest.fixture
def asked(rf, monkeypatch):
    """Callable: the answer of the view while these checks are all there are."""
    from agentserver.views import ReadyView

    def _asked(**checks):
        monkeypatch.setattr(health, "_checks", checks)
        return ReadyView.as_view()(rf.get("/ready"))

    return _asked


def well():
    return "ok"


def unwell():
    raise health.Unwell("The disk is full. Free some space.")


def broken():
    raise ConnectionError("canary-password@host")


def test_one_part_that_is_missing_makes_it_503_and_says_what_to_do(asked):
    answer = asked(runner=well, disk=unwell)

    assert answer.status_code == 503
    assert answer.data["status"] == "unavailable"
    assert answer.data["message"] == "The disk is full. Free some space."
    assert [(part["name"], part["ok"]) for part in answer.data["parts"]] == [
        ("runner", True),
        ("disk", False),
    ]


def test_a_check_that_fails_is_told_without_its_text(asked):
    answer = asked(database=broken)

    assert answer.status_code == 503
    assert "ConnectionError" in answer.data["message"]
    assert "canary" not in str(answer.data)


def test_a_server_that_starts_says_what_it_waits_for(asked):
    def starting():
        raise health.Unwell("Waiting for: agent SDK")

    answer = asked(runner=starting, database=well)

    assert answer.data["status"] == "initializing"
    assert answer.data["message"] == "Waiting for: agent SDK"


@pytest.mark.parametrize(
    ("free", "ok", "state"), [(0, False, "unavailable"), (100 * 1024**2, True, "low"), (10**10, True, "ok")]
)
def test_space_is_a_part(monkeypatch, free, ok, state):
    monkeypatch.setattr("agentserver.observability.disk.free_bytes", lambda: free)
    part = health._asked("disk", health._disk)
    assert (part.ok, part.state) == (ok, state)
