"""What the server offers: models, tools, skills, hooks, plugins, sub-agents, MCP, editors, /v1.

No test needs the internet: where a catalogue comes from there, only its shape is looked at.
"""

import json
import time

import httpx
import pytest
from websockets.exceptions import InvalidHandshake
from websockets.sync.client import connect as ws_connect

from tests.contract.conftest import plan
from tests.contract.kit import Bash, has_detail, mcp_server, read_pids, unique, wait_gone, write

# --- language models -------------------------------------------------------------------------


def test_the_known_models_are_a_sorted_list_without_duplicates(http):
    models = http.get("/api/llm/models").json()["models"]
    assert len(models) > 50 and models == sorted(set(models))


def test_models_can_be_filtered_by_provider(http):
    everything = http.get("/api/llm/models").json()["models"]
    anthropic = http.get("/api/llm/models", params={"provider": "anthropic"}).json()["models"]
    assert anthropic and set(anthropic) < set(everything)
    assert any("claude" in model for model in anthropic)
    assert not any("gpt" in model for model in anthropic)
    nobody = http.get("/api/llm/models", params={"provider": "nobody-at-all"})
    assert (nobody.status_code, nobody.json()) == (200, {"models": []})


def test_the_providers_are_a_sorted_list(http):
    providers = http.get("/api/llm/providers").json()["providers"]
    assert {"openai", "anthropic", "ollama"} <= set(providers)
    assert providers == sorted(set(providers))


def test_the_verified_models_are_grouped_by_provider(http):
    models = http.get("/api/llm/models/verified").json()["models"]
    assert {"openhands", "openai", "anthropic"} <= set(models)
    assert all(names and all(isinstance(name, str) for name in names) for names in models.values())


def test_nobody_is_signed_in_to_a_subscription(secured_server):
    http, base = secured_server.http, "/api/llm/subscription/openai"
    answer = http.get(f"{base}/status").json()
    assert (answer["vendor"], answer["connected"]) == ("openai", False)
    assert http.post(f"{base}/logout").json()["connected"] is False
    has_detail(http.post(f"{base}/device/poll", json={"device_code": "unknown"}), 404)
    models = http.get(f"{base}/models").json()
    assert models["vendor"] == "openai" and models["models"] == sorted(models["models"])


# --- tools -----------------------------------------------------------------------------------


def test_the_tools_are_listed_by_the_names_an_agent_uses(http):
    response = http.get("/api/tools/")
    assert response.status_code == 200
    assert {"terminal", "file_editor", "task_tracker"} <= set(response.json())
    assert len(response.json()) == len(set(response.json()))


def test_the_tool_catalogue_tells_what_can_be_chosen_and_used(http):
    tools = {tool["name"]: tool for tool in http.get("/api/tools/catalog").json()["tools"]}
    for tool in tools.values():
        assert set(tool) == {"name", "user_selectable", "usable", "description", "in_default_set"}
    for name in ("terminal", "file_editor", "task_tracker"):
        assert tools[name]["user_selectable"] and tools[name]["usable"], name
        assert tools[name]["in_default_set"] and tools[name]["description"], name


def test_the_usable_tools_are_part_of_the_server_info(http):
    usable = set(http.get("/server_info").json()["usable_tools"])
    assert {"terminal", "file_editor"} <= usable <= set(http.get("/api/tools/").json())


# --- skills ----------------------------------------------------------------------------------

ONLY_PROJECT = {"load_public": False, "load_user": False, "load_org": False}
NOTHING = {**ONLY_PROJECT, "load_project": False}
ONLY_USER = {**NOTHING, "load_user": True}


def skills(http, **body):
    response = http.post("/api/skills", json=body)
    assert response.status_code == 200, response.text
    return {skill["name"]: skill for skill in response.json()["skills"]}


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    write(root / "AGENTS.md", "Be kind.\n")
    write(root / ".openhands" / "skills" / "always.md", "Always here.\n")
    write(
        root / ".openhands" / "skills" / "zebra.md",
        "---\nname: zebra\ntriggers:\n- stripes\n- horse\n---\nAbout zebras.\n",
    )
    write(
        root / ".agents" / "skills" / "pdf-tools" / "SKILL.md",
        "---\nname: pdf-tools\ndescription: Work with PDFs\n---\nHow to.\n",
    )
    return root


def test_the_skills_of_a_project_come_from_its_folders(http, project):
    found = skills(http, **ONLY_PROJECT, project_dir=str(project))
    assert set(found) == {"agents", "always", "zebra", "pdf-tools"}
    for skill in found.values():
        assert {
            "name",
            "type",
            "content",
            "triggers",
            "source",
            "description",
            "is_agentskills_format",
        } <= set(skill)
        assert skill["source"].startswith(str(project))
    assert (found["zebra"]["type"], found["zebra"]["triggers"]) == ("knowledge", ["stripes", "horse"])
    assert (found["always"]["type"], found["always"]["triggers"]) == ("repo", [])
    assert found["zebra"]["content"].strip() == "About zebras."
    assert found["agents"]["content"].strip() == "Be kind."
    assert found["pdf-tools"]["type"] == "agentskills"
    assert found["pdf-tools"]["description"] == "Work with PDFs"
    assert found["pdf-tools"]["is_agentskills_format"] is True


def test_the_sources_of_the_skills_are_counted(http, project):
    answer = http.post("/api/skills", json={**ONLY_PROJECT, "project_dir": str(project)}).json()
    assert answer["sources"]["project"] == 4
    assert sum(answer["sources"].values()) == len(answer["skills"])


def test_skills_that_are_not_asked_for_are_not_loaded(http, project):
    assert skills(http, **NOTHING, project_dir=str(project)) == {}
    assert skills(http, **ONLY_PROJECT) == {}
    assert skills(http, **ONLY_PROJECT, project_dir=str(project / "missing")) == {}


def test_a_broken_skill_does_not_hide_the_others(http, project):
    write(project / ".openhands" / "skills" / "broken.md", "---\nname: [unclosed\n---\nx\n")
    found = skills(http, **ONLY_PROJECT, project_dir=str(project))
    assert {"always", "zebra", "pdf-tools"} <= set(found)


def test_the_exposed_urls_of_a_sandbox_become_a_skill(http):
    urls = [
        {"name": "WORKER_1", "url": "http://worker.example", "port": 8011},
        {"name": "VSCODE", "url": "http://code.example", "port": 8001},
    ]
    found = skills(http, **NOTHING, sandbox_config={"exposed_urls": urls})
    assert list(found) == ["work_hosts"]
    assert "http://worker.example" in found["work_hosts"]["content"]
    assert "8011" in found["work_hosts"]["content"]
    assert "code.example" not in found["work_hosts"]["content"]


def test_public_skills_out_of_reach_are_an_answer_not_an_error(http):
    """Offline the lists are empty; the server answers soon either way."""
    began = time.monotonic()
    assert isinstance(skills(http, **{**NOTHING, "load_public": True}), dict)
    sync = http.post("/api/skills/sync")
    assert sync.status_code == 200 and sync.json()["status"] in ("success", "error")
    assert isinstance(sync.json()["message"], str)
    for path, key in (
        ("/api/skills/marketplace", "skills"),
        ("/api/skills/catalog", "skills"),
        ("/api/plugins/marketplace", "plugins"),
    ):
        response = http.get(path)
        assert response.status_code == 200 and isinstance(response.json()[key], list), path
    assert time.monotonic() - began < 60


@pytest.fixture
def installable(tmp_path, http):
    """A skill folder with a name of its own, uninstalled when the test ends."""
    name = unique("skill")
    write(
        tmp_path / "src" / name / "SKILL.md", f"---\nname: {name}\ndescription: first version\n---\nFirst.\n"
    )
    yield tmp_path / "src" / name
    http.delete(f"/api/skills/installed/{name}")


def test_a_skill_can_be_installed_from_a_folder(http, installable):
    name, source = installable.name, str(installable)
    response = http.post("/api/skills/install", json={"source": source})
    assert response.status_code == 200, response.text
    installed = response.json()
    assert set(installed) == {
        "name",
        "version",
        "description",
        "enabled",
        "source",
        "resolved_ref",
        "repo_path",
        "installed_at",
        "install_path",
    }
    assert (installed["name"], installed["source"], installed["enabled"]) == (name, source, True)
    assert http.get(f"/api/skills/installed/{name}").json() == installed
    assert installed in http.get("/api/skills/installed").json()["skills"]
    assert skills(http, **ONLY_USER)[name]["content"].strip() == "First."
    has_detail(http.post("/api/skills/install", json={"source": source}), 409)
    forced = http.post("/api/skills/install", json={"source": source, "force": True})
    assert forced.status_code == 200


def test_an_installed_skill_can_be_switched_off_refreshed_and_removed(http, installable):
    url = f"/api/skills/installed/{installable.name}"
    http.post("/api/skills/install", json={"source": str(installable)})
    response = http.patch(url, json={"enabled": False})
    assert (response.status_code, response.json()) == (200, {"name": installable.name, "enabled": False})
    assert http.get(url).json()["enabled"] is False
    assert installable.name not in skills(http, **ONLY_USER)
    http.patch(url, json={"enabled": True})
    assert installable.name in skills(http, **ONLY_USER)
    write(
        installable / "SKILL.md",
        f"---\nname: {installable.name}\ndescription: second version\n---\nSecond.\n",
    )
    refreshed = http.post(f"{url}/refresh")
    assert refreshed.status_code == 200
    assert refreshed.json()["skill"]["description"] == "second version"
    assert skills(http, **ONLY_USER)[installable.name]["content"].strip() == "Second."
    assert http.delete(url).status_code == 200
    for response in (
        http.delete(url),
        http.get(url),
        http.patch(url, json={"enabled": True}),
        http.post(f"{url}/refresh"),
    ):
        has_detail(response, 404)
    assert installable.name not in skills(http, **ONLY_USER)


def test_a_failed_refresh_keeps_the_installed_skill(http, installable):
    url = f"/api/skills/installed/{installable.name}"
    http.post("/api/skills/install", json={"source": str(installable)})
    installable.rename(installable.parent / "moved")
    has_detail(http.post(f"{url}/refresh"), 400)
    assert http.get(url).status_code == 200
    assert skills(http, **ONLY_USER)[installable.name]["content"].strip() == "First."


def test_what_is_no_skill_cannot_be_installed(http, tmp_path):
    (tmp_path / "empty").mkdir()
    for source, status in ((str(tmp_path / "missing"), 400), (str(tmp_path / "empty"), 422), ("", 422)):
        has_detail(http.post("/api/skills/install", json={"source": source}), status)
    has_detail(http.get("/api/skills/installed/Not_A_Skill_Name"), 422)


# --- hooks -----------------------------------------------------------------------------------


def hooks(http, **body):
    response = http.post("/api/hooks", json=body)
    assert response.status_code == 200 and set(response.json()) == {"hook_config"}
    return response.json()["hook_config"]


def test_the_hooks_of_a_project_are_read_from_its_file(http, tmp_path):
    hook = {"type": "command", "command": "echo before", "timeout": 5}
    write(
        tmp_path / ".openhands" / "hooks.json",
        json.dumps({"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [hook]}]}}),
    )
    config = hooks(http, project_dir=str(tmp_path))
    [matcher] = config["pre_tool_use"]
    assert matcher["matcher"] == "terminal" and len(matcher["hooks"]) == 1
    assert {key: matcher["hooks"][0][key] for key in hook} == hook
    for name in ("post_tool_use", "user_prompt_submit", "session_start", "session_end", "stop"):
        assert config[name] == []


@pytest.mark.parametrize("content", [None, "{}", "{not json", '{"hooks": {"Nonsense": 5}}'])
def test_a_project_without_usable_hooks_has_none(http, tmp_path, content):
    if content is not None:
        write(tmp_path / ".openhands" / "hooks.json", content)
    assert hooks(http, project_dir=str(tmp_path)) is None
    assert hooks(http) is None


# --- MCP servers -----------------------------------------------------------------------------


@pytest.fixture
def mcp_test(http):
    def _mcp_test(server, **options):
        return http.post("/api/mcp/test", json={"server": server, **options})

    return _mcp_test


def test_an_mcp_server_that_works_lists_its_tools_and_is_stopped(mcp_test, tmp_path):
    server = mcp_server(tmp_path, "--pid-file", str(tmp_path / "pid"))
    response = mcp_test(server)
    assert (response.status_code, response.json()) == (200, {"ok": True, "tools": ["add", "getenv", "fail"]})
    wait_gone(*read_pids(tmp_path / "pid"))


@pytest.mark.parametrize(
    "call, expected",
    [
        ({"name": "add", "arguments": {"a": 2, "b": 3}}, {"is_error": False, "text": "5"}),
        ({"name": "getenv", "arguments": {"name": "GIVEN"}}, {"is_error": False, "text": "by test"}),
        ({"name": "fail"}, {"is_error": True, "text": "this tool always fails"}),
    ],
)
def test_an_mcp_test_can_call_a_tool(mcp_test, tmp_path, call, expected):
    server = {**mcp_server(tmp_path), "env": {"GIVEN": "by test"}}
    answer = mcp_test(server, tool_call=call).json()
    assert answer["ok"] is True and answer["tool_result"] == expected


def test_calling_a_tool_the_server_does_not_have_is_an_error_of_the_call(mcp_test, tmp_path):
    answer = mcp_test(mcp_server(tmp_path), tool_call={"name": "missing"}).json()
    assert answer["ok"] is True and answer["tool_result"]["is_error"] is True


def test_a_server_without_type_is_recognised_by_its_command(mcp_test, tmp_path):
    server = mcp_server(tmp_path)
    del server["type"]
    assert mcp_test(server).json()["ok"] is True


@pytest.mark.parametrize(
    "server, kinds",
    [
        ({"type": "stdio", "command": "/no/such/command"}, {"connection"}),
        ({"type": "stdio", "command": "false"}, {"connection", "unknown"}),
        ({"type": "http", "url": "http://127.0.0.1:9/mcp"}, {"connection"}),
        ({"type": "sse", "url": "http://127.0.0.1:9/sse"}, {"connection"}),
    ],
)
def test_an_mcp_server_that_fails_is_an_answer_not_an_error(mcp_test, server, kinds):
    response = mcp_test(server, timeout=8)
    assert response.status_code == 200
    assert set(response.json()) == {"ok", "error", "error_kind"}
    assert response.json()["ok"] is False and response.json()["error"]
    assert response.json()["error_kind"] in kinds


def test_an_mcp_server_that_never_answers_times_out_and_is_killed(mcp_test, tmp_path):
    began = time.monotonic()
    script = f"echo $$ > {tmp_path}/pid; exec sleep 60"
    answer = mcp_test({"type": "stdio", "command": "sh", "args": ["-c", script]}, timeout=1).json()
    assert (answer["ok"], answer["error_kind"]) == (False, "timeout")
    assert time.monotonic() - began < 12
    wait_gone(*read_pids(tmp_path / "pid"))


@pytest.mark.parametrize(
    "body",
    [
        {"server": {"type": "telepathy"}},
        {"server": {"type": "stdio", "command": ""}},
        {"server": {"type": "http"}},
        {},
        {"server": {"type": "stdio", "command": "x"}, "timeout": 0},
        {"server": {"type": "stdio", "command": "x"}, "timeout": 121},
        {"server": {"type": "stdio", "command": "x"}, "name": ""},
        {"server": {"type": "stdio", "command": "x"}, "tool_call": {"name": ""}},
    ],
)
def test_a_malformed_mcp_test_is_refused(http, body):
    has_detail(http.post("/api/mcp/test", json=body), 422)


def test_signing_in_to_an_mcp_server_needs_one_that_asks_for_it(http):
    server = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    has_detail(http.post("/api/mcp/oauth/start", json={"server": server}), 400)
    has_detail(http.get("/api/mcp/oauth/status/unknown"), 404)
    has_detail(
        http.post("/api/mcp/oauth/callback/unknown", json={"callback_url": "http://localhost/callback"}), 404
    )


# --- sub-agents ------------------------------------------------------------------------------


def sub_agents(http, **body):
    response = http.post("/api/sub-agents", json=body)
    assert response.status_code == 200, response.text
    return {agent["name"]: agent for agent in response.json()["agents"]}


def test_the_sub_agents_of_a_project_come_from_its_files(http, tmp_path):
    path = write(
        tmp_path / ".agents" / "agents" / "reviewer.md",
        "---\nname: reviewer\ndescription: Reviews code\ntools:\n- terminal\n---\nYou review.\n",
    )
    body = {"load_user": False, "load_builtin": False, "project_dir": str(tmp_path)}
    [agent] = sub_agents(http, **body).values()
    assert (agent["name"], agent["description"], agent["tools"]) == ("reviewer", "Reviews code", ["terminal"])
    assert agent["system_prompt"].strip() == "You review." and agent["model"] == "inherit"
    assert (agent["level"], agent["source"], agent["is_builtin"]) == ("project", str(path), False)
    assert sub_agents(http, **{**body, "load_project": False}) == {}


def test_there_are_sub_agents_built_in(http, tmp_path):
    builtin = sub_agents(http, load_user=False, load_project=False)
    assert "general-purpose" in builtin
    for agent in builtin.values():
        assert agent["is_builtin"] and agent["level"] == "builtin"
        assert agent["description"] and agent["system_prompt"]
    write(
        tmp_path / ".agents" / "agents" / "mine.md",
        "---\nname: general-purpose\ndescription: Mine\n---\nMine.\n",
    )
    merged = sub_agents(http, load_user=False, project_dir=str(tmp_path))
    assert merged["general-purpose"]["description"] == "Mine", "the project wins"
    assert set(merged) == set(builtin)


# --- plugins ---------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path, http):
    name = unique("plugin")
    root = tmp_path / "plugins" / name
    write(
        root / ".plugin" / "plugin.json",
        json.dumps({"name": name, "version": "1.2.3", "description": "A plugin"}),
    )
    write(root / "skills" / "hello" / "SKILL.md", "---\nname: hello\ndescription: says hello\n---\nHello.\n")
    yield root
    http.delete(f"/api/plugins/installed/{name}")


def available_plugins(http):
    response = http.post("/api/plugins", json={"load_project": False})
    assert response.status_code == 200
    return {plugin["name"]: plugin for plugin in response.json()["plugins"]}


def test_a_plugin_can_be_installed_switched_off_and_removed(http, plugin):
    url = f"/api/plugins/installed/{plugin.name}"
    response = http.post("/api/plugins/install", json={"source": str(plugin)})
    assert response.status_code == 200, response.text
    installed = response.json()
    assert (installed["name"], installed["version"], installed["enabled"]) == (plugin.name, "1.2.3", True)
    assert installed["skills"] == [{"name": "hello", "description": "says hello"}]
    assert installed["files"] == [".plugin/plugin.json", "skills/hello/SKILL.md"]
    assert http.get(url).json() == installed
    assert installed in http.get("/api/plugins/installed").json()["plugins"]
    has_detail(http.post("/api/plugins/install", json={"source": str(plugin)}), 409)
    assert plugin.name in available_plugins(http)
    assert http.patch(url, json={"enabled": False}).json() == {"name": plugin.name, "enabled": False}
    assert plugin.name not in available_plugins(http)
    assert http.post(f"{url}/refresh").json()["plugin"]["enabled"] is False
    assert http.delete(url).status_code == 200
    for response in (
        http.get(url),
        http.delete(url),
        http.patch(url, json={"enabled": True}),
        http.post(f"{url}/refresh"),
    ):
        has_detail(response, 404)


def test_what_is_no_plugin_cannot_be_installed(http, tmp_path):
    has_detail(http.post("/api/plugins/install", json={"source": str(tmp_path / "missing")}), 400)
    has_detail(http.post("/api/plugins/install", json={"source": ""}), 422)
    has_detail(http.get("/api/plugins/installed/Not_A_Name"), 422)


def test_a_plugin_can_be_looked_at_without_installing_it(http, plugin, tmp_path):
    answer = http.post("/api/plugins/fetch", json={"source": str(plugin)}).json()
    assert (answer["manifest"]["name"], answer["skills"]) == (plugin.name, ["hello"])
    has_detail(http.get(f"/api/plugins/installed/{plugin.name}"), 404)
    (tmp_path / "empty").mkdir()
    detail = has_detail(http.post("/api/plugins/fetch", json={"source": str(tmp_path / "empty")}), 422)
    assert set(detail) == {"code", "message"}


def test_canvas_extensions_are_listed(http):
    response = http.get("/api/canvas-extensions/installed")
    assert response.status_code == 200
    assert isinstance(response.json()["canvas_extensions"], list)


# --- editors and deferred start --------------------------------------------------------------


def test_an_editor_that_is_switched_off_says_so(secured_server):
    http = secured_server.http
    status = http.get("/api/vscode/status")
    assert status.status_code == 200
    assert (status.json()["running"], status.json()["enabled"]) == (False, False)
    has_detail(http.get("/api/vscode/url"), 503)


def test_there_is_no_desktop(secured_server):
    """Older servers answered 503 where it was switched off; newer ones do not know it."""
    response = secured_server.http.get("/api/desktop/url")
    assert response.status_code in (404, 503) and "detail" in response.json()


def test_a_server_that_started_at_once_has_no_init(http):
    has_detail(http.get("/api/init"), 404)
    has_detail(http.post("/api/init", json={}), 404)


@pytest.mark.slow
def test_a_dormant_server_waits_for_its_configuration(own_server):
    """OH_DEFERRED_INIT: one start ahead of time, one configuration, once."""
    server = own_server(OH_DEFERRED_INIT="true", OH_SECRET_KEY="boot-key")
    http, boot = server.http, {"X-Init-API-Key": "boot-key"}
    assert http.get("/ready").status_code == 200
    assert http.get("/api/init").json() == {"state": "dormant", "error": None}
    for response in (
        http.get("/api/settings"),
        http.get("/v1/models"),
        http.get("/api/conversations/search"),
        Bash(http).post("execute_bash_command", command="true"),
    ):
        has_detail(response, 503)
    with pytest.raises(InvalidHandshake):
        ws_connect(server.url.replace("http", "ws", 1) + "/sockets/bash-events")
    has_detail(http.post("/api/init", json={}), 401)
    has_detail(http.post("/api/init", json={}, headers={"X-Init-API-Key": "wrong"}), 401)
    has_detail(http.post("/api/init", json={"unknown": 1}, headers=boot), 422)
    has_detail(http.post("/api/init", json={"session_api_keys": [""]}, headers=boot), 422)
    assert http.get("/api/init").json()["state"] == "dormant"
    body = {"session_api_keys": ["user-key"], "env": {"FROM_INIT": "yes"}}
    response = http.post("/api/init", json=body, headers=boot)
    assert (response.status_code, response.json()) == (200, {"state": "ready", "error": None})
    assert http.get("/api/init").json()["state"] == "ready"
    has_detail(http.post("/api/init", json=body, headers=boot), 400)
    has_detail(http.get("/api/settings"), 401)
    with httpx.Client(base_url=server.url, headers={"X-Session-API-Key": "user-key"}) as user:
        assert user.get("/api/settings").status_code == 200
        assert Bash(user).execute("echo $FROM_INIT")["stdout"] == "yes\n"


# --- the OpenAI-compatible façade ------------------------------------------------------------


@pytest.fixture
def model(http, llm_config):
    """The /v1 name of a saved profile that points at the fake model."""
    name = unique("v1")
    saved = http.post(f"/api/profiles/{name}", json={"llm": llm_config})
    assert saved.status_code == 201, saved.text
    http.get("/api/agent-profiles")
    yield f"openhands_{name}"
    http.delete(f"/api/profiles/{name}")


@pytest.fixture
def chat(http):
    """Callable for /v1/chat/completions; its conversations are deleted when the test ends."""
    conversations = set()

    def _chat(headers=None, **body):
        response = http.post("/v1/chat/completions", json=body, headers=headers)
        if conversation := response.headers.get("x-openhands-serverconversation-id"):
            conversations.add(conversation)
        return response

    yield _chat
    for conversation in conversations:
        http.delete(f"/api/conversations/{conversation}")


def says(answer):
    return [{"role": "user", "content": plan({"tool": "finish", "args": {"message": answer}})}]


def test_every_profile_is_a_model(http, model):
    response = http.get("/v1/models")
    assert response.status_code == 200 and response.json()["object"] == "list"
    models = {entry["id"]: entry for entry in response.json()["data"]}
    assert list(models) == sorted(models)
    assert (models[model]["object"], models[model]["owned_by"]) == ("model", "openhands")


def test_a_chat_completion_is_the_final_answer_of_an_agent(http, chat, model):
    response = chat(model=model, messages=[{"role": "system", "content": "Be brief."}, *says("the answer")])
    assert response.status_code == 200, response.text
    completion = response.json()
    assert (completion["object"], completion["model"]) == ("chat.completion", model)
    assert completion["id"].startswith("chatcmpl-") and isinstance(completion["created"], int)
    [choice] = completion["choices"]
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert (choice["message"]["role"], choice["message"]["content"]) == ("assistant", "the answer")
    assert completion["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    conversation = response.headers["x-openhands-serverconversation-id"]
    got = http.get(f"/api/conversations/{conversation}").json()
    assert got["execution_status"] == "finished"


def test_a_chat_can_be_continued_in_its_conversation(http, chat, model):
    first = chat(model=model, messages=says("first"))
    conversation = first.headers["x-openhands-serverconversation-id"]
    second = chat({"X-OpenHands-ServerConversation-ID": conversation}, model=model, messages=says("second"))
    assert second.status_code == 200, second.text
    assert second.json()["choices"][0]["message"]["content"] == "second"
    assert second.headers["x-openhands-serverconversation-id"] == conversation
    events = http.get(f"/api/conversations/{conversation}/events/search").json()["items"]
    users = [e for e in events if e["kind"] == "MessageEvent" and e["source"] == "user"]
    assert len(users) == 2


def test_a_chat_takes_content_in_parts(chat, model):
    parts = [{"type": "text", "text": says("from parts")[0]["content"]}]
    response = chat(model=model, messages=[{"role": "user", "content": parts}])
    assert response.json()["choices"][0]["message"]["content"] == "from parts"


def test_a_streamed_chat_is_a_series_of_chunks(chat, model):
    response = chat(
        model=model, messages=says("the answer"), stream=True, stream_options={"include_usage": True}
    )
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in response.text.split("\n\n") if line]
    assert all(line.startswith("data: ") for line in lines) and lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in chunks}) == 1
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    assert choices[0]["delta"]["role"] == "assistant"
    assert "".join(c["delta"].get("content") or "" for c in choices) == "the answer"
    assert choices[-1]["finish_reason"] == "stop"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["total_tokens"] == 110


@pytest.mark.parametrize(
    "change, status",
    [
        ({"model": "gpt-4o"}, 404),
        ({"model": "openhands_missing-profile"}, 404),
        ({"model": "openhands_"}, 404),
        ({"messages": []}, 400),
        ({"messages": [{"role": "system", "content": "alone"}]}, 400),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, 400),
        ({"messages": [{"role": "alien", "content": "hi"}]}, 422),
        ({"messages": "hi"}, 422),
        ({"model": None}, 422),
    ],
)
def test_a_bad_chat_request_is_refused(chat, model, change, status):
    has_detail(chat(**{"model": model, "messages": says("never"), **change}), status)


def test_a_chat_whose_model_fails_is_an_error(chat, model):
    content = plan({"status": 400, "say": "scripted failure"})
    response = chat(model=model, messages=[{"role": "user", "content": content}])
    assert response.status_code >= 500 and "detail" in response.json()


def test_a_response_is_the_same_in_the_newer_shape(http, model):
    text = says("the answer")[0]["content"]
    response = http.post("/v1/responses", json={"model": model, "input": text, "metadata": {"k": "v"}})
    assert response.status_code == 200, response.text
    answer = response.json()
    assert (answer["object"], answer["status"], answer["model"]) == ("response", "completed", model)
    [message] = answer["output"]
    assert (message["type"], message["role"]) == ("message", "assistant")
    assert [(part["type"], part["text"]) for part in message["content"]] == [("output_text", "the answer")]
    assert answer["usage"]["total_tokens"] == 110 and answer["metadata"] == {"k": "v"}
    conversation = response.headers["x-openhands-serverconversation-id"]
    assert http.delete(f"/api/conversations/{conversation}").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"input": ""},
        {"stream": True},
        {"store": True},
        {"previous_response_id": "resp_1"},
        {"input": [{"role": "system", "content": "alone"}]},
    ],
)
def test_what_a_response_cannot_do_is_refused(http, model, change):
    body = {"model": model, "input": says("never")[0]["content"], **change}
    has_detail(http.post("/v1/responses", json=body), 400)


def test_the_facade_accepts_the_session_key_as_bearer_token(secured_server):
    key = secured_server.headers["X-Session-API-Key"]
    with httpx.Client(base_url=secured_server.url) as client:
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-Session-API-Key": key}):
            assert client.get("/v1/models", headers=headers).status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {key}"}):
            has_detail(client.get("/v1/models", headers=headers), 401)
        has_detail(client.get("/api/settings", headers={"Authorization": f"Bearer {key}"}), 401)
