/* The log of a virtual machine: a file in memory, which belljar-machine fills (wire/machine.h), and
 * the last part of what the machine before it has left. Its bytes are a stranger's; what is given
 * out is printable ASCII and newlines, and no longer than VM_LOG_TEXT.
 */
#pragma once

#include "base/buf.h"

/* Of both machines, with a line between them. */
#define VM_LOG_TEXT ((size_t)160 * 1024)

struct vm_log;

/* NULL: out of memory. */
struct vm_log *vm_log_new(void);
void vm_log_free(struct vm_log *log); /* accepts NULL */

/* A new machine: an empty file. What there is becomes that of the one before. */
int vm_log_begin(struct vm_log *log, struct error *err);

/* Lent. */
int vm_log_fd(const struct vm_log *log);

int vm_log_text(const struct vm_log *log, struct buf *out, struct error *err);
