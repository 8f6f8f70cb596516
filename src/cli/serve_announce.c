#include "cli/serve_announce.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/service.h"

/* Tells whoever started the server: on stdout, or as an event where a machine reads the log. */
__attribute__((format(printf, 2, 3))) static void say(const char *event, const char *format, ...)
{
    cleanup_free char *text = NULL;
    va_list args;
    int r;

    va_start(args, format);
    r = vasprintf(&text, format, args);
    va_end(args);
    if (r < 0)
        text = NULL;
    else if (log_is_json())
        LOG_EVENT(LOG_INFO, event, {"message", text});
    else
        (void)printf("belljar: %s\n", text);
}

static void announce_address(const struct config *config, const struct serve_sockets *sockets)
{
    if (sockets->n_passed) {
        say("listen", "listening on %d sockets of the service manager", sockets->n_passed);
        return;
    }
    say("listen", "listening on %s", sockets->origin);
    if (sockets->own_unix.path)
        say("listen", "listening on %s", sockets->own_unix.path);
    if (config_has_e2b_debug(config))
        say("listen",
            "listening for E2B_DEBUG on localhost: every local program may use a sandbox");
}

static void announce_token(const char *path, bool has_first)
{
    if (path && !has_first)
        say("auth", "a token is needed (`belljar token list`)");
    else if (path)
        say("auth", "the token is in %s", path);
    else
        say("auth", "no token is needed");
}

static void announce_isolation(const struct config *config)
{
    if (config_is_process_level(config))
        say("isolation",
            "isolation is `process`, which is weaker: programs run without namespaces, "
            "behind Landlock, seccomp and resource limits only");
}

void serve_announce(const struct config *config, const struct serve_sockets *sockets,
                    const char *token_path, bool has_first_token)
{
    announce_isolation(config);
    announce_address(config, sockets);
    announce_token(token_path, has_first_token);
    (void)fflush(stdout);
    service_notify("READY=1\nSTATUS=Takes requests");
}
