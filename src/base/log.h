/* The operator's log: one line per event, as words for people or as JSON for machines, on stderr.
 *
 *     2026-01-31T12:00:00.123Z info run run=run_… owner=ci status=success
 *     {"time":"2026-01-31T12:00:00.123Z","level":"info","event":"run","run":"run_…",…}
 *
 * Values may be anything a client has sent: what is no plain word is quoted and escaped, so that a
 * line is a line. Writing never waits: a line that its reader has no room for is lost, and the next
 * that gets through says how many were. No secret is ever passed in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key;
    const char *text; /* NULL: the number counts */
    double number;
    bool is_left_out;
};

/* Names are those of the option log_level; any other is LOG_INFO. */
enum log_level log_level_of(const char *name);

/* Before that nothing is logged. */
void log_open(int fd, enum log_format format, enum log_level most);
void log_close(void);

bool log_is_json(void);
bool log_has(enum log_level level);
void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t n);

#define LOG_EVENT(level, event, ...)                                                               \
    do {                                                                                           \
        if (log_has(level)) {                                                                      \
            const struct log_field fields_[] = {__VA_ARGS__};                                      \
            log_event(level, event, fields_, sizeof(fields_) / sizeof(fields_[0]));                \
        }                                                                                          \
    } while (0)
