/* Regular expressions that strangers write, on text that strangers write.
 *
 * RE2 behind a C interface: time grows with the text and never explodes, memory is bounded, and so
 * is the compilation. There are no back-references and no look-around, which is what makes that
 * possible.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

struct pattern;

/* E_INVALID with the reason for what is no expression, or one that is too large. */
int pattern_new(const char *text, size_t len, bool ignores_case, struct pattern **ret_pattern,
                struct error *err);
void pattern_free(struct pattern *pattern);

/* The first match in `text`; any bytes may stand there. */
bool pattern_find(const struct pattern *pattern, const char *text, size_t len, size_t *ret_start,
                  size_t *ret_end);

/* The most work that one byte may cause: steps of the compiled machine. At least 1. */
size_t pattern_cost(const struct pattern *pattern);

#ifdef __cplusplus
}
#endif
