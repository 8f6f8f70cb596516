/* The table of all routes of `belljar serve`. */
#pragma once

#include "api/router.h"

/* Every table of rows, NULL at the end. */
extern const struct route *const serve_routes[];
