/* Names for personal data: EMAIL_1, PHONE_2, the same for the same text as long as they live.
 *
 * Who reads them can tell people apart without knowing them, and what he sends back is turned into
 * the texts again, on the way into a sandbox and nowhere else. They are kept in memory only.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct scrub_names;

struct scrub_names *scrub_names_new(void); /* NULL: out of memory */
struct scrub_names *scrub_names_ref(struct scrub_names *names);
void scrub_names_free(struct scrub_names *names); /* a reference; accepts NULL */

/* The name in place of the label, "[EMAIL_REDACTED]". NULL: the label stays, since it is of no
 * personal data, or there are too many names already. */
const char *scrub_names_label(struct scrub_names *names, const char *label, const char *text,
                              size_t len);

/* Turns the names in a text into what they stand for. E_TOO_LARGE: it becomes too long. */
int scrub_names_back(const struct scrub_names *names, struct buf *text, struct error *err);
