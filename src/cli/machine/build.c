/* belljar machine build: a virtual machine as `belljar serve --machine` makes it, with two programs
 * in it. Nothing of it is kept: an initramfs is made in memory at each start, and ends with it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/http1.h"
#include "base/json.h"
#include "base/loop.h"
#include "cli/cmd.h"
#include "cli/machine/machine.h"
#include "vm/check.h"
#include "vm/keeper.h"

#define ANSWER_BYTES   ((size_t)1 << 20)
#define ANSWER_SECONDS 300
#define LOG_LINES      20

struct proof {
    struct keeper_guest guest; /* first */
    struct loop *loop;
    struct config *config;
    struct keeper *keeper;
    int fd;
    struct error error;
    double boot_s, first_s, next_s;
    char kernel[128];
    json_t *layers;
};

static void on_connection(struct keeper_guest *guest, int fd, const struct error *err)
{
    struct proof *proof = (struct proof *)guest;

    proof->fd = fd;
    if (fd < 0)
        error_copy(&proof->error, err);
    loop_stop(proof->loop);
}

/* Starts the machine if there is none. The descriptor blocks. */
static int connect_to_it(struct proof *proof, struct error *err)
{
    struct timeval patience = {.tv_sec = ANSWER_SECONDS};

    keeper_ask(proof->keeper, &proof->guest);
    if (loop_run(proof->loop, err) < 0)
        return -1;
    if (proof->fd < 0) {
        error_move(err, &proof->error);
        return -1;
    }
    if (fcntl(proof->fd, F_SETFL, 0) < 0 ||
        setsockopt(proof->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
        return error_errno(err, "use the connection");
    return 0;
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    return buf_add(user, data, len, err);
}

static int read_answer(int fd, struct buf *body, struct error *err)
{
    cleanup(http_response_done) struct http_response response;
    char bytes[4096];
    ssize_t n = 0;

    http_response_init(&response);
    while (!response.is_over && (n = read(fd, bytes, sizeof(bytes))) > 0)
        if (http_response_feed(&response, bytes, (size_t)n, on_piece, body, err) < 0)
            return -1;
    return response.is_over ? 0 : error_set(err, E_SYSTEM, "the virtual machine gave no answer");
}

/* The result of a program; `ret_seconds`: from the request to the answer. */
static int run_inside(struct proof *proof, const char *language, const char *code,
                      json_t **ret_result, double *ret_seconds, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 64};
    cleanup(buf_done) struct buf body = BUF_OF(ANSWER_BYTES);
    cleanup_close int fd = -1;
    uint64_t begin;

    if (connect_to_it(proof, err) < 0)
        return -1;
    fd = proof->fd;
    begin = loop_now_ns();
    if (dprintf(fd,
                "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n"
                "{\"language\":\"%s\",\"code\":\"%s\"}",
                strlen(language) + strlen(code) + strlen("{'language':'','code':''}"), language,
                code) < 0)
        return error_errno(err, "send a program");
    if (read_answer(fd, &body, err) < 0)
        return -1;
    *ret_seconds = (double)(loop_now_ns() - begin) / 1e9;
    return json_text_load(buf_str(&body), body.len, &limits, ret_result, err);
}

static int expect(const json_t *result, const char *what, struct error *err)
{
    const char *message = json_get_text(json_object_get(result, "error"), "message");

    if (strcmp(json_get_text(result, "status"), "success") == 0)
        return 0;
    return error_set(err, E_UNSUPPORTED, "%s did not succeed in the virtual machine%s%s", what,
                     *message ? ": " : "", message);
}

static int prove(struct proof *proof, struct error *err)
{
    cleanup_json json_t *first = NULL, *next = NULL;
    struct keeper_facts facts;
    const char *kernel;

    if (run_inside(proof, "python", "print(6 * 7)", &first, &proof->first_s, err) < 0 ||
        expect(first, "a Python program", err) < 0)
        return -1;
    if (strcmp(json_get_text(first, "stdout"), "42\n") != 0)
        return error_set(err, E_UNSUPPORTED, "the Python program did not print 42");
    if (run_inside(proof, "bash", "uname -r", &next, &proof->next_s, err) < 0 ||
        expect(next, "a Bash program", err) < 0)
        return -1;
    kernel = json_get_text(next, "stdout");
    (void)snprintf(proof->kernel, sizeof(proof->kernel), "%.*s", (int)strcspn(kernel, "\n"),
                   kernel);
    proof->layers = json_incref(json_object_get(first, "layers"));
    keeper_facts(proof->keeper, &facts);
    proof->boot_s = (double)facts.boot_ns / 1e9;
    return 0;
}

/* --- words --- */

static json_t *proof_json(const struct proof *proof)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:s, s:O}", "kind", proof->config->machine,
                     "memory_mb", (json_int_t)proof->config->machine_memory_mb, "cpus",
                     (json_int_t)proof->config->machine_cpus, "boot_s", proof->boot_s,
                     "first_run_s", proof->first_s, "next_run_s", proof->next_s, "kernel",
                     proof->kernel, "layers", proof->layers);
}

static void tell(const struct proof *proof)
{
    const json_t *one;
    size_t i;

    (void)printf("up after %.1f s; its first program took %.1f s, the next one %.2f s\n"
                 "kernel %s; layers around a program:",
                 proof->boot_s, proof->first_s, proof->next_s, proof->kernel);
    json_array_foreach(proof->layers, i, one)
    {
        (void)printf("%s %s", i ? "," : "", json_is_string(one) ? json_string_value(one) : "");
    }
    (void)printf("\n");
    if (strcmp(proof->config->machine, "tcg") == 0)
        (void)printf("tcg is for tests: it gives no isolation by hardware\n");
    (void)printf("`belljar serve --machine %s` runs programs this way\n", proof->config->machine);
}

/* The last lines of QEMU and the guest. */
static void tell_log(const struct proof *proof)
{
    cleanup(buf_done) struct buf text = BUF_OF((size_t)256 * 1024);
    const char *start;
    unsigned lines = 0;

    if (keeper_log(proof->keeper, &text, NULL) < 0 || !text.len)
        return;
    start = buf_str(&text) + text.len;
    while (start > buf_str(&text) && (start[-1] != '\n' || lines++ < LOG_LINES))
        start--;
    (void)fprintf(stderr, "the end of its log:\n%s", start);
}

static int read_config(const struct machine_build *build, struct config *config, struct error *err)
{
    if (!config)
        return error_memory(err);
    if (config_load(config, build->config, err) < 0)
        return -1;
    if (!build->kind && strcmp(config->machine, "no") != 0)
        return 0;
    if (build->kind && strcmp(build->kind, "kvm") != 0 && strcmp(build->kind, "tcg") != 0)
        return error_set(err, E_INVALID, "--machine `%s`: expected kvm or tcg", build->kind);
    return config_set_flag(config, "machine", build->kind ? build->kind : "kvm", err);
}

/* All that is missing, not the first alone. */
static void tell_parts(const struct config *config)
{
    struct machine_part parts[MACHINE_PARTS_MAX];
    size_t count;

    if (machine_parts(strcmp(config->machine, "tcg") == 0, parts, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        (void)fprintf(stderr, "%s: %s%s%s\n", parts[i].name, parts[i].text,
                      *parts[i].hint ? ": " : "", parts[i].hint);
}

int machine_build(const struct machine_build *build, struct error *err)
{
    struct proof proof = {
        .guest = {.on_connection = on_connection}, .fd = -1, .config = config_new()};
    int r = read_config(build, proof.config, err);

    if (r == 0 && !(proof.loop = loop_new(err)))
        r = -1;
    if (r == 0 && (r = keeper_new(proof.loop, proof.config, NULL, &proof.keeper, err)) < 0)
        tell_parts(proof.config);
    if (r == 0 && !build->is_json) {
        (void)printf("starting a virtual machine (%s, %lld MB, %lld processors)\n",
                     proof.config->machine, (long long)proof.config->machine_memory_mb,
                     (long long)proof.config->machine_cpus);
        (void)fflush(stdout);
    }
    if (r == 0 && (r = prove(&proof, err)) < 0) {
        tell_log(&proof);
        error_hint(err, "`belljar doctor` says what is missing; servers with `--machine` refuse "
                        "all runs until this succeeds");
    }
    if (r == 0 && build->is_json) {
        cleanup_json json_t *report = proof_json(&proof);

        r = cmd_print_json(report, err);
    } else if (r == 0) {
        tell(&proof);
    }
    keeper_free(proof.keeper);
    loop_free(proof.loop);
    json_decref(proof.layers);
    config_free(proof.config);
    return r;
}
