/* The first lines of `belljar serve`, and the word to the service manager. */
#pragma once

#include "base/config.h"
#include "cli/serve_sockets.h"

/* `token_path` is NULL where no token is needed. */
void serve_announce(const struct config *config, const struct serve_sockets *sockets,
                    const char *token_path, bool has_first_token);
