/* The files of the web console, as tools/console embeds them: each compressed with gzip. All but
 * the page are named after their content, so that a browser may keep them. Without npm at build
 * time the table is empty, and there is no console. */
#pragma once

#include <stddef.h>

struct console_file {
    const char *name; /* below /console/; "" is the page; NULL ends the table */
    const char *type;
    const unsigned char *bytes;
    size_t n_bytes;
};

extern const struct console_file console_files[];
