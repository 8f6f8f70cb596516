#include "cluster/batch_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/span.h"

/* Lower-case letters and `_`. */
static bool is_verdict(const char *word)
{
    size_t len = strlen(word);

    for (size_t i = 0; i < len; i++)
        if (!islower((unsigned char)word[i]) && word[i] != '_')
            return false;
    return len > 0 && len < BATCH_VERDICT_MAX;
}

enum batch_line batch_line_read(struct span line, size_t *ret_run,
                                char ret_verdict[BATCH_VERDICT_MAX])
{
    static const struct json_text_limits limits = {.bytes = BATCH_LINE_BYTES,
                                                   .depth = 2048,
                                                   .allows_nul = true,
                                                   .memory = 2 * BATCH_LINE_BYTES};
    cleanup_json json_t *answer = NULL;
    const json_t *index;
    const char *verdict;

    line = span_trim(line);
    if (line.len == 0)
        return BATCH_LINE_NOTHING;
    /* White space between values could end a line, or an event. */
    if (memchr(line.data, '\r', line.len) ||
        json_text_load(line.data, line.len, &limits, &answer, NULL) < 0 || !json_is_object(answer))
        return BATCH_LINE_WRONG;
    index = json_object_get(answer, "index");
    verdict = json_get_text(answer, "verdict");
    if (!index)
        return json_object_get(answer, "summary") ? BATCH_LINE_NOTHING : BATCH_LINE_WRONG;
    if (!json_is_integer(index) || json_integer_value(index) < 0 || !is_verdict(verdict))
        return BATCH_LINE_WRONG;
    if (strcmp(verdict, "failed") == 0 &&
        strcmp(json_get_text(json_object_get(answer, "error"), "code"), "busy") == 0)
        return BATCH_LINE_NOTHING;
    *ret_run = (size_t)json_integer_value(index);
    (void)snprintf(ret_verdict, BATCH_VERDICT_MAX, "%s", verdict);
    return BATCH_LINE_RUN;
}
