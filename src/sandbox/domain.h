/* The processes of a sandbox without namespaces, and their end.
 *
 * A Landlock domain with a scope for signals (ABI 6, Linux 6.12) takes the place of a pid
 * namespace: who is in it can send signals to nobody outside. So kill(-1) of a member reaches the
 * members and nobody else, all of them at once, while none of them can fork: Linux holds the list
 * of processes meanwhile. The keeper of a domain, our own code, is in it. The programs are in a
 * domain inside (domain_enter_inner()), from which the keeper cannot be reached.
 *
 * The keeper also adopts what loses its parent. It ends on SIGTERM, which Linux sends it as well
 * when its own parent dies, and takes everything along.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "sandbox/landlock.h"

/* Makes the calling process the keeper of a new domain that is confined to `paths` and has no TCP.
 * E_UNSUPPORTED: this kernel cannot. Needs no_new_privs; before the first filter. */
int domain_keep(const struct landlock_path *paths, size_t count, struct error *err);

/* In a child of the keeper, before it runs anything: signals from here reach its own descendants
 * only. */
int domain_enter_inner(struct error *err);

/* Ends this process, and if it is a keeper everybody else in the domain first. Returns to nobody.
 */
void __attribute__((noreturn)) domain_exit(int code);
