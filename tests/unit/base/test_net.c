#include "unit.h"

#include "base/net.h"

#include <string.h>

#include "base/cleanup.h"

static struct net *net_of(const char *const *texts, size_t count)
{
    struct net *net = net_new();
    struct error err = {0};

    for (size_t i = 0; i < count; i++)
        if (net_add(net, texts[i], &err) < 0)
            fail_msg("%s: %s", texts[i], err.message);
    return net;
}

#define NET(...)                                                                                   \
    net_of((const char *const[]){__VA_ARGS__}, ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

static bool has(const struct net *net, const char *where, const char *method, const char *path)
{
    struct host host;
    uint16_t port = method ? 80 : 443, to;
    const char *why = NULL;
    bool is_tls;

    assert_null(host_parse_port(where, strlen(where), &host, &port));
    return net_match(
        net,
        &(struct net_ask){
            .host = &host, .port = port, .is_tunnel = !method, .method = method, .path = path},
        &to, &is_tls, &why);
}

TEST(a_host_is_itself_on_two_ports)
{
    cleanup(net_unref_p) struct net *net = NET("API.example.org.");

    assert_true(has(net, "api.example.org:443", NULL, NULL));
    assert_true(has(net, "api.example.org:80", NULL, NULL));
    assert_true(has(net, "Api.Example.Org.", "GET", "/x"));
    assert_false(has(net, "api.example.org:22", NULL, NULL));
    assert_false(has(net, "example.org", NULL, NULL));
    assert_false(has(net, "xapi.example.org", NULL, NULL));
    assert_false(has(net, "api.example.org.evil.test", NULL, NULL));
}

TEST(a_star_is_for_names_below)
{
    cleanup(net_unref_p) struct net *net = NET("*.example.org:443");

    assert_true(has(net, "a.example.org:443", NULL, NULL));
    assert_true(has(net, "a.b.example.org:443", NULL, NULL));
    assert_false(has(net, "example.org:443", NULL, NULL));
    assert_false(has(net, "evilexample.org:443", NULL, NULL));
    assert_false(has(net, "a.example.org:80", NULL, NULL));
    assert_false(has(net, "a.example.org.evil.test:443", NULL, NULL));
}

TEST(a_path_is_for_requests_and_plain_spellings)
{
    static const char *const wrong[] = {
        "/session",
        "/sessions/1",
        "/session/../admin",
        "/session/%2e%2e/admin",
        "/session/..;/x",
        "/session/..",
        "/session/a//b",
        "/session/./a",
        "/session\\..",
        "/session/a%2fb",
        "/",
        "/session/..;a=b/x",
        "//session/1",
        "/session/%252e%252e/x",
    };
    cleanup(net_unref_p) struct net *net = NET("GET+HEAD http://127.0.0.1:8000/session/");

    assert_true(has(net, "127.0.0.1:8000", "GET", "/session/1"));
    assert_true(has(net, "2130706433:8000", "HEAD", "/session/1/x"));
    assert_false(has(net, "127.0.0.1:8000", "POST", "/session/1"));
    assert_false(has(net, "127.0.0.1:8000", "get", "/session/1"));
    assert_false(has(net, "127.0.0.1:8000", NULL, NULL));
    assert_false(has(net, "127.0.0.1:8001", "GET", "/session/1"));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(has(net, "127.0.0.1:8000", "GET", wrong[i]));
}

TEST(plain_requests_become_tls_where_that_is_granted)
{
    cleanup(net_unref_p) struct net *net =
        NET("api.example.org:8443 header=Authorization: Bearer ${secret:KEY}");
    struct host host;
    struct net_ask ask = {.host = &host, .port = 80, .method = "GET", .path = "/"};
    const struct net_grant *grant;
    const char *why;
    uint16_t port;
    bool is_tls;

    assert_null(host_parse("api.example.org", 15, true, &host));
    grant = net_match(net, &ask, &port, &is_tls, &why);
    assert_non_null(grant);
    assert_int_equal(port, 8443);
    assert_true(is_tls);
    assert_string_equal(grant->header, "Authorization: Bearer ${secret:KEY}");
    ask.is_tunnel = true;
    ask.port = 8443;
    assert_null(net_match(net, &ask, &port, &is_tls, &why));
}

TEST(addresses_are_granted_as_such)
{
    cleanup(net_unref_p) struct net *net =
        NET("a.example.org", "10.0.0.5:80", "intra.example.org private", "localhost:9");
    struct host host;

    assert_null(host_parse("10.0.0.5", 8, true, &host));
    assert_null(net_judge(net, &net->grants[0], &host.address, false, 80));
    assert_non_null(net_judge(net, &net->grants[0], &host.address, false, 443));
    assert_null(net_judge(net, &net->grants[2], &host.address, false, 443));
    assert_non_null(net_judge(net, &net->grants[3], &host.address, false, 9));
    assert_null(host_parse("127.0.0.1", 9, true, &host));
    assert_non_null(net_judge(net, &net->grants[0], &host.address, false, 80));
    assert_null(net_judge(net, &net->grants[3], &host.address, false, 9));
    assert_null(host_parse("0.0.0.0", 7, true, &host));
    assert_non_null(net_judge(net, &net->grants[2], &host.address, false, 80));
    assert_null(host_parse("1.1.1.1", 7, true, &host));
    assert_null(net_judge(net, &net->grants[0], &host.address, false, 80));
    assert_non_null(net_judge(net, &net->grants[0], &host.address, true, 80));
}

/* The name would open what was left out of the grant. */
TEST(a_part_of_a_server_is_not_its_address)
{
    cleanup(net_unref_p) struct net *net =
        NET("a.example.org:80", "http://10.0.0.5/session/", "GET 10.0.0.5:80", "10.0.0.6:80");
    struct host host;

    assert_null(host_parse("10.0.0.5", 8, true, &host));
    assert_non_null(net_judge(net, &net->grants[0], &host.address, false, 80));
    assert_null(net_judge(net, &net->grants[1], &host.address, false, 80));
    assert_null(host_parse("10.0.0.6", 8, true, &host));
    assert_null(net_judge(net, &net->grants[0], &host.address, false, 80));
}

TEST(mistakes_are_named)
{
    static const char *const wrong[] = {
        "",
        "*",
        "*.org",
        "*example.org",
        "a b",
        "ftp://a.org",
        "a.org:0",
        "a.org:x",
        "http://",
        "u@a.org",
        "a.org/../x",
        "2130706433",
        "127.1",
        "0.0.0.0",
        "224.0.0.1",
        "b\xc3\xbc.org",
        "a.org\n",
        "a.org privat",
        "a.org/%41",
        "a.org/x?y",
        "a.org header=X",
        "a.org header=X: a\tb",
        "a.org header=X: y",
        "*.a.org header=X: ${secret:K}",
        "+GET a.org",
        "GET+ a.org",
        "a.org header=: x",
    };
    struct net *net = net_new();

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        cleanup_error struct error err = {0};

        if (net_add(net, wrong[i], &err) == 0)
            fail_msg("`%s` was taken", wrong[i]);
        assert_int_equal(err.code, E_INVALID);
        assert_non_null(err.hint);
    }
    assert_int_equal(net->count, 0);
    net_unref(net);
}

static bool within(const struct net *allowed, const char *text, const char *expected)
{
    cleanup(net_unref_p) struct net *net = net_new();
    cleanup_error struct error err = {0};
    char got[512] = "";

    if (net_add_within(net, allowed, text, &err) < 0)
        return !expected && (err.code == E_DENIED || err.code == E_INVALID);
    (void)net_grant_text(&net->grants[0], got, sizeof(got));
    if (!expected || strcmp(got, expected) != 0)
        print_error("%s: %s\n", text, got);
    return expected && strcmp(got, expected) == 0;
}

TEST(nobody_gets_more_than_is_allowed)
{
    cleanup(net_unref_p) struct net *net =
        NET("GET+POST https://api.example.org/v1/ header=X-Key: ${secret:K}", "*.cdn.example.org",
            "10.0.0.5:8000", "in.example.org:80 private");

    assert_true(within(net, "api.example.org", "GET+POST https://api.example.org:443/v1/"));
    assert_true(
        within(net, "GET api.example.org:443/v1/x", "GET https://api.example.org:443/v1/x"));
    assert_true(
        within(net, "https://api.example.org/", "GET+POST https://api.example.org:443/v1/"));
    assert_true(within(net, "a.cdn.example.org", "a.cdn.example.org"));
    assert_true(within(net, "*.a.cdn.example.org:443", "*.a.cdn.example.org:443"));
    assert_true(within(net, "in.example.org:80", "in.example.org:80 private"));
    assert_true(within(net, "10.0.0.5:8000", "10.0.0.5:8000"));
    assert_true(within(net, "DELETE api.example.org", NULL));
    assert_true(within(net, "api.example.org/v2/", NULL));
    assert_true(within(net, "api.example.org:80", NULL));
    assert_true(within(net, "http://api.example.org", NULL));
    assert_true(within(net, "*.example.org", NULL));
    assert_true(within(net, "cdn.example.org", NULL));
    assert_true(within(net, "a.cdn.example.org:22", NULL));
    assert_true(within(net, "10.0.0.5", NULL));
    assert_true(within(net, "a.cdn.example.org private", NULL));
    assert_true(within(net, "api.example.org header=X-Key: ${secret:K}", NULL));
    assert_true(within(NULL, "api.example.org", NULL));
}

static bool may_ask(const struct net *net, const char *text)
{
    struct host host;

    assert_null(host_parse(text, strlen(text), false, &host));
    return net_may_ask(net, &host);
}

TEST(somebody_may_be_asked_for_hosts_that_nobody_granted)
{
    static const char *const never[] = {
        "localhost",
        "127.0.0.1",
        "127.9.9.9",
        "0x7f000001",
        "10.0.0.1",
        "192.168.0.1",
        "::1",
        "fd00::1",
        "fe80::1",
        "0.0.0.0",
        "169.254.169.254",
        "224.0.0.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "api.example.org",
        "a.cdn.example.org",
        "part.example.org",
    };
    cleanup(net_unref_p) struct net *net =
        NET("ask", "api.example.org:443", "*.cdn.example.org", "GET https://part.example.org/x/");
    cleanup(net_unref_p) struct net *silent = NET("api.example.org:443"), *both = NULL;

    assert_true(net->asks && net->count == 3 && !silent->asks);
    assert_true(may_ask(net, "other.example.org") && may_ask(net, "93.184.216.34") &&
                may_ask(net, "cdn.example.org") && may_ask(net, "ask"));
    assert_false(may_ask(silent, "other.example.org"));
    for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
        if (may_ask(net, never[i]))
            fail_msg("%s", never[i]);
    both = net_ref(silent);
    assert_int_equal(net_merge(&both, net, NULL), 0);
    assert_true(both->asks && !silent->asks);
}

TEST(asking_is_granted_like_a_host)
{
    cleanup(net_unref_p) struct net *asks = NET("ask"), *silent = NET("api.example.org");
    cleanup(net_unref_p) struct net *net = net_new();

    assert_true(net_add_within(net, silent, "ask", NULL) < 0);
    assert_true(net_add_within(net, NULL, "ask", NULL) < 0);
    assert_true(net_add_within(net, asks, "api.example.org", NULL) < 0);
    assert_false(net->asks);
    assert_int_equal(net_add_within(net, asks, "ask", NULL), 0);
    assert_true(net->asks && net->count == 0);
}

UNIT_MAIN()
