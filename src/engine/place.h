/* Describes a program's surroundings for its author: directories, hosts, languages, packages and
 * limits. Names come as they are; the reader's door masks them. */
#pragma once

#include <stdbool.h>

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

/* Adds "[in /srv/project, writable]", for a first result, where that is all there is to say.
 * Returns 1: it was added; 0: there is more or nothing to say. */
int place_add_mark(const struct run_terms *terms, struct buf *out);

/* Whether the profile has pathlib, and not the whole of os, which starts programs: a habit that
 * costs a refusal. */
bool place_lacks_os(const struct run_terms *terms);

/* Whether Bash runs here: not where every line of a program is judged, since no policy reads Bash.
 */
bool place_has_shell(const struct run_terms *terms);

/* The operator's own modules: "helpers: code_helpers, graphs\n", or nothing. */
int place_add_helpers(const struct config *config, struct buf *out);

/* Tells what forks of a session with these terms share and each has of its own; nothing where no
 * directory is granted. */
int place_add_forks(const struct run_terms *source, struct buf *out);

/* A note on granted directories for the end of a session: "; files in …", or "". */
const char *place_end_note(const struct run_terms *terms);

/* Everything, one fact a line. `long_s`: how long code may run that nobody waits for, in seconds;
 * 0: no longer than any other. */
int place_add(const struct config *config, const struct run_terms *terms, double long_s,
              struct buf *out);
