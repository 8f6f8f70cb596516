/* Profiles: what a program may do, as files that inherit from one another (policies/NAME.toml).
 *
 * A profile holds the rules of the policy inside (imports, builtins, attributes), the least
 * isolation it accepts, the languages it serves, and defaults for limits. profile_load() resolves
 * inheritance; the result does not change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/run.h"
#include "wire/pack.h"

struct net;
struct profile;

/* Finds NAME.toml in the operator's directory first ($XDG_CONFIG_HOME/belljar/policies), then in
 * `system_dir`. An unknown name is E_NOT_FOUND with the nearest known one in the hint. A name with
 * a slash is taken as a path. */
int profile_load(const char *name, const char *system_dir, struct profile **ret_profile,
                 struct error *err);
void profile_free(struct profile *profile);

const char *profile_name(const struct profile *profile);

/* The files it was read from, its parents' included; NULL past the end. */
const char *profile_file(const struct profile *profile, size_t index);

/* May this language run? `strict` refuses Bash, because no policy can read Bash. The error says
 * which profile would. */
int profile_check_language(const struct profile *profile, enum run_language language,
                           struct error *err);

/* False: Linux refuses execve and new processes from the moment the code arrives (threads are
 * fine). */
bool profile_allows_processes(const struct profile *profile);

/* Hosts that every program with it may reach, or NULL. The profile's. */
struct net *profile_net(const struct profile *profile);

/* False: no --allow with this profile. */
bool profile_allows_grants(const struct profile *profile);

/* Calls that its programs may make (bits of enum run_reach). */
uint32_t profile_may_call(const struct profile *profile);

/* Layers (bits of enum wire_layer) without which this profile does not run. */
uint32_t profile_required_layers(const struct profile *profile);

/* Does it run without namespaces, where the operator has chosen that (`isolation`), and on which
 * layers does it insist then? */
bool profile_allows_process_level(const struct profile *profile);
uint32_t profile_process_layers(const struct profile *profile);

/* Puts the profile's own limits (if it states any) into `limits`. */
void profile_apply_limits(const struct profile *profile, struct run_limits *limits);

/* A limit that the profile, or one it inherits from, states by an old spelling: "`limits.cpu_s` is
 * now called ...". `index` counts them from 0; false past the end. */
bool profile_old_limit(const struct profile *profile, size_t index, char *text, size_t size);

/* The rules as they travel into the sandbox (decoded by wire/policy.h). Owned by the profile, made
 * once. */
struct span profile_encoded(const struct profile *profile);
