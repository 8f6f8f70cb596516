/* The key of the trail that this user's settings name, from the user's state directory. */
#pragma once

#include "audit/key.h"
#include "base/error.h"

/* `trail_dir`: of the settings. E_NOT_FOUND: no trail was written there yet. */
int own_key_open(const char *trail_dir, struct key_pair **ret_key, struct error *err);
int own_key_read(const char *trail_dir, struct key_public *ret_key, struct error *err);
