/* Skills: what the caller has saved for later programs, and what everybody has. */
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/api.h"
#include "api/store_change.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "engine/masking.h"
#include "store/skill.h"
#include "store/unzip.h"

/* --- looking --- */

static void list_skills(struct request *request)
{
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    json_t *list = NULL;

    if (!store || skill_list(store, request->caller->keeper, &list, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked(request, 200, json_pack("{s:o}", "skills", list));
}

static const struct schema_field show_fields[] = {
    {"version", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "an earlier one; without it, or 0, the last"},
    {0},
};

static int64_t version_of(const struct request *request)
{
    return (int64_t)json_integer_value(json_object_get(request->query, "version"));
}

static void show_skill(struct request *request)
{
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    json_t *skill = NULL;

    if (!store || skill_load(store, request->caller->keeper, request->params[0],
                             version_of(request), &skill, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked(request, 200, skill);
}

/* A stranger's bytes are never a page of ours: the type says only that they are bytes. */
static void send_bytes(struct request *request, const char *data, size_t len)
{
    quota_spend(request->caller, loop_now_ns(), 0, (double)len);
    request_begin(request, 200, "application/octet-stream", NULL, len);
    (void)request_write(request, data, len);
    request_end(request);
}

/* Text is masked like everything that leaves; what is none is left as it is. */
static void send_file(struct request *request, const struct skill_bundle_file *file)
{
    if (utf8_valid(file->data, file->len) == file->len)
        api_send_masked(request, (struct span){file->data, file->len});
    else
        send_bytes(request, file->data, file->len);
}

static void show_file(struct request *request)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    const struct skill_bundle_file *file;
    struct error err = {0};
    struct store *store = api_store(request->api, &err);

    if (!store || quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, &err) < 0 ||
        skill_open(store, request->caller->keeper, request->params[0], version_of(request), &folder,
                   &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    file = skill_bundle_find(&folder, request->params[1]);
    if (file) {
        send_file(request, file);
        return;
    }
    error_set(&err, E_NOT_FOUND, "no such file in the skill");
    error_hint(&err, "GET /v1/skills/%s lists them", folder.name);
    request_answer_error(request, &err);
}

/* --- saving: what was tried is stored --- */

struct upload {
    struct replica_wait wait; /* first: it is how the upload is found again */
    struct store *store;
    char owner[TOKEN_KEEPER_SIZE];
    char key[STORE_NAME_MAX + 1];
    bool is_folder;
    struct skill_bundle folder;
    struct buf text; /* of a module */
    char *description;
    struct job *job;         /* that tried it; or NULL: */
    struct request *request; /* there was nothing to try */

    /* --- what became of it --- */
    int64_t version;
    struct error err;
};

static void upload_empty(struct upload *upload)
{
    skill_bundle_done(&upload->folder);
    buf_done(&upload->text);
    free(take_ptr(upload->description));
}

static void upload_free(void *user)
{
    struct upload *upload = user;

    if (upload) {
        replica_forget(&upload->wait);
        upload_empty(upload);
        error_done(&upload->err);
    }
    free(upload);
}

static void upload_free_p(struct upload **upload)
{
    upload_free(*upload);
}

static int store_upload(struct replica_wait *wait, struct error *err)
{
    struct upload *upload = (struct upload *)wait;

    if (upload->is_folder)
        return skill_save_folder(upload->store, upload->owner, &upload->folder, &upload->version,
                                 err);
    return skill_save(upload->store, upload->owner, upload->key,
                      (struct span){buf_str(&upload->text), upload->text.len}, upload->description,
                      &upload->version, err);
}

static json_t *saved_json(const struct upload *upload)
{
    return json_pack("{s:s, s:s+, s:I}", "name",
                     upload->is_folder ? upload->folder.name : upload->key, "module", "skills.",
                     upload->key, "version", (json_int_t)upload->version);
}

static void answer_upload(struct upload *upload)
{
    struct request *request = upload->request;

    request->on_gone = NULL;
    if (upload->err.code != E_NONE)
        api_refuse(request, "skill", &upload->err);
    else
        request_answer_json(request, 200, saved_json(upload));
    upload_free(upload);
}

static void on_stored(struct replica_wait *wait, struct error *err)
{
    struct upload *upload = (struct upload *)wait;

    error_move(&upload->err, err);
    if (upload->job)
        job_settled(upload->job);
    else
        answer_upload(upload);
}

static void begin_store(struct upload *upload)
{
    upload->wait.kind = REPLICA_SKILL;
    (void)snprintf(upload->wait.name, sizeof(upload->wait.name), "%s", upload->key);
    upload->wait.make = store_upload;
    upload->wait.done = on_stored;
    replica_change(upload->store, upload->owner, &upload->wait);
}

/* The trial is over. */
static void settle(struct job *job, const struct run *run, void *user)
{
    struct upload *upload = user;

    upload->job = job;
    if (run->result.error.code == E_NONE && run->result.status == RUN_SUCCESS)
        begin_store(upload);
    else
        job_settled(job);
}

/* The run's output has been masked. */
static int refuse(const struct run *run, bool only_checked, struct error *err)
{
    const struct run_exception *e = &run->result.exception;

    if (run->result.status == RUN_REFUSED && run->result.n_violations)
        error_set(err, E_DENIED, "line %u: %s", run->result.violations[0].line,
                  run->result.violations[0].message ? run->result.violations[0].message
                                                    : "refused");
    else if (run->result.status == RUN_CANCELLED)
        return error_set(err, E_BUSY, "it was cancelled, and nothing was stored");
    else
        error_set(err, E_INVALID, "the skill's code ended with `%s`%s%s%s%s",
                  run_status_name(run->result.status), e->name ? ": " : "", e->name ? e->name : "",
                  e->message && *e->message ? ": " : "", e->message ? e->message : "");
    return error_hint(err, only_checked ? "nothing was stored: its Python must pass the profile"
                                        : "nothing was stored: a module must run to its end");
}

static int write_saved(const struct run *run, void *user, struct buf *out, int *ret_status,
                       struct error *err)
{
    struct upload *upload = user;
    json_t *answer = NULL;
    int r = -1;

    (void)ret_status;
    if (run->result.error.code != E_NONE)
        error_copy(err, &run->result.error);
    else if (run->result.status != RUN_SUCCESS)
        (void)refuse(run, upload->is_folder, err);
    else if (upload->err.code != E_NONE)
        error_move(err, &upload->err);
    else
        answer = saved_json(upload);
    if (answer)
        r = json_text_dump(answer, JSON_TEXT_COMPACT, out, err) < 0 ? -1
                                                                    : buf_add_str(out, "\n", err);
    json_decref(answer);
    upload_empty(upload); /* the job is kept for longer */
    return r;
}

static const struct schema_field put_fields[] = {
    {"profile", SCHEMA_STRING, .max_len = 64,
     .help = "name of the profile its code is checked against"},
    {"description", SCHEMA_STRING, .max_len = 4096, .help = "of a module; a folder has its own"},
    {0},
};

static int begin_put(struct request *request, struct error *err)
{
    char key[STORE_NAME_MAX + 1];
    const struct store *store = api_store(request->api, err);

    if (!store || skill_key(request->params[0], key, err) < 0 ||
        skill_check_free(store, key, err) < 0)
        return -1;
    return quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, err);
}

/* From the body: a ZIP file of that skill, or the text of a module. */
static int read_upload(const struct request *request, struct upload *upload, struct buf *code,
                       struct error *err)
{
    const struct span bytes = {buf_str(&request->body), request->body.len};
    const char *description = request_query(request, "description");
    char key[STORE_NAME_MAX + 1];

    buf_init(&upload->text, LIMIT_SKILL_BYTES + 16 * KIB);
    (void)snprintf(upload->owner, sizeof(upload->owner), "%s", request->caller->keeper);
    upload->store = api_store(request->api, err);
    if (!upload->store || skill_key(request->params[0], upload->key, err) < 0)
        return -1;
    upload->is_folder = unzip_is_zip(bytes);
    if (upload->is_folder) {
        if (unzip(bytes, &upload->folder, err) < 0 ||
            skill_bundle_finish(&upload->folder, err) < 0 ||
            skill_key(upload->folder.name, key, err) < 0)
            return -1;
        if (strcmp(key, upload->key) != 0)
            return error_set(err, E_INVALID, "it is the skill `%s`", upload->folder.name);
        return skill_bundle_sources(&upload->folder, code, err);
    }
    if (strspn(bytes.data, " \t\r\n\f") == strlen(bytes.data))
        return error_set(err, E_INVALID, "the body is neither a ZIP file nor Python");
    if (description && !(upload->description = strdup(description)))
        return error_memory(err);
    if (skill_compose(bytes, description, &upload->text, err) < 0)
        return -1;
    return buf_add(code, buf_str(&upload->text), upload->text.len, err);
}

static int make_run(const struct request *request, struct upload *upload, struct run **ret_run,
                    struct error *err)
{
    struct admission admission = api_admission(request->api, request->caller);
    cleanup(buf_done) struct buf code = BUF_OF(LIMIT_CODE_BYTES);
    struct run_request asked = {
        .profile = request_query(request, "profile"),
        .max_code = LIMIT_CODE_BYTES,
    };

    admission.gives_all = false; /* a trial changes nothing outside */
    if (read_upload(request, upload, &code, err) < 0)
        return -1;
    if (code.len)
        asked.code = (struct span){buf_str(&code), code.len};
    asked.only_checks = upload->is_folder;
    admission.has_skills = !upload->is_folder;
    return admit_request(&admission, &asked, ret_run, err);
}

static void on_upload_gone(struct request *request)
{
    upload_free(request->user);
}

static void put_skill(struct request *request)
{
    struct api *api = request->api;
    cleanup(upload_free_p) struct upload *upload = calloc(1, sizeof(*upload));
    struct error err = {0};
    struct job_order order;
    struct run *run = NULL;

    quota_spend(request->caller, loop_now_ns(), 0, (double)request->body.len);
    if (!upload)
        error_memory(&err);
    if (!upload || make_run(request, upload, &run, &err) < 0) {
        api_refuse(request, "skill", &err);
        return;
    }
    if (run->program.code.len) {
        order = job_order_of(request, run);
        order.form = (struct job_form){
            .write = write_saved, .settle = settle, .free = upload_free, .user = take_ptr(upload)};
        (void)jobs_start_or_answer(api->jobs, request, &order);
        return;
    }
    /* A folder without Python: there is nothing to try. */
    run_free(run);
    upload->request = request;
    request->user = upload;
    request->on_gone = on_upload_gone;
    begin_store(take_ptr(upload));
}

/* --- taking away --- */

static int make_deletion(struct store_change *change, struct error *err)
{
    return skill_delete(change->store, change->owner, change->request->params[0], err);
}

static void answer_deleted(struct store_change *change, struct error *err)
{
    if (err->code != E_NONE)
        api_refuse(change->request, "skill", err);
    else
        request_answer_empty(change->request, 204);
}

static void delete_skill(struct request *request)
{
    struct store_change *change = store_change_new(request, REPLICA_SKILL, request->params[0]);

    if (!change)
        return;
    change->make = make_deletion;
    change->answer = answer_deleted;
    store_change_begin(change);
}

static const struct schema_field nothing[] = {{0}};

static int make_undo(struct store_change *change, struct error *err)
{
    return skill_undo(change->store, change->owner, change->request->params[0], &change->version,
                      err);
}

static void answer_undone(struct store_change *change, struct error *err)
{
    struct request *request = change->request;

    if (err->code != E_NONE)
        api_refuse(request, "skill", err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:s, s:I}", "name", request->params[0], "version",
                                      (json_int_t)change->version));
}

static void undo_skill(struct request *request)
{
    struct store_change *change = store_change_new(request, REPLICA_SKILL, request->params[0]);

    if (!change)
        return;
    change->make = make_undo;
    change->answer = answer_undone;
    store_change_begin(change);
}

/* clang-format off */
const struct route api_skill_routes[] = {
    {"GET", "/v1/skills", list_skills, .answers = "Skills", .status = 200, .tag = "skills",
     .summary = "the caller's skills and the public ones"},
    {"GET", "/v1/skills/{skill}", show_skill, .query = show_fields, .answers = "Skill", .status = 200,
     .tag = "skills", .summary = "one skill, with its files and versions"},
    {"PUT", "/v1/skills/{skill}", put_skill, .begin = begin_put, .query = put_fields,
     .max_body = LIMIT_FOLDER_BYTES, .answers = "SkillSaved", .status = 200, .tag = "skills",
     .summary = "save a skill, or a new version of it: a ZIP file of its folder, or one module of Python"},
    {"DELETE", "/v1/skills/{skill}", delete_skill, .status = 204, .tag = "skills",
     .summary = "delete a skill with all its versions"},
    {"GET", "/v1/skills/{skill}/files/{path...}", show_file, .query = show_fields,
     .type = "application/octet-stream", .status = 200, .tag = "skills",
     .summary = "one file of a skill; text is masked"},
    {"POST", "/v1/skills/{skill}/undo", undo_skill, .body = nothing, .max_body = KIB,
     .answers = "SkillVersion", .status = 200, .tag = "skills",
     .summary = "remove the last version; the previous one becomes current"},
    {0},
};
/* clang-format on */
