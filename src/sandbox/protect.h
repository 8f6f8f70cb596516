/* What stays read-only in a directory that was granted for writing: start-up files of shells,
 * hooks, the settings of editors and agents. Who may write these runs code as the user later,
 * outside of every sandbox.
 */
#pragma once

#include "base/error.h"

/* In the sandbox's mount namespace, with the grant attached at its path: binds the protected paths
 * over themselves, read-only. Repositories below are found, too, to a bounded depth. Paths
 * that do not exist yet cannot be mounted over; grant_quarantine() looks for them afterwards. */
int protect_grant(const char *grant, struct error *err);
