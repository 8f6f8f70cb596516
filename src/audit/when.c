#include "audit/when.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/date.h"

static int no_time(const char *text, struct error *err)
{
    error_set(err, E_INVALID, "invalid time `%s`", text);
    return error_hint(err, "for example 90s, 15m, 2h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC)");
}

static int time_ago(const char *text, char out[WHEN_SIZE], struct error *err)
{
    static const struct {
        char letter;
        long seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    char *end;
    long number = strtol(text, &end, 10);

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (*end != units[i].letter || end[1] || number < 0 || number > 1000000)
            continue;
        date_seconds(time(NULL) - number * units[i].seconds, out);
        out[strlen(out) - 1] = '\0'; /* without its Z it comes before every moment of that second */
        return 0;
    }
    return no_time(text, err);
}

/* The given part counts: a day, an hour, a minute. */
int audit_time(const char *text, char ret_time[WHEN_SIZE], struct error *err)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    size_t len = strlen(text);

    if (len < 10 && *text >= '0' && *text <= '9')
        return time_ago(text, ret_time, err);
    if (len < 10 || len >= sizeof(form))
        return no_time(text, err);
    for (size_t i = 0; i < len; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';

        if (form[i] == '0' ? !is_digit : text[i] != form[i] && !(i == 10 && text[i] == ' '))
            return no_time(text, err);
    }
    (void)snprintf(ret_time, WHEN_SIZE, "%s", text);
    if (len > 10)
        ret_time[10] = 'T';
    return 0;
}
