#include "unit.h"

#include "base/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/cleanup.h"

TEST(every_spelling_is_the_same_address)
{
    static const char *const spellings[] = {
        "127.0.0.1",       "127.0.0.1.",
        "2130706433",      "0x7f000001",
        "0X7F000001",      "017700000001",
        "127.1",           "127.0.1",
        "0x7f.0.0.1",      "0177.0.0.01",
        "127.0x0.0.1",     "[::ffff:127.0.0.1]",
        "[::FFFF:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]",
    };
    struct host host;

    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        assert_null(host_parse(spellings[i], strlen(spellings[i]), true, &host));
        assert_true(host.is_address);
        assert_string_equal(host.name, "127.0.0.1");
        assert_true(address_is_loopback(&host.address));
    }
}

TEST(what_ends_in_a_number_is_never_a_name)
{
    static const char *const wrong[] = {
        "256.0.0.1", "1.2.3.4.5", "127.0.0.09",  "4294967296", "0x100000000", "1..2",
        "a.1",       "a.0x1",     "127.0.0.1..", "1.2.3.256",  "1.16777216",
    };
    struct host host;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_non_null(host_parse(wrong[i], strlen(wrong[i]), true, &host));
}

TEST(names_have_one_form)
{
    struct host host;

    assert_null(host_parse("API.Example.ORG.", 16, true, &host));
    assert_false(host.is_address);
    assert_string_equal(host.name, "api.example.org");
    assert_null(host_parse("xn--bcher-kva.example", 21, true, &host));
}

TEST(what_is_no_host_is_refused)
{
    static const char *const wrong[] = {
        "",
        ".",
        "a b",
        "a%41",
        "%31%32%37.0.0.1",
        "b\xc3\xbc",
        "a\r\nb",
        "a/b",
        "a@b",
        "a\\b",
        "[fe80::1%eth0]",
        "[::1",
        "::1]",
        "[]",
        "[127.0.0.1]",
        "a..b",
        "a#b",
        "a?b",
        "*.a.org",
        "\xe2\x91\xa0.0.0.1",
        ("127\xe3\x80\x82"
         "0.0.1"),
        "localhost:80",
        "-x.a.org",
    };
    struct host host;
    char long_label[70];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_non_null(host_parse(wrong[i], strlen(wrong[i]), true, &host));
    assert_non_null(host_parse("a\0b", 3, true, &host));
    memset(long_label, 'a', sizeof(long_label));
    assert_non_null(host_parse(long_label, 64, true, &host));
    assert_null(host_parse(long_label, 63, true, &host));
}

TEST(ports_are_read_and_users_are_not)
{
    struct host host;
    uint16_t port = 80;

    assert_null(host_parse_port("a.org", 5, &host, &port));
    assert_int_equal(port, 80);
    assert_null(host_parse_port("[::1]:8000", 10, &host, &port));
    assert_int_equal(port, 8000);
    assert_string_equal(host.name, "::1");
    assert_non_null(host_parse_port("a.org@b.org", 11, &host, &port));
    assert_non_null(host_parse_port("a.org:", 6, &host, &port));
    assert_non_null(host_parse_port("a.org:0", 7, &host, &port));
    assert_non_null(host_parse_port("a.org:65536", 11, &host, &port));
    assert_non_null(host_parse_port("a.org:+80", 9, &host, &port));
    assert_non_null(host_parse_port("::1", 3, &host, &port));
}

TEST(urls_are_taken_apart)
{
    static const char *const wrong[] = {
        "",           "http://",        "ftp://a.org/",     "a.org",          "http://a.org/#x",
        "http:// a/", "http://u@a.org", "http://a.org:0/",  "http://[::1",    "http://a.org:80:80/",
        "https:///x", "http://a\tb/",   "http://\xc3\xa4/", "http://a:99999", "http://::1/",
    };
    struct url url;

    assert_null(url_parse("HTTPS://A.org/x?y", 17, &url));
    assert_true(url.is_tls && url.port == 0 && url_port(&url) == 443);
    assert_string_equal(url.host.name, "a.org");
    assert_int_equal(url.target.len, 4);
    assert_memory_equal(url.target.data, "/x?y", 4);
    assert_null(url_parse("http://[::1]:8000", 17, &url));
    assert_true(!url.is_tls && url_port(&url) == 8000 && url.target.len == 0);
    assert_null(url_parse("http://a.org?q", 14, &url));
    assert_true(url_port(&url) == 80 && url.target.len == 2);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_non_null(url_parse(wrong[i], strlen(wrong[i]), &url));
}

TEST(hosts_of_this_machine_are_loopback)
{
    static const char *const ours[] = {"localhost", "LOCALHOST.", "127.0.0.1",         "127.9.9.9",
                                       "0x7f.1",    "[::1]",      "[::ffff:127.0.0.1]"};
    static const char *const others[] = {"localhost.org", "127.0.0.1.org", "128.0.0.1", "[::2]",
                                         "0.0.0.0"};
    char text[HOST_TEXT];
    struct host host;

    for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
        assert_null(host_parse(ours[i], strlen(ours[i]), true, &host));
        assert_true(host_is_loopback(&host));
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_null(host_parse(others[i], strlen(others[i]), true, &host));
        assert_false(host_is_loopback(&host));
    }
    assert_null(host_parse("[::1]", 5, true, &host));
    host_text(&host, text);
    assert_string_equal(text, "[::1]");
}

TEST(only_the_public_internet_is_public)
{
    static const char *const inner[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "192.88.99.1",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "4000::1",
    };
    static const char *const outer[] = {
        "1.1.1.1",         "9.255.255.255",   "11.0.0.0",    "100.63.255.255",
        "100.128.0.0",     "172.15.0.1",      "172.32.0.1",  "192.0.1.1",
        "223.255.255.255", "2606:4700::1111", "2a00:1450::", "2001:4860::8888",
    };
    struct host host;

    for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
        assert_null(host_parse(inner[i], strlen(inner[i]), false, &host));
        assert_non_null(address_range(&host.address));
    }
    for (size_t i = 0; i < ARRAY_SIZE(outer); i++) {
        assert_null(host_parse(outer[i], strlen(outer[i]), false, &host));
        assert_null(address_range(&host.address));
    }
}

TEST(sockets_and_addresses_are_the_same)
{
    struct sockaddr_storage to;
    struct address back;
    struct host host;

    assert_null(host_parse("[::ffff:10.1.2.3]", 17, true, &host));
    assert_int_equal(address_to_socket(&host.address, 80, &to), sizeof(struct sockaddr_in));
    assert_true(address_of_socket((struct sockaddr *)&to, &back));
    assert_true(address_equal(&host.address, &back));
    assert_null(host_parse("[2001:db8::2]", 13, true, &host));
    assert_int_equal(address_to_socket(&host.address, 80, &to), sizeof(struct sockaddr_in6));
    assert_true(address_of_socket((struct sockaddr *)&to, &back));
    assert_true(address_equal(&host.address, &back));
}

UNIT_MAIN()
