from agentserver.sockets import TailingConsumer


class BashEventConsumer(TailingConsumer):
    pass
