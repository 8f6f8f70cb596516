#include "cluster/join_check.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/json.h"

/* Long enough for three heartbeats of everybody. */
#define LISTEN_MS 1000

/* Certificates, idempotency keys and the audit trail are about time; a second is good enough for
 * them, a minute is a mistake. */
#define CLOCK_WARN_MS  1000
#define CLOCK_WRONG_MS 30000

int join_check_address(const char *address, struct error *err)
{
    struct sockaddr_storage at = {0};
    struct host host;
    cleanup_close int fd = -1;
    unsigned len = 0;

    if (host_parse(address, strlen(address), false, &host) || !host.is_address)
        return 0;
    len = address_to_socket(&host.address, 0, &at);
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, len) == 0)
        return 0;
    if (errno != EADDRNOTAVAIL)
        return error_errno(err, "the address `%s`", address);
    error_set(err, E_INVALID, "this machine does not have the address `%s`", address);
    return error_hint(err, "`ip address` lists its addresses; a join file is for one machine only");
}

/* --- servers --- */

/* The first connection is kept in *bus, the first mistake in *first. */
static void ask(const struct join_check *check, const char *server, struct operator_bus **bus,
                struct error *first)
{
    const char *const servers[] = {server, NULL};
    struct operator_options options = *check->options;
    struct operator_bus *one = NULL;
    cleanup_error struct error wrong = {0};

    options.servers = servers;
    if (operator_connect(&options, &one, &wrong) < 0) {
        (void)printf("  %s\n", wrong.message);
        if (first->code == E_NONE)
            error_move(first, &wrong);
        return;
    }
    (void)printf("  %s: reached%s\n", server, options.ca ? ", TLS is right" : "");
    if (*bus)
        operator_close(one);
    else
        *bus = one;
}

/* Asks every server, so that each that is wrong is named, and keeps the connection to one. */
static int ask_servers(const struct join_check *check, struct operator_bus **bus, struct error *err)
{
    cleanup_error struct error first = {0};

    for (size_t i = 0; check->options->servers[i]; i++)
        ask(check, check->options->servers[i], bus, &first);
    /* A machine that is down does not keep others from joining. A wrong certificate does. */
    if (first.code == E_NONE || (*bus && check->is_new && first.code == E_SYSTEM))
        return 0;
    error_move(err, &first);
    return -1;
}

/* --- heartbeats --- */

static int check_clock(const char *who, const json_t *entry, struct error *err)
{
    const json_t *told = json_object_get(json_object_get(entry, "beat"), "clock_ms");
    json_int_t heard = json_integer_value(json_object_get(entry, "heard_at_ms"));
    json_int_t off = heard - json_integer_value(told);

    if (!json_is_integer(told) || llabs(off) < CLOCK_WARN_MS)
        return 0;
    (void)printf("  %s: its clock is %.1f s %s this one\n", who, (double)llabs(off) / 1000,
                 off > 0 ? "behind" : "ahead of");
    if (llabs(off) < CLOCK_WRONG_MS)
        return 0;
    error_set(err, E_INVALID, "the clocks of this machine and of `%s` differ by %lld s", who,
              llabs(off) / 1000);
    return error_hint(err,
                      "`timedatectl` shows whether the clock is synchronized; every machine needs "
                      "NTP, as systemd-timesyncd or chrony do it");
}

static int check_version(const struct join_check *check, const char *who, const json_t *entry,
                         struct error *err)
{
    const char *version = json_get_text(json_object_get(entry, "beat"), "version");

    if (!*version || strcmp(version, BELLJAR_VERSION) == 0)
        return 0;
    (void)printf("  %s: version %s\n", who, version);
    if (check->takes_any_version || !check->is_new)
        return 0;
    error_set(err, E_INVALID, "`%s` has version %s, this machine %s", who, version,
              BELLJAR_VERSION);
    return error_hint(err, "install the version of the cluster first, or --any-version during an "
                           "upgrade");
}

static int check_name(const struct join_check *check, const char *who, const json_t *entry,
                      struct error *err)
{
    const char *space = strchr(who, ' ');
    bool is_own = space && strcmp(space + 1, check->name) == 0;

    if (is_own && check->is_new) {
        error_set(err, E_INVALID, "the name `%s` is taken: a %.*s of this name is running",
                  check->name, (int)(space - who), who);
        return error_hint(err, "stop it there first, or add this machine under another name");
    }
    if (json_is_true(json_object_get(entry, "is_twice"))) {
        error_set(err, E_INVALID, "two processes run as the %s", who);
        return error_hint(err, "stop one of them: sessions are found by the name of their node");
    }
    return 0;
}

static int check_beats(const struct join_check *check, struct operator_bus *bus, struct error *err)
{
    cleanup_json json_t *beats = json_object();
    const char *who = NULL;
    json_t *entry = NULL;

    if (!beats)
        return error_memory(err);
    if (operator_listen(bus, err) < 0 || operator_hear(bus, LISTEN_MS, beats, err) < 0)
        return -1;
    json_object_foreach(beats, who, entry) if (check_name(check, who, entry, err) < 0 ||
                                               check_clock(who, entry, err) < 0 ||
                                               check_version(check, who, entry, err) < 0) return -1;
    (void)printf("  %zu heartbeats heard\n", json_object_size(beats));
    return 0;
}

int join_check(const struct join_check *check, struct error *err)
{
    struct operator_bus *bus = NULL;
    int r = ask_servers(check, &bus, err);

    if (r == 0 && bus)
        r = check_beats(check, bus, err);
    operator_close(bus);
    return r;
}
