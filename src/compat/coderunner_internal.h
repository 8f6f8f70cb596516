/* Shared by coderunner.c (cells, and the table of routes), coderunner_browser.c (pages),
 * coderunner_session.c (sessions) and coderunner_task.c (cells that nobody waits for). */
#pragma once

#include <jansson.h>

#include "api/api.h"
#include "compat/coderunner.h"

#define CODERUNNER_PROFILE "open"

/* --- coderunner.c --- */

int coderunner_find_language(const char *text, enum run_language *ret_language, struct error *err);

/* Seconds since 1970. */
double coderunner_now_s(void);

/* `detail` is where its clients look, `error` where ours do. */
json_t *coderunner_error_body(const struct error *err);
void coderunner_answer_error(struct request *request, struct error *err);

/* The body of a result; the caller's. */
int coderunner_result(const struct run *run, json_t **ret_body, struct error *err);

/* --- coderunner_session.c --- */

/* `is_loose`: nobody asked for it; the ones that rest longest make room. */
int coderunner_open(const struct request *request, const char *name, enum run_language language,
                    bool is_loose, struct session **ret_session, struct error *err);

/* NULL: the answer has been given. */
struct session *coderunner_find(struct request *request, const char *name);

/* The purpose of the session. */
enum run_language coderunner_language(const struct api *api, const struct session *session);

void coderunner_start_session(struct request *request);
void coderunner_list_sessions(struct request *request);
void coderunner_show_session(struct request *request);
void coderunner_end_session(struct request *request);

/* The one session of a client that keeps no id. */
void coderunner_start_usual(struct request *request);
void coderunner_show_usual(struct request *request);
void coderunner_end_usual(struct request *request);

/* --- coderunner_task.c --- */

/* Answers with the id of a task that runs the cell. Takes the cell over. */
void coderunner_start_task(struct request *request, struct session *session, struct run *cell);
void coderunner_show_task(struct request *request);

/* --- coderunner_browser.c --- */

extern const struct schema_field coderunner_page_fields[];

void coderunner_navigate(struct request *request);
void coderunner_read_page(struct request *request);
