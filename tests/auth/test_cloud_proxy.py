"""The cloud proxy calls the named origins and no other address, however it is put."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentserver.auth import cloud_proxy
from agentserver.auth.cloud_proxy import CloudProxyRequest, NotAllowed, TookTooLong, Unreachable
from agentserver.errors import Invalid


class _Cloud(BaseHTTPRequestHandler):
    """Answers with what it was asked; /redirect leads elsewhere, /slow takes its time."""

    def do_GET(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        if self.path == "/slow":
            self.server.released.wait(20)
        self.send_response(302 if self.path == "/redirect" else 418 if self.path == "/teapot" else 200)
        if self.path == "/redirect":
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"from": "cloud"}')

    do_POST = do_GET  # noqa: N815 (the base class finds it by this name)

    def log_message(self, *args):
        pass


@pytest.fixture
def cloud(configure):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Cloud)
    server.seen, server.released = [], threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.origin = f"http://127.0.0.1:{server.server_port}"
    configure(cloud_proxy_origins=["https://cloud.example", server.origin])
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


def test_a_request_is_passed_on_and_its_answer_back(cloud):
    answer = cloud_proxy.forward(
        CloudProxyRequest(
            host=cloud.origin,
            path="/api/x?y=1",
            method="POST",
            headers={"Authorization": "Bearer t", "Host": "evil", "Cookie": "c", "X-Session-API-Key": "k"},
            body={"a": 1},
        )
    )
    method, path, headers = cloud.seen[0]

    assert (answer.status, answer.content) == (200, b'{"from": "cloud"}')
    assert (method, path) == ("POST", "/api/x?y=1")
    assert headers["Authorization"] == "Bearer t"
    assert not {"Cookie", "X-Session-API-Key"} & set(headers)
    assert headers["Host"] == cloud.origin.removeprefix("http://")


def test_an_error_of_the_cloud_is_passed_back(cloud):
    assert cloud_proxy.forward(CloudProxyRequest(host=cloud.origin, path="/teapot")).status == 418


def test_a_redirect_is_not_followed(cloud):
    with pytest.raises(Unreachable):
        cloud_proxy.forward(CloudProxyRequest(host=cloud.origin, path="/redirect"))
    assert [path for _, path, _ in cloud.seen] == ["/redirect"]


def test_a_slow_cloud_is_given_up(cloud):
    with pytest.raises(TookTooLong):
        cloud_proxy.forward(CloudProxyRequest(host=cloud.origin, path="/slow", timeout_seconds=1))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "cloud.example@evil.example",
        "cloud.example:pw@127.0.0.1",
        "user@cloud.example",
        "cloud.example.evil.example",
        "cloud.example#.evil.example",
        "cloud.example/..",
        "cloud.example?x",
        "cloud.example:8443",
        "http://cloud.example",
        "file://cloud.example",
        "cloud.example\\@evil.example",
        "cloud.example\r\nHost: evil",
        "cloud.example ",
        "",
        "https://",
        "https://[",
    ],
)
def test_no_other_host_is_called(configure, host):
    configure(cloud_proxy_origins=["https://cloud.example"])
    with pytest.raises(NotAllowed):
        cloud_proxy.address_of(host, "/x")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "x",
        "@evil.example/",
        ".evil.example/",
        ":80@evil/",
        "//evil.example/x",
        "/\\evil",
        "/x\r\ny",
        "/ x",
    ],
)
def test_no_path_leads_to_another_host(configure, path):
    configure(cloud_proxy_origins=["https://cloud.example"])
    with pytest.raises(Invalid):
        cloud_proxy.address_of("cloud.example", path)


@pytest.mark.parametrize("host", ["xn--a", "xn--a.example", "http://xn--0.example"])
def test_a_host_that_only_claims_to_be_punycode_is_not_called(configure, host):
    configure(cloud_proxy_origins=["https://cloud.example"])
    with pytest.raises(NotAllowed):
        cloud_proxy.address_of(host, "/x")


@pytest.mark.parametrize("path", ["/@evil.example/", "/x?u=//evil@evil", "/../../x", "/%0d%0ax", "/x#@evil"])
def test_an_odd_path_stays_with_its_host(configure, path):
    configure(cloud_proxy_origins=["https://cloud.example"])
    url = cloud_proxy.address_of("CLOUD.example", path)
    assert (url.scheme, url.host, url.userinfo) == ("https", "cloud.example", b"")


@pytest.mark.parametrize("headers", [{"X": "a\r\nb"}, {"X\n": "a"}, {"X": "\u20ac"}])
def test_a_header_of_two_lines_is_refused(cloud, headers):
    with pytest.raises(Invalid):
        cloud_proxy.forward(CloudProxyRequest(host=cloud.origin, path="/x", headers=headers))
    assert cloud.seen == []


def test_a_host_that_does_not_answer_is_502(configure):
    configure(cloud_proxy_origins=["http://127.0.0.1:9"])
    with pytest.raises(Unreachable):
        cloud_proxy.forward(CloudProxyRequest(host="http://127.0.0.1:9", path="/x"))
