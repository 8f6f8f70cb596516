#include "cluster/bus_probe.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <nats/nats.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cluster/bus.h"

/* From the loss of the bus to the question; longer than a change of servers takes. */
#define FIRST_MS 2500
#define AGAIN_MS 30000

#define CONNECT_MS 2000

struct bus_probe {
    struct loop *loop;
    const struct bus_options *options;
    struct loop_watch *timer, *watch;
    int event_fd;
    bool is_up;

    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* for what follows */
    bool is_stopping;
    struct error why;
};

/* --- what went wrong --- */

static bool is_refused(natsStatus status, const char *text)
{
    return status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED ||
           strstr(text, "uthorization");
}

void bus_probe_explain(int status, const char *server, struct error *err)
{
    const char *text = nats_GetLastError(NULL);

    if (!text || !*text)
        text = natsStatus_GetText((natsStatus)status);
    if (*text == '(' && strstr(text, "): ")) /* "(conn.c:2088): " is of use to its developers */
        text = strstr(text, "): ") + 3;
    if (status == NATS_NO_SERVER)
        text = "no server answers at this address";
    else if (status == NATS_TIMEOUT)
        text = "no NATS server answers in time";
    if (is_refused((natsStatus)status, text)) {
        error_set(err, E_DENIED, "the server %s does not know this certificate", server);
        (void)error_hint(err, "its machines.conf has to name the machine: copy it from the machine "
                              "that made the cluster, then `systemctl reload belljar-nats`");
    } else if (strstr(text, "private key") || strstr(text, "certificate chain")) {
        error_set(err, E_INVALID, "the certificate for the bus: %s", text);
        (void)error_hint(err, "`belljar cluster join` writes each certificate with its key; both "
                              "have to be of the same role");
    } else if (status == NATS_SSL_ERROR || strstr(text, "certificate") || strstr(text, "SSL")) {
        error_set(err, E_PROTOCOL, "TLS with the server %s failed: %s", server, text);
        (void)error_hint(err,
                         "both sides need certificates of the same authority (ca.pem), valid by "
                         "their own clocks: `date`");
    } else {
        error_set(err, E_SYSTEM, "cannot reach the server %s: %s", server, text);
        (void)error_hint(err, "check that nats-server runs there, its address and port, and the "
                              "firewall");
    }
}

int bus_probe_identify(struct __natsOptions *o, const struct bus_options *options)
{
    natsStatus s = NATS_OK;

    if (options->ca) {
        s = natsOptions_SetSecure(o, true);
        if (s == NATS_OK)
            s = natsOptions_LoadCATrustedCertificates(o, options->ca);
    }
    if (s == NATS_OK && options->cert)
        s = natsOptions_LoadCertificatesChain(o, options->cert, options->key);
    if (s == NATS_OK && options->user)
        s = natsOptions_SetUserInfo(o, options->user, options->password ? options->password : "");
    return (int)s;
}

/* --- the thread --- */

static natsStatus try(const struct bus_options *options, const char *server)
{
    natsConnection *connection = NULL;
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);

    if (s == NATS_OK)
        s = natsOptions_SetURL(o, server);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetAllowReconnect(o, false);
    if (s == NATS_OK) /* what is said is of this server */
        s = natsOptions_SetIgnoreDiscoveredServers(o, true);
    if (s == NATS_OK)
        s = (natsStatus)bus_probe_identify(o, options);
    if (s == NATS_OK)
        s = natsConnection_Connect(&connection, o);
    natsConnection_Destroy(connection);
    natsOptions_Destroy(o);
    return s;
}

static bool is_stopping(struct bus_probe *probe)
{
    bool is;

    (void)pthread_mutex_lock(&probe->lock);
    is = probe->is_stopping;
    (void)pthread_mutex_unlock(&probe->lock);
    return is;
}

static void *ask_all(void *arg)
{
    struct bus_probe *probe = arg;
    const uint64_t one = 1;
    struct error why = {0};

    for (size_t i = 0; probe->options->servers[i] && !is_stopping(probe); i++) {
        const char *server = probe->options->servers[i];
        natsStatus s = try(probe->options, server);

        if (s == NATS_OK) { /* the bus finds it, too */
            error_done(&why);
            break;
        }
        /* The first server is usually this machine's own: report its error. */
        if (why.code == E_NONE)
            bus_probe_explain((int)s, server, &why);
    }
    (void)pthread_mutex_lock(&probe->lock);
    probe->why = why;
    (void)pthread_mutex_unlock(&probe->lock);
    (void)!write(probe->event_fd, &one, sizeof(one));
    return NULL;
}

/* --- the loop --- */

static void end_thread(struct bus_probe *probe)
{
    if (probe->has_thread)
        (void)pthread_join(probe->thread, NULL);
    probe->has_thread = false;
}

static void on_answered(void *arg)
{
    struct bus_probe *probe = arg;
    uint64_t count;

    (void)!read(probe->event_fd, &count, sizeof(count));
    end_thread(probe);
    if (!probe->is_up && probe->why.code != E_NONE)
        LOG_EVENT(LOG_WARNING, "bus", {"connection", probe->options->name},
                  {"message", probe->why.message ? probe->why.message : "out of memory"},
                  {"hint", probe->why.hint, .is_left_out = !probe->why.hint});
    error_done(&probe->why);
    if (!probe->is_up)
        loop_timer_start(probe->timer, AGAIN_MS);
}

static void ask(void *arg)
{
    struct bus_probe *probe = arg;
    sigset_t all, before;

    if (probe->has_thread)
        return;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    probe->has_thread = pthread_create(&probe->thread, NULL, ask_all, probe) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void bus_probe_note(struct bus_probe *probe, bool is_up)
{
    probe->is_up = is_up;
    if (is_up)
        loop_timer_stop(probe->timer);
    else if (!probe->has_thread)
        loop_timer_start(probe->timer, FIRST_MS);
}

/* --- life --- */

int bus_probe_new(struct loop *loop, const struct bus_options *options,
                  struct bus_probe **ret_probe, struct error *err)
{
    struct bus_probe *probe = calloc(1, sizeof(*probe));

    if (!probe)
        return error_memory(err);
    probe->loop = loop;
    probe->options = options;
    (void)pthread_mutex_init(&probe->lock, NULL);
    probe->timer = loop_timer(loop, ask, probe);
    probe->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (probe->event_fd >= 0)
        probe->watch = loop_watch_fd(loop, probe->event_fd, LOOP_READ, on_answered, probe);
    if (!probe->timer || !probe->watch) {
        bus_probe_free(probe);
        return error_memory(err);
    }
    *ret_probe = probe;
    return 0;
}

void bus_probe_free(struct bus_probe *probe)
{
    if (!probe)
        return;
    (void)pthread_mutex_lock(&probe->lock);
    probe->is_stopping = true;
    (void)pthread_mutex_unlock(&probe->lock);
    end_thread(probe);
    loop_watch_free(probe->timer);
    loop_watch_free(probe->watch);
    close_fd(&probe->event_fd);
    error_done(&probe->why);
    (void)pthread_mutex_destroy(&probe->lock);
    free(probe);
}
