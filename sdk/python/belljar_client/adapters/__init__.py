"""Adapters: a session of Belljar as the sandbox of a framework for agents.

Each is a module of its own, which imports its framework: `from belljar_client.adapters.smolagents import BelljarExecutor`.
What they share is in `sandbox`. Values cross as JSON and files as bytes; nothing is pickled.
"""
