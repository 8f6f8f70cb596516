#include "guest/seed.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "guest/interpreter.h"
#include "sandbox/root.h"

/* For what the program starts. */
static int set_variables(uint64_t seed, struct error *err)
{
    char of_seed[64];
    const char *const variables[] = {"LD_PRELOAD=" ROOT_STEADY, "PYTHONHASHSEED=0", "TZ=UTC",
                                     of_seed};

    (void)snprintf(of_seed, sizeof(of_seed), "BELLJAR_SEED=%" PRIu64, seed);
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        if (interpreter_set_variable(span_of(variables[i]), err) < 0)
            return -1;
    return 0;
}

int seed_start(uint64_t seed, struct error *err)
{
    /* The library was loaded before us, or it is not there at all. */
    void (*begin)(uint64_t) = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "belljar_steady_begin");

    if (!begin)
        return error_set(err, E_INTERNAL, "the library for runs with a seed is not loaded");
    if (set_variables(seed, err) < 0)
        return -1;
    tzset();
    begin(seed);
    interpreter_seed(seed);
    return 0;
}
