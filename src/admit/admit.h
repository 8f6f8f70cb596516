/* May this run, and within which limits? What the settings and the profile say is put into the run
 * here, in one place for every door. */
#pragma once

#include "admit/profile.h"
#include "base/config.h"
#include "base/run.h"

/* The profile of the settings, from the operator's or our own directory. */
int admit_load_profile(const struct config *config, struct profile **ret_profile,
                       struct error *err);

/* Likewise the profile `name`. */
int admit_load_named(const struct config *config, const char *name, struct profile **ret_profile,
                     struct error *err);

/* The limits of a run: the defaults, overridden by the profile (it may be NULL), then by files, the
 * environment and flags. A stock has to be made with the limits its runs will have. */
void admit_limits(const struct config *config, const struct profile *profile,
                  struct run_limits *limits);

/* The hosts that the settings name; *ret_net is NULL where there are none. */
int admit_net(const struct config *config, struct net **ret_net, struct error *err);

/* Puts what the profile says into the run: rules, layers it insists on, and admit_limits(). The run
 * borrows from the profile, which has to outlive it. */
int admit_run(struct run *run, const struct config *config, const struct profile *profile,
              struct error *err);
