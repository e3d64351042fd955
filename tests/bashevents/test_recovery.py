"""The end of a server: nothing of it runs on, and what it could not write down is written later."""

import pytest

from bashevents import recovery, runner
from bashevents.models import BashEvent
from tests.contract.kit import Bash, alive, read_pids, wait_gone
from tests.support.server import OwnServer
from tests.support.waiting import wait_until


@pytest.fixture
def server(tmp_path):
    server = OwnServer(tmp_path / "server").start()
    yield server
    server.stop()


@pytest.mark.slow
def test_a_killed_server_ends_its_commands_when_it_comes_back(server, tmp_path):
    pids = tmp_path / "pids"
    command = Bash(server.http).start(f"echo seen; sleep 60 & echo $$ $! > {pids}; wait")
    running = read_pids(pids, 2)
    wait_until(lambda: Bash(server.http).outputs(command["id"]), message="live output")

    server.restart("KILL")

    outputs = Bash(server.http).wait(command["id"])
    assert [output["order"] for output in outputs] == [0, 1]
    assert outputs[0]["stdout"] == "seen\n"
    assert (outputs[1]["exit_code"], outputs[1]["stdout"]) == (-1, None)
    wait_gone(*running, timeout=5)


@pytest.mark.slow
def test_a_server_that_stops_ends_what_ignores_sigterm_or_left_its_session(server, tmp_path):
    pids = tmp_path / "pids"
    loop = "while :; do sleep 0.1; done"
    Bash(server.http).start(f"trap '' TERM; setsid sleep 60 & echo $$ $! > {pids}; {loop}")
    running = read_pids(pids, 2)
    assert all(alive(pid) for pid in running)

    server.stop()

    wait_gone(*running, timeout=3)


@pytest.mark.django_db(transaction=True)
@pytest.mark.engines
@pytest.mark.parametrize(
    ("name", "deadline", "orphan"),
    [
        ("{host}:999999999:0", None, True),  # no such process
        ("{me}", None, True),  # ours, and we do not know of it
        ("{host}:1:{init}", None, False),  # another that lives
        ("elsewhere:1:0", 60, False),
        ("elsewhere:1:0", -60, True),
    ],
)
def test_only_commands_whose_server_is_gone_are_ended(make_command, name, deadline, orphan):
    import datetime
    import socket

    import psutil
    from django.utils import timezone

    name = name.format(host=socket.gethostname()[:64], me=runner.name(), init=psutil.Process(1).create_time())
    command = make_command(10, outputs=2, running=name)
    if deadline is not None:
        moment = timezone.now() + datetime.timedelta(seconds=deadline)
        BashEvent.objects.filter(id=command.id).update(deadline=moment)

    assert recovery.end_orphans() == int(orphan)
    assert recovery.end_orphans() == 0

    command.refresh_from_db()
    assert bool(command.finished_at) == orphan
    last = BashEvent.objects.outputs_of(command.event_id).order_by("-order").first()
    assert (last.order, last.exit_code) == ((2, -1) if orphan else (1, None))
