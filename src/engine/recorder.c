#include "engine/recorder_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/display_hash.h"
#include "audit/key.h"
#include "audit/receipt.h"
#include "base/cleanup.h"
#include "base/layer.h"
#include "base/net.h"
#include "base/paths.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "wire/message.h"

/* --- opening --- */

static enum trail_patience patience_of(const struct recorder_options *options)
{
    if (strcmp(options->config->trail_sync, "before_answer") != 0)
        return TRAIL_WITHOUT_DISK;
    return options->has_doors ? TRAIL_BY_GROUP : TRAIL_AT_ONCE;
}

static enum keep keep_of(const char *word)
{
    return strcmp(word, "all") == 0 ? KEEP_ALL : strcmp(word, "none") == 0 ? KEEP_NONE : KEEP_CODE;
}

static int open_trail(struct recorder *recorder, const struct recorder_options *options,
                      struct error *err)
{
    const struct config *config = options->config;
    cleanup_free char *key_dir = paths_state(".", err);
    cleanup_free char *dir = NULL;
    char key_name[TRAIL_KEY_SIZE];
    struct trail_options trail = {
        .file_bytes = (uint64_t)config->trail_file_mb * MIB,
        .max_bytes = recorder->max_bytes,
        .max_days = (uint64_t)config->trail_max_days,
        .loop = options->loop,
        .patience = patience_of(options),
        .is_brief = options->is_brief,
        .on_note = options->on_note,
        .user = options->user,
    };

    if (!key_dir)
        return -1;
    if (trail.max_bytes && trail.file_bytes > trail.max_bytes / RECORDER_FILES)
        trail.file_bytes = trail.max_bytes / RECORDER_FILES;
    dir = *config->trail_dir ? strdup(config->trail_dir) : paths_state("trail", err);
    if (!dir)
        return -1;
    trail_key_name(config->trail_dir, key_name);
    trail.dir = dir;
    trail.key_dir = key_dir;
    trail.key_name = key_name;
    recorder->patience = trail.patience;
    return trail_open(&trail, &recorder->trail, err);
}

int recorder_open(const struct recorder_options *options, struct recorder **ret_witness,
                  struct error *err)
{
    const struct config *config = options->config;
    enum run_masking masking = config_masking(config);
    struct recorder *recorder;

    *ret_witness = NULL;
    if (strcmp(config->trail, "off") == 0)
        return 0;
    recorder = calloc(1, sizeof(*recorder));
    if (!recorder)
        return error_memory(err);
    recorder->keep = keep_of(config->trail_keep);
    recorder->on_written = options->on_written;
    recorder->has_others = options->has_others;
    recorder->max_bytes = (uint64_t)config->trail_max_mb * MIB;
    recorder->shares_at_ns = loop_now_ns();
    recorder->user = options->user;
    recorder->masking = masking == RUN_MASK_ALL ? RUN_MASK_ALL : RUN_MASK_SECRETS;
    recorder->masks = options->masks;
    if (!recorder->masks)
        recorder->masks = recorder->own_masks = masks_new(NULL, NULL, err);
    if (!recorder->masks || open_trail(recorder, options, err) < 0) {
        masks_free(recorder->own_masks);
        free(recorder);
        error_wrap(err, "the trail");
        return err && !err->hint ? error_hint(err, "nothing runs unrecorded; BELLJAR_TRAIL=off, "
                                                   "or `trail` in the settings, does without")
                                 : -1;
    }
    *ret_witness = recorder;
    return 0;
}

void recorder_settle(struct recorder *recorder, bool may_leave_child)
{
    if (recorder)
        trail_settle(recorder->trail, may_leave_child);
}

void recorder_close(struct recorder *recorder)
{
    if (!recorder)
        return;
    trail_close(recorder->trail);
    recorder_free_shares(recorder);
    masks_free(recorder->own_masks);
    free(recorder);
}

struct group_sync *recorder_disk(const struct recorder *recorder)
{
    return recorder && recorder->patience == TRAIL_BY_GROUP ? trail_group(recorder->trail) : NULL;
}

bool recorder_wrote(const struct recorder *recorder, const char *line, size_t len)
{
    struct record_head head;

    return record_read(line, len, &head) && record_is_whole(line, len, &head) &&
           record_is_ours(line, len, &head, key_mac(trail_key(recorder->trail)));
}

/* --- words --- */

static struct clean_text clean(const struct recorder *recorder, const char *text, size_t len)
{
    return mask_for_trail(recorder->masks, recorder->masking, (struct span){text, len}, NULL);
}

/* The masker takes a few microseconds whatever the length: as long as all else that a short name
 * costs. */
void recorder_add(struct recorder *recorder, struct record *r, const char *key, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    struct clean_text masked;

    if (!text)
        return;
    if (masker_recent_find(&recorder->recent, text, &masked)) {
        record_text(r, key, masked);
        return;
    }
    masked = clean(recorder, text, len);
    record_text(r, key, masked);
    if (clean_len(masked) == len && memcmp(clean_data(masked), text, len) == 0)
        masker_recent_keep(&recorder->recent, masked);
}

void recorder_add_error(struct recorder *recorder, struct record *r, const struct error *error)
{
    if (!error || error->code == E_NONE)
        return;
    record_open(r, "error");
    record_word(r, "code", error_code_name(error->code));
    recorder_add(recorder, r, "message", error->message);
    record_close(r);
}

void recorder_add_limits(struct record *r, const struct run_limits *limits)
{
    record_open(r, "limits");
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        record_number(r, run_limit_table[i].member, run_limit_raw(limits, &run_limit_table[i]));
    record_close(r);
}

static void hash_bytes(struct span bytes, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t of_nothing[SHA256_BYTES] = {
        0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4,
        0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b,
        0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};

    if (bytes.len)
        sha256(bytes.data, bytes.len, digest);
    else
        memcpy(digest, of_nothing, SHA256_BYTES);
}

/* Length, hash, and where it is to be kept and is not too long, the text itself. */
static void add_hashed(struct recorder *recorder, struct record *r, const char *key,
                       struct span bytes, bool is_kept, const uint8_t digest[SHA256_BYTES])
{
    struct mask_count masked = {0};

    record_open(r, key);
    record_number(r, "bytes", bytes.len);
    record_digest(r, "sha256", digest);
    if (is_kept && bytes.len >= TEXT_LEAST && recorder_refer(recorder, r, key, digest)) {
        /* it is there already */
    } else if (is_kept && bytes.len <= TRAIL_TEXT_MAX) {
        struct clean_text text = mask_for_trail(recorder->masks, recorder->masking, bytes, &masked);

        record_text(r, "text", text);
        if (masked.finds) { /* the text is not all of it: the hash is */
            record_number(r, "masked", masked.finds);
            record_number(r, "hidden_bytes", masked.bytes);
        }
        if (bytes.len >= TEXT_LEAST)
            recorder_note_text(recorder, key, digest, masked.finds, masked.bytes);
    } else if (is_kept) {
        record_bool(r, "is_too_long", true);
    }
    record_close(r);
}

static void add_bytes(struct recorder *recorder, struct record *r, const char *key,
                      struct span bytes, bool is_kept, char hex[2 * SHA256_BYTES + 1])
{
    uint8_t digest[SHA256_BYTES];

    hash_bytes(bytes, digest);
    if (hex)
        sha256_to_hex(digest, hex);
    add_hashed(recorder, r, key, bytes, is_kept, digest);
}

/* --- the beginning of a run --- */

static void add_who(struct recorder *recorder, struct record *r, const struct run *run)
{
    record_word(r, "id", run->id);
    recorder_add(recorder, r, "owner",
                 run->origin.owner && *run->origin.owner ? run->origin.owner : OWNER_LOCAL);
    recorder_add(recorder, r, "correlation_id", run->origin.correlation_id);
    if (*run->origin.session)
        record_word(r, "session", run->origin.session);
    record_word(r, "language", run_language_name(run->program.language));
    recorder_add(recorder, r, "profile", run->terms.profile);
}

/* Values may be secrets that no pattern knows: names are enough, unless all is to be kept. */
static void add_env(struct recorder *recorder, struct record *r, const struct run *run)
{
    uint64_t masked = 0;

    if (!run->terms.env)
        return;
    record_open_list(r, "env");
    for (char **env = run->terms.env; *env; env++) {
        size_t len = recorder->keep == KEEP_ALL ? strlen(*env) : strcspn(*env, "=");
        struct mask_count count = {0};

        record_text(
            r, NULL,
            mask_for_trail(recorder->masks, recorder->masking, (struct span){*env, len}, &count));
        masked += count.finds;
    }
    record_close(r);
    if (masked)
        record_number(r, "env_masked", masked);
}

/* The word after `--password` is a secret because of it. Returns how much was masked. */
static uint64_t add_arg(const struct recorder *recorder, struct record *r, const char *before,
                        const char *arg)
{
    size_t len = before && *before == '-' ? strlen(before) + 1 : 0;
    cleanup_free char *both = NULL;
    struct clean_text text;
    struct mask_count masked = {0};

    if (len && asprintf(&both, "%s %s", before, arg) > 0) {
        text = mask_for_trail(recorder->masks, recorder->masking, span_of(both), &masked);
        if (masked.finds && clean_len(text) > len && memcmp(clean_data(text), both, len) == 0) {
            record_text(r, NULL, clean_from(text, len));
            return masked.finds;
        }
    }
    masked = (struct mask_count){0};
    record_text(r, NULL, mask_for_trail(recorder->masks, recorder->masking, span_of(arg), &masked));
    return masked.finds;
}

static void add_args(const struct recorder *recorder, struct record *r, const struct run *run)
{
    uint64_t masked = 0;

    if (!run->program.args || recorder->keep == KEEP_NONE)
        return;
    if (run->program.language == RUN_COMMAND) /* `code` has them */
        return;
    record_open_list(r, "args");
    for (char **arg = run->program.args; *arg; arg++)
        masked += add_arg(recorder, r, arg > run->program.args ? arg[-1] : NULL, *arg);
    record_close(r);
    if (masked)
        record_number(r, "args_masked", masked);
}

static void add_given(struct recorder *recorder, struct record *r, const struct run *run)
{
    if (!run->program.n_given)
        return;
    record_open_list(r, "files");
    for (size_t i = 0; i < run->program.n_given; i++) {
        const struct run_given *given = &run->program.given[i];

        record_open(r, NULL);
        recorder_add(recorder, r, "path", given->path);
        if (given->has_digest)
            add_hashed(recorder, r, "content", (struct span){given->data, given->len},
                       recorder->keep == KEEP_ALL, given->digest);
        else
            add_bytes(recorder, r, "content", (struct span){given->data, given->len},
                      recorder->keep == KEEP_ALL, NULL);
        record_close(r);
    }
    record_close(r);
}

static void add_net(struct recorder *recorder, struct record *r, const struct net *net)
{
    if (!net)
        return;
    record_open_list(r, "net");
    for (size_t i = 0; i < net->count; i++) {
        char text[1024];

        if (net_grant_text(&net->grants[i], text, sizeof(text)) < 0)
            continue;
        record_open(r, NULL);
        recorder_add(recorder, r, "grant", text);
        record_close(r);
    }
    if (net->asks) {
        record_open(r, NULL);
        recorder_add(recorder, r, "grant", NET_ASK);
        record_close(r);
    }
    record_close(r);
}

static void add_grants(struct recorder *recorder, struct record *r, const struct run *run)
{
    if (!run->terms.n_grants)
        return;
    record_open_list(r, "allow");
    for (size_t i = 0; i < run->terms.n_grants; i++) {
        record_open(r, NULL);
        recorder_add(recorder, r, "path", run->terms.grants[i].path);
        record_word(r, "mode", run_grant_mode_name(run->terms.grants[i].mode));
        record_close(r);
    }
    record_close(r);
}

static bool keeps_code(const struct recorder *recorder, const struct run *run)
{
    return recorder->keep == KEEP_ALL ||
           (recorder->keep != KEEP_NONE && !run->program.holds_variables);
}

static int write_start(struct recorder *recorder, struct run *run, struct error *err)
{
    cleanup(record_done) struct record r = {0};

    record_init(&r, "start");
    add_who(recorder, &r, run);
    add_bytes(recorder, &r, "code",
              (struct span){buf_str(&run->program.code), run->program.code.len},
              keeps_code(recorder, run), run->result.code_sha256);
    if (run->terms.has_terminal)
        record_bool(&r, "terminal", true);
    if (run->terms.has_one_stream)
        record_bool(&r, "one_stream", true);
    if (run->program.is_input_passed || run->program.is_input_open)
        record_bool(&r, "stdin_passed", true);
    if (run->program.has_input && !run->program.is_input_passed &&
        (run->program.input.len || !run->program.is_input_open))
        add_bytes(recorder, &r, "stdin",
                  (struct span){buf_str(&run->program.input), run->program.input.len},
                  recorder->keep == KEEP_ALL, NULL);
    if (run->terms.has_seed)
        record_number(&r, "seed", run->terms.seed);
    if (run->program.auto_print)
        record_bool(&r, "auto_print", true);
    if (run->program.only_checks)
        record_bool(&r, "only_checks", true);
    if (run->program.is_check)
        record_bool(&r, "check", true);
    add_args(recorder, &r, run);
    add_env(recorder, &r, run);
    add_given(recorder, &r, run);
    add_grants(recorder, &r, run);
    if (run->terms.workdir)
        recorder_add(recorder, &r, "workdir", run->terms.workdir);
    add_net(recorder, &r, run->terms.net);
    recorder_add_limits(&r, &run->terms.limits);
    return recorder_append_new(recorder, run->origin.owner, &r, TRAIL_START, err);
}

int recorder_start(struct recorder *recorder, struct run *run, struct error *err)
{
    int r;

    if (!recorder && run->origin.wants_receipt) {
        error_set(err, E_UNSUPPORTED, "a receipt needs the trail, which is off");
        return error_hint(err, "`trail = \"on\"` in the settings");
    }
    if (!recorder)
        return 0;
    r = write_start(recorder, run, err);
    if (r > 0) /* what it referred to is in a file that is full */
        r = write_start(recorder, run, err);
    if (r < 0)
        return -1;
    run->is_recorded = true;
    return 0;
}

/* --- while it runs --- */

static int write_input(struct recorder *recorder, const struct run *run, struct span data,
                       struct error *err)
{
    cleanup(record_done) struct record r = {0};

    record_init(&r, "input");
    add_who(recorder, &r, run);
    add_bytes(recorder, &r, "stdin", data, recorder->keep == KEEP_ALL, NULL);
    return recorder_append_new(recorder, run->origin.owner, &r, TRAIL_EVENT, err);
}

int recorder_input(struct recorder *recorder, const struct run *run, struct span data,
                   struct error *err)
{
    int r = recorder && data.len ? write_input(recorder, run, data, err) : 0;

    if (r > 0) /* what it referred to is in a file that is full */
        r = write_input(recorder, run, data, err);
    return r < 0 ? -1 : 0;
}

/* --- its end --- */

static void add_stream(struct recorder *recorder, struct record *r, const char *key,
                       const struct run_stream *stream, bool is_kept,
                       char hex[2 * SHA256_BYTES + 1])
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);

    if (run_stream_render(stream, &text, NULL) < 0)
        r->has_failed = true;
    add_bytes(recorder, r, key, (struct span){buf_str(&text), text.len}, is_kept, hex);
}

/* All of it in one hash: type and bytes of each form, one after the other. */
static void add_displays(struct record *r, const struct run *run)
{
    struct sha256_stream *hash = run->result.n_displays ? sha256_begin() : NULL;
    uint8_t digest[SHA256_BYTES] = {0};

    if (!hash)
        return;
    for (size_t i = 0; i < run->result.n_displays; i++)
        for (size_t k = 0; k < run->result.displays[i].n_forms; k++) {
            const struct run_form *form = &run->result.displays[i].forms[k];

            sha256_feed(hash, form->mime, strlen(form->mime) + 1);
            sha256_feed(hash, &form->len, sizeof(form->len));
            sha256_feed(hash, form->data, form->len);
        }
    sha256_end(hash, digest);
    record_open(r, "displays");
    record_number(r, "count", run->result.n_displays);
    record_digest(r, "sha256", digest);
    record_close(r);
}

static void add_outputs(struct recorder *recorder, struct record *r, const struct run *run,
                        bool is_kept, struct receipt *receipt)
{
    const char *result = run->result.value_text ? run->result.value_text : "";

    add_stream(recorder, r, "stdout", &run->result.out, is_kept, receipt->out);
    add_stream(recorder, r, "stderr", &run->result.err, is_kept, receipt->err);
    add_bytes(recorder, r, "result", (struct span){result, strlen(result)}, is_kept,
              receipt->result);
    add_displays(r, run);
    if (run->result.out.dropped + run->result.err.dropped)
        record_number(r, "dropped_bytes", run->result.out.dropped + run->result.err.dropped);
}

static void add_violations(struct recorder *recorder, struct record *r, const struct run *run)
{
    if (!run->result.n_violations)
        return;
    record_open_list(r, "violations");
    for (size_t i = 0; i < run->result.n_violations; i++) {
        const struct run_violation *v = &run->result.violations[i];

        record_open(r, NULL);
        recorder_add(recorder, r, "rule", v->rule);
        recorder_add(recorder, r, "name", v->name);
        record_number(r, "line", v->line);
        record_close(r);
    }
    record_close(r);
    if (run->result.violations_more)
        record_number(r, "violations_more", run->result.violations_more);
}

static void add_denials(struct recorder *recorder, struct record *r, const struct run *run)
{
    if (!run->result.n_denials)
        return;
    record_open_list(r, "denials");
    for (size_t i = 0; i < run->result.n_denials; i++) {
        const struct run_denial *d = &run->result.denials[i];

        record_open(r, NULL);
        recorder_add(recorder, r, "what", d->what);
        recorder_add(recorder, r, "layer", d->layer);
        record_number(r, "count", d->count);
        record_close(r);
    }
    record_close(r);
    if (run->result.denials_more)
        record_number(r, "denials_more", run->result.denials_more);
}

static void add_layers(struct record *r, uint32_t layers)
{
    record_open_list(r, "layers");
    for (unsigned i = 0; i < RUN_LAYER_COUNT; i++)
        if (layers & 1u << i)
            record_word(r, NULL, run_layer_name(i));
    record_close(r);
}

static void add_usage(struct record *r, const struct run_usage *usage)
{
    record_open(r, "usage");
    record_ms(r, "wall_ms", usage->wall_ms);
    record_ms(r, "cpu_ms", usage->cpu_ms);
    record_ms(r, "start_ms", usage->start_ms);
    record_number(r, "memory_peak_bytes", usage->memory_peak_bytes);
    record_number(r, "processes_peak", usage->processes_peak);
    record_close(r);
}

static void add_masked(struct record *r, const struct run_masked *masked)
{
    record_open(r, "masked");
    record_number(r, "count", masked->count);
    record_open_list(r, "kinds");
    for (size_t i = 0; i < masked->n_kinds; i++)
        record_word(r, NULL, masked->kinds[i]);
    record_close(r);
    record_close(r);
}

static void add_result(struct recorder *recorder, struct record *r, const struct run *run,
                       bool is_kept, struct receipt *receipt)
{
    uint8_t digest[SHA256_BYTES];

    if (*run->result.code_sha256) { /* that of the program as it came */
        memcpy(receipt->code, run->result.code_sha256, sizeof(receipt->code));
    } else {
        sha256(buf_str(&run->program.code), run->program.code.len, digest);
        sha256_to_hex(digest, receipt->code);
    }
    record_word(r, "code_sha256", receipt->code);
    add_outputs(recorder, r, run, is_kept, receipt);
    recorder_add(recorder, r, "exception", run->result.exception.name);
    add_violations(recorder, r, run);
    add_denials(recorder, r, run);
    add_layers(r, run->result.layers);
    add_usage(r, &run->result.usage);
    add_masked(r, &run->result.masked);
    if (run->terms.has_seed)
        record_word(r, "fingerprint", run->result.fingerprint);
}

static int write_end(struct recorder *recorder, const struct run *run, bool is_kept,
                     struct receipt *receipt, struct record_mark *ret_mark, struct error *err)
{
    cleanup(record_done) struct record r = {0};
    bool has_failed = run->result.error.code != E_NONE;

    record_init(&r, "run");
    add_who(recorder, &r, run);
    record_word(&r, "status", receipt->status);
    if (has_failed) {
        recorder_add_error(recorder, &r, &run->result.error);
    } else {
        record_signed(&r, "exit_code", run->result.exit_code);
        if (run->result.signal)
            record_signed(&r, "signal", run->result.signal);
    }
    if (recorder->keep == KEEP_ALL && !is_kept)
        record_bool(&r, "is_text_omitted", true);
    add_result(recorder, &r, run, is_kept, receipt);
    /* It has happened: the record stays, and the texts go where the share has no room for them. */
    if (is_kept && recorder_check_share(recorder, run->origin.owner, r.text.len, NULL) < 0) {
        recorder->n_fresh = 0;
        return write_end(recorder, run, false, receipt, ret_mark, err);
    }
    return recorder_append(recorder, run->origin.owner, &r,
                           run->is_recorded ? TRAIL_END : TRAIL_EVENT, ret_mark, err);
}

static void withhold(struct run *run, struct error *why)
{
    error_done(&run->result.error);
    error_move(&run->result.error, why);
    error_wrap(&run->result.error, "the run ended, but its answer is withheld");
}

static int give_receipt(struct recorder *recorder, struct run *run, struct receipt *receipt,
                        const struct record_mark *mark, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(8 * KIB);

    if (display_hash_of_run(run, receipt->displays, err) < 0 ||
        receipt_sign(receipt, mark, trail_key(recorder->trail), err) < 0 ||
        receipt_text(receipt, &text, err) < 0)
        return -1;
    run->result.receipt = take_ptr(text.data);
    return 0;
}

void recorder_end(struct recorder *recorder, struct run *run)
{
    bool has_failed = run->result.error.code != E_NONE;
    struct receipt receipt = {0};
    struct record_mark mark;
    struct error err = {0};
    int r;

    if (!recorder)
        return;
    memcpy(receipt.id, run->id, sizeof(run->id));
    (void)stpncpy(receipt.status, has_failed ? "failed" : run_status_name(run->result.status),
                  sizeof(receipt.status) - 1);
    r = write_end(recorder, run, recorder->keep == KEEP_ALL, &receipt, &mark, &err);
    if (r > 0)
        r = write_end(recorder, run, recorder->keep == KEEP_ALL, &receipt, &mark, &err);
    /* Better without the texts than without the record. */
    if (r < 0 && recorder->keep == KEEP_ALL) {
        error_done(&err);
        r = write_end(recorder, run, false, &receipt, &mark, &err);
    }
    run->is_recorded = false;
    if (r == 0 && run->origin.wants_receipt && !has_failed)
        r = give_receipt(recorder, run, &receipt, &mark, &err);
    /* A run that failed anyway has its own reason. */
    if (r < 0 && !has_failed)
        withhold(run, &err);
    error_done(&err);
}
