"""Every HTTP path of the server. An optional trailing slash is accepted everywhere."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from agentserver import views
from agentserver.auth import pages
from agentserver.catalog.urls import outside_api
from agentserver.observability.views import MetricsView
from agentserver.openapi import views as openapi

handler400 = "agentserver.errors.bad_request"
handler404 = "agentserver.errors.page_not_found"
handler500 = "agentserver.errors.server_error"

urlpatterns = [
    path("", views.RootView.as_view()),
    path("alive", views.AliveView.as_view()),
    path("health", views.HealthView.as_view()),
    path("ready", views.ReadyView.as_view()),
    path("metrics", MetricsView.as_view()),
    path("server_info", views.ServerInfoView.as_view()),
    path("openapi.json", openapi.OpenAPIView.as_view()),
    path("docs", openapi.SwaggerView.as_view()),
    path("redoc", openapi.RedocView.as_view()),
    path("api/", include("agentserver.auth.urls")),
    path("api/", include("bashevents.urls")),
    path("api/", include("agentserver.workspace.urls")),
    path("api/", include("conversations.urls")),
    path("api/", include("agentserver.configuration.urls")),
    path("api/", include("agentserver.catalog.urls")),
    path("api/", include("agentserver.webhooks.urls")),
    path("", include(outside_api)),
    path("demo/", include("agentserver.demo.urls")),
    path("dashboard", RedirectView.as_view(pattern_name="dashboard:list")),
    path("dashboard/", include("agentserver.dashboard.urls")),
    path("login", pages.login),
    path("logout", pages.logout),
    path("admin/", admin.site.urls),
]
