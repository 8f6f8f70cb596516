/* The author of commits: the name and the address that git in a sandbox writes into commits.
 *
 * They are read from the settings of git on the host, as git reads them: system, user, and what
 * these include, also for the granted directory (includeIf "gitdir:"). Nothing is executed and
 * nothing of a repository is read; a repository's own user.name counts inside, where it is
 * stronger. Only the values get into the sandbox. The setting `git_identity` turns it off or names
 * another.
 */
#pragma once

#include "base/config.h"
#include "base/run.h"

/* Fills run->terms.identity. The run has its grants and its working directory already. */
int git_identity_give(const struct config *config, struct run *run, struct error *err);
