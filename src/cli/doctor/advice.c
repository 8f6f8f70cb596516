/* Advice from the findings, the same as text and as JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "sandbox/landlock.h"

/* Layers that the level `process` does without. */
#define OF_NAMESPACES                                                                              \
    (LAYER_USER_NS | LAYER_MOUNT_NS | LAYER_PID_NS | LAYER_NET_NS | LAYER_IPC_NS | LAYER_UTS_NS |  \
     LAYER_CGROUP_NS | LAYER_TIME_NS | LAYER_ROOT | LAYER_PROC)

/* As root only what the probe met says what is wrong. */
static const char *improve_cgroup(const struct doctor *doctor, const char *otherwise)
{
    const struct cgroup_host *cgroups = doctor->engine.cgroups;
    const char *reason = cgroups ? cgroup_host_reason(cgroups) : NULL;

    if (doctor->host.uid == 0)
        return reason ? reason : otherwise;
    return doctor->host.has_cgroup_v2 ? "systemd-run --user --scope -p Delegate=yes belljar doctor"
                                      : "sudo belljar doctor (cgroup v1 belongs to root, unless a "
                                        "group is delegated to you)";
}

const char *doctor_improve(const struct doctor *doctor, const struct doctor_layer *layer)
{
    const char *userns = doctor_host_improve_userns(&doctor->host);

    if (doctor->is_on_host && (layer->any & OF_NAMESPACES))
        return "isolation `namespaces` has it; this level does not";
    if ((layer->any & LAYER_USER_NS) && userns)
        return userns;
    if (layer->any & (LAYER_CGROUP_V1 | LAYER_CGROUP_V2))
        return improve_cgroup(doctor, layer->improve);
    return layer->improve;
}

/* Elsewhere in the program a hint may send the reader here; here that leads nowhere. */
static const char *useful_hint(const struct error *error)
{
    return error->hint && !strstr(error->hint, "belljar doctor") ? error->hint : NULL;
}

static const char *next_on_failure(const struct doctor *doctor)
{
    const char *userns = doctor_host_improve_userns(&doctor->host);
    const char *hint = useful_hint(&doctor->error);

    if (userns)
        return userns;
    if (!hint && doctor->error.errnum == EPERM)
        return doctor->host.landlock_abi >= LANDLOCK_ISOLATES
                   ? "a container may forbid namespaces: docs/HOSTS.md says what it must be "
                     "allowed. `belljar doctor --isolation process` tries the weaker level "
                     "without them"
                   : "a container may forbid namespaces: docs/HOSTS.md says what it must be "
                     "allowed. The weaker level `process` needs Landlock ABI 6 (Linux 6.12)";
    return hint ? hint : "fix the problems above, then run `belljar doctor` again";
}

/* The advice for the layer that costs the grade most. */
static const char *next_layer(const struct doctor *doctor)
{
    size_t count;
    const struct doctor_layer *layers = doctor_layers(&count);
    const struct doctor_layer *worst = NULL;

    for (size_t i = 0; i < count; i++)
        if (!(layers[i].any & doctor->layers) && (!worst || layers[i].without > worst->without))
            worst = &layers[i];
    return worst ? doctor_improve(doctor, worst) : NULL;
}

const char *doctor_next(const struct doctor *doctor)
{
    const char *layer;

    if (!doctor->can_run)
        return next_on_failure(doctor);
    if (doctor->is_on_host)
        return "docs/THREATS.md lists what this level does not cover; `belljar doctor --isolation "
               "namespaces` says whether this host can do better";
    layer = next_layer(doctor);
    if (layer)
        return layer;
    return doctor->has_proof ? "belljar run -c 'print(1)'"
                             : "`belljar doctor --prove` tests all this with hostile programs";
}

const char *doctor_cgroup_kind(const struct doctor *doctor)
{
    const struct cgroup_host *cgroups = doctor->engine.cgroups;

    switch (cgroups ? cgroup_host_kind(cgroups) : CGROUP_NONE) {
    case CGROUP_V2:
        return "v2";
    case CGROUP_V1:
        return "v1";
    case CGROUP_NONE:
        break;
    }
    return "none";
}

char *doctor_cgroup_place(const struct doctor *doctor)
{
    const struct cgroup_host *cgroups = doctor->engine.cgroups;
    const char *path = cgroups ? cgroup_host_path(cgroups) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? strndup(path, (size_t)(slash - path)) : NULL;
}

const char *doctor_why_missing(const struct doctor *doctor, const char *module)
{
    const struct pool *pool = doctor->engine.pool;
    const struct zygote_client *zygote = pool ? pool_zygote(pool) : NULL;
    size_t count = 0, len = strlen(module);
    const char *const *missing = zygote ? zygote_client_missing(zygote, &count) : NULL;

    for (size_t i = 0; i < count; i++)
        if (strncmp(missing[i], module, len) == 0 && strncmp(missing[i] + len, ": ", 2) == 0)
            return missing[i] + len + 2;
    return NULL;
}
