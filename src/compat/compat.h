/* Bodies for clients that were written for another service, one made with FastAPI: values are taken
 * as its models take them, and all mistakes come back at once, as
 *
 *     422 {"detail":[{"type":"missing","loc":["body","code"],"msg":"Field required","input":null}]}
 *
 * A number may be written as text where nothing is lost, and null stands for the default of a field
 * that has one.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "admit/request.h"
#include "api/router.h"
#include "api/schema.h"
#include "base/run.h"
#include "http/request.h"

struct compat {
    json_t *body;   /* the fields that were given, as the types of the table */
    json_t *detail; /* the mistakes so far */
};

/* Reads the JSON of the request. `forbids_others`: a field that the table does not have is a
 * mistake; else it is left out. */
void compat_read(struct compat *compat, struct request *request, const struct schema_field *fields,
                 bool forbids_others);
void compat_done(struct compat *compat);

/* One more mistake, of a field's value. */
void compat_mistake(struct compat *compat, const char *type, const char *field, const char *message,
                    const json_t *input);

/* A number above what the operator allows, where all else is well. */
void compat_at_most(struct compat *compat, const char *field, double max);

/* Whether there were mistakes; the request has then been answered with them. */
bool compat_refuses(struct compat *compat, struct request *request);

/* --- answers --- */

/* Of PyRunner and CodeRunner. */
#define COMPAT_VERSION "1.0.0"

/* To milliseconds, upwards: what ran has taken time. */
double compat_seconds(double ms);

/* The program's stderr, and the reason for its end if it could not report it itself; for a refused
 * program, the reason. */
int compat_stderr(const struct run *run, struct buf *text, struct error *err);

/* The body as a line. Takes it over; NULL: out of memory. */
int compat_dump(json_t *body, struct buf *out, struct error *err);

/* The answers of an interface whose clients read the reason of a failure from an answer with status
 * 200. If there is no room for another run, the answer is 429, as everywhere. */
struct compat_form {
    /* Takes the text over. */
    json_t *(*error)(enum error_code code, json_t *text);
    int (*result)(const struct run *run, json_t **ret_body, struct error *err);
};

/* Takes what is in the error. */
void compat_answer_error(struct request *request, const struct compat_form *form,
                         struct error *err);

/* Admits and starts a run, and answers in that form. */
void compat_start(struct request *request, const struct compat_form *form,
                  const struct run_request *asked);

/* `GET /health` is in both of these interfaces; the one answer has what either's clients look for.
 */
void compat_show_health(struct request *request);

/* Reads their bodies (struct route, load). */
json_t *compat_parse(const char *text, size_t len, json_t **ret_mistake);

extern const struct route e2b_routes[];
extern const struct route pyrunner_routes[];
extern const struct route coderunner_routes[];
extern const struct route dify_routes[];
extern const struct route jupyter_routes[];
extern const struct route sandboxfusion_routes[];
