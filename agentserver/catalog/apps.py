from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "agentserver.catalog"
    label = "catalog"
