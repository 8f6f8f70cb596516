/* Who this process is: its heartbeat and its credentials for the bus. */
#pragma once

#include "cluster/beat.h"
#include "cluster/bus.h"
#include "cluster/settings.h"

/* Name, instance and version. */
int identity_beat(const struct settings *settings, struct beat *ret_beat, struct error *err);

/* The wall clock, in milliseconds since 1970. */
int64_t identity_clock_ms(void);

/* Fills servers and credentials. The caller wipes and frees *ret_password. */
int identity_options(const struct settings *settings, const struct bus_identity *identity,
                     struct bus_options *ret_options, char **ret_password, struct error *err);
