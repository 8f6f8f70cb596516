"""Pages as text: what a reader sees, through the gate and no other way."""
import pytest

import mcp
from hosts import Host

PAGE = b"""<!doctype html><html><head><title> Tea &amp; more </title><style>p{}</style><script>var x = "<p>no</p>"</script></head>
<body><h1>Teas</h1><p>Green   and <b>bl\xc3\xa4ck</b>.</p><div style="display: none">unseen <a href=x>y</a></div><p hidden>unseen</p>
<ul><li>One <a href="/one?a=1">first</a><li>Two <a href="javascript:alert(1)">script</a></ul><table><tr><td>a<td>b</tr></table><img alt="a cup"></body></html>"""

ANSWERS = {
    "/": (200, {"Content-Type": "text/html; charset=utf-8"}, PAGE),
    "/latin": (200, {"Content-Type": "text/html; charset=iso-8859-1"}, b"<p>caf\xe9"),
    "/meta": (200, {"Content-Type": "text/html"}, b"<meta charset='iso-8859-1'><p>caf\xe9"),
    "/data.json": (200, {"Content-Type": "application/json"}, b'{"a": 1}'),
    "/picture": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/moved": (302, {"Location": "/latin"}, b""),
    "/missing": (404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>"),
    "/unclosed": (200, {"Content-Type": "text/html"}, b"<div><p>open <b>bold <a href='/x'>link" * 50),
    "/away": (302, {"Location": "http://127.0.0.1:9/"}, b""),
    "/odd": (200, {"Content-Type": "text/html; charset=no-such"}, b"<p>text<![CDATA[x]]><!-- <p>no -->&#0;&#xFFFFFFFF;&bogus;"),
}


@pytest.fixture(scope="module")
def site():
    with Host(answers=ANSWERS) as site:
        yield site


def get(who, site, path, *, url=None, expression="page", grant=True):
    code = f"""
from api import web
try:
    page = web.get({url or repr(site.url + path)})
    print({expression})
except web.WebError as error:
    print("error:", error)
"""
    return who.run(code, *(["--net", f"127.0.0.1:{site.port}"] if grant else []), profile="standard").json["stdout"].rstrip("\n")


def test_text_title_and_links(who, site):
    assert get(who, site, "/", expression="page['text']") == "Teas\n\nGreen and bl\u00e4ck.\n\nOne first\nTwo script\n\na\tb\n\na cup"
    said = get(who, site, "/", expression="(page['title'], page['links'], page['status'], page['truncated'])")
    assert said == str(("Tea & more", [{"text": "first", "url": f"{site.url}/one?a=1"}], 200, False))


@pytest.mark.parametrize(
    ("path", "expression", "expected"),
    [
        ("/latin", "page['text']", "caf\u00e9"),
        ("/meta", "page['text']", "caf\u00e9"),
        ("/data.json", "page['text']", '{"a": 1}'),
        ("/missing", "(page['status'], page['text'])", "(404, 'Not here')"),
        ("/moved", "(page['text'], page['url'][-6:])", "('caf\u00e9', '/latin')"),
        ("/unclosed", "page['text'].count('bold')", "50"),
        ("/odd", "page['text'].startswith('text')", "True"),
    ],
)
def test_pages_of_many_kinds(who, site, path, expression, expected):
    assert get(who, site, path, expression=expression) == expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("/picture", "image/png is not text"),
        ("/away", "not granted"),
        ("'file:///etc/passwd'", "not an http or https address"),
        ("'http://127.0.0.1:9/'", "grant 127.0.0.1:9 (`net`)"),
        ("'https://example.org/'", "not granted"),
        ("'http://'", "not an http or https address"),
    ],
)
def test_what_cannot_be_had_is_said(who, site, url, said):
    answer = get(who, site, url) if url.startswith("/") else get(who, site, "", url=url)
    assert answer.startswith("error:") and said in answer


def test_without_a_grant_there_is_no_page(who, site):
    before = len(site.seen)
    said = get(who, site, "/", grant=False)
    assert "no host is granted" in said and f"grant 127.0.0.1:{site.port} (`net`)" in said
    assert len(site.seen) == before


def test_the_tool_that_reads_a_page(who, site):
    with mcp.Client(who, "--compat", "coderunner", "--net", f"127.0.0.1:{site.port}") as c:
        c.initialize()
        assert "Green and bl\u00e4ck." in c.text("navigate_and_get_all_visible_text", {"url": site.url + "/"})
        refused = c.call("navigate_and_get_all_visible_text", {"url": "http://127.0.0.1:9/'); print('escaped')#"})
        assert refused["isError"] and "escaped\n" not in mcp.text_of(refused), refused
