"""What conversations are handed: models and agents with plain keys, of their own user only."""

import json
from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model

from agentserver import conf, sdk
from agentserver.auth.doors import OPERATOR, Principal
from agentserver.configuration import (
    agent_profiles,
    connections,
    llm_profiles,
    services,
    stores,
    user_secrets,
)
from agentserver.configuration.models import LLMProfile
from agentserver.errors import Invalid, NotFound

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def loaded():
    sdk.require()


@pytest.fixture
def principal():
    user = get_user_model().objects.create_user("someone")
    return Principal(operator=False, user_id=user.pk)


@pytest.fixture
def save_llm():
    """Callable: save an LLM profile, for the operator if nobody is named."""

    def _save(name="small", owner=None, **llm):
        llm_profiles.save(owner=owner, name=name, llm={"model": "openai/x", "api_key": "sk-plain", **llm})
        return name

    return _save


def key_of(llm):
    return llm.api_key.get_secret_value()


def test_a_profile_gives_its_plain_key_and_keeps_it_encrypted(save_llm):
    save_llm()
    llm = services.llm_of_profile(principal=OPERATOR, name="small")

    assert key_of(llm) == "sk-plain"
    assert "sk-plain" not in LLMProfile.objects.get(name="small").body


def test_a_profile_belongs_to_its_user(save_llm, principal):
    save_llm()
    with pytest.raises(NotFound):
        services.llm_of_profile(principal=principal, name="small")
    save_llm(owner=principal.user_id, api_key="sk-theirs")

    assert key_of(services.llm_of_profile(principal=principal, name="small")) == "sk-theirs"
    assert key_of(services.llm_of_profile(principal=OPERATOR, name="small")) == "sk-plain"


def test_the_key_of_a_shared_connection_is_filled_in_wherever_a_model_is_made(save_llm):
    connection = connections.create(
        owner=None, display_name="Shared", provider="openai", api_key="sk-shared", base_url="http://here"
    )
    described = {"model": "openai/x", "provider_connection_id": connection["id"]}
    save_llm("linked", api_key=None, provider_connection_id=connection["id"])
    launched = services.agent_of_settings(principal=OPERATOR, agent_settings={"llm": described})

    assert key_of(services.llm_of_profile(principal=OPERATOR, name="linked")) == "sk-shared"
    assert key_of(services.llm_of_request(principal=OPERATOR, llm=described)) == "sk-shared"
    assert key_of(launched.agent.llm) == "sk-shared"
    assert launched.agent.llm.base_url == "http://here"


def test_an_agent_profile_launches_its_model_with_the_plain_key(save_llm):
    agent_profiles.save(owner=None, name="coder", data={"llm_profile_ref": save_llm()})
    profile_id = agent_profiles.load(owner=None, name="coder").id
    launched = services.agent_of_profile(principal=OPERATOR, profile_id=profile_id)

    assert key_of(launched.agent.llm) == "sk-plain"
    assert launched.profile.agent_profile_id == profile_id


def test_an_agent_profile_that_refers_to_nothing_is_refused_with_its_reasons():
    agent_profiles.save(owner=None, name="lost", data={"llm_profile_ref": "nowhere"})
    profile_id = agent_profiles.load(owner=None, name="lost").id
    with pytest.raises(Invalid) as refused:
        services.agent_of_profile(principal=OPERATOR, profile_id=profile_id)

    assert refused.value.body["detail"]["dangling_llm_profile_ref"] == "nowhere"


def test_a_profile_of_another_user_does_not_launch(principal, save_llm):
    agent_profiles.save(owner=None, name="coder", data={"llm_profile_ref": save_llm()})
    profile_id = agent_profiles.load(owner=None, name="coder").id
    with pytest.raises(NotFound):
        services.agent_of_profile(principal=principal, profile_id=profile_id)


def test_a_start_request_becomes_an_agent_whatever_names_it(save_llm):
    from openhands.sdk.conversation.request import StartConversationRequest

    agent_profiles.save(owner=None, name="coder", data={"llm_profile_ref": save_llm()})
    profile_id = str(agent_profiles.load(owner=None, name="coder").id)
    llm = {"model": "openai/x", "api_key": "sk-plain", "usage_id": "agent"}
    sources = (
        {"agent": {"kind": "Agent", "llm": llm}},
        {"agent_settings": {"llm": llm}},
        {"agent_profile_id": profile_id},
    )
    for source in sources:
        body = {"workspace": {"working_dir": "somewhere"}, **source}
        launched = services.launched_agent(
            principal=OPERATOR, request=StartConversationRequest.model_validate(body)
        )
        assert key_of(launched.agent.llm) == "sk-plain", source


def test_additions_reach_the_agent():
    additions = SimpleNamespace(system_message_suffix_append="Be brief.", skills=None, llm_profile_ref=None)
    settings = {"llm": {"model": "openai/x"}}
    launched = services.agent_of_settings(principal=OPERATOR, agent_settings=settings, additions=additions)

    assert "Be brief." in launched.agent.agent_context.system_message_suffix


def test_what_was_encrypted_for_the_client_is_opened_where_it_says_so():
    token = sdk.encrypt("sk-plain")
    payload = {
        "secrets_encrypted": True,
        "agent_settings": {"llm": {"api_key": token}, "mcp_config": {"a": {"env": {"T": token}}}},
        "initial_message": {"content": token},
    }
    opened = services.decrypted(payload)

    assert "sk-plain" in json.dumps(opened["agent_settings"]["mcp_config"])
    assert opened["agent_settings"]["llm"]["api_key"] == "sk-plain"
    assert opened["initial_message"]["content"] == token, "what somebody says is left alone"
    assert services.decrypted({"agent": {"llm": {"api_key": token}}})["agent"]["llm"]["api_key"] == token


def test_a_text_encrypted_with_a_foreign_key_is_refused():
    from openhands.sdk.utils.cipher import Cipher
    from pydantic import SecretStr

    foreign = Cipher("another key").encrypt(SecretStr("sk-plain"))
    with pytest.raises(Invalid):
        services.decrypted({"secrets_encrypted": True, "agent": {"llm": {"api_key": foreign}}})


def test_references_to_saved_secrets_become_their_values_for_their_owner_only(principal):
    user_secrets.put(owner=None, name="TOKEN", value="hunter2", description=None)
    lookup = {"kind": "LookupSecret", "url": "/api/settings/secrets/TOKEN"}
    foreign = {"kind": "LookupSecret", "url": "https://example.org/api/settings/secrets/TOKEN"}
    payload = {"secrets": {"TOKEN": lookup, "OTHER": foreign}}

    mine = services.with_own_secrets(principal=OPERATOR, payload=payload)["secrets"]
    assert (mine["TOKEN"]["value"], mine["OTHER"]) == ("hunter2", foreign)
    assert set(services.with_own_secrets(principal=principal, payload=payload)["secrets"]) == {"OTHER"}


def test_client_tools_become_tools_of_the_agent():
    from openhands.sdk.conversation.request import StartConversationRequest

    spec = {
        "name": "show_page",
        "description": "Show a page",
        "parameters": {"type": "object", "properties": {}},
    }
    body = {
        "workspace": {"working_dir": "somewhere"},
        "agent_settings": {"llm": {"model": "openai/x"}, "tools": []},
        "client_tools": [spec],
    }
    request = StartConversationRequest.model_validate(body)
    launched = services.launched_agent(principal=OPERATOR, request=request, client_tools=request.client_tools)

    [tool] = [tool for tool in launched.agent.tools if tool.name == "show_page"]
    assert tool.params["spec"]["description"] == "Show a page"
    with pytest.raises(Invalid):
        services.launched_agent(principal=OPERATOR, request=request, client_tools=request.client_tools * 2)


def test_the_sdk_finds_profiles_in_the_tables(save_llm, principal):
    from openhands.sdk.conversation.impl import local_conversation
    from openhands.sdk.tool.builtins import switch_llm

    save_llm("mine")
    save_llm("theirs", owner=principal.user_id)
    stores.install()

    assert switch_llm.get_llm_profile_names() == [], "nobody said whose, and there are users"
    with stores.acting_for(None):
        assert switch_llm.get_llm_profile_names() == ["mine"]
    with stores.acting_for(principal.user_id):
        assert switch_llm.get_llm_profile_names() == ["theirs"]
        store = local_conversation.LLMProfileStore(conf.current().persistence_dir / "profiles")
        assert store.list() == ["theirs.json"]
    assert key_of(services.profile_store(principal=OPERATOR).load("mine.json")) == "sk-plain"
    with pytest.raises(FileNotFoundError):
        services.profile_store(principal=OPERATOR).load("theirs")


def test_without_other_users_the_sdk_gets_the_profiles_of_the_operator(save_llm):
    from openhands.sdk.tool.builtins import switch_llm

    save_llm("mine")
    stores.install()

    assert switch_llm.get_llm_profile_names() == ["mine"]
