"""Bash commands outside the agent: ``/api/bash`` and ``/api/conversations/{id}/bash``.

A command is stored as a ``BashCommand`` event, what it prints as one or more ``BashOutput``
events; the last of these carries the exit code.
"""

import concurrent.futures
import datetime
import re
import sys
import time
import uuid

import pytest

from tests.contract.conftest import new_id, wait_until
from tests.contract.kit import MIB, Bash, alive, has_detail, read_pids, wait_gone

OUTPUT_KEYS = {"id", "timestamp", "kind", "command_id", "order", "exit_code", "stdout", "stderr"}
COMMAND_KEYS = {"id", "timestamp", "kind", "command", "cwd", "timeout"}
HEX_ID = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def bash(http):
    return Bash(http)


def moment(event):
    return datetime.datetime.fromisoformat(event["timestamp"])


def dashed(hex_id):
    return str(uuid.UUID(hex_id))


# --- execute ---------------------------------------------------------------------------------


def test_execute_answers_with_the_output_event(bash):
    output = bash.execute("echo out; echo err >&2; exit 3")
    assert set(output) == OUTPUT_KEYS
    assert output["kind"] == "BashOutput"
    assert (output["exit_code"], output["stdout"], output["stderr"]) == (3, "out\n", "err\n")
    assert output["order"] == 0
    assert HEX_ID.fullmatch(output["id"]) and HEX_ID.fullmatch(output["command_id"])
    assert moment(output).utcoffset() == datetime.timedelta(0)


def test_silent_streams_are_null_not_empty_strings(bash):
    output = bash.execute("true")
    assert (output["exit_code"], output["stdout"], output["stderr"]) == (0, None, None)


@pytest.mark.parametrize(
    "command, exit_code",
    [
        ("exit 0", 0),
        ("exit 42", 42),
        ("exit 255", 255),
        ("false", 1),
        ("no-such-command-here", 127),
        ("kill -9 $$", -9),
        ("kill -TERM $$", -15),
        ("", 0),
    ],
)
def test_execute_reports_the_exit_code(bash, command, exit_code):
    """A shell that died of a signal has minus the signal number, as Python's subprocess does."""
    assert bash.execute(command)["exit_code"] == exit_code


def test_an_unknown_command_is_explained_on_stderr(bash):
    assert "no-such-command-here" in bash.execute("no-such-command-here")["stderr"]


@pytest.mark.parametrize(
    "command, expected",
    [
        ("printf 'no newline'", "no newline"),
        ("printf 'a\\n\\nb\\n\\n'", "a\n\nb\n\n"),
        ("echo 'grüße 你好 🎉'", "grüße 你好 🎉\n"),
        ("printf 'one\\ntwo\\n' | sort -r | head -1", "two\n"),
        ("cat <<EOF\nline 1\nline 2\nEOF", "line 1\nline 2\n"),
        ("x=1; for i in a b; do echo $i$x; done", "a1\nb1\n"),
        ("printf '\\033[31mred\\033[0m'", "\x1b[31mred\x1b[0m"),
        ("printf 'a\\tb\\r\\n'", "a\tb\r\n"),
    ],
)
def test_execute_keeps_the_output_as_the_command_wrote_it(bash, command, expected):
    assert bash.execute(command)["stdout"] == expected


def test_execute_waits_for_the_end_of_the_command(bash, tmp_path):
    flag = tmp_path / "flag"
    output = bash.execute(f"sleep 0.7; touch {flag}; echo done")
    assert flag.exists() and output["stdout"] == "done\n"


def test_execute_runs_in_the_given_directory(bash, tmp_path):
    assert bash.execute("pwd", cwd=str(tmp_path))["stdout"].strip() == str(tmp_path)


def test_a_directory_that_does_not_exist_fails_the_command_not_the_request(bash, tmp_path):
    output = bash.execute("echo never", cwd=str(tmp_path / "missing"))
    assert output["exit_code"] == -1
    assert output["stdout"] is None and str(tmp_path / "missing") in output["stderr"]


def test_commands_share_no_state(bash):
    bash.execute("cd /; export LEAKED=yes; leaked() { :; }")
    assert bash.execute("echo ${LEAKED:-no}")["stdout"] == "no\n"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"command": None},
        {"command": 5},
        {"command": ["ls"]},
        {"command": "true", "timeout": "soon"},
        {"command": "true", "timeout": 1.5},
        {"command": "true", "cwd": 7},
    ],
)
@pytest.mark.parametrize("endpoint", ["execute_bash_command", "start_bash_command"])
def test_a_malformed_request_is_refused(bash, endpoint, body):
    has_detail(bash.post(endpoint, **body), 422)


def test_bytes_that_are_not_utf8_are_replaced_and_the_rest_kept(bash):
    stdout = bash.execute("printf 'ok \\377\\376 fine'")["stdout"]
    assert stdout.startswith("ok ") and stdout.endswith(" fine") and "\ufffd" in stdout


@pytest.mark.beyond
def test_a_character_cut_by_a_read_buffer_is_kept_whole(bash):
    """The reference decodes each 8 KiB read on its own and garbles what straddles two reads."""
    stdout = bash.execute(f"{sys.executable} -c \"print('x' + 'é€🎉' * 20000)\"")["stdout"]
    assert stdout == "x" + "é€🎉" * 20000 + "\n"


@pytest.mark.beyond
@pytest.mark.parametrize(
    "command, expected",
    [
        ("[[ abc == a* ]] && echo match", "match\n"),
        ("echo {1..3}", "1 2 3\n"),
        ("a=(x y z); echo ${#a[@]} ${a[1]}", "3 y\n"),
        ("set -o pipefail; false | true; echo $?", "1\n"),
    ],
)
def test_a_bash_command_is_run_by_bash(bash, command, expected):
    """The reference hands it to /bin/sh, which need not be bash."""
    assert bash.execute(command)["stdout"] == expected


def test_commands_know_that_an_agent_runs_them(bash):
    assert bash.execute("echo $AI_AGENT")["stdout"] == "openhands\n"


def test_commands_run_at_the_same_time(bash):
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda n: bash.execute(f"sleep 1; echo {n}"), range(8)))
    assert [output["stdout"] for output in outputs] == [f"{n}\n" for n in range(8)]
    assert time.monotonic() - began < 5
    assert len({output["command_id"] for output in outputs}) == 8


def test_the_server_answers_while_a_command_runs(bash, http):
    command = bash.start("sleep 3")
    began = time.monotonic()
    assert http.get("/health").status_code == 200
    assert time.monotonic() - began < 2 and not bash.finished(command["id"])
    bash.stop(command["id"])


# --- time limits -----------------------------------------------------------------------------


def test_a_timeout_ends_the_command_with_exit_code_minus_one(bash):
    began = time.monotonic()
    output = bash.execute("echo early; echo warn >&2; sleep 30; echo late", timeout=1)
    assert time.monotonic() - began < 8
    assert (output["exit_code"], output["stdout"], output["stderr"]) == (-1, "early\n", "warn\n")


def test_a_timeout_kills_the_whole_process_group(bash, tmp_path):
    pids = tmp_path / "pids"
    bash.execute(
        f"echo $$ > {pids}; sleep 60 & echo $! >> {pids}; sh -c 'echo $$ >> {pids}; sleep 60' & wait",
        timeout=2,
    )
    wait_gone(*read_pids(pids, 3))


def test_a_timeout_lets_the_command_clean_up_on_sigterm(bash, tmp_path):
    cleaned = tmp_path / "cleaned"
    output = bash.execute(f"trap 'touch {cleaned}; exit 0' TERM; sleep 60 & wait", timeout=1)
    assert cleaned.exists() and output["exit_code"] == -1


def test_a_timeout_kills_a_command_that_ignores_sigterm(bash, tmp_path):
    pids = tmp_path / "pids"
    began = time.monotonic()
    output = bash.execute(f"trap '' TERM; echo $$ > {pids}; while :; do sleep 0.2; done", timeout=1)
    assert output["exit_code"] == -1 and time.monotonic() - began < 8
    wait_gone(*read_pids(pids))


@pytest.mark.beyond
def test_a_timeout_kills_children_whose_shell_has_already_gone(bash, tmp_path):
    """The child holds the pipe open, so the command times out; the reference leaves it running."""
    pids = tmp_path / "pids"
    bash.execute(f"sleep 60 & echo $! > {pids}", timeout=1)
    wait_gone(*read_pids(pids), timeout=4)


@pytest.mark.beyond
def test_a_timeout_kills_a_child_that_outlives_sigterm(bash, tmp_path):
    """The shell dies of SIGTERM, its child ignores it; the reference stops at the shell."""
    pids = tmp_path / "pids"
    child = f"trap '' TERM; echo \\$\\$ > {pids}; while :; do sleep 0.2; done"
    bash.execute(f'sh -c "{child}" & wait', timeout=2)
    wait_gone(*read_pids(pids), timeout=5)


def test_the_limit_is_five_minutes_unless_given(bash):
    assert bash.start("true")["timeout"] == 300
    assert bash.start("true", timeout=7)["timeout"] == 7


# --- large output ----------------------------------------------------------------------------


def test_large_output_is_returned_whole_and_stored_in_ordered_chunks(bash):
    """2.5 MiB: execute joins it; the stored events hold at most 1 MiB each, numbered from 0."""
    size = 5 * MIB // 2
    script = f"import sys; sys.stdout.write(''.join(str(n % 10) for n in range({size})))"
    output = bash.execute(f'{sys.executable} -c "{script}"')
    expected = ("0123456789" * (size // 10 + 1))[:size]
    assert output["stdout"] == expected and output["exit_code"] == 0
    chunks = bash.outputs(output["command_id"])
    assert [chunk["order"] for chunk in chunks] == [0, 1, 2]
    assert all(0 < len(chunk["stdout"]) <= MIB for chunk in chunks)
    assert "".join(chunk["stdout"] for chunk in chunks) == expected
    assert [chunk["exit_code"] for chunk in chunks] == [None, None, 0]


def test_large_error_output_is_kept_apart_from_stdout(bash):
    output = bash.execute("head -c 1500000 /dev/zero | tr '\\0' e >&2; echo done")
    assert output["stderr"] == "e" * 1500000 and output["stdout"] == "done\n"


# --- start and stop --------------------------------------------------------------------------


def test_start_answers_at_once_with_the_command_event(bash, tmp_path):
    began = time.monotonic()
    command = bash.start("sleep 2; echo later", cwd=str(tmp_path), timeout=20)
    assert time.monotonic() - began < 1.5
    assert set(command) == COMMAND_KEYS and command["kind"] == "BashCommand"
    assert HEX_ID.fullmatch(command["id"])
    assert (command["command"], command["cwd"]) == ("sleep 2; echo later", str(tmp_path))
    assert bash.outputs(command["id"]) == []
    [output] = bash.wait(command["id"])
    assert (output["stdout"], output["exit_code"]) == ("later\n", 0)


def test_start_records_the_command_before_it_answers(bash):
    command = bash.start("true")
    assert bash.get(command["id"]).json() == command


def test_stop_ends_one_command_and_leaves_the_others(bash, tmp_path):
    pids = tmp_path / "pids"
    other = bash.start("sleep 2; echo other")
    command = bash.start(f"echo $$ > {pids}; echo begun; sleep 60 & echo $! >> {pids}; wait")
    running = read_pids(pids, 2)
    response = bash.stop(command["id"])
    assert response.status_code == 200 and response.json() == {"success": True}
    wait_gone(*running)
    outputs = bash.wait(command["id"], timeout=5)
    assert outputs[-1]["exit_code"] != 0 and outputs[0]["stdout"] == "begun\n"
    assert bash.wait(other["id"])[-1]["stdout"] == "other\n"


def test_stop_kills_a_command_that_ignores_sigterm(bash, tmp_path):
    pids = tmp_path / "pids"
    command = bash.start(f"trap '' TERM; echo $$ > {pids}; while :; do sleep 0.2; done")
    [pid] = read_pids(pids)
    assert bash.stop(command["id"]).status_code == 200
    wait_gone(pid, timeout=5)
    assert bash.wait(command["id"], timeout=5)[-1]["exit_code"] == -9


def test_stop_lets_the_command_clean_up_on_sigterm(bash, tmp_path):
    ready, cleaned = tmp_path / "ready", tmp_path / "cleaned"
    command = bash.start(f"trap 'touch {cleaned}; exit 5' TERM; touch {ready}; sleep 60 & wait")
    wait_until(ready.exists, message="trap set")
    bash.stop(command["id"])
    assert bash.wait(command["id"], timeout=5)[-1]["exit_code"] == 5 and cleaned.exists()


def test_stopping_a_finished_command_succeeds_and_changes_nothing(bash):
    output = bash.execute("echo done")
    for _ in range(2):
        assert bash.stop(output["command_id"]).json() == {"success": True}
    assert bash.outputs(output["command_id"]) == [output]


def test_stopping_an_unknown_command_is_not_found(bash):
    has_detail(bash.stop(new_id()), 404)


def test_stopping_a_malformed_id_is_refused(bash):
    has_detail(bash.stop("not-an-id"), 422)


# --- reading events back ---------------------------------------------------------------------


@pytest.fixture
def three(bash):
    """The outputs of three commands run one after the other."""
    return [bash.execute(f"echo {word}") for word in ("one", "two", "three")]


def test_search_finds_the_command_and_its_output(bash):
    output = bash.execute("echo findable")
    command = bash.get(output["command_id"]).json()
    assert command["command"] == "echo findable"
    found = bash.events(timestamp__gte=command["timestamp"])
    assert found == [command, output]


def test_search_answers_with_a_page(bash):
    page = bash.page(command_id__eq=new_id())
    assert page == {"items": [], "next_page_id": None}


@pytest.mark.parametrize("kind", ["BashCommand", "BashOutput"])
def test_search_by_kind(bash, three, kind):
    since = bash.get(three[0]["command_id"]).json()["timestamp"]
    found = bash.events(kind__eq=kind, timestamp__gte=since)
    assert len(found) == 3 and {event["kind"] for event in found} == {kind}


@pytest.mark.parametrize("spell", [str, dashed], ids=["hex", "dashed"])
def test_search_by_command_finds_its_outputs(bash, three, spell):
    assert bash.events(command_id__eq=spell(three[1]["command_id"])) == [three[1]]


def test_search_by_time_includes_the_start_and_excludes_the_end(bash, three):
    window = {"timestamp__gte": three[0]["timestamp"], "timestamp__lt": three[2]["timestamp"]}
    assert bash.events(kind__eq="BashOutput", **window) == three[:2]


def test_search_understands_other_time_zones(bash, three):
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    since = moment(three[1]).astimezone(zone).isoformat()
    assert bash.events(kind__eq="BashOutput", timestamp__gte=since) == three[1:]


def test_search_takes_a_time_without_zone_as_utc(bash, three):
    since = moment(three[2]).replace(tzinfo=None).isoformat()
    assert bash.events(kind__eq="BashOutput", timestamp__gte=since) == three[2:]


def test_search_sorts_oldest_first_and_on_demand_newest_first(bash, three):
    since = {"kind__eq": "BashOutput", "timestamp__gte": three[0]["timestamp"]}
    assert bash.events(**since) == three
    assert bash.events(**since, sort_order="TIMESTAMP") == three
    assert bash.events(**since, sort_order="TIMESTAMP_DESC") == three[::-1]


def test_search_after_an_order_returns_only_the_newer_output(bash):
    """What a client polling a running command asks for."""
    output = bash.execute(f"head -c {MIB * 2 + 10} /dev/zero | tr '\\0' z")
    command_id = output["command_id"]
    for order in (-1, 0, 1, 2):
        newer = bash.events(command_id__eq=command_id, order__gt=order)
        assert [event["order"] for event in newer] == list(range(order + 1, 3))


@pytest.mark.parametrize("sort_order", ["TIMESTAMP", "TIMESTAMP_DESC"])
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_cover_everything_once_and_in_order(bash, three, sort_order, limit):
    query = {"kind__eq": "BashOutput", "timestamp__gte": three[0]["timestamp"], "sort_order": sort_order}
    first = bash.page(**query, limit=limit)
    assert len(first["items"]) == min(limit, 3)
    assert bool(first["next_page_id"]) == (limit < 3), "no page after the last"
    expected = three if sort_order == "TIMESTAMP" else three[::-1]
    assert bash.events(**query, limit=limit) == expected


def test_a_page_holds_a_hundred_events_unless_told_otherwise(bash):
    since = bash.start("true")["timestamp"]
    for _ in range(60):
        bash.execute("true")
    page = bash.page(timestamp__gte=since)
    assert len(page["items"]) == 100 and page["next_page_id"]
    assert len(bash.page(timestamp__gte=since, limit=100)["items"]) == 100


@pytest.mark.parametrize(
    "query",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 101},
        {"limit": "many"},
        {"kind__eq": "Nonsense"},
        {"command_id__eq": "nonsense"},
        {"order__gt": "first"},
        {"timestamp__gte": "yesterday"},
        {"timestamp__lt": "x"},
        {"sort_order": "RANDOM"},
    ],
)
def test_search_refuses_a_bad_filter(bash, query):
    response = bash.http.get(f"{bash.prefix}/bash_events/search", params=query)
    has_detail(response, 422)


def test_get_returns_any_event_by_id(bash):
    output = bash.execute("echo one")
    assert bash.get(output["id"]).json() == output
    assert bash.get(output["command_id"]).json()["kind"] == "BashCommand"


@pytest.mark.parametrize("event_id", ["0" * 32, "nonsense", "*", "%2A", "BashCommand_"])
def test_get_of_an_unknown_event_is_not_found(bash, three, event_id):
    has_detail(bash.get(event_id), 404)


@pytest.mark.beyond
def test_get_accepts_the_id_with_dashes(bash, three):
    """Every other endpoint takes both spellings of a UUID; the reference compares strings here."""
    assert bash.get(dashed(three[0]["id"])).json() == three[0]


def test_batch_get_keeps_the_order_asked_for_and_puts_null_for_missing_ones(bash, three):
    """The ids go in the body of a GET, as the reference has it."""
    ids = [three[2]["id"], "0" * 32, three[0]["id"], three[0]["id"]]
    response = bash.http.request("GET", f"{bash.prefix}/bash_events/", json=ids)
    assert response.status_code == 200, response.text
    assert response.json() == [three[2], None, three[0], three[0]]


def test_batch_get_of_nothing_is_an_empty_list(bash):
    response = bash.http.request("GET", f"{bash.prefix}/bash_events/", json=[])
    assert (response.status_code, response.json()) == (200, [])


@pytest.mark.beyond
def test_batch_get_accepts_ids_in_the_query(bash, three):
    """A GET with a body does not survive proxies and browsers; event batches use the query."""
    response = bash.http.get(f"{bash.prefix}/bash_events/", params={"event_ids": [three[1]["id"], "0" * 32]})
    assert (response.status_code, response.json()) == (200, [three[1], None])


def test_delete_clears_every_event_and_says_how_many(bash):
    bash.http.delete(f"{bash.prefix}/bash_events")
    three = [bash.execute(f"echo {word}") for word in ("one", "two", "three")]
    response = bash.http.delete(f"{bash.prefix}/bash_events")
    assert (response.status_code, response.json()) == (200, {"cleared_count": 6})
    assert bash.page() == {"items": [], "next_page_id": None}
    has_detail(bash.get(three[0]["id"]), 404)
    assert bash.http.delete(f"{bash.prefix}/bash_events").json() == {"cleared_count": 0}
    assert bash.execute("echo again")["stdout"] == "again\n"


# --- the bash of one conversation ------------------------------------------------------------


@pytest.fixture
def conversation_bash(http, start):
    return Bash(http, f"{start().path}/bash")


def test_a_conversation_runs_commands_in_its_workspace(conversation_bash, workspace):
    (workspace / "inner").mkdir()
    assert conversation_bash.execute("pwd")["stdout"].strip() == str(workspace)
    inner = conversation_bash.execute("pwd", cwd=str(workspace / "inner"))
    assert inner["stdout"].strip() == str(workspace / "inner")
    assert conversation_bash.start("true")["cwd"] == str(workspace)


def test_a_conversation_runs_no_command_outside_its_workspace(conversation_bash, workspace):
    for cwd in (workspace.parent, workspace / "..", "/"):
        has_detail(conversation_bash.post("execute_bash_command", command="true", cwd=str(cwd)), 422)
    assert conversation_bash.events() == []


def test_a_conversation_keeps_its_own_bash_events(bash, conversation_bash):
    mine = conversation_bash.execute("echo mine")
    assert conversation_bash.events(kind__eq="BashOutput") == [mine]
    has_detail(bash.get(mine["id"]), 404)
    theirs = bash.execute("echo theirs")
    has_detail(conversation_bash.get(theirs["id"]), 404)
    cleared = conversation_bash.http.delete(f"{conversation_bash.prefix}/bash_events")
    assert cleared.json() == {"cleared_count": 2}
    assert bash.get(theirs["id"]).status_code == 200


def test_a_conversation_stops_its_command(conversation_bash):
    command = conversation_bash.start("sleep 60")
    assert conversation_bash.stop(command["id"]).json() == {"success": True}
    assert conversation_bash.wait(command["id"], timeout=5)[-1]["exit_code"] != 0


@pytest.mark.parametrize("conversation_id, status", [("0" * 32, 404), ("nonsense", 422)])
def test_the_bash_of_an_unknown_conversation(http, conversation_id, status):
    unknown = Bash(http, f"/api/conversations/{conversation_id}/bash")
    has_detail(unknown.post("execute_bash_command", command="true"), status)
    has_detail(unknown.http.get(f"{unknown.prefix}/bash_events/search"), status)


# --- private servers -------------------------------------------------------------------------


def test_commands_do_not_see_the_keys_of_the_server(secured_server):
    environment = Bash(secured_server.http).execute("env")["stdout"]
    assert "PATH=" in environment
    for name, value in secured_server.options.items():
        assert f"{name}=" not in environment and value not in environment, name


@pytest.mark.beyond
def test_a_command_does_not_wait_for_the_stdin_of_the_server(secured_server):
    """The reference lets commands inherit it: ``cat`` hangs when it is an open pipe."""
    output = Bash(secured_server.http).execute("cat; echo end", timeout=3)
    assert (output["exit_code"], output["stdout"]) == (0, "end\n")


@pytest.mark.slow
def test_events_survive_a_restart_and_retention_removes_the_old_ones(own_server):
    """OH_BASH_EVENTS_RETENTION_SECONDS is in force from the first moment of a new run."""
    server = own_server()
    old = Bash(server.http).execute("echo old")
    server.stop()
    bash = Bash(server.start().http)
    assert bash.get(old["id"]).json() == old, "kept for ever without the option"
    assert bash.get(old["command_id"]).json()["command"] == "echo old"
    server.stop()
    time.sleep(1)
    bash = Bash(server.start(OH_BASH_EVENTS_RETENTION_SECONDS="2").http)
    wait_until(lambda: bash.get(old["id"]).status_code == 404, 5, message="old output pruned")
    has_detail(bash.get(old["command_id"]), 404)
    young = bash.execute("echo young")
    time.sleep(0.5)
    assert bash.events() == [bash.get(young["command_id"]).json(), young]


@pytest.mark.beyond
@pytest.mark.slow
def test_retention_prunes_while_the_server_runs_but_never_a_running_command(own_server):
    """The reference looks at most once a minute, and prunes the event of a running command."""
    bash = Bash(own_server(OH_BASH_EVENTS_RETENTION_SECONDS="2").http)
    running = bash.start("sleep 12; echo late")
    finished = bash.execute("echo early")
    wait_until(lambda: bash.get(finished["id"]).status_code == 404, 9, message="pruning")
    assert not bash.finished(running["id"])
    assert bash.get(running["id"]).json() == running
    [output] = bash.wait(running["id"])
    assert output["stdout"] == "late\n"


@pytest.mark.beyond
@pytest.mark.slow
def test_a_shutdown_ends_the_running_commands(own_server, tmp_path):
    """The reference leaves them running with nobody to stop them."""
    server, pids = own_server(), tmp_path / "pids"
    Bash(server.http).start(f"echo $$ > {pids}; sleep 60 & echo $! >> {pids}; wait")
    running = read_pids(pids, 2)
    assert all(alive(pid) for pid in running)
    server.stop()
    wait_gone(*running, timeout=3)
