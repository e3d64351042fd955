"""/api/llm: known models and providers, and signing in to a subscription."""

from rest_framework.response import Response
from rest_framework.views import APIView

from agentserver.api import parse
from agentserver.catalog import models_known, subscription
from agentserver.catalog.bodies import DeviceBody
from agentserver.configuration.owners import of_request


class ModelsView(APIView):
    """GET [?provider=]: known models, sorted."""

    def get(self, request):
        provider = request.query_params.get("provider")
        return Response(
            {"models": models_known.models_of(provider) if provider else list(models_known.models())}
        )


class VerifiedModelsView(APIView):
    """GET: models that are known to work, by provider."""

    def get(self, request):
        return Response({"models": models_known.verified()})


class ProvidersView(APIView):
    """GET: known providers, sorted."""

    def get(self, request):
        return Response({"providers": list(models_known.providers())})


class SubscriptionStatusView(APIView):
    """GET: whether somebody is signed in."""

    def get(self, request):
        return Response(subscription.status(owner=of_request(request)))


class SubscriptionModelsView(APIView):
    """GET: what a subscription offers."""

    def get(self, request):
        return Response(subscription.models())


class SubscriptionLogoutView(APIView):
    """POST: sign out."""

    def post(self, request):
        return Response(subscription.logout(owner=of_request(request)))


class DeviceStartView(APIView):
    """POST: a code to enter at the provider."""

    waits = True

    def post(self, request):
        return Response(subscription.start(owner=of_request(request)))


class DevicePollView(APIView):
    """POST {device_code}: whether the person has entered it."""

    waits = True

    def post(self, request):
        code = parse(request, DeviceBody).device_code
        return Response(subscription.poll(owner=of_request(request), device_code=code))
