/* Packages that a program gets by importing them: `auto_install` and `package_index` of the
 * settings. Inside, the import asks whether it may (a call, and so a record of the trail) and
 * starts pip, whose connections go through the gate like any other. */
#pragma once

#include <stdbool.h>

#include "base/address.h"
#include "base/config.h"
#include "base/net.h"

/* Of one engine. The texts are those of its settings, which outlive it. */
struct packages {
    const struct config_list *listed;
    struct host host; /* of the index */
    uint16_t port;
    bool is_tls;
    const char *path;
};

int packages_read(struct packages *packages, const struct config *config, struct error *err);

/* Whether programs that reach these hosts (NULL: none) reach the index, and there is something
 * that they may get from it. */
bool packages_are_open(const struct packages *packages, const struct net *net);
