/* Tells a model about the place where its code runs (engine/place.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/place.h"
#include "mcp/tools.h"

#define TEXT_BYTES (64 * KIB)

/* Longer lines are for the status tool: everybody pays for the instructions. */
#define LINE_BYTES 320

/* A run without a program, as a fresh sandbox of this caller would have it; NULL: there is none. */
static struct run *fresh_run(const struct mcp_host *host, const struct caller *caller)
{
    struct admission admission = api_admission(host->api, caller);
    struct run *run = NULL;

    admission.granted = host->granted;
    return admit_request(&admission, &(struct run_request){0}, &run, NULL) < 0 ? NULL : run;
}

static void add_masked(const struct mcp_host *host, const struct buf *text, struct buf *out)
{
    size_t len = 0;
    cleanup_free char *masked = mcp_mask(host, buf_str(text), text->len, &len);

    if (masked)
        (void)buf_add(out, masked, len, NULL);
}

static void add_line(const struct mcp_host *host, const struct run_terms *terms, struct buf *out)
{
    cleanup(buf_done) struct buf line = BUF_OF(TEXT_BYTES);

    if (place_add_line(terms, &line) < 0 || !line.len)
        return;
    if (line.len <= LINE_BYTES)
        add_masked(host, &line, out);
    else
        (void)buf_add_str(out, "Directories are granted; get_kernel_status names them.", NULL);
}

void mcp_place_instruct(const struct mcp_server *server, const struct caller *caller,
                        struct buf *out)
{
    const struct mcp_host *host = mcp_server_user(server);
    cleanup(run_free_p) struct run *run = fresh_run(host, caller);
    cleanup(buf_done) struct buf line = BUF_OF(TEXT_BYTES);

    if (run)
        add_line(host, &run->terms, &line);
    if (line.len)
        (void)buf_printf(out, NULL, "%s\n", buf_str(&line));
    buf_clear(&line);
    if (place_add_helpers(host->api->config, &line) == 0 && line.len <= LINE_BYTES)
        add_masked(host, &line, out);
    if (run && place_lacks_os(&run->terms))
        (void)buf_add_str(out,
                          place_has_shell(&run->terms)
                              ? "Python starts programs as !cmd, not with subprocess. "
                              : "Code starts no programs. ",
                          NULL);
}

static const struct run_terms *terms_of(const struct session *session)
{
    struct session_info info;

    session_info(session, &info);
    return info.terms;
}

void mcp_place_note(const struct mcp_call *call, struct session *session, struct buf *out)
{
    add_line(mcp_host_of(call), terms_of(session), out);
}

bool mcp_place_mark(const struct mcp_call *call, struct session *session, struct buf *out)
{
    cleanup(buf_done) struct buf mark = BUF_OF(TEXT_BYTES);

    if (place_add_mark(terms_of(session), &mark) <= 0 || mark.len > LINE_BYTES)
        return false;
    add_masked(mcp_host_of(call), &mark, out);
    return true;
}

void mcp_place_add(const struct mcp_call *call, struct session *session, struct buf *out)
{
    const struct mcp_host *host = mcp_host_of(call);
    cleanup(run_free_p) struct run *fresh = session ? NULL : fresh_run(host, call->caller);
    const struct run_terms *terms = session ? terms_of(session) : fresh ? &fresh->terms : NULL;
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_BYTES);

    if (terms && place_add(host->api->config, terms, mcp_long_s(call), &text) == 0)
        add_masked(host, &text, out);
}
