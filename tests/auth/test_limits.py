"""One user cannot take all: sockets and runs are counted for each."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.db import connection, transaction

from agentserver.auth import limits
from agentserver.auth.doors import OPERATOR, Principal
from agentserver.errors import TooMany
from conversations import quota
from conversations.models import Status
from tests.support.server import MANAGE

ANN, BOB = Principal(operator=False, user_id=1), Principal(operator=False, user_id=2)


def test_sockets_of_a_user_are_bounded_and_given_back(configure):
    configure(max_sockets_per_user=2)
    sockets = limits.Sockets()
    assert [sockets.take(ANN) for _ in range(3)] == [True, True, False]
    assert sockets.take(BOB)

    sockets.give_back(ANN)
    assert sockets.take(ANN)


def test_operators_are_not_counted(configure):
    configure(max_sockets_per_user=1)
    sockets = limits.Sockets()
    assert all(sockets.take(OPERATOR) for _ in range(10))
    assert all(sockets.take(Principal(operator=True, user_id=3)) for _ in range(10))


def test_who_left_is_not_remembered():
    sockets = limits.Sockets()
    sockets.take(ANN)
    sockets.give_back(ANN)
    assert not sockets._open


@pytest.mark.django_db(transaction=True)
def test_runs_of_a_user_are_bounded(configure, make_user, make_conversation):
    configure(max_runs_per_user=2)
    ann, sue = make_user("ann"), make_user("sue", staff=True)
    for owner in (ann, ann, sue, sue, sue, None, None, None):
        make_conversation(owner=owner, status=Status.RUNNING)

    with pytest.raises(TooMany):
        quota.look(ann.pk)
    quota.admit(ann.pk)  # the second of two
    for owner in (sue.pk, None):
        quota.look(owner)
        quota.admit(owner)


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_runs_begun_at_the_same_time_are_not_more_than_a_user_may_have(
    configure, make_user, make_conversation
):
    configure(max_runs_per_user=3)
    ann, together = make_user("ann"), threading.Barrier(8)

    def begin(_):
        together.wait(10)
        try:
            with transaction.atomic():
                make_conversation(owner=ann, status=Status.RUNNING)
                quota.admit(ann.pk)
        except TooMany:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(begin, range(8)))

    assert sum(begun) == 3


def test_a_user_who_asks_for_many_runs_at_once_gets_as_many_as_they_may(own_server, llm_url, tmp_path):
    server = own_server(OH_SESSION_API_KEYS_0="a-session-key", OH_MAX_RUNS_PER_USER="2").wait_ready()
    steps = {"steps": [{"tool": "finish", "args": {"message": "done"}, "delay": 60}]}
    body = {
        "agent": {"llm": {"model": "openai/fake-model", "base_url": f"{llm_url}/v1", "api_key": "sk-x"}},
        "workspace": {"working_dir": str(tmp_path)},
        "autotitle": False,
        "initial_message": {"content": [{"type": "text", "text": f"PLAN {json.dumps(steps)}"}]},
    }
    ann = httpx.Client(
        base_url=server.url, headers={"X-Session-API-Key": token_of("ann", server)}, timeout=60
    )

    with ann, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ann.post("/api/conversations", json=body), range(8)))
        assert sorted(answer.status_code for answer in answers) == [201] * 2 + [429] * 6
        assert ann.get("/api/conversations/count").json() == 2, "a refused one leaves nothing"
        (idle,) = [ann.post("/api/conversations", json={**body, "initial_message": None}).json()["id"]]
        assert ann.post(f"/api/conversations/{idle}/run").status_code == 429


def token_of(name, server):
    """A token of a new account, made as a person makes one."""
    manage = [sys.executable, str(MANAGE)]
    environment = {**server.environment(), "DJANGO_SUPERUSER_PASSWORD": "correct horse"}
    code = f"from django.contrib.auth.models import User; User.objects.create_user({name!r})"
    for command in (["shell", "-v", "0", "-c", code], ["create_token", name, "--name", "test"]):
        done = subprocess.run(
            [*manage, *command], env=environment, capture_output=True, text=True, check=True
        )
    return done.stdout.split()[-1]
