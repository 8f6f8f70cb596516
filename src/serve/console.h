/* The web console: a page and its files, which are part of the program (console_files.h). It uses
 * the public routes and nothing else.
 *
 * The page runs no script but its own, shows nothing from elsewhere and lets itself be framed by
 * nobody. Its files are named after their content, and kept by browsers for good.
 */
#pragma once

#include <stdbool.h>

#include "api/router.h"
#include "base/config.h"

/* Whether this build has it, and the settings do not switch it off. */
bool console_is_there(const struct config *config);

extern const struct route console_routes[];
