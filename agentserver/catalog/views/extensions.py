"""/api/skills and /api/plugins: what is there, and installing more."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.api import parse
from agentserver.catalog import installing, plugins, skills
from agentserver.catalog.bodies import FetchBody, InstallBody, ProjectBody, SkillsBody, StateBody
from agentserver.configuration.owners import of_request


class Extensions(APIView):
    """What skills and plugins have in common. ``key``: the name of one in an answer."""

    waits = True
    kind = installing.SKILLS
    key = "skill"

    def described(self, info):
        return installing.view(info)

    def installed(self, request):
        return installing.Installed(self.kind, of_request(request))


class InstalledView(Extensions):
    """GET: all that is installed."""

    def get(self, request):
        return Response({f"{self.key}s": [self.described(info) for info in self.installed(request).all()]})


class InstallView(Extensions):
    """POST {source, ref, repo_path, force}: install from a folder or a repository."""

    def post(self, request):
        body = parse(request, InstallBody)
        return Response(self.described(self.installed(request).install(**body.model_dump())))


class OneInstalledView(Extensions):
    """GET; PATCH {enabled}; DELETE."""

    def get(self, request, name):
        return Response(self.described(self.installed(request).one(name)))

    def patch(self, request, name):
        enabled = parse(request, StateBody).enabled
        self.installed(request).switch(name, enabled=enabled)
        return Response({"name": name, "enabled": enabled})

    def delete(self, request, name):
        self.installed(request).remove(name)
        return Response({"message": "Removed."})


class RefreshView(Extensions):
    """POST: fetch it again from where it came."""

    def post(self, request, name):
        info = self.installed(request).refresh(name)
        return Response({"message": "Refreshed.", self.key: self.described(info)})


class Plugins:
    """Turns the views above to plugins."""

    kind = installing.PLUGINS
    key = "plugin"

    def described(self, info):
        return plugins.described(info)


class InstalledPluginsView(Plugins, InstalledView):
    pass


class InstallPluginView(Plugins, InstallView):
    pass


class OneInstalledPluginView(Plugins, OneInstalledView):
    pass


class RefreshPluginView(Plugins, RefreshView):
    pass


class SkillsView(APIView):
    """POST: the skills of the sources that are asked for."""

    waits = True

    def post(self, request):
        wanted = parse(request, SkillsBody) if request.data is not None else SkillsBody()
        return Response(skills.found(owner=of_request(request), wanted=wanted))


class SkillCatalogView(APIView):
    """GET: what an agent profile may choose from."""

    waits = True

    def get(self, request):
        return Response({"skills": skills.catalog(owner=of_request(request))})


class SkillMarketplaceView(APIView):
    """GET: public skills."""

    waits = True

    def get(self, request):
        return Response({"skills": skills.marketplace(owner=of_request(request))})


class SyncSkillsView(APIView):
    """POST: fetch the public skills anew."""

    waits = True

    def post(self, request):
        return Response(skills.sync())


class PluginsView(APIView):
    """POST: the enabled plugins of the user and of a project."""

    waits = True

    def post(self, request):
        wanted = parse(request, ProjectBody) if request.data is not None else ProjectBody()
        return Response({"plugins": plugins.found(owner=of_request(request), wanted=wanted)})


class FetchPluginView(APIView):
    """POST: look at a plugin without installing it."""

    waits = True

    def post(self, request):
        return Response(plugins.looked_at(wanted=parse(request, FetchBody)))


class PluginMarketplaceView(APIView):
    """GET: public plugins."""

    waits = True

    def get(self, request):
        return Response({"plugins": plugins.marketplace(owner=of_request(request))})
