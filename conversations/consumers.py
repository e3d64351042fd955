from agentserver.sockets import TailingConsumer


class EventConsumer(TailingConsumer):
    pass
