/* Files in granted directories, for every door.
 *
 * Programs in the session's own sandbox do the work, so that the same rules hold as for any code:
 * the rights of the directory's owner, the write broker with its protected names, the journal for
 * undo, and the masker. Belljar itself opens nothing there.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/run.h"
#include "http/request.h"

struct session; /* engine/session.h */

/* The file as code finds it, malloc'd, or NULL: it is in /workspace, or in no granted directory.
 * Relative paths begin where code starts. */
char *granted_path(const struct run_terms *terms, const char *given);

/* Write Python that displays a picture, or prints a page of a text: a line with the file's size,
 * the place where the page ends, both in bytes, the page's first line and the one after it; and
 * then the page. Pages begin at a byte (their lines are 0), or at a line and have at most `lines`,
 * if that is not 0. */
int granted_page_code(const char *path, uint64_t offset, uint64_t limit, struct buf *out,
                      struct error *err);
int granted_lines_code(const char *path, uint64_t line, uint64_t lines, uint64_t limit,
                       struct buf *out, struct error *err);

/* Write Python that prints a part of a text, by characters; or writes a string of JSON, which may
 * be base64, to a file, and prints that it did. */
int granted_read_code(const char *path, uint64_t offset, uint64_t limit, struct buf *out,
                      struct error *err);
int granted_write_code(const char *path, const json_t *content, bool is_base64, struct buf *out,
                       struct error *err);

/* Writes Python that prints a line for each entry; as JSON: one object for all of them. */
int granted_list_code(const char *path, size_t limit, bool is_json, struct buf *out,
                      struct error *err);

/* --- the routes for files of a session --- */

/* The absolute path that a request names in a directory granted to the session, malloc'd; or NULL.
 * Other paths are those of /workspace. */
char *granted_request_path(const struct session *session, const char *given);

/* Answer the request when a cell has done it. `path` is taken over. */
void granted_answer_file(struct request *request, struct session *session, char *path);
void granted_answer_list(struct request *request, struct session *session, char *path);
void granted_answer_write(struct request *request, struct session *session, char *path,
                          const struct buf *content);

/* Of a file that is written this way: it travels with the code. */
#define GRANTED_WRITE_MAX ((size_t)700 * 1024)
