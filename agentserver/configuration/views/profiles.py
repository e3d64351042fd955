"""/api/profiles, /api/agent-profiles, /api/meta-profiles: what is done by name to each kind."""

from typing import Any, ClassVar

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.api import parse
from agentserver.configuration import (
    agent_profiles,
    documents,
    launch,
    llm_profiles,
    meta_profiles,
    names,
    trial,
)
from agentserver.configuration.owners import of_request
from agentserver.configuration.views.bodies import (
    MaterializeBody,
    RenameBody,
    SaveProfileBody,
    object_of,
)


def _done(name, message, **more):
    return {"name": name, "message": message, **more}


class Kept(APIView):
    """``kind``: the module that keeps this kind of profile."""

    kind: ClassVar[Any]


class Listing(Kept):
    """GET: all of them."""

    def get(self, request):
        return Response(self.kind.listed(owner=of_request(request)))


class One(Kept):
    """GET, POST (create or replace) and DELETE one."""

    def get(self, request, name):
        return Response(self.kind.detail(owner=of_request(request), name=names.profile(name)))

    def post(self, request, name):
        name = names.profile(name)
        self.kind.save(owner=of_request(request), name=name, data=object_of(request))
        return Response(_done(name, "Saved."), status=201)

    def delete(self, request, name):
        name = names.profile(name)
        self.kind.delete(owner=of_request(request), name=name)
        return Response(_done(name, "Deleted."))


class Renaming(Kept):
    """POST {new_name}: what refers to it follows."""

    def post(self, request, name):
        new_name = names.profile(parse(request, RenameBody).new_name, "new_name")
        self.kind.rename(owner=of_request(request), name=names.profile(name), new_name=new_name)
        return Response(_done(new_name, "Renamed."))


class LLMProfilesView(Listing):
    """GET: the saved language models."""

    kind = llm_profiles


class LLMProfileView(One):
    """GET, POST (create or replace) and DELETE one. GET shows its keys as X-Expose-Secrets says."""

    kind = llm_profiles

    def get(self, request, name):
        expose = documents.exposure(request.headers.get("X-Expose-Secrets"))
        return Response(
            llm_profiles.detail(owner=of_request(request), name=names.profile(name), expose=expose)
        )

    def post(self, request, name):
        name = names.profile(name)
        body = parse(request, SaveProfileBody)
        llm_profiles.save(
            owner=of_request(request), name=name, llm=body.llm, include_secrets=body.include_secrets
        )
        return Response(_done(name, "Saved."), status=201)


class RenameLLMProfileView(Renaming):
    """POST {new_name}: what refers to it follows."""

    kind = llm_profiles


class ActivateLLMProfileView(APIView):
    """POST: make it the model of the settings."""

    def post(self, request, name):
        name = names.profile(name)
        applied = llm_profiles.activate(owner=of_request(request), name=name)
        return Response(_done(name, "Activated.", llm_applied=applied))


class ValidateLLMProfileView(APIView):
    """POST {llm}: ask the provider one question; nothing is saved."""

    waits = True

    def post(self, request, name):
        names.profile(name)
        llm = parse(request, SaveProfileBody).llm
        return Response(trial.tried(owner=of_request(request), name=name, llm=llm))


class AgentProfilesView(Listing):
    """GET: the saved agents; one of them is always active."""

    kind = agent_profiles


class AgentProfileView(One):
    """GET, POST (create or replace) and DELETE one, by name."""

    kind = agent_profiles


class RenameAgentProfileView(Renaming):
    """POST {new_name}: its id stays."""

    kind = agent_profiles


class ActivateAgentProfileView(APIView):
    """POST: point at it, by its id."""

    def post(self, request, name):
        profile_id = agent_profiles.activate(owner=of_request(request), profile_id=name)
        return Response({"id": profile_id, "message": "Activated.", "agent_settings_applied": False})


class MaterializeAgentProfileView(APIView):
    """POST [{profile}]: what a launch of it, or of a draft of it, would build."""

    waits = True

    def post(self, request, name):
        name = names.profile(name)
        draft = parse(request, MaterializeBody).profile if request.data is not None else None
        return Response(launch.preview(owner=of_request(request), name=name, draft=draft))


class MetaProfilesView(Listing):
    """GET: the saved rules for choosing a model."""

    kind = meta_profiles


class MetaProfileView(One):
    """GET, POST (create or replace) and DELETE one."""

    kind = meta_profiles


class ActivateMetaProfileView(APIView):
    """POST: switch routing by it on."""

    def post(self, request, name):
        name = names.profile(name)
        applied = meta_profiles.activate(owner=of_request(request), name=name)
        return Response(_done(name, "Activated.", applied=applied))
