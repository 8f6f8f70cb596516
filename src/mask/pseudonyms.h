/* Names for personal data: EMAIL_1, PHONE_2, the same for the same text as long as they live.
 *
 * A reader can tell people apart without knowing them. Names that the reader sends back become the
 * original texts again, on the way into a sandbox and nowhere else. They are kept in memory only.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

struct pseudonyms;

struct pseudonyms *pseudonyms_new(void); /* NULL: out of memory */
struct pseudonyms *pseudonyms_ref(struct pseudonyms *names);
void pseudonyms_free(struct pseudonyms *names); /* a reference; accepts NULL */

/* The name in place of the label, "[EMAIL_REDACTED]". NULL: the label stays, since it is of no
 * personal data, or there are too many names already. */
const char *pseudonyms_label(struct pseudonyms *names, const char *label, const char *text,
                             size_t len);

/* Turns the names in a text into what they stand for. E_TOO_LARGE: it becomes too long. */
int pseudonyms_back(const struct pseudonyms *names, struct buf *text, struct error *err);
