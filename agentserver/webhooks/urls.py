"""Paths of webhooks, below /api/."""

from django.urls import re_path

from agentserver.webhooks import views

ONE = r"^webhooks/(?P<webhook_id>[0-9]{1,18})"

urlpatterns = [
    re_path(r"^webhooks/?\Z", views.WebhooksView.as_view()),
    re_path(rf"{ONE}/?\Z", views.WebhookView.as_view()),
    re_path(rf"{ONE}/deliveries/?\Z", views.DeliveriesView.as_view()),
    re_path(rf"{ONE}/redeliver/?\Z", views.RedeliverView.as_view()),
]
