#include "cluster/settings.h"

#include <stdio.h>
#include <unistd.h>

#include "unit.h"

/* Loads that text as a file. */
static int load(const char *text, struct settings *settings, struct error *err)
{
    char path[] = "/tmp/unit-settings-XXXXXX";
    int fd = mkstemp(path), r;

    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
    r = settings_load(path, settings, err);
    (void)unlink(path);
    return r;
}

#define BUS "name = \"a1\"\n[bus]\nservers = [\"nats://127.0.0.1:4222\"]\n"

TEST(a_whole_file_is_read)
{
    struct settings s;
    struct error err = {0};

    assert_int_equal(load(BUS "[gateway]\nlisten = [\"127.0.0.1:0\"]\n[node]\nsocket = \"/x\"\n"
                              "labels = [\"gpu\"]\nbus_cert = \"c\"\nbus_key = \"k\"\n",
                          &s, &err),
                     0);
    assert_true(s.has_gateway && s.has_node && s.connections == 4096 && s.replicas == 1);
    assert_string_equal(s.labels[0], "gpu");
    assert_null(s.labels[1]);
    assert_string_equal(s.node.key, "k");
    assert_null(s.gateway.key);
    settings_done(&s);
}

TEST(mistakes_say_where_and_what)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"name = \"A1\"\n[bus]\nservers = [\"x\"]\n", ":1: `name`"},
        {BUS "[node]\nsockt = \"/x\"\n", ":5: `node.sockt`"},
        {BUS "[node]\nlabels = [\"x\"]\n", "`node.socket`"},
        {BUS "[gateway]\nlisten = \"x\"\n", ":5: `gateway.listen`"},
        {BUS "[gateway]\nlisten = [\"x\"]\ntls_cert = \"x\"\n", "`gateway`: expected both"},
        {BUS "[gateway]\nlisten = [\"x\"]\nconnections = 0\n", "`gateway.connections`"},
        {BUS "[node]\nsocket = \"/x\"\nbus_key = \"x\"\n", "`node`: expected both"},
        {BUS "[node]\nsocket = \"/x\"\ntokens = \"/t\"\n", "`node.tokens`: expected `ca`"},
        {"name = \"a1\"\n[bus]\nservers = []\n", "`bus.servers`"},
        {"name = \"a1\"\nbus = 3\n", "`bus`: expected a table"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct settings s;
        struct error err = {0};

        assert_int_equal(load(rows[i].text, &s, &err), -1);
        assert_non_null(strstr(err.message, rows[i].said));
        error_done(&err);
    }
}

UNIT_MAIN()
