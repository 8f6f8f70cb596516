#include "base/date.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void date_seconds(time_t at, char text[DATE_SIZE])
{
    struct tm tm;

    /* A year of more than four digits fits no form; such a clock is wrong by so much that the
     * beginning of time is as good an answer. */
    if (!gmtime_r(&at, &tm) || tm.tm_year < 0 || tm.tm_year > 8099 ||
        strftime(text, DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        (void)snprintf(text, DATE_SIZE, "1970-01-01T00:00:00Z");
}

void date_millis(const struct timespec *at, char text[DATE_SIZE])
{
    date_seconds(at->tv_sec, text);
    (void)snprintf(text + sizeof("1970-01-01T00:00:00") - 1, sizeof(".000Z"), ".%03uZ",
                   (unsigned)(at->tv_nsec / 1000000) % 1000);
}

void date_millis_now(char text[DATE_SIZE])
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    date_millis(&now, text);
}

int64_t date_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t date_read_millis(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    char *last;
    long ms;

    if (!end || *end != '.' || strspn(end + 1, "0123456789") != 3)
        return -1;
    ms = strtol(end + 1, &last, 10);
    return strcmp(last, "Z") == 0 ? (int64_t)timegm(&tm) * 1000 + ms : -1;
}
