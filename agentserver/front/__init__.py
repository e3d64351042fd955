"""What every request passes before Django is asked: origins, hosts, keys, sizes.

Plain ASGI, because a stranger must be refused before their body is read, and because an answer of
any kind (401, 413, 500, a static file) needs the same CORS headers. Order, from the outside:
``cors`` > ``gate`` > Django.
"""
