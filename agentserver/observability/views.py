"""``/metrics``: what this process has counted, in the form that Prometheus scrapes."""

from django.http import HttpResponse
from prometheus_client.exposition import choose_encoder
from rest_framework.views import APIView

from agentserver.observability.metrics import REGISTRY


class MetricsView(APIView):
    """GET: the metrics of this process, as text or OpenMetrics, whichever is asked for.

    They count and name no conversation. ``observability.access`` says who may scrape.
    """

    def get(self, request):
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return HttpResponse(encode(REGISTRY), content_type=kind)
