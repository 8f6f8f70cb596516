/* Describes a program's surroundings for its author: directories, hosts, languages, packages and
 * limits. Names come as they are; the reader's door masks them. */
#pragma once

#include "base/buf.h"
#include "base/config.h"
#include "base/run.h"

/* "/srv/project (writable), /srv/data (read-only)", or nothing. Of many the first few. */
int place_add_directories(const struct run_terms *terms, struct buf *out);

/* Those that may be written: "/workspace, /tmp, /srv/project". */
int place_add_writable(const struct run_terms *terms, struct buf *out);

/* "api.example.org:443, *.example.org", or "none". */
int place_add_hosts(const struct run_terms *terms, struct buf *out);

/* The directory in which it starts. */
const char *place_start(const struct run_terms *terms);

/* "Code starts in /srv/project (writable). Hosts: api.example.org." One short line without a
 * newline; nothing where nothing is granted. */
int place_add_line(const struct run_terms *terms, struct buf *out);

/* The operator's own modules: "helpers: code_helpers, graphs\n", or nothing. */
int place_add_helpers(const struct config *config, struct buf *out);

/* Tells what forks of a session with these terms share and each has of its own; nothing where no
 * directory is granted. */
int place_add_forks(const struct run_terms *source, struct buf *out);

/* Everything, one fact a line. */
int place_add(const struct config *config, const struct run_terms *terms, struct buf *out);
