/* Belljar's own places: configuration, profiles, state, keys, sockets, skills. No program reads or
 * writes them, whatever it is granted (sandbox/protected.h). */
#pragma once

#include "base/config.h"
#include "base/error.h"

/* Before grants are opened: tells the sandbox's modules where these are, by the environment and the
 * configuration. What runs outside for Belljar (its programs, commands of servers and functions)
 * can be read but not written. More calls do no harm. `config` may be NULL. */
int own_places_add(const struct config *config, struct error *err);
