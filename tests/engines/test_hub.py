"""Rings between processes: through the layer of the settings, in memory or Redis."""

import asyncio

import pytest
from channels.layers import InMemoryChannelLayer, channel_layers, get_channel_layer

from agentserver.live import Hub

pytestmark = pytest.mark.engines


@pytest.fixture
async def hubs():
    """Two hubs, as two processes have them, on the layer of the settings."""
    channel_layers.backends.clear()  # a layer belongs to the loop of the test that made it
    pair = Hub(), Hub()
    for hub in pair:
        hub.bind(asyncio.get_running_loop())
    yield pair
    for hub in pair:
        await hub.unbind()
    layer = get_channel_layer()
    if hasattr(layer, "close_pools"):
        await layer.close_pools()
    channel_layers.backends.clear()


async def heard(tail, count=1, seconds=10):
    """The next ``count`` rings of a tail."""
    rings = []
    async with asyncio.timeout(seconds):
        while len(rings) < count:
            await tail.wait(1)
            rings += tail.take()
    return rings


async def test_a_ring_of_this_process_reaches_its_tails(hubs):
    here, _ = hubs
    tail = await here.subscribe("group.a")
    here.ring("group.a", 7, "payload", previous=6)

    (ring,) = await heard(tail)
    assert (ring.sequence, ring.previous, ring.payload) == (7, 6, "payload")


async def test_a_ring_of_another_process_reaches_the_tails_of_this_one(hubs):
    here, there = hubs
    if isinstance(get_channel_layer(), InMemoryChannelLayer):
        pytest.skip("one process: the in-memory layer connects no others")
    tail = await here.subscribe("group.b")
    for sequence in range(20):
        there.ring("group.b", sequence, "payload", previous=sequence - 1)

    rings = await heard(tail, count=20)
    assert sorted(ring.sequence for ring in rings) == list(range(20))


async def test_a_ring_reaches_no_other_group_and_nobody_who_has_left(hubs):
    here, _ = hubs
    other, left, mine = [await here.subscribe(name) for name in ("group.c", "group.d", "group.d")]
    await here.unsubscribe(left)
    here.ring("group.d", 1)

    await heard(mine)
    assert not list(other.take())
    assert not list(left.take())


async def test_the_end_of_a_group_reaches_every_tail(hubs):
    here, there = hubs
    alone = isinstance(get_channel_layer(), InMemoryChannelLayer)
    tail = await here.subscribe("group.e")
    (here if alone else there).end("group.e", 4004)

    async with asyncio.timeout(10):
        await tail.wait(10)
    assert tail.closing == 4004


async def test_a_payload_too_large_to_share_is_left_in_the_database(hubs):
    here, _ = hubs
    tail = await here.subscribe("group.f")
    here.ring("group.f", 1, "x" * 100_000, previous=0)

    (ring,) = await heard(tail)
    assert ring.payload is None
    assert ring.sequence == 1


async def test_a_ring_from_any_thread_is_heard_on_the_loop(hubs):
    here, _ = hubs
    tail = await here.subscribe("group.g")
    await asyncio.gather(*(asyncio.to_thread(here.ring, "group.g", n) for n in range(50)))

    rings = await heard(tail, count=50)
    assert {ring.sequence for ring in rings} == set(range(50))
