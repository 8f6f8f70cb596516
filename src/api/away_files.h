/* Files of sessions that are elsewhere (engine/elsewhere.h): the requests of route_files.c, passed
 * on. Who may, what it costs and the records are decided here; an answer from there is a
 * stranger's, of which nothing but numbers, names and the bytes of a file is used.
 */
#pragma once

#include <stdbool.h>

#include "http/request.h"

/* Whether the session of the request is elsewhere. Then the next ones answer it. */
bool away_files_has(const struct request *request);

void away_files_list(struct request *request);
void away_files_get(struct request *request);
void away_files_delete(struct request *request);
void away_files_move(struct request *request);

/* Before the content comes, and when it is there. */
int away_files_begin_put(struct request *request, struct error *err);
void away_files_put(struct request *request);

/* Whether away_files_begin_put() has begun it. */
bool away_files_is_put(const struct request *request);
