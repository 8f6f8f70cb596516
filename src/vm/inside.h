/* The engine inside a virtual machine: its settings, and requests and results in its language,
 * which is that of `/v1/run`. Nothing here is sent or received.
 */
#pragma once

#include <jansson.h>

#include "base/config.h"
#include "base/run.h"

struct masker; /* mask/masker.h */
struct masks;  /* engine/masking.h */

/* Of an answer: output, displays and collected files at their largest, as JSON. */
#define INSIDE_ANSWER_MAX ((size_t)128 << 20)

/* A file of settings. Limits are those of the host: who may ask for what has been decided there. */
int inside_settings(const struct config *config, struct buf *out, struct error *err);

/* E_UNSUPPORTED: the terms, of a run or a session, have what a machine cannot give, and the message
 * names it. */
int inside_check(const struct run_terms *terms, struct error *err);

/* Bodies of requests: a run, the opening of a session, a cell of one. E_UNSUPPORTED as above. */
int inside_request(const struct run *run, struct buf *out, struct error *err);
int inside_opening(const char *name, const struct run_terms *terms, uint64_t idle_ms,
                   uint64_t lifetime_ms, struct buf *out, struct error *err);
int inside_cell(const struct run *cell, struct buf *out, struct error *err);

/* --- answers: the machine is a stranger --- */

/* The part of one that has come while its program runs. All zero but the first at first. */
struct inside_live {
    unsigned cpus; /* of the machine */
    struct masker *masks[2];
    uint64_t taken[2]; /* bytes of stdout and stderr */
    size_t n_displays;
    bool has_late_displays; /* the rest of them waits for the end */
    uint64_t progress_ns;
};

void inside_live_done(struct inside_live *live);

/* The most bytes of such an event of the run; 0: none has that name. */
size_t inside_event_limit(const struct run *run, const char *name);

/* An event before the last one, which is `result` or `error`. */
int inside_take_event(struct run *run, struct inside_live *live, const char *name, const char *data,
                      size_t len, struct error *err);

/* The answer: status and body. The result is filled in, and masked; or result.error. May pause in a
 * fiber. */
void inside_take_answer(struct run *run, struct inside_live *live, int status, const char *body,
                        size_t len);

/* An error of the machine's own words, masked. */
void inside_take_error(struct masks *masks, const char *body, size_t len, struct error *err);
