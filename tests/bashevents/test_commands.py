"""Commands: exact results, clean ends, nothing left behind, whatever happens meanwhile."""

import concurrent.futures
import sys
import threading
import time

import pytest

from tests.contract.kit import alive, read_pids, wait_gone
from tests.support.waiting import wait_until


def test_a_command_returns_when_its_shell_exits_and_not_when_the_pipe_closes(bash):
    began = time.monotonic()
    output = bash.execute("sleep 60 & echo done", timeout=30)

    assert (output["stdout"], output["exit_code"]) == ("done\n", 0)
    assert time.monotonic() - began < 2
    assert bash.stop(output["command_id"]).json() == {"success": True}


def test_stopping_a_finished_command_ends_what_it_left_in_the_background(bash, tmp_path):
    pids = tmp_path / "pids"
    output = bash.execute(f"sleep 60 & echo $! > {pids}", timeout=30)
    [pid] = read_pids(pids)
    assert alive(pid)

    bash.stop(output["command_id"])

    wait_gone(pid, timeout=4)


def test_what_a_shell_does_not_wait_for_may_still_finish_its_line(bash):
    assert bash.execute("echo text > >(sleep 0.02; cat)")["stdout"] == "text\n"


@pytest.mark.parametrize("command", ["cat", "read x; echo $?", f"{sys.executable} -c 'input()'"])
def test_stdin_is_at_its_end(bash, command):
    assert bash.execute(command, timeout=10)["exit_code"] != -1


def test_a_server_that_is_put_aside_with_its_output_lives_on(bash, tmp_path):
    pids = tmp_path / "pids"
    bash.execute(f"sleep 60 > /dev/null 2>&1 & echo $! > {pids}", timeout=1)
    [pid] = read_pids(pids)
    bash.execute("sleep 1.5")
    assert alive(pid)

    bash.execute(f"kill {pid}")
    wait_gone(pid)


def test_a_timeout_finds_processes_that_made_a_session_of_their_own(bash, tmp_path):
    pids = tmp_path / "pids"
    stray = f"setsid sh -c 'trap \"\" TERM; echo $$ >> {pids}; while :; do sleep 0.2; done' &"

    output = bash.execute(f"{stray} {stray} wait", timeout=2)

    assert output["exit_code"] == -1
    wait_gone(*read_pids(pids, 2), timeout=5)


def test_a_trap_runs_once(bash, tmp_path):
    ran = tmp_path / "ran"
    bash.execute(f"trap 'echo x >> {ran}' TERM; sleep 60 & wait; wait; sleep 0.3", timeout=1)

    assert ran.read_text() == "x\n"


def test_a_stop_that_races_the_start_is_not_lost(bash):
    for _ in range(20):
        command = bash.start("sleep 30")
        assert bash.stop(command["id"]).json() == {"success": True}
        assert bash.wait(command["id"], timeout=5)[-1]["exit_code"] != 0


def test_many_short_commands_all_end_with_their_own_result(bash):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        outputs = list(pool.map(lambda n: bash.execute(f"echo {n}"), range(100)))

    assert [output["stdout"] for output in outputs] == [f"{n}\n" for n in range(100)]


def test_execute_returns_what_it_has_whatever_is_deleted_meanwhile(bash):
    ended = threading.Event()

    def clear():
        while not ended.wait(0.005):
            assert bash.http.delete(f"{bash.prefix}/bash_events").status_code == 200

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        clearing = pool.submit(clear)
        try:
            outputs = list(pool.map(lambda n: bash.execute(f"echo {n}"), range(40)))
        finally:
            ended.set()
        clearing.result()

    assert [(output["stdout"], output["exit_code"]) for output in outputs] == [
        (f"{n}\n", 0) for n in range(40)
    ]


def test_output_is_there_while_the_command_runs(bash):
    command = bash.start("echo first; sleep 30")
    began = time.monotonic()

    [chunk] = wait_until(lambda: bash.outputs(command["id"]), timeout=5, interval=0.01)

    assert (chunk["stdout"], chunk["exit_code"], chunk["order"]) == ("first\n", None, 0)
    assert time.monotonic() - began < 2
    bash.stop(command["id"])


def test_large_output_is_complete_in_the_answer_and_in_the_table(bash):
    size = 12_000_000
    output = bash.execute(f"head -c {size} /dev/zero | tr '\\0' a; echo end >&2")

    assert (len(output["stdout"]), output["stderr"], output["exit_code"]) == (size, "end\n", 0)
    chunks = bash.outputs(output["command_id"])
    assert [chunk["order"] for chunk in chunks] == list(range(len(chunks)))
    assert sum(len(chunk["stdout"] or "") for chunk in chunks) == size
    bash.http.delete(f"{bash.prefix}/bash_events")


def test_a_stopped_flood_ends_and_keeps_what_it_wrote(bash):
    command = bash.start("yes")
    wait_until(lambda: bash.outputs(command["id"]), timeout=10)
    bash.stop(command["id"])

    bash.wait(command["id"])
    bash.http.delete(f"{bash.prefix}/bash_events")


@pytest.mark.parametrize("command", ["printf '\\377\\000\\376'", "printf '\\360\\237'", "echo -e 'a\\0b'"])
def test_any_bytes_can_be_stored_and_read_back(bash, command):
    output = bash.execute(command)

    assert bash.outputs(output["command_id"]) == [output]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"command": "true", "timeout": 99999999999999999999999}', 422),
        (b'{"command": "true", "timeout": 0}', 200),
        (b'{"command": "a\\u0000b"}', 200),
        (b'{"command": "true", "cwd": "a\\u0000b"}', 200),
        (b'{"command": "' + b"x" * 300_000 + b'"}', 200),
        (b"[]", 422),
        (b"null", 422),
        (b"{", 422),
    ],
)
def test_what_cannot_be_run_is_refused_or_recorded_and_never_500(bash, body, status):
    response = bash.http.post(
        f"{bash.prefix}/execute_bash_command", content=body, headers={"Content-Type": "application/json"}
    )

    assert response.status_code == status, response.text
    if status == 200:
        assert response.json()["exit_code"] == -1
        assert bash.get(response.json()["id"]).json() == response.json()


def test_half_a_surrogate_pair_is_refused_or_can_be_read_back(bash):
    response = bash.http.post(
        f"{bash.prefix}/execute_bash_command",
        content=rb'{"command": "echo \ud800"}',
        headers={"Content-Type": "application/json"},
    )

    assert response.status_code in (200, 422), response.text
    if response.status_code == 200:
        assert bash.get(response.json()["command_id"]).status_code == 200
