/* Directories that a sandbox may write to, and what it must not leave in them (sandbox/grant.h):
 * looked at when nothing of it lives any more.
 *
 * Commands that run one program do it themselves and tell their user. A server says here whom to
 * tell; before that nothing is looked at.
 */
#pragma once

#include "base/error.h"
#include "base/run.h"

struct granted;

/* `report` is called for each directory in which something was found: how many paths were moved
 * aside, and how many could not be. */
void granted_configure(void (*report)(const char *path, size_t moved, size_t failed));

/* As the directories are now. *ret_granted is NULL where there is nothing to look at. */
int granted_new(const struct run_grant *grants, size_t count, struct granted **ret_granted,
                struct error *err);

/* Looks, tells and frees. Accepts NULL. */
void granted_end(struct granted *granted);
