"""A planner of one's own: it starts with a Client, and ends with it or with this process.

    import sextant_plan
    with sextant_plan.Client() as client:
        print(client.plan("llama-3.1-8b", tokens="1T", sequence_length=8192, gbs=64,
                          accelerator="h100-sxm", devices=16))
"""
from .server import Client, Server

__all__ = ["Client", "Server"]
