/* The audit trail over HTTP: the same records as `belljar audit`. What it shows is for operators;
 * the public key, and whether a receipt is genuine, for everybody who has a token. Verifying all of
 * it is in route_verify.c. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/trail_reader.h"
#include "audit/own_key.h"
#include "audit/receipt.h"
#include "audit/signed_head.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define CHECK_MS 10000

/* Of one answer with records as they were written. */
#define LINES_MAX   2000
#define LINES_BYTES (4 * MIB)

/* --- list and show, in the worker --- */

static int add_row(void *user, const struct index_row *row, const struct buf *line,
                   const struct buf *start_line, struct error *err)
{
    json_t *object = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "seq", (json_int_t)row->seq,
        "time", json_string_or_null(row->time), "kind", json_string_or_null(row->kind), "event",
        json_string_or_null(row->event), "id", json_string_or_null(row->id), "owner",
        json_string_or_null(row->owner), "session_id", json_string_or_null(row->session), "status",
        json_string_or_null(row->status), "profile", json_string_or_null(row->profile), "summary",
        json_string_or_null(row->summary), "wall_ms",
        row->wall_ms < 0 ? json_null() : json_real(row->wall_ms));

    (void)line;
    (void)start_line;
    return json_array_insert_new(user, 0, object) < 0 ? error_memory(err) : 0;
}

static int work_list(const void *arg, json_t **ret_answer, struct error *err)
{
    return trail_list(arg, add_row, "records", ret_answer, err);
}

struct showing {
    struct index *index;
    json_t *list;
    size_t bytes;
    bool is_cut;
};

static int add_record(void *user, const struct index_row *row, const struct buf *line,
                      const struct buf *start_line, struct error *err)
{
    struct showing *showing = user;
    json_t *object;

    (void)row;
    (void)start_line;
    showing->bytes += line->len;
    if (showing->is_cut || (showing->bytes > TRAIL_SHOWN_BYTES && json_array_size(showing->list))) {
        showing->is_cut = true;
        return 0;
    }
    object = index_load(showing->index, line);
    if (!object)
        return error_set(err, E_INVALID, "a record cannot be read");
    return json_array_append_new(showing->list, object) < 0 ? error_memory(err) : 0;
}

static int work_show(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct trail_wish *wish = arg;
    struct showing showing = {0};
    int r;

    if (index_open(wish->dir, &showing.index, err) < 0)
        return -1;
    showing.list = json_array();
    r = index_find(showing.index, &wish->filter, add_record, &showing, err);
    index_close(showing.index);
    if (r == 0 && !json_array_size(showing.list)) {
        error_set(err, E_NOT_FOUND, "the audit trail has no record with that id");
        r = error_hint(err, "an id is that of a run or a session, a correlation id, or the number "
                            "of a record");
    }
    if (r == 0)
        *ret_answer =
            json_pack("{s:O, s:b}", "records", showing.list, "has_more", (int)showing.is_cut);
    json_decref(showing.list);
    return r;
}

/* --- records as they were written, in the worker --- */

struct lines {
    json_t *list;
    size_t bytes;
    bool is_full;
};

static int add_raw(void *user, const struct index_row *row, const struct buf *line,
                   const struct buf *start_line, struct error *err)
{
    struct lines *lines = user;

    (void)row;
    (void)start_line;
    lines->bytes += line->len;
    lines->is_full = json_array_size(lines->list) == LINES_MAX ||
                     (lines->bytes > LINES_BYTES && json_array_size(lines->list));
    if (lines->is_full)
        return -1;
    return json_array_append_new(lines->list, json_stringn(line->data, line->len)) < 0
               ? error_set(err, E_INVALID, "a record cannot be read")
               : 0;
}

static int work_lines(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct trail_wish *wish = arg;
    struct lines lines = {.list = json_array()};
    cleanup(buf_done) struct buf pem = BUF_OF(KIB);
    struct index *index = NULL;
    struct key_public key;
    int r = own_key_read(wish->trail_dir, &key, err);

    if (r == 0)
        r = key_public_pem(&key, &pem, err);
    if (r == 0)
        r = index_open(wish->dir, &index, err);
    if (r == 0)
        r = index_find(index, &wish->filter, add_raw, &lines, err);
    index_close(index);
    if (r == 0 || lines.is_full) {
        r = 0;
        *ret_answer = json_pack("{s:O, s:s}", "lines", lines.list, "pem", buf_str(&pem));
    }
    json_decref(lines.list);
    return r;
}

/* --- receipts, in the worker --- */

struct receipt_wish {
    struct trail_wish trail;
    const char *text;
    size_t len;
    bool may_look; /* into the trail */
};

struct place {
    const struct record_mark *wanted;
    bool is_there;
};

static int compare(void *user, const struct index_row *row, const struct buf *line,
                   const struct buf *start_line, struct error *err)
{
    struct place *place = user;
    struct record_head head;

    (void)row;
    (void)start_line;
    (void)err;
    place->is_there |= record_read(buf_str(line), line->len, &head) &&
                       head.mark.seq == place->wanted->seq &&
                       memcmp(head.mark.hash, place->wanted->hash, SHA256_BYTES) == 0 &&
                       record_is_whole(buf_str(line), line->len, &head);
    return 0;
}

static int look_up(const struct receipt_wish *wish, const struct receipt *receipt, bool *ret_there,
                   struct error *err)
{
    struct index *index = NULL;
    struct record_mark mark;
    struct place place = {.wanted = &mark};
    struct index_filter filter = {.has_starts = true};
    int r;

    if (receipt_mark(receipt, &mark, err) < 0 || index_open(wish->trail.dir, &index, err) < 0)
        return -1;
    filter.after = mark.seq - 1;
    filter.before = mark.seq + 1;
    r = mark.seq ? index_find(index, &filter, compare, &place, err) : 0;
    index_close(index);
    *ret_there = place.is_there;
    return r;
}

static json_t *receipt_json(const struct receipt *receipt, const char *why, json_t *is_in_trail)
{
    return json_pack("{s:b, s:o, s:s, s:s, s:s, s:s, s:s, s:o}", "is_genuine", (int)!why, "why",
                     json_string_or_null(why), "id", receipt->id, "status", receipt->status, "time",
                     receipt->time, "seq", receipt->seq, "key", receipt->key, "is_in_trail",
                     is_in_trail);
}

static int work_receipt(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct receipt_wish *wish = arg;
    cleanup_error struct error why = {0};
    struct key_public key;
    struct receipt receipt;
    bool is_there = false, is_genuine;

    if (receipt_parse(wish->text, wish->len, &receipt, err) < 0 ||
        own_key_read(wish->trail.trail_dir, &key, err) < 0)
        return -1;
    if (strcmp(receipt.key, key.name) != 0)
        error_set(&why, E_DENIED, "it was made with another key, %.16s…", receipt.key);
    is_genuine = why.code == E_NONE && receipt_check(&receipt, &key, &why) == 0 &&
                 receipt_check_result(&receipt, wish->text, wish->len, &why) == 0;
    if (is_genuine && wish->may_look && look_up(wish, &receipt, &is_there, err) < 0)
        return -1;
    *ret_answer = receipt_json(&receipt,
                               is_genuine    ? NULL
                               : why.message ? why.message
                                             : "its signature does not hold",
                               is_genuine && wish->may_look ? json_boolean(is_there) : json_null());
    return 0;
}

/* --- routes --- */

static void list_lines(struct request *request)
{
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    const struct worker_task task = {.work = work_lines,
                                     .arg = &wish,
                                     .patience_ms = TRAIL_FIND_MS,
                                     .name = "the search",
                                     .late_hint = "try again"};
    struct error err = {0};

    wish.filter = (struct index_filter){
        .has_starts = true,
        .after = (uint64_t)json_integer_value(json_object_get(request->query, "after")),
    };
    if (trail_check_node(request, &err) < 0 || trail_wish_open(request->api, &wish, &err) < 0 ||
        trail_read(request, &task, NULL, &err) < 0)
        request_answer_error(request, &err);
}

static void list_records(struct request *request)
{
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    const struct worker_task task = {.work = work_list,
                                     .arg = &wish,
                                     .patience_ms = TRAIL_FIND_MS,
                                     .name = "the search",
                                     .late_hint = "ask for a shorter time with `since`"};
    struct error err = {0};
    int r = trail_check_node(request, &err);

    if (r == 0)
        r = trail_wish_open(request->api, &wish, &err);
    if (r == 0)
        r = trail_wish_read(request, &wish, &err);
    wish.filter.kind = request_query(request, "kind");
    wish.filter.status = request_query(request, "status");
    wish.filter.looks = TRAIL_LOOKS_MAX;
    if (r < 0 || trail_read(request, &task, NULL, &err) < 0)
        request_answer_error(request, &err);
}

static void show_record(struct request *request)
{
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    struct error err = {0};

    wish.filter = (struct index_filter){.id = request->params[0], .has_starts = true};
    if (trail_check_node(request, &err) < 0 || trail_wish_open(request->api, &wish, &err) < 0 ||
        trail_read(request,
                   &(struct worker_task){.work = work_show,
                                         .arg = &wish,
                                         .patience_ms = TRAIL_FIND_MS,
                                         .name = "the search",
                                         .late_hint = "try again"},
                   NULL, &err) < 0)
        request_answer_error(request, &err);
}

static void show_head(struct request *request)
{
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    cleanup_close int dir = -1;
    char text[SIGNED_HEAD_TEXT_SIZE];
    struct signed_head head;
    struct error err = {0};

    if (trail_check_node(request, &err) == 0 && trail_wish_open(request->api, &wish, &err) == 0) {
        dir = open(wish.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            error_errno(&err, "open the audit trail");
        else if (signed_head_read(dir, &head, &err) == 0) {
            signed_head_text(&head, text);
            request_answer_text(request, 200, text, strlen(text));
            return;
        }
    }
    request_answer_error(request, &err);
}

static void show_key(struct request *request)
{
    const struct api *api = request->api;
    cleanup(buf_done) struct buf pem = BUF_OF(KIB);
    struct key_public key;
    struct error err = {0};

    if (trail_check_node(request, &err) == 0 && !api->recorder)
        error_set(&err, E_NOT_FOUND, "this server keeps no audit trail");
    if (err.code != E_NONE || own_key_read(api->config->trail_dir, &key, &err) < 0 ||
        key_public_pem(&key, &pem, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:s, s:s}", "key", key.name, "pem", buf_str(&pem)));
}

static void check_receipt(struct request *request)
{
    struct receipt_wish wish = {.text = buf_str(&request->body),
                                .len = request->body.len,
                                .may_look = request->caller->rights.is_operator};
    const struct worker_task task = {.work = work_receipt,
                                     .arg = &wish,
                                     .patience_ms = CHECK_MS,
                                     .name = "the check",
                                     .late_hint = "run `belljar audit check-receipt`"};
    struct error err = {0};

    if (trail_wish_open(request->api, &wish.trail, &err) < 0 ||
        trail_read(request, &task, NULL, &err) < 0)
        request_answer_error(request, &err);
    trail_wish_done(&wish.trail);
}

/* clang-format off */
static const struct schema_field list_fields[] = {
    {"kind", SCHEMA_STRING,
     .choices = "start,run,session,file,token,refusal,server,begin,key,seal,repair,gap,call,pruned,undo,net,input",
     .help = "only records of this kind"},
    {"status", SCHEMA_STRING, .choices = "success,error,timeout,memory_exceeded,refused,cancelled,failed,unfinished",
     .help = "only records with this status"},
    {"session", SCHEMA_STRING, .max_len = 64, .help = "only records of the session with this id"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = TRAIL_LIST_MAX, .help = "at most so many, the newest (default 100)"},
    TRAIL_NODE_FIELD,
    TRAIL_LIST_FIELDS,
    {0},
};
static const struct schema_field record_fields[] = {TRAIL_NODE_FIELD, {0}};
static const struct schema_field line_fields[] = {
    {"after", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "records after the one with this number (default 0)"},
    TRAIL_NODE_FIELD,
    {0},
};
static const struct schema_field receipt_fields[] = {{0}};

const struct route api_audit_routes[] = {
    {"GET", "/v1/audit/records", list_records, .query = list_fields, .access = ROUTE_OPERATOR, .answers = "AuditList",
     .status = 200, .tag = "audit", .summary = "records of the audit trail, newest first; for operators"},
    {"GET", "/v1/audit/head", show_head, .query = record_fields, .access = ROUTE_OPERATOR, .answers = "AuditHead", .status = 200, .tag = "audit",
     .summary = "the signed head of the audit trail; for operators"},
    {"GET", "/v1/audit/key", show_key, .query = record_fields, .answers = "AuditKey", .status = 200, .tag = "audit",
     .summary = "the public key of the audit trail"},
    {"POST", "/v1/audit/receipt", check_receipt, .body = receipt_fields, .max_body = API_BODY_BYTES, .reads_body = true,
     .answers = "ReceiptChecked", .status = 200, .tag = "audit",
     .summary = "check a receipt, or a result with its receipt, against the key of this server"},
    {"GET", "/v1/audit/lines", list_lines, .query = line_fields, .access = ROUTE_OPERATOR, .answers = "AuditLines",
     .status = 200, .tag = "audit", .summary = "records of the audit trail as they were written, oldest first, to be verified elsewhere; for operators"},
    {"GET", "/v1/audit/records/{id}", show_record, .query = record_fields, .access = ROUTE_OPERATOR, .answers = "AuditRecords", .status = 200, .tag = "audit",
     .summary = "the records of a run, a session or a correlation id, or the record with this `seq`; for operators"},
    {0},
};
/* clang-format on */
