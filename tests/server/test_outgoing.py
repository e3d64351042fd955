"""What is called from here: the host that was checked, and where it matters a public one."""

import asyncio
import socket

import httpx
import pytest

from agentserver import outgoing


@pytest.mark.parametrize(
    "text",
    [
        "ftp://example.com",
        "https://",
        "https://user:pw@example.com",
        "https://example.com\\@evil.example",
        "https://example.com/a b",
        "https://exa\nmple.com",
        "no address",
        "https://[",
        "",
    ],
)
def test_what_hides_its_host_is_no_address(text):
    with pytest.raises(outgoing.BadAddress):
        outgoing.parsed(text)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1",
    ],
)  # fmt: skip
def test_private_addresses_are_known_in_every_spelling(address):
    assert not outgoing.is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_public_addresses_are_known(address):
    assert outgoing.is_public(address)


@pytest.fixture
def names(monkeypatch):
    """Callable: what the resolver answers from now on, one list of addresses after another."""

    def _answer(*answers):
        coming = list(answers)

        async def getaddrinfo(self, host, port, **options):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in coming.pop(0)]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)

    return _answer


@pytest.fixture
def called(monkeypatch):
    """The requests that would have been sent: (url, Host header, name for TLS)."""
    sent = []

    async def handle(self, request):
        sent.append((str(request.url), request.headers["Host"], request.extensions["sni_hostname"]))
        return httpx.Response(204)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle)
    return sent


async def post(url):
    async with httpx.AsyncClient(transport=outgoing.PublicOnly()) as client:
        return await client.post(url)


async def test_the_address_that_was_looked_at_is_the_one_called(names, called):
    names(["93.184.216.34"])
    await post("https://hooks.example/a?b")

    assert called == [("https://93.184.216.34/a?b", "hooks.example", "hooks.example")]


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], []])
async def test_a_name_with_a_private_address_is_not_called(names, called, addresses):
    names(addresses)
    with pytest.raises(outgoing.NotPublic):
        await post("https://hooks.example/")
    assert called == []


async def test_a_name_that_changes_its_mind_is_looked_at_each_time(names, called):
    names(["93.184.216.34"], ["169.254.169.254"])
    await post("https://hooks.example/")
    with pytest.raises(outgoing.NotPublic):
        await post("https://hooks.example/")

    assert len(called) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "[::1]"])
async def test_this_machine_is_not_called_by_any_name(called, host):
    with pytest.raises(httpx.ConnectError):
        await post(f"http://{host}:9/")
    assert called == []
