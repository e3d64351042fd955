"""A Redis that was away has forgotten who wants to hear what; it is told again."""

import asyncio

import pytest
from channels_redis.core import RedisChannelLayer

from agentserver import live
from tests.support import services

pytestmark = pytest.mark.skipif(bool(services.missing()), reason=services.missing() or "-")


@pytest.fixture
def redis():
    made = services.Redis()
    made.start()
    yield made
    made.remove()


@pytest.fixture
async def hubs(redis, monkeypatch):
    """Two hubs, as two processes have them."""
    layers = [RedisChannelLayer(hosts=[{"address": redis.url, "socket_timeout": None}]) for _ in range(2)]
    monkeypatch.setattr(live, "AWAY_SECONDS", 0.1)
    pair = []
    for layer in layers:
        monkeypatch.setattr(live, "get_channel_layer", lambda layer=layer: layer)
        pair.append(live.Hub())
        pair[-1].bind(asyncio.get_running_loop())
    yield pair
    for hub, layer in zip(pair, layers, strict=True):
        await hub.unbind()
        await layer.close_pools()


async def rung(there, tail, group):
    """Ring until it is heard."""
    async with asyncio.timeout(20):
        while not tail.rings:
            there.ring(group, 1, "payload")
            await tail.wait(0.2)
    tail.rings.clear()


async def test_who_listened_before_redis_was_away_hears_again(redis, hubs):
    here, there = hubs
    tail = await here.subscribe("group.a")
    await rung(there, tail, "group.a")

    redis.kill()
    redis.start()

    await rung(there, tail, "group.a")


async def test_who_comes_while_redis_is_away_hears_when_it_is_back(redis, hubs):
    here, there = hubs
    redis.kill()
    tail = await here.subscribe("group.b")
    gone = await here.subscribe("group.c")
    await here.unsubscribe(gone)

    redis.start()

    await rung(there, tail, "group.b")
