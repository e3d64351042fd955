"""A plugin of pytest: only what is asked of the given server, not what starts servers of its own."""


def pytest_collection_modifyitems(config, items):
    about_it = [item for item in items if "agent_server" in item.fixturenames]
    config.hook.pytest_deselected(items=[item for item in items if item not in about_it])
    items[:] = about_it
