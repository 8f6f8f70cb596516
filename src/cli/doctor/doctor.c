/* belljar doctor: how well this host can isolate, and how to do better. */
#include "cli/doctor/doctor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"

struct arguments {
    const char *config;
    const char *isolation;
    bool is_json;
};

static int help(void)
{
    (void)printf(
        "usage: belljar doctor [--json] [--prove] [--isolation LEVEL] [--config FILE]\n\n"
        "Create a sandbox, check from inside which layers protect it, and grade the host:\n"
        "  A  all layers\n"
        "  B  a redundant layer is missing\n"
        "  C  limits are watched by Belljar instead of enforced by the kernel\n"
        "  D  an isolation layer is missing\n"
        "  F  nothing can run\n\n"
        "  --json             print JSON\n"
        "  --prove            also run programs that try to escape, and show a table\n"
        "  --isolation LEVEL  grade `namespaces` (default) or the weaker `process`\n"
        "  --config FILE      read this file instead of the usual ones\n\n"
        "exit: 0 for A to D; 1 for F, or if a hostile program reached anything\n\n"
        "example:\n"
        "  belljar doctor --prove\n");
    return 0;
}

static int print(const struct buf *out)
{
    return fputs(buf_str(out), stdout) < 0 || fflush(stdout) != 0 ? -1 : 0;
}

/* The suite's table goes to stderr: stdout is for the object. */
static int prove_aside(const struct config *config, struct prove_totals *totals, struct error *err)
{
    cleanup_close int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int r;

    if (saved < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return error_errno(err, "set stdout aside");
    r = prove_run_suite(config, totals, err);
    (void)fflush(stdout);
    if (dup2(saved, STDOUT_FILENO) < 0)
        return error_errno(err, "take stdout back");
    return r;
}

static int exit_code(const struct doctor *doctor, const struct prove_totals *totals)
{
    return doctor->can_run && !totals->breaches ? 0 : EXIT_FAILURE;
}

static int tell_machine(struct doctor *doctor, struct error *err)
{
    json_t *report = doctor_json(doctor, err);
    cleanup(buf_done) struct buf out = BUF_OF(MIB);
    struct prove_totals totals = {0};
    int r = report ? 0 : -1;

    if (r == 0 && doctor->has_proof && doctor->can_run) {
        engine_close(&doctor->engine); /* nothing of ours beside the programs on trial */
        if (prove_aside(doctor->config, &totals, err) < 0 ||
            doctor_json_proof(report, &totals, err) < 0)
            r = -1;
    }
    if (r == 0)
        r = json_text_dump(report, JSON_TEXT_PRETTY, &out, err);
    json_decref(report);
    if (r == 0 && print(&out) < 0)
        r = error_errno(err, "write the report");
    return r < 0 ? r : exit_code(doctor, &totals);
}

static int tell_person(struct doctor *doctor, struct error *err)
{
    bool has_color = terminal_has_color(STDOUT_FILENO, doctor->config->color);
    cleanup(buf_done) struct buf out = BUF_OF(MIB);
    struct prove_totals totals = {0};

    if (doctor_report(doctor, has_color, &out, err) < 0)
        return -1;
    if (print(&out) < 0)
        return error_errno(err, "write the report");
    if (doctor->has_proof && doctor->can_run) {
        engine_close(&doctor->engine); /* nothing of ours beside the programs on trial */
        if (fputs("\n", stdout) < 0 || prove_run_suite(doctor->config, &totals, err) < 0)
            return -1;
    }
    return exit_code(doctor, &totals);
}

static int examine(struct doctor *doctor, const struct arguments *request, struct error *err)
{
    if (!doctor->config)
        return error_memory(err);
    if (config_load(doctor->config, request->config, err) < 0 ||
        (request->isolation &&
         config_set_flag(doctor->config, "isolation", request->isolation, err) < 0))
        return -1;
    doctor->is_on_host = config_is_process_level(doctor->config);
    doctor_probe(doctor);
    doctor_host_read(&doctor->host);
    doctor_pythons_read(&doctor->pythons);
    (void)machine_check(strcmp(doctor->config->machine, "tcg") == 0, &doctor->machine_error);
    (void)machine_parts(strcmp(doctor->config->machine, "tcg") == 0, doctor->machine_parts,
                        &doctor->n_machine_parts, NULL);
    return request->is_json ? tell_machine(doctor, err) : tell_person(doctor, err);
}

static void doctor_done(struct doctor *doctor)
{
    engine_close(&doctor->engine);
    config_free(doctor->config);
    error_done(&doctor->error);
    error_done(&doctor->machine_error);
    error_done(&doctor->strict_error);
}

int cmd_doctor(int argc, char **argv)
{
    /* clang-format off */
    static const struct option options[] = {
        {"json",   no_argument,       NULL, 'j'},
        {"prove",  no_argument,       NULL, 'p'},
        {"isolation", required_argument, NULL, 'i'},
        {"config", required_argument, NULL, 'c'},
        {"help",   no_argument,       NULL, 'h'},
        {0},
    };
    /* clang-format on */
    cleanup(doctor_done) struct doctor doctor = {0};
    struct arguments request = {0};
    struct error err = {0};
    const struct cmd_place places[] = {
        {'j', .flag = &request.is_json},
        {'p', .flag = &doctor.has_proof},
        {'i', .word = &request.isolation},
        {'c', .word = &request.config},
    };
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind < argc)
        return cmd_bad_argument("doctor", argv[optind]);
    doctor.config = config_new();
    r = examine(&doctor, &request, &err);
    return r < 0 ? cmd_fail(&err) : r;
}
