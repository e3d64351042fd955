"""Places: runners with disks of their own answer for what lies there; web processes pass requests on."""

from django.apps import AppConfig


class PlacesConfig(AppConfig):
    name = "agentserver.places"
    label = "places"

    def ready(self) -> None:
        from agentserver import lifespan
        from agentserver.places import forwarding

        lifespan.on_stop("requests that are passed on", forwarding.close)
