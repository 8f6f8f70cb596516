/* Packages that a program gets by importing them: `auto_install` and `package_index` of the
 * settings. Inside, the import asks whether it may (a call, and so a record of the trail) and
 * starts pip, whose connections go through the gate like any other. */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/net.h"

/* For every run from here on; the settings have to outlive them. Like those of the gate it is one
 * for the whole process. */
int call_packages_configure(const struct config *config, struct error *err);

/* Whether programs that reach these hosts (NULL: none) reach the index, and there is something
 * that they may get from it. */
bool call_packages_are_open(const struct net *net);
