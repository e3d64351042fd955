"""Paths below /demo/: an OpenAI-compatible base URL is /demo/v1."""

from django.urls import path

from agentserver.demo import views

urlpatterns = [
    path("v1/chat/completions", views.ChatCompletionsView.as_view()),
    path("v1/models", views.ModelsView.as_view()),
]
