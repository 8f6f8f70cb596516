"""Pages of granted hosts as text: what a reader sees, its title and its links.

    page = api.web.get("https://docs.example.org/")
    page["title"], page["text"][:500], page["links"][0]["url"]

A host has to be granted (`--net HOST`). Nothing on a page is run.
"""

import codecs
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser

from api import _parameters

__all__ = ["get", "text_of"]

_BYTES = 8 << 20
_AGENT = "Belljar"
_UNSEEN = frozenset("script style noscript template head title svg math iframe object canvas select option datalist".split())
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul".split()
)


class WebError(OSError):
    """A page could not be fetched; says why, and what would help."""


class _Reader(HTMLParser):
    """The text of a page, line by line, as HTMLParser comes by it."""

    def __init__(self, base, max_links):
        super().__init__(convert_charrefs=True)
        self.base = base
        self.max_links = max_links
        self.pieces = []
        self.links = []
        self.title = []
        self.unseen = []  # names of open elements of which nothing is seen
        self.link = None
        self.in_title = False

    @staticmethod
    def _is_hidden(tag, attributes):
        style = re.sub(r"\s", "", attributes.get("style") or "").lower()
        return tag in _UNSEEN or "hidden" in attributes or "display:none" in style or "visibility:hidden" in style

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "title" and not self.title:
            self.in_title = True
        if tag == "base" and attributes.get("href"):
            self.base = _join(self.base, attributes["href"]) or self.base
        if tag not in _VOID and (self.unseen or self._is_hidden(tag, attributes)):
            self.unseen.append(tag)
            return
        if tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append("\t")
        if tag == "img" and attributes.get("alt"):
            self.pieces.append(attributes["alt"])
        if tag == "a" and attributes.get("href"):
            self.link = (attributes["href"], len(self.pieces))

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        if self.unseen:
            if tag in self.unseen:
                while self.unseen.pop() != tag:
                    pass
            return
        if tag in _BLOCKS:
            self.pieces.append("\n")
        if tag == "a" and self.link:
            self._end_link()

    def _end_link(self):
        href, start = self.link
        self.link = None
        url = _join(self.base, href)
        if url and len(self.links) < self.max_links:
            self.links.append({"text": " ".join("".join(self.pieces[start:]).split())[:200], "url": url})

    def handle_data(self, data):
        if self.in_title:
            self.title.append(data)
        if not self.unseen:
            self.pieces.append(re.sub(r"\s+", " ", data))


def _join(base, href):
    try:
        url = urllib.parse.urljoin(base, href)
    except ValueError:
        return None
    return url[:2000] if url.startswith(("http://", "https://")) else None


def text_of(html, base="", max_links=100):
    """Title, text and links of the HTML of a page, without a request.

    >>> text_of("<title>Tea</title><p>Green <b>tea</b>")["text"]
    """
    reader = _Reader(base, max_links)
    reader.feed(html)
    reader.close()
    lines = (re.sub(r"[ \t\xa0]*\t[ \t\xa0]*", "\t", re.sub(r"[ \xa0]+", " ", line)).strip() for line in "".join(reader.pieces).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return {"title": " ".join("".join(reader.title).split()), "text": text, "links": reader.links}


def _decode(body, content_type):
    found = re.search(r"charset=[\"']?([\w.:-]+)", content_type) or re.search(rb"charset=[\"']?([\w.:-]+)", body[:4096])
    name = found[1] if found else "utf-8"
    name = name if isinstance(name, str) else name.decode("ascii")
    try:
        codecs.lookup(name)
        return body.decode(name, "replace")
    except (LookupError, UnicodeError, TypeError):
        return body.decode("utf-8", "replace")


def _place(url):
    """The host to grant, with its port if the address has one."""
    return urllib.parse.urlsplit(url).netloc.rpartition("@")[2]


def _granting(url):
    return f"grant {_place(url)} (`net`), which whoever started Belljar does with `--net {_place(url)}`"


def _open(url, timeout):
    request = urllib.request.Request(url, headers={"User-Agent": _AGENT, "Accept": "text/html,text/*;q=0.9,*/*;q=0.5"})
    try:
        return urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 403 and error.reason.startswith("Forbidden ("):
            raise WebError(error.reason[11:-1] + f"; {_granting(error.url or url)}") from None
        return error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise WebError(f"{url}: {reason}") from None


def get(url, max_chars=20000, max_links=100, timeout=20):
    """A page of a granted host: {"url", "status", "content_type", "title", "text", "links", "truncated"}.

    The text is what a reader sees; `url` is where redirects led. Text that is not HTML is returned unchanged. Raises
    WebError for other content, a host that is not granted, and no answer.

    >>> get("https://docs.example.org/")["text"][:200]
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WebError(f"{url!r} is not an http or https address")
    if not os.environ.get("HTTP_PROXY"):
        raise WebError(f"no host is granted to this program; {_granting(url)}")
    with _open(url, timeout) as reply:
        content_type = reply.headers.get("Content-Type", "text/html")
        body = reply.read(_BYTES + 1)
        status, url = reply.status, reply.url
    kind = content_type.split(";")[0].strip().lower()
    if not (kind.startswith("text/") or kind.endswith(("json", "xml", "xhtml", "javascript"))):
        raise WebError(f"{url}: {kind} is not text")
    text = _decode(body[:_BYTES], content_type)
    page = text_of(text, url, max_links) if "html" in kind else {"title": "", "text": text, "links": []}
    page |= {"url": url, "status": status, "content_type": kind, "truncated": len(page["text"]) > max_chars or len(body) > _BYTES}
    page["text"] = page["text"][:max_chars]
    return page


_parameters.understand(globals())
