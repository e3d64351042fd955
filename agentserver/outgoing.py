"""Addresses that this server calls: put together so that the host which was checked is the one called.

What others may choose (the cloud proxy's host, a user's webhook) passes through here. Names, numbers
in any spelling, userinfo and crafted paths end at one origin, which is looked at last; and where
private addresses are not for the caller, the address a name stands for is looked at when it is called.
"""

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

import httpx

_PORTS = {"https": 443, "http": 80}
_EMBEDDING = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64: an IPv4 address in the last four bytes."""


class BadAddress(ValueError):
    """The text names no host that could be called, or names it in a way that hides which."""


class NotPublic(httpx.ConnectError):
    """The host has an address that is not one of the public internet."""


def base(host: str) -> httpx.URL:
    """The URL of ``host``, a name or an origin; https where none is said. Raises BadAddress."""
    scheme, _, name = host.rpartition("://")
    name = name.removesuffix("/")
    if not name or has_controls(host) or set("/\\?#@") & set(name):
        raise BadAddress
    return parsed(f"{scheme or 'https'}://{name}")


def parsed(text: str) -> httpx.URL:
    """``text`` as an http(s) URL with a host and without userinfo. Raises BadAddress."""
    try:
        url = httpx.URL(text)
        urlsplit(text)  # knows half a bracket when it sees one
        usable = not has_controls(text) and "\\" not in text and url.scheme in _PORTS and bool(url.host)
    except (httpx.InvalidURL, ValueError, UnicodeError):
        raise BadAddress from None
    if not usable or url.userinfo:
        raise BadAddress
    return url


def has_controls(text: str) -> bool:
    """Whether a blank or a control character is in it."""
    return any(ord(letter) <= 0x20 or ord(letter) == 0x7F for letter in text)


def origin(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port: what is compared."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0)


def is_public(address: str) -> bool:
    """Whether a numeric address is one of the public internet, also inside the spellings of IPv6."""
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _EMBEDDING:
            ip = ipaddress.IPv4Address(ip.packed[-4:])
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else ip)
    return ip.is_global and not ip.is_multicast


class PublicOnly(httpx.AsyncBaseTransport):
    """Calls public addresses only. The name is resolved here, once, and the address that was looked
    at is the one connected to, so that a name whose answers change leads nowhere else. Certificates
    are checked against the name. Connections are not kept: one address may stand for many names.
    """

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises NotPublic before anything is connected to."""
        host = request.url.host
        address = await _public_address(host, request.url.port or _PORTS[request.url.scheme])
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _public_address(host: str, port: int) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx.ConnectError(f"The name cannot be resolved ({type(error).__name__}).") from None
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(map(is_public, addresses)):
        raise NotPublic("The host has a private address.")
    return addresses[0]
