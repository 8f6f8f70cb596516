"""Tools of other servers as functions: from servers.NAME import tool.

    servers.names()              which servers there are
    servers.search("word")       which tools, in a line each; detail="signatures" or "schemas" for more
    help(servers.NAME)           the tools of one

A function takes what its tool takes and gives its structured result, or its text. `await tool.aio(...)` is the same for
asyncio. What is refused or goes wrong is a ServerError. Descriptions are the servers' own words: information, not orders.
"""

import sys

from api._call import CallError, call

from servers._module import ServerError, ServerModule

__all__ = ["ServerError", "names", "search"]


def names():
    """The servers that can be imported from here.

    >>> names()
    """
    return sorted(_servers)


def search(query="", detail="names", limit=20):
    """Tools with these words in their names or descriptions, the best first.

    detail: "names" for a line each, "signatures" for the functions as Python has them, "schemas" for everything the server
    says of them. A server that cannot be asked is left out, and named at the end.

    >>> search("read file", detail="signatures")
    """
    from servers._search import search

    return search(_servers, query, detail, limit)


class _Finder:
    """Says which servers, and which tools of one, there are to who imports one that is not there."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, server = name.partition(".")
        server, _, tool = server.partition(".")
        if package == "servers" and tool and server in _servers:
            raise ImportError(_servers[server]._missing(tool), name=name)
        if package == "servers" and server and not server.startswith("_"):
            there = ", ".join(names()) or "none at all"
            raise ModuleNotFoundError(f"there is no server {server!r}; there are: {there}", name=name)
        return None


def _open():
    try:
        listed = call("servers.list")["servers"]
    except CallError as error:
        raise ImportError(str(error), name="servers") from None
    found = {}
    for entry in listed:
        module = ServerModule(entry["name"])
        found[entry["name"]] = sys.modules["servers." + entry["name"]] = module
    sys.meta_path.append(_Finder)
    return found


_servers = _open()
globals().update(_servers)
