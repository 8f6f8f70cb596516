/* The findings for a person: a screen of text that ends with what to type next. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/doctor/doctor.h"

#define GREEN "\x1b[32m"
#define RED   "\x1b[31m"
#define AMBER "\x1b[33m"
#define BOLD  "\x1b[1m"
#define DIM   "\x1b[2m"
#define RESET "\x1b[0m"

/* Wide enough for the names that share a line; with the mark and the longest text below 80. */
#define NAMES_WIDTH 33

/* Of CPython's ModuleNotFoundError. */
#define NOT_INSTALLED "No module named"

struct page {
    const struct doctor *doctor;
    enum doctor_grade grade;
    bool has_color;
    struct buf *out;
    struct error *err;
};

static int paint(const struct page *p, const char *color, const char *text)
{
    return buf_printf(p->out, p->err, "%s%s%s", p->has_color ? color : "", text,
                      p->has_color ? RESET : "");
}

/* Words that come from files, from the kernel or from the zygote. */
static int add_line(const struct page *p, const char *before, const char *text)
{
    if (buf_add_str(p->out, before, p->err) < 0 ||
        terminal_line(text, strlen(text), p->out, p->err) < 0)
        return -1;
    return buf_add_str(p->out, "\n", p->err);
}

static int add_label(const struct page *p, const char *label)
{
    char padded[16];

    (void)snprintf(padded, sizeof(padded), "%-9s", label);
    return paint(p, DIM, padded);
}

/* --- the parts, in order --- */

static int add_grade(const struct page *p)
{
    const char *color = p->grade <= DOCTOR_B ? GREEN : p->grade == DOCTOR_F ? RED : AMBER;
    char text[32];

    (void)snprintf(text, sizeof(text), "grade %s", doctor_grade_name(p->grade));
    if (paint(p, color, text) < 0)
        return -1;
    return buf_printf(p->out, p->err, ": %s\n",
                      doctor_grade_meaning(p->grade, p->doctor->is_on_host));
}

static int add_failure(const struct page *p)
{
    const struct error *error = &p->doctor->error;

    if (p->doctor->can_run)
        return 0;
    if (add_line(p, "\n  ", error_message(error)) < 0)
        return -1;
    return buf_add_str(p->out, "\n", p->err);
}

/* Layers from `first` on that stand or lack together and protect from the same. */
static size_t count_alike(const struct doctor_layer *layers, size_t count, uint32_t standing)
{
    size_t n = 1;

    while (n < count && strcmp(layers[n].protects, layers[0].protects) == 0 &&
           !(layers[n].any & standing) == !(layers[0].any & standing))
        n++;
    return n;
}

static int add_layers_alike(const struct page *p, const struct doctor_layer *layers, size_t n)
{
    uint32_t standing = p->doctor->layers;
    bool is_present = layers[0].any & standing;
    char names[128] = "";
    size_t len = 0;

    for (size_t i = 0; i < n && len < sizeof(names); i++)
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? " " : "",
                                doctor_layer_name(&layers[i], standing));
    if (buf_add_str(p->out, "  ", p->err) < 0 ||
        paint(p, is_present ? GREEN : RED, is_present ? "✓" : "✗") < 0 ||
        buf_printf(p->out, p->err, " %-*s %s\n", NAMES_WIDTH, names, layers[0].protects) < 0)
        return -1;
    if (is_present)
        return 0;
    return add_line(p, "      → ", doctor_improve(p->doctor, &layers[0]));
}

static int add_layers(const struct page *p)
{
    size_t count, n;
    const struct doctor_layer *layers = doctor_layers(&count);

    if (!p->doctor->can_run) /* nothing was seen to stand: a list would say no more than that */
        return 0;
    if (buf_printf(p->out, p->err, "\n    %-*s %s\n", NAMES_WIDTH, "layer",
                   "what it keeps from programs") < 0)
        return -1;
    for (; count; layers += n, count -= n) {
        n = count_alike(layers, count, p->doctor->layers);
        if (add_layers_alike(p, layers, n) < 0)
            return -1;
    }
    return buf_printf(p->out, p->err, "\n");
}

static int add_kernel(const struct page *p)
{
    const struct doctor_host *host = &p->doctor->host;

    if (add_label(p, "kernel") < 0 || buf_printf(p->out, p->err, "Linux %s", host->release) < 0)
        return -1;
    if (host->landlock_abi
            ? buf_printf(p->out, p->err, " · Landlock ABI %d", host->landlock_abi) < 0
            : buf_add_str(p->out, " · no Landlock", p->err) < 0)
        return -1;
    if (doctor_host_improve_userns(host))
        return buf_add_str(p->out, " · user namespaces restricted\n", p->err);
    return buf_add_str(p->out, " · user namespaces allowed\n", p->err);
}

static int add_room(const struct page *p)
{
    const struct doctor_host *host = &p->doctor->host;
    double gib = (double)(KIB * MIB);

    if (add_label(p, "host") < 0 ||
        buf_printf(p->out, p->err, "%s · %ld %s · %.1f GB", host->uid ? "ordinary user" : "root",
                   host->cores, host->cores == 1 ? "core" : "cores",
                   (double)host->memory_bytes / gib) < 0)
        return -1;
    if (host->swap_bytes &&
        buf_printf(p->out, p->err, " + %.1f GB swap", (double)host->swap_bytes / gib) < 0)
        return -1;
    if (buf_printf(p->out, p->err, " · room for %zu sandboxes (%s", host->max_sandboxes,
                   host->limited_by) < 0)
        return -1;
    return buf_printf(p->out, p->err, host->more ? ": `%s`)\n" : ")%s\n",
                      host->more ? host->more : "");
}

static int add_cgroup(const struct page *p)
{
    const struct cgroup_host *cgroups = p->doctor->engine.cgroups;
    cleanup_free char *place = doctor_cgroup_place(p->doctor);
    char text[16];

    if (add_label(p, "cgroup") < 0)
        return -1;
    if (!place)
        return add_line(p, "none: ", cgroups ? cgroup_host_reason(cgroups) : "unknown");
    (void)snprintf(text, sizeof(text), "%s in ", doctor_cgroup_kind(p->doctor));
    return add_line(p, text, place);
}

/* Not installed is one line with what to type; anything else is worth its own. */
static int add_not_installed(const struct page *p, const struct environment *e)
{
    cleanup(buf_done) struct buf packages = BUF_OF(KIB);
    bool is_system = e->n_binds == 0;

    for (size_t i = 0; i < e->n_preload; i++) {
        const char *why = doctor_why_missing(p->doctor, e->preload[i]);

        if (why && strstr(why, NOT_INSTALLED) &&
            buf_printf(&packages, p->err, is_system ? " python3-%s" : " %s", e->preload[i]) < 0)
            return -1;
    }
    if (packages.len == 0)
        return 0;
    if (add_label(p, "note") < 0)
        return -1;
    return add_line(p,
                    is_system ? "for more modules: apt install" : "for more modules: pip install",
                    buf_str(&packages));
}

static int add_missing(const struct page *p, const struct environment *e)
{
    for (size_t i = 0; i < e->n_preload; i++) {
        const char *why = doctor_why_missing(p->doctor, e->preload[i]);

        if (!why || strstr(why, NOT_INSTALLED))
            continue;
        if (add_label(p, "note") < 0 ||
            terminal_line(e->preload[i], strlen(e->preload[i]), p->out, p->err) < 0 ||
            add_line(p, " could not be imported: ", why) < 0)
            return -1;
    }
    return add_not_installed(p, e);
}

static int add_python(const struct page *p)
{
    const struct engine *engine = &p->doctor->engine;
    const struct zygote_client *zygote = engine->pool ? pool_zygote(engine->pool) : NULL;
    const struct environment *e = &engine->environment;
    const char *version = zygote ? zygote_client_python_version(zygote) : NULL;

    if (!version)
        return 0;
    if (add_label(p, "python") < 0 || terminal_line(version, strlen(version), p->out, p->err) < 0)
        return -1;
    if (buf_add_str(p->out, " with", p->err) < 0)
        return -1;
    for (size_t i = 0; i < e->n_preload; i++)
        if (!doctor_why_missing(p->doctor, e->preload[i]) &&
            (buf_add_str(p->out, " ", p->err) < 0 ||
             terminal_line(e->preload[i], strlen(e->preload[i]), p->out, p->err) < 0))
            return -1;
    if (buf_add_str(p->out, "\n", p->err) < 0)
        return -1;
    return add_missing(p, e);
}

static int add_pythons(const struct page *p)
{
    const struct doctor_pythons *pythons = &p->doctor->pythons;

    for (size_t i = 0; i < pythons->count; i++) {
        const struct doctor_python *python = &pythons->items[i];

        if (i > 0 &&
            (add_label(p, "python") < 0 ||
             buf_printf(p->out, p->err, "%.*s with `--python %s`\n",
                        (int)strcspn(python->build, " "), python->build, python->version) < 0))
            return -1;
        if (python->is_older &&
            (add_label(p, "note") < 0 ||
             add_line(p,
                      "Belljar's Python is older than the host's, "
                      "and lacks its updates: ",
                      python->build) < 0 ||
             add_label(p, "") < 0 ||
             add_line(p, "build and install Belljar again, then restart the server; the host has ",
                      python->host_build) < 0))
            return -1;
    }
    return 0;
}

/* In one line: the report fits a screen. */
static int add_missing_parts(const struct page *p)
{
    char names[MACHINE_PARTS_MAX * sizeof(((struct machine_part *)0)->name)] = "";
    size_t len = 0;

    for (size_t i = 0; i < p->doctor->n_machine_parts; i++) {
        const struct machine_part *part = &p->doctor->machine_parts[i];

        if (!part->is_there)
            len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
                                    part->name);
    }
    if (buf_printf(p->out, p->err, "virtual machines need %s: ", names) < 0)
        return -1;
    return add_line(p, "", "`belljar machine build` says what to install");
}

static int add_machine(const struct page *p)
{
    const struct error *error = &p->doctor->machine_error;
    const char *kind = p->doctor->config->machine;

    if (add_label(p, "machine") < 0)
        return -1;
    if (error->code == E_NONE && strcmp(kind, "tcg") == 0)
        return add_line(p, "", "virtual machines without KVM: no isolation by hardware, for tests");
    if (error->code == E_NONE)
        return add_line(p, "",
                        strcmp(kind, "no") == 0 ? "the parts of `belljar serve --machine kvm` are "
                                                  "here; `belljar machine build` tests them"
                                                : "programs of servers run in one, with KVM");
    if (p->doctor->n_machine_parts)
        return add_missing_parts(p);
    return add_line(p, "", error_message(error));
}

static int add_strict(const struct page *p)
{
    if (p->doctor->strict_error.code == E_NONE)
        return 0;
    if (add_label(p, "note") < 0)
        return -1;
    return add_line(p, "profile `strict` does not run: ", p->doctor->strict_error.message);
}

static int add_next(const struct page *p)
{
    if (buf_add_str(p->out, "\n", p->err) < 0 || paint(p, BOLD, "next: ") < 0)
        return -1;
    return add_line(p, "", doctor_next(p->doctor));
}

int doctor_report(const struct doctor *doctor, bool has_color, struct buf *out, struct error *err)
{
    static int (*const parts[])(const struct page *) = {
        add_grade,  add_failure, add_layers,  add_kernel, add_room, add_cgroup,
        add_python, add_pythons, add_machine, add_strict, add_next,
    };
    const struct page page = {doctor, doctor_grade(doctor->can_run, doctor->layers), has_color, out,
                              err};

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i](&page) < 0)
            return -1;
    return 0;
}
