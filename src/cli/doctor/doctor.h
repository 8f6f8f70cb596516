/* Private to doctor*.c and their tests: what `belljar doctor` found out and how it is judged.
 *
 * A layer counts only when a real sandbox on this host reported it (doctor_probe.c). Facts of the
 * host (doctor_host.c) explain what is missing and what to type; they never make a layer present.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/error.h"
#include "cli/doctor/prove.h"
#include "engine/engine.h"
#include "engine/pythons.h"
#include "vm/check.h"
#include "wire/message.h"

/* --- doctor_layers.c: the layers and the rule of the grade --- */

/* From best to worst, so that the worst of several is the greatest. */
enum doctor_grade { DOCTOR_A, DOCTOR_B, DOCTOR_C, DOCTOR_D, DOCTOR_F };

struct doctor_layer {
    uint32_t any;              /* bits of enum wire_layer, one of which is enough */
    enum doctor_grade without; /* the best grade a host without it can get */
    const char *protects;      /* what it keeps from the program; neighbours may share it */
    const char *improve;       /* what to type or change where it is missing */
};

const struct doctor_layer *doctor_layers(size_t *ret_count);

/* The name of the layer that stands or could; "cgroup" where neither kind does. */
const char *doctor_layer_name(const struct doctor_layer *layer, uint32_t standing);

/* `can_run`: a program ran in a sandbox; nothing less is worth a grade. */
enum doctor_grade doctor_grade(bool can_run, uint32_t standing);
const char *doctor_grade_name(enum doctor_grade grade);
/* `is_on_host`: at the level `process`, which has no namespaces by choice. */
const char *doctor_grade_meaning(enum doctor_grade grade, bool is_on_host);

/* --- doctor_host.c: facts --- */

/* A sysctl that this kernel does not have. */
#define DOCTOR_ABSENT (-1)

struct doctor_host {
    char release[65]; /* of the kernel */
    char machine[65];
    unsigned uid;
    long cores;
    int landlock_abi;
    bool has_cgroup_v2; /* for everything, at the usual place */
    int64_t max_user_namespaces;
    int64_t unprivileged_userns_clone; /* Debian's switch: 0 forbids */
    int64_t apparmor_restricts_userns; /* Ubuntu's switch: 1 takes their capabilities away */
    uint64_t memory_bytes, available_bytes, swap_bytes;
    size_t max_sandboxes;   /* that this host has room for at once */
    const char *limited_by; /* what runs out first */
    const char *more;       /* what to type for more, or NULL */
};

void doctor_host_read(struct doctor_host *host);

/* Advice on an obstacle to user namespaces; NULL: there is none. It never switches a
 * protection off for other programs. */
const char *doctor_host_improve_userns(const struct doctor_host *host);

/* --- doctor_pythons.c: the Pythons that Belljar was built with --- */

struct doctor_python {
    char version[PYTHON_VERSION_TEXT];
    char build[128];      /* "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]", or "" */
    char host_build[128]; /* of the host's /usr/bin/python3.11 */
    bool is_older;        /* than the host's */
};

struct doctor_pythons {
    struct doctor_python items[PYTHONS_MAX];
    size_t count;
};

void doctor_pythons_read(struct doctor_pythons *pythons);

/* Whether one build is older than the other, by version and then by date. */
bool doctor_python_is_older(const char *build, const char *host_build);

/* --- doctor_probe.c: a real sandbox --- */

struct doctor {
    struct config *config;
    struct engine engine; /* stays open while the report is made, not while hostile programs run */
    struct doctor_host host;
    struct doctor_pythons pythons;
    bool has_proof; /* the escape suite was asked for */
    bool can_run;
    bool is_on_host;    /* the level `process` was asked for */
    uint32_t layers;    /* of the sandboxes that ran */
    struct error error; /* why nothing runs */
    struct machine_part machine_parts[MACHINE_PARTS_MAX];
    size_t n_machine_parts;
    struct error machine_error; /* why there can be no virtual machine; E_NONE: there can */
    struct error strict_error;  /* why `strict` does not, when `open` does */
};

/* Runs a program under `open` and one under `strict`. Never fails: what goes wrong is a finding. */
void doctor_probe(struct doctor *doctor);

/* --- doctor_advice.c: what follows from the findings --- */

/* Advice on a missing layer; `layer` as in the table. */
const char *doctor_improve(const struct doctor *doctor, const struct doctor_layer *layer);

/* The one command worth typing after this. */
const char *doctor_next(const struct doctor *doctor);

const char *doctor_cgroup_kind(const struct doctor *doctor); /* "v2", "v1" or "none" */

/* The directory of the sandboxes' cgroups, without our own directory; the caller frees it. NULL:
 * none. */
char *doctor_cgroup_place(const struct doctor *doctor);

/* Modules imported beforehand: whether this one of the environment's list is among the missing, and
 * why. */
const char *doctor_why_missing(const struct doctor *doctor, const char *module);

/* --- doctor_report.c, doctor_json.c: all of it for people and for machines --- */

int doctor_report(const struct doctor *doctor, bool has_color, struct buf *out, struct error *err);

/* The report without a proof, which doctor_json_proof() adds; the caller owns it. NULL: out of
 * memory. */
json_t *doctor_json(const struct doctor *doctor, struct error *err);
int doctor_json_proof(json_t *report, const struct prove_totals *proof, struct error *err);
