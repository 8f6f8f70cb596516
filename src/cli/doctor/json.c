/* The findings for a machine. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/doctor/doctor.h"

/* In all of these NULL is: out of memory. */

static json_t *sysctl(int64_t value)
{
    return value == DOCTOR_ABSENT ? json_null() : json_integer(value);
}

static json_t *layers_json(const struct doctor *doctor)
{
    size_t count;
    const struct doctor_layer *layers = doctor_layers(&count);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        bool is_present = layers[i].any & doctor->layers;
        json_t *row =
            json_pack("{s:s, s:b, s:s, s:o}", "name", doctor_layer_name(&layers[i], doctor->layers),
                      "present", is_present, "protects", layers[i].protects, "improve",
                      json_string_or_null(is_present ? NULL : doctor_improve(doctor, &layers[i])));

        if (json_array_append_new(list, row) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Our directory has the file when the kernel counts swap with the memory: v2, v1 with swapaccount.
 */
static bool counts_swap(const char *path)
{
    static const char *const files[] = {"memory.swap.max", "memory.memsw.limit_in_bytes"};

    for (size_t i = 0; path && i < ARRAY_SIZE(files); i++) {
        cleanup_free char *file = NULL;

        if (asprintf(&file, "%s/%s", path, files[i]) >= 0 && access(file, F_OK) == 0)
            return true;
    }
    return false;
}

static json_t *cgroup_json(const struct doctor *doctor)
{
    const struct cgroup_host *cgroups = doctor->engine.cgroups;
    cleanup_free char *place = doctor_cgroup_place(doctor);

    if (!cgroups)
        return json_null();
    return json_pack("{s:s, s:o, s:b, s:o}", "kind", doctor_cgroup_kind(doctor), "path",
                     json_string_or_null(place), "counts_swap",
                     counts_swap(cgroup_host_path(cgroups)), "reason",
                     json_string_or_null(cgroup_host_reason(cgroups)));
}

static json_t *pythons_json(const struct doctor_pythons *pythons)
{
    json_t *list = json_array();

    for (size_t i = 0; i < pythons->count; i++) {
        const struct doctor_python *python = &pythons->items[i];

        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:o, s:o, s:b}", "version", python->version,
                                              "build", json_string_or_null(python->build),
                                              "host_build", json_string_or_null(python->host_build),
                                              "is_older", (int)python->is_older));
    }
    return list;
}

static json_t *python_json(const struct doctor *doctor)
{
    const struct engine *engine = &doctor->engine;
    const struct zygote_client *zygote = engine->pool ? pool_zygote(engine->pool) : NULL;
    const struct environment *e = &engine->environment;
    json_t *preloaded = json_array(), *missing = json_array();
    const char *version = zygote ? zygote_client_python_version(zygote) : NULL;

    for (size_t i = 0; version && i < e->n_preload; i++) {
        const char *why = doctor_why_missing(doctor, e->preload[i]);

        if (why)
            (void)json_array_append_new(missing, json_pack("{s:o, s:o}", "name",
                                                           json_string_or_null(e->preload[i]),
                                                           "why", json_string_or_null(why)));
        else
            (void)json_array_append_new(preloaded, json_string_or_null(e->preload[i]));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "version", json_string_or_null(version), "path",
                     json_string_or_null(e->python), "preloaded", preloaded, "missing", missing,
                     "all", pythons_json(&doctor->pythons));
}

static json_t *kernel_json(const struct doctor_host *host)
{
    return json_pack(
        "{s:o, s:o, s:i, s:{s:b, s:o, s:o, s:o, s:o}}", "release",
        json_string_or_null(host->release), "machine", json_string_or_null(host->machine),
        "landlock_abi", host->landlock_abi, "user_namespaces", "allowed",
        !doctor_host_improve_userns(host), "max_user_namespaces", sysctl(host->max_user_namespaces),
        "unprivileged_userns_clone", sysctl(host->unprivileged_userns_clone),
        "apparmor_restrict_unprivileged_userns", sysctl(host->apparmor_restricts_userns), "improve",
        json_string_or_null(doctor_host_improve_userns(host)));
}

static json_t *memory_json(const struct doctor_host *host)
{
    return json_pack("{s:I, s:I, s:I}", "total_bytes", (json_int_t)host->memory_bytes,
                     "available_bytes", (json_int_t)host->available_bytes, "swap_bytes",
                     (json_int_t)host->swap_bytes);
}

static json_t *room_json(const struct doctor_host *host)
{
    return json_pack("{s:I, s:s, s:o}", "max", (json_int_t)host->max_sandboxes, "limited_by",
                     host->limited_by, "improve", json_string_or_null(host->more));
}

static json_t *error_json(const struct error *error)
{
    if (error->code == E_NONE)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "code", error_code_name(error->code), "message",
                     json_string_or_null(error->message), "hint", json_string_or_null(error->hint));
}

int doctor_json_proof(json_t *report, const struct prove_totals *proof, struct error *err)
{
    json_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "contained", (json_int_t)proof->passed, "breaches",
                  (json_int_t)proof->breaches, "unexpected", (json_int_t)proof->unexpected,
                  "known_gaps", (json_int_t)proof->gaps, "grants", (json_int_t)proof->grants);

    return json_object_set_new(report, "proof", object) < 0 ? error_memory(err) : 0;
}

static json_t *parts_json(const struct doctor *doctor)
{
    json_t *list = json_array();

    for (size_t i = 0; i < doctor->n_machine_parts; i++) {
        const struct machine_part *part = &doctor->machine_parts[i];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:b, s:s, s:o}", "name", part->name, "is_there",
                            (int)part->is_there, "text", part->text, "hint",
                            json_string_or_null(*part->hint ? part->hint : NULL)));
    }
    return list;
}

json_t *doctor_json(const struct doctor *doctor, struct error *err)
{
    enum doctor_grade grade = doctor_grade(doctor->can_run, doctor->layers);
    const struct doctor_host *host = &doctor->host;
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:{s:i, s:b}, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:n}",
        "grade", doctor_grade_name(grade), "meaning",
        doctor_grade_meaning(grade, doctor->is_on_host), "layers", layers_json(doctor), "cgroup",
        cgroup_json(doctor), "python", python_json(doctor), "kernel", kernel_json(host), "user",
        "uid", (int)host->uid, "is_root", host->uid == 0, "cores", (int)host->cores, "memory",
        memory_json(host), "sandboxes", room_json(host), "error", error_json(&doctor->error),
        "strict_error", error_json(&doctor->strict_error), "machine_error",
        error_json(&doctor->machine_error), "machine_parts", parts_json(doctor), "next",
        json_string_or_null(doctor_next(doctor)), "proof");

    if (!object)
        error_memory(err);
    return object;
}
