"""Webhooks over HTTP and in the admin: made, shown without their secrets, changed, deleted."""

import httpx
import pytest
from django.urls import reverse

from agentserver.auth import rights
from agentserver.auth.principals import Principal
from agentserver.errors import NotFound
from agentserver.webhooks import reads, services
from agentserver.webhooks.models import Delivery, Webhook

ADDRESS = "https://hooks.example/me"
SECRET, TOKEN = "canary-signing-secret", "Bearer canary-token"


@pytest.fixture(scope="module")
def http(agent_server):
    with httpx.Client(base_url=agent_server.url, headers=agent_server.headers, timeout=60) as client:
        yield client


@pytest.fixture
def make(http):
    """Callable: make a webhook over the API; deleted with the test."""
    made = []

    def _make(**body):
        response = http.post("/api/webhooks", json={"base_url": ADDRESS, **body})
        if response.status_code == 201:
            made.append(response.json()["id"])
        return response

    yield _make
    for webhook_id in made:
        http.delete(f"/api/webhooks/{webhook_id}")


def test_a_webhook_is_made_shown_changed_and_deleted_and_its_secrets_are_not_shown(make, http):
    made = make(headers={"Authorization": TOKEN, "X-Other": "b"}, secret=SECRET, event_buffer_size=7)
    path = f"/api/webhooks/{made.json()['id']}"
    masked = {"Authorization": reads.MASK, "X-Other": "c"}
    changed = http.patch(path, json={"headers": masked, "flush_delay": 2, "enabled": False})

    assert made.status_code == 201
    assert made.json()["headers"] == {"Authorization": reads.MASK, "X-Other": reads.MASK}
    assert made.json()["secret_set"] is True
    assert changed.json()["headers"] == made.json()["headers"]
    assert (changed.json()["event_buffer_size"], changed.json()["flush_delay"]) == (7, 2)
    assert changed.json()["enabled"] is False
    assert http.get("/api/webhooks").json()["items"] == [changed.json()]
    assert http.get(f"{path}/deliveries").json() == {"items": [], "next_page_id": None}
    assert "canary" not in made.text + changed.text + http.get(path).text
    assert http.delete(path).status_code == 200
    assert http.get(path).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"base_url": "ftp://hooks.example"},
        {"base_url": "https://user:canary@hooks.example"},
        {"base_url": "https://hooks.example/?token=canary"},
        {"base_url": "http://127.0.0.1:8000"},
        {"base_url": "http://localhost"},
        {"base_url": "http://[::1]"},
        {"base_url": "http://169.254.169.254/latest"},
        {"headers": {"Content-Type": "canary"}},
        {"headers": {"X-A": "canary\r\nX-B: 1"}},
        {"headers": {f"X-{n}": "canary" for n in range(21)}},
        {"event_buffer_size": 0},
        {"flush_delay": 1e9},
        {"unknown": "canary"},
    ],
)
def test_what_cannot_be_a_webhook_is_refused_without_being_repeated(make, body):
    response = make(**body)
    assert response.status_code == 422, response.text
    assert "canary" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/webhooks/999999", 404),
        ("PATCH", "/api/webhooks/999999", 404),
        ("GET", "/api/webhooks/99999999999999999999", 404),
        ("GET", "/api/webhooks/x", 404),
    ],
)
def test_what_is_not_there_is_404(http, method, path, status):
    assert http.request(method, path, json={"enabled": True}).status_code == status


def test_a_page_or_conversation_that_makes_no_sense_is_refused(make, http):
    path = f"/api/webhooks/{make().json()['id']}"
    assert http.get(f"{path}/deliveries", params={"page_id": "x"}).status_code == 422
    assert http.get(f"{path}/deliveries", params={"limit": 1000}).status_code == 422
    assert http.post(f"{path}/redeliver", json={"conversation_id": "x"}).status_code == 422
    unknown = {"conversation_id": "00000000-0000-0000-0000-000000000000"}
    assert http.post(f"{path}/redeliver", json=unknown).status_code == 404
    assert http.patch(path, json={}).status_code == 422


# --- in this process -----------------------------------------------------------------------------


def test_a_user_may_call_the_api_and_sees_their_own_alone(make_hook, django_user_model):
    ann, bob = (django_user_model.objects.create_user(name) for name in ("ann", "bob"))
    theirs = make_hook(owner=ann)
    principal = Principal(operator=False, user_id=bob.pk)

    assert rights.allow(principal, {"path": f"/api/webhooks/{theirs.pk}/redeliver", "method": "POST"})
    assert [one["id"] for one in reads.listed(owner=ann.pk)] == [theirs.pk]
    assert reads.listed(owner=bob.pk) == reads.listed(owner=None) == []
    with pytest.raises(NotFound):
        services.find(owner=bob.pk, webhook_id=theirs.pk)


def test_an_owner_has_a_bounded_number(make_hook):
    for _ in range(services.LIMIT):
        make_hook()
    with pytest.raises(services.TooManyWebhooks):
        services.create(owner=None, fields={"base_url": ADDRESS})


def test_deliveries_are_paged(make_hook, talk):
    hook, seen, page = make_hook(), [], "0"
    talks = {str(talk(2).id) for _ in range(5)}
    while page is not None:
        items, page = reads.delivery_page(row=hook, behind=True, limit=2, after=int(page))
        assert len(items) <= 2
        seen += items

    assert {item["conversation_id"] for item in seen} == talks
    assert seen[0]["waiting_events"] == 2
    assert seen[0]["waiting_announcement"] is True


def test_what_is_stored_of_headers_and_secret_is_encrypted(transactional_db):
    from agentserver.webhooks import hooks

    made = services.create(
        owner=None, fields={"base_url": ADDRESS, "headers": {"A": TOKEN}, "secret": SECRET}
    )
    row = Webhook.objects.get(pk=made.pk)
    (hook,) = hooks.enabled()

    assert "canary" not in str(row.__dict__)
    assert (hook.headers, hook.secret, hook.guarded) == ({"A": TOKEN}, SECRET, True)
    assert "canary" not in repr(hook)


def test_the_admin_makes_a_webhook_and_shows_no_secret(admin_client, transactional_db):
    given = {"given_headers": f'{{"Authorization": "{TOKEN}"}}', "given_secret": SECRET}
    numbers = {"event_buffer_size": 5, "flush_delay": 30, "num_retries": 3, "retry_delay": 5}
    add = reverse("admin:webhooks_webhook_add")
    assert admin_client.post(add, {"base_url": ADDRESS, **numbers, **given}).status_code == 302
    row = Webhook.objects.get()
    change = reverse("admin:webhooks_webhook_change", args=[row.pk])
    page = admin_client.get(change).content.decode()
    admin_client.post(change, {"base_url": ADDRESS + "/2", **numbers})
    row.refresh_from_db()

    assert "canary" not in page
    assert row.base_url == ADDRESS + "/2"
    from agentserver.webhooks import hooks

    assert hooks.enabled()[0].headers == {"Authorization": TOKEN}  # left empty, they stay


@pytest.mark.parametrize(
    "wrong", [{"base_url": "http://10.0.0.1"}, {"given_headers": "no json"}, {"event_buffer_size": 0}]
)
def test_the_admin_says_what_is_wrong(admin_client, transactional_db, wrong):
    good = {
        "base_url": ADDRESS,
        "event_buffer_size": 5,
        "flush_delay": 30,
        "num_retries": 3,
        "retry_delay": 5,
    }
    page = admin_client.post(reverse("admin:webhooks_webhook_add"), {**good, **wrong})

    assert page.status_code == 200
    assert "errornote" in page.content.decode()
    assert not Webhook.objects.exists()


def test_the_admin_enables_and_delivers_again(admin_client, make_hook, talk):
    hook, conversation = make_hook(enabled=False, disabled_reason="It failed for days."), talk(3)
    Delivery.objects.update(posted=3, announced=1, failures=4)
    webhooks = reverse("admin:webhooks_webhook_changelist")
    deliveries = reverse("admin:webhooks_delivery_changelist")
    assert "It failed for days." in admin_client.get(webhooks).content.decode()

    admin_client.post(webhooks, {"action": "enable", "_selected_action": [hook.pk]})
    admin_client.post(deliveries, {"action": "redeliver", "_selected_action": [Delivery.objects.get().pk]})
    listed = admin_client.get(deliveries, {"state": "behind"}).content.decode()

    hook.refresh_from_db()
    delivery = Delivery.objects.get()
    assert (hook.enabled, hook.disabled_reason) == (True, "")
    assert (delivery.posted, delivery.failures, delivery.repeated) == (-1, 0, 1)
    assert str(conversation.id) in listed


def test_the_admin_deletes_a_webhook_with_its_deliveries(admin_client, make_hook, talk):
    one, other = make_hook(), make_hook()
    talk(3)
    listed, page = (
        reverse("admin:webhooks_webhook_changelist"),
        reverse("admin:webhooks_webhook_delete", args=[one.pk]),
    )
    assert "Deliveries: 1" in admin_client.get(page).content.decode()

    admin_client.post(page, {"post": "yes"})
    assert list(Webhook.objects.all()) == [other]
    chosen = {"action": "delete_selected", "_selected_action": [other.pk], "post": "yes"}
    admin_client.post(listed, chosen)

    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()


def test_one_of_the_environment_is_not_changed_in_the_admin(admin_client, configure, transactional_db):
    from agentserver import conf
    from agentserver.webhooks import hooks

    configure(webhooks=[conf.WebhookSpec(base_url="http://u:canary@127.0.0.1:9/x?canary", secret="canary")])
    hooks.register()
    row = Webhook.objects.get()
    change = reverse("admin:webhooks_webhook_change", args=[row.pk])

    assert row.base_url == "http://127.0.0.1:9/x"
    assert admin_client.post(change, {"base_url": ADDRESS}).status_code == 403
    assert "canary" not in admin_client.get(change).content.decode() + str(row.__dict__)
    assert "canary" not in str(reads.listed(owner=None))
