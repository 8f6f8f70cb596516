/* The operator's log: one line to stderr per event, `level message key=value …`. It may be lost;
 * the trail may not.
 *
 *     log_warning("cannot remove the control group", LOG_TEXT("run", run->id), LOG_ERROR(&err));
 *
 * Values are quoted wherever their bytes could be taken for anything else, so strangers' text
 * cannot make lines or colours of its own. A level that is off costs one comparison: fields are not
 * even evaluated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_field {
    const char *key;
    const char *text; /* NULL is the empty text */
    int64_t number;   /* counts where is_number says so */
    bool is_number;
};

/* clang-format off */
#define LOG_TEXT(name, value)   {.key = (name), .text = (value)}
#define LOG_NUMBER(name, value) {.key = (name), .number = (value), .is_number = true}
#define LOG_ERROR(err)          {.key = "error", .text = (err)->message}
/* clang-format on */

extern enum log_level log_threshold;

/* One of "error", "warning", "info", "debug"; anything else leaves the level. Colours are for
 * terminals only. */
void log_setup(const char *level, bool has_color);

/* `fields` ends with an empty one. Writes to stderr with one write(2). */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

#define log_at(level, message, ...)                                                                \
    do {                                                                                           \
        if ((level) <= log_threshold)                                                              \
            log_write((level), (message),                                                          \
                      (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){0}});                  \
    } while (0)

#define log_error(...)   log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)
