"""Read first by every Python that a program starts: makes `api` importable there.

If pip fails for lack of a package index, it says what would help.
"""

import sys

# Options of `pip install` and its like that take a word.
_WITH_WORD = {"-r", "-c", "-e", "-t", "-i", "-f", "--requirement", "--constraint", "--editable", "--target", "--index-url", "--find-links", "--extra-index-url"}


def _asked():
    """The arguments after `pip`, `pip3` or `python3 -m pip`; None if something else was started."""
    words = sys.orig_argv[1:]
    while words and words[0][:1] == "-" and words[0][-1:] not in ("m", "c"):
        words = words[2 if words[0] in ("-W", "-X") else 1 :]
    if words and words[0][:1] == "-" and words[0][-1:] == "m":
        words = words[1:]
    is_pip = words and words[0].rpartition("/")[2].rstrip("0123456789.") == "pip"
    return words[1:] if is_pip and {"install", "download", "wheel"} & set(words) else None


def _packages(words):
    """The names among them, as `belljar environment create` takes them."""
    names = [word for before, word in zip(words, words[1:]) if before not in _WITH_WORD and word[:1].isalnum() and "/" not in word]
    return ",".join(name for name in names if name not in ("install", "download", "wheel")) or "PACKAGE"


def _index(words):
    """The URL that pip asks, as far as we know."""
    import os

    for before, word in zip(words, words[1:]):
        if before in ("-i", "--index-url"):
            return word
    known = getattr(sys.modules.get("pip._internal.models.index"), "PyPI", None)
    return os.environ.get("PIP_INDEX_URL") or getattr(known, "simple_url", "")


def _refusal(url, gate):
    """Why the gate does not let us to the index; nothing where it does."""
    import socket
    from urllib.parse import urlsplit

    at, to = urlsplit(url), urlsplit(gate)
    port = at.port or (443 if at.scheme == "https" else 80)
    ask = f"CONNECT {at.hostname}:{port}" if at.scheme == "https" else f"GET {url}"
    with socket.create_connection((to.hostname, to.port), 10) as peer:
        peer.sendall(f"{ask} HTTP/1.1\r\nHost: {at.hostname}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while b"\nhint: " not in answer and len(answer) < 4096 and (part := peer.recv(4096)) and not (answer + part).startswith(b"HTTP/1.1 200"):
            answer += part
    body = answer.decode("ascii", "replace").partition("\r\n\r\n")[2].strip()
    return body if body.startswith("belljar: ") else None


def _help(words):
    """The text to print after pip has failed, or None."""
    import os

    url, gate = _index(words), os.environ.get("HTTP_PROXY")
    if gate:
        said = _refusal(url, gate)
        return said and f"{said}; or make an environment with {_packages(words)}"
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "HOST"
    return (
        "belljar: this sandbox was granted no package index\n"
        f"hint: use the packages that are installed; or ask whoever started Belljar to grant {host} (`net`) with `--net {host}`, or to make an environment with {_packages(words)}"
    )


def _watch(words):
    """pip is to ask once, since the gate does not change its mind, and its failure is followed by our words."""
    import os

    leave = sys.exit

    def exit(status=None, /):
        try:
            said = _help(words) if status else None
        except (OSError, ValueError):
            said = None
        if said:
            print(said, file=sys.stderr)
        leave(status)

    os.environ.setdefault("PIP_RETRIES", "0")
    if "PIP_TARGET" not in os.environ:  # no gate: it shall look for the package, and not explain how Debian is managed
        os.environ.setdefault("PIP_BREAK_SYSTEM_PACKAGES", "1")
    sys.exit = exit


if sys.flags.isolated == 0:
    sys.path.append("/etc/belljar-library")  # last: it stands in for no module of the program

if (_words := _asked()) is not None:
    _watch(_words)
