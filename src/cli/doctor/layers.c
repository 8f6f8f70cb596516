/* The grade of a host: one table and the worst of what is missing. */
#include "cli/doctor/doctor.h"

#include "base/cleanup.h"

#define KERNEL "boot a stock kernel of your distribution, Linux 5.13 or newer"

/* Neighbours with the same words share a line of the report. docs/man/belljar-doctor.1.scd tells
 * the rule of the grade. */
/* clang-format off */
static const struct doctor_layer layers[] = {
    {LAYER_USER_NS,      DOCTOR_D, "your rights on this host, and root's", KERNEL},
    {LAYER_CAPS,         DOCTOR_D, "your rights on this host, and root's", KERNEL},
    {LAYER_NO_NEW_PRIVS, DOCTOR_D, "more rights through set-user-id files", KERNEL},
    {LAYER_MOUNT_NS,     DOCTOR_D, "your files",                           KERNEL},
    {LAYER_ROOT,         DOCTOR_D, "your files",                           KERNEL},
    {LAYER_PROC,         DOCTOR_D, "settings of the kernel in /proc",      KERNEL},
    {LAYER_PID_NS,       DOCTOR_D, "other processes and their memory",     KERNEL},
    {LAYER_IPC_NS,       DOCTOR_D, "other processes and their memory",     KERNEL},
    {LAYER_NET_NS,       DOCTOR_D, "local services, your network, the internet", KERNEL},
    {LAYER_UTS_NS,       DOCTOR_B, "the names of this host and its cgroups", KERNEL},
    {LAYER_CGROUP_NS,    DOCTOR_B, "the names of this host and its cgroups", KERNEL},
    {LAYER_TIME_NS,      DOCTOR_B, "the monotonic clock",                  "boot Linux 5.6 or newer with CONFIG_TIME_NS=y"},
    {LAYER_SECCOMP,      DOCTOR_D, "system calls that are not on the list", "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
    {LAYER_NO_EXEC,      DOCTOR_D, "starting programs, in profile `strict`", "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
    {LAYER_LANDLOCK,     DOCTOR_B, "your files again, should a mount fail", "boot Linux 5.13 or newer with `landlock` in lsm="},
    {LAYER_CGROUP_V2 | LAYER_CGROUP_V1,
                         DOCTOR_C, "all of the memory, processes and CPU",  "mount -t cgroup2 none /sys/fs/cgroup"},
    {LAYER_RLIMITS,      DOCTOR_C, "all descriptors, core files and queues", KERNEL},
};

static const struct {
    const char *name, *meaning;
} grades[] = {
    [DOCTOR_A] = {"A", "all layers are in place"},
    [DOCTOR_B] = {"B", "all isolation layers are in place, a redundant one is missing"},
    [DOCTOR_C] = {"C", "all isolation layers are in place, but limits are watched instead of enforced"},
    [DOCTOR_D] = {"D", "an isolation layer is missing: profiles that require it do not run here"},
    [DOCTOR_F] = {"F", "nothing can run here"},
};
/* clang-format on */

const struct doctor_layer *doctor_layers(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(layers);
    return layers;
}

const char *doctor_layer_name(const struct doctor_layer *layer, uint32_t standing)
{
    uint32_t bits = layer->any & standing ? layer->any & standing : layer->any;

    if (bits & (bits - 1)) /* none of several stands */
        return "cgroup";
    return wire_layer_name((unsigned)__builtin_ctz(bits));
}

enum doctor_grade doctor_grade(bool can_run, uint32_t standing)
{
    enum doctor_grade worst = DOCTOR_A;

    if (!can_run)
        return DOCTOR_F;
    for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
        if (!(layers[i].any & standing) && layers[i].without > worst)
            worst = layers[i].without;
    return worst;
}

const char *doctor_grade_name(enum doctor_grade grade)
{
    return grades[grade].name;
}

const char *doctor_grade_meaning(enum doctor_grade grade, bool is_on_host)
{
    if (is_on_host && grade == DOCTOR_D)
        return "isolation `process`, which is weaker: no namespaces, only Landlock, seccomp and "
               "limits";
    return grades[grade].meaning;
}
