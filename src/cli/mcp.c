/* belljar mcp: the engine behind the Model Context Protocol, on standard input and output.
 *
 * Clients start this program for themselves, some of them twice to see what it can do, and give up
 * on one that is slow to answer. So the first messages are answered while the interpreter is still
 * warming up, and calls wait for it. The program takes no lock and leaves no file; the end of its
 * input ends it, with everything that it has started.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/admit.h"
#include "admit/grants.h"
#include "admit/workdir.h"
#include "api/api.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/paths.h"
#include "cli/backend.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "engine/engine.h"
#include "mcp/stdio.h"
#include "mcp/tools.h"

/* One client: a sandbox for its session, and one for what comes beside. */
#define STOCK 2

/* Limits of one client, and how long it waits. */
#define RUNS_MAX    64
#define WAITING_MAX 256
#define WAIT_MS     ((uint64_t)5 * 60 * 1000)

/* Answers kept for read_output. */
#define KEPT_ANSWERS 100
#define KEPT_BYTES   (64 * MIB)

struct mcp {
    struct backend back;
    int in, out; /* the client's; nothing else of this process writes there */
    struct caller caller;
    struct run *granted;
    struct mcp_host host;
    struct mcp_stdio *stdio;
};

enum { OPT_HELP = 'h', OPT_CONFIG = 256 };

static const struct option own_options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
};

static int help(void)
{
    (void)printf("usage: belljar mcp [OPTION]…\n"
                 "Serve an MCP client on standard input and output.\n\n"
                 "  --config FILE         read this file instead of the usual ones\n");
    flags_print("mcp");
    (void)printf("\n`belljar setup CLIENT` writes this command into a client's settings.\n"
                 "example: belljar mcp --allow ~/project:ro --profile open\n");
    return 0;
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct mcp *mcp, const char **ret_config, int argc, char **argv)
{
    const struct cmd_place places[] = {
        {OPT_CONFIG, .word = ret_config},
    };

    return flags_read(
        &(struct flags){own_options, ARRAY_SIZE(own_options), places, ARRAY_SIZE(places), help},
        mcp->back.config, argc, argv);
}

/* --- opening --- */

/* Standard output is the protocol's alone: what else is written there by anybody goes to stderr. */
static int take_pipes(struct mcp *mcp, struct error *err)
{
    mcp->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    mcp->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (mcp->in < 0 || mcp->out < 0)
        return error_errno(err, "standard input and output");
    if (dup3(STDERR_FILENO, STDOUT_FILENO, 0) < 0)
        return error_errno(err, "standard error");
    return 0;
}

/* A client gives pipes; a person would wait for a word. */
static void greet(const struct mcp *mcp)
{
    if (isatty(mcp->in) && isatty(STDERR_FILENO))
        cmd_note(NULL, "waiting for an MCP client on standard input; `belljar setup CLIENT` "
                       "registers Belljar with one; Ctrl-D ends this");
}

static void on_note(void *user, const char *text)
{
    (void)user;
    LOG_EVENT(LOG_ERROR, "trail", {"message", text});
}

static int open_engine(struct mcp *mcp, struct error *err)
{
    const struct config *config = mcp->back.config;
    const struct engine_stock stock = {
        .size = config->pool_size < 0 ? STOCK : (size_t)config->pool_size,
        .hot = config->pool_hot < 0 ? 1 : (size_t)config->pool_hot,
        .warm = true,
    };
    const struct recorder_options recorder = {.has_doors = true, .on_note = on_note};
    struct sessions_options sessions;

    if (grants_of_settings(config, mcp->granted, err) < 0 ||
        workdir_of_settings(config, mcp->granted, err) < 0 ||
        backend_open_engine(&mcp->back, &stock, err) < 0)
        return -1;
    sessions = engine_sessions(&mcp->back.engine, config);
    return backend_open_sessions(&mcp->back, &recorder, &sessions, err);
}

static int open_api(struct mcp *mcp, struct error *err)
{
    const struct queue_options queue = {
        .max_running = RUNS_MAX, .max_waiting = WAITING_MAX, .wait_ms = WAIT_MS};
    struct jobs_options jobs = {
        .max_kept = KEPT_ANSWERS,
        .max_keyed = KEPT_ANSWERS, /* of commands, which nobody waits for */
        .max_bytes = KEPT_BYTES,
    };

    if (backend_open_jobs(&mcp->back, &queue, &jobs, err) < 0)
        return -1;
    mcp->host = (struct mcp_host){.api = &mcp->back.api, .granted = mcp->granted, .is_pipe = true};
    return mcp_host_open(&mcp->host, mcp->back.config->mcp_compat, err);
}

static void on_end(void *user)
{
    struct mcp *mcp = user;

    loop_stop(mcp->back.engine.loop);
}

static int open_stdio(struct mcp *mcp, struct error *err)
{
    const struct mcp_stdio_options options = {
        .loop = mcp->back.engine.loop,
        .server = mcp->host.server,
        .disk = recorder_disk(mcp->back.engine.recorder),
        .in = mcp->in,
        .out = mcp->out,
        .owner = mcp->caller.name,
        .caller = &mcp->caller,
        .on_end = on_end,
        .user = mcp,
    };

    (void)snprintf(mcp->caller.name, sizeof(mcp->caller.name), "local");
    rights_init(&mcp->caller.rights);
    mcp->caller.rights.has_grants = true; /* of what whoever started us has granted */
    mcp->caller.is_known = mcp->caller.is_operator = true;
    return mcp_stdio_open(&options, &mcp->stdio, err);
}

/* --- running --- */

static int run_loop(struct mcp *mcp, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0};
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(mcp->back.engine.loop, signals[i], on_end, mcp);
    r = loop_run(mcp->back.engine.loop, err);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    return r;
}

/* The client first, then sandboxes, then what both stood on. */
static void mcp_done(struct mcp *mcp)
{
    mcp_stdio_free(mcp->stdio);
    mcp_host_close(&mcp->host);
    backend_done(&mcp->back);
    run_free(mcp->granted);
    close_fd(&mcp->in);
    close_fd(&mcp->out);
    log_close();
}

int cmd_mcp(int argc, char **argv)
{
    cleanup(mcp_done) struct mcp mcp = {
        .back.config = config_new(), .in = -1, .out = -1, .granted = run_new()};
    const char *config_path = NULL;
    struct error err = {0};
    int r;

    if (!mcp.back.config || !mcp.granted) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&mcp, &config_path, argc, argv);
    if (r > 0)
        return r - 1;
    if (config_load(mcp.back.config, config_path, &err) < 0)
        return cmd_fail(&err);
    /* Clients show what comes on stderr as if something had gone wrong. */
    backend_open_log(mcp.back.config, LOG_WARNING);
    if (take_pipes(&mcp, &err) < 0 || open_engine(&mcp, &err) < 0 || open_api(&mcp, &err) < 0 ||
        open_stdio(&mcp, &err) < 0 ||
        engine_start_server(&mcp.back.engine, mcp.back.config, &err) < 0)
        return cmd_fail(&err);
    greet(&mcp);
    return run_loop(&mcp, &err) < 0 ? cmd_fail(&err) : 0;
}
