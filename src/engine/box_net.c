/* The gate of a sandbox to granted hosts (egress/egress.h), as a run's answer and the trail speak
 * of it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net.h"
#include "engine/box_internal.h"
#include "engine/masking.h"
#include "engine/recorder.h"

#define PROXY_TEXT(port) "http://127.0.0.1:" #port
#define PROXY_OF(port)   PROXY_TEXT(port)
#define PROXY            PROXY_OF(WIRE_GATE_PORT)

/* In both spellings, since curl reads http_proxy in lower case only and others look for capitals.
 * ALL_PROXY is http:// too: with socks5h:// there, libraries that have no SOCKS refuse to work at
 * all. NO_PROXY is not there: granted addresses may be 127.0.0.1. */
const char *box_gate_variable(size_t index)
{
    static const char *const variables[] = {
        "HTTP_PROXY=" PROXY,
        "HTTPS_PROXY=" PROXY,
        "ALL_PROXY=" PROXY,
        "http_proxy=" PROXY,
        "https_proxy=" PROXY,
        "all_proxy=" PROXY,
        /* Packages that pip gets from a granted index belong to the sandbox, and are found at
         * once. */
        "PIP_TARGET=" WIRE_PACKAGES,
        "PYTHONPATH=" WIRE_PACKAGES,
        "PIP_NO_CACHE_DIR=1",
        "PIP_DISABLE_PIP_VERSION_CHECK=1",
        "PIP_ROOT_USER_ACTION=ignore",
    };

    return index < ARRAY_SIZE(variables) ? variables[index] : NULL;
}

/* --- the answer --- */

static struct run_traffic *traffic_of(struct run *run)
{
    if (!run->result.traffic)
        run->result.traffic = calloc(1, sizeof(*run->result.traffic));
    return run->result.traffic;
}

static bool is_listed(const struct run_traffic *traffic, const struct egress_note *note,
                      const char *host)
{
    for (size_t i = 0; i < traffic->n_refused; i++)
        if (traffic->refused[i].port == note->port && strcmp(traffic->refused[i].host, host) == 0 &&
            strcmp(traffic->refused[i].why, note->why) == 0)
            return true;
    return false;
}

/* The host is the program's word. */
static void list_refusal(struct run *run, const struct egress_note *note)
{
    struct run_traffic *traffic = traffic_of(run);
    struct clean_text clean = mask_text(mask_context_of(run), span_of(note->host));
    cleanup_free char *host = span_dup((struct span){clean_data(clean), clean_len(clean)});
    struct run_refusal *refusal;

    if (!traffic || !host || is_listed(traffic, note, host))
        return;
    if (traffic->n_refused == LIMIT_NET_REFUSED) {
        traffic->refused_more++;
        return;
    }
    refusal = &traffic->refused[traffic->n_refused];
    *refusal = (struct run_refusal){.port = note->port, .why = strdup(note->why)};
    if (note->grant && strcmp(host, note->host) == 0)
        refusal->grant = strdup(note->grant);
    if (!refusal->why) {
        free(refusal->grant);
        return;
    }
    refusal->host = take_ptr(host);
    traffic->n_refused++;
}

void box_note_traffic(struct box *b, struct run *run)
{
    struct egress_totals now;
    struct run_traffic *traffic = b->net ? traffic_of(run) : NULL;

    if (!traffic || !b->gate.egress)
        return;
    egress_totals(b->gate.egress, &now);
    traffic->connections = now.connections - b->gate.before.connections;
    traffic->sent = now.sent - b->gate.before.sent;
    traffic->received = now.received - b->gate.before.received;
    b->gate.before = now;
}

/* --- the trail --- */

/* A connection may outlast its cell. */
static void remember(struct box_net *net, const struct run *run)
{
    if (!run || strcmp(net->run, run->id) == 0)
        return;
    memcpy(net->run, run->id, sizeof(net->run));
    memcpy(net->session, run->origin.session, sizeof(net->session));
    free(net->owner);
    net->owner = run->origin.owner ? strdup(run->origin.owner) : NULL;
}

static void write_down(struct box *b, const struct egress_note *note)
{
    struct box_net *net = &b->gate;
    struct error err = {0};

    if (net->records >= LIMIT_NET_RECORDS && net->egress) {
        net->more++;
        return;
    }
    if (recorder_net(b->recorder,
                     &(struct recorder_net){.run = net->run,
                                            .session = net->session,
                                            .owner = net->owner,
                                            .host = note->host,
                                            .port = note->port,
                                            .how = note->how,
                                            .why = note->why,
                                            .sent = note->sent,
                                            .received = note->received,
                                            .ms = note->ms,
                                            .more = net->more},
                     &err) == 0) {
        net->records++;
        net->more = 0;
    }
    error_done(&err); /* the trail says itself that it is broken; the run's own record will fail */
}

static void on_note(void *user, const struct egress_note *note)
{
    struct box *b = user;

    remember(&b->gate, b->run);
    write_down(b, note);
    if (note->why && b->run) {
        list_refusal(b->run, note);
        box_deny_host(b->run, note);
    }
}

/* --- the gate --- */

int box_open_gate(struct box *b, struct error *err)
{
    int fd;

    if (!b->net)
        return 0;
    fd = frame_take_fd(&b->init.decoder);
    if (fd < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without the socket of its gate");
    if (egress_new(b->egress_settings, b->loop, fd, b->net, on_note, b, &b->gate.egress, err) < 0)
        return -1;
    egress_set_ask(b->gate.egress, box_ask_host);
    return 0;
}

void box_own_gate(struct box *b, const struct run *run)
{
    if (b->gate.egress)
        egress_set_owner(b->gate.egress, run->origin.owner);
}

void box_close_gate(struct box *b)
{
    if (!b->gate.egress)
        return;
    box_end_questions(b);
    egress_free(take_ptr(b->gate.egress));
    if (b->gate.more)
        write_down(b, &(struct egress_note){.host = "", .how = "others"});
}
