from django.urls import re_path

from agentserver.auth import views

urlpatterns = [
    re_path(r"^auth/workspace-session/?$", views.WorkspaceSessionView.as_view()),
    re_path(r"^init/?$", views.InitView.as_view()),
    re_path(r"^cloud-proxy/?$", views.CloudProxyView.as_view()),
]
