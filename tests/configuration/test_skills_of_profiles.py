"""Which skills an agent profile launches with: the user's always, public ones as it says."""

import pytest

from agentserver import sdk
from agentserver.auth.doors import OPERATOR
from agentserver.configuration import agent_profiles, llm_profiles, services

pytestmark = pytest.mark.django_db


@pytest.fixture
def launched_skills(monkeypatch):
    """Callable: names of the skills that a profile launches with; there are a user's and a public one."""
    sdk.require()
    from openhands.sdk.skills import Skill

    from agentserver.catalog import skills

    public = {"theirs": Skill(name="theirs", content="Public.", trigger=None)}
    mine = {"mine": Skill(name="mine", content="Mine.", trigger=None)}
    monkeypatch.setattr(skills, "_public_at_hand", lambda: public)
    monkeypatch.setattr(skills, "_user", lambda owner: mine)
    llm_profiles.save(owner=None, name="model", llm={"model": "openai/x"})

    def _launched(**profile):
        agent_profiles.save(owner=None, name="agent", data={"llm_profile_ref": "model", **profile})
        profile_id = agent_profiles.load(owner=None, name="agent").id
        agent = services.agent_of_profile(principal=OPERATOR, profile_id=profile_id).agent
        return {skill.name for skill in agent.agent_context.skills}

    return _launched


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ({}, {"mine", "theirs"}),
        ({"public_skills": []}, {"mine"}),
        ({"public_skills": ["theirs"]}, {"mine", "theirs"}),
        ({"disabled_skills": ["mine"]}, {"theirs"}),
    ],
)
def test_a_profile_chooses_among_public_skills_and_switches_any_off(launched_skills, profile, names):
    assert launched_skills(**profile) == names
