/* The directories of the host that a virtual machine is given when it starts: those of the setting
 * `allow`, read-only, with Belljar's own places hidden. A run may be granted them, or what is below
 * them. A machine is given no others later: QEMU's microvm takes no further devices.
 */
#pragma once

#include "base/buf.h"
#include "base/config.h"
#include "base/run.h"
#include "sandbox/ns.h"

struct vm_grants;

/* E_UNSUPPORTED: programs shall change one of the directories. */
int vm_grants_check_setting(const struct config *config, struct error *err);

/* A directory that is not there, or cannot be granted, is left out, with a line in the log. `ids`:
 * of whom the machine's processes are. */
int vm_grants_open(const struct config *config, const struct ns_ids *ids,
                   struct vm_grants **ret_grants, struct error *err);
void vm_grants_free(struct vm_grants *grants); /* accepts NULL */

size_t vm_grants_count(const struct vm_grants *grants);
const char *vm_grants_path(const struct vm_grants *grants, size_t index);
const char *vm_grants_hidden(const struct vm_grants *grants, size_t index); /* NULL: no more */

/* A detached mount of it; lent. */
int vm_grants_fd(const struct vm_grants *grants, size_t index);

/* The machine has them. */
void vm_grants_close_mounts(struct vm_grants *grants);

/* The setting of the engine inside. */
int vm_grants_setting(const struct vm_grants *grants, struct buf *out, struct error *err);

/* E_UNSUPPORTED: the machine does not show a directory that the run is granted, or not as it is
 * now. */
int vm_grants_check(const struct vm_grants *grants, const struct run_terms *terms,
                    struct error *err);
