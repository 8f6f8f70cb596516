"""In a Python that a program has started: nobody outside listens to it."""


def call(name, arguments):
    raise RuntimeError(f"{name}: sessions, skills and servers are reached by the program itself, not by a Python that it starts")
