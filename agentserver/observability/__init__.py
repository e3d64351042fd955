"""What operators see: metrics, traces, logs, health, and errors told to others.

Everybody may import ``metrics``: it knows no other room. What happens there is counted there, at
less than two microseconds a count; what can be looked up is looked up when somebody asks.
"""
