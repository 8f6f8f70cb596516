#include "api/upload.h"

#include <stdio.h>
#include <stdlib.h>

#include "admit/quota.h"
#include "api/gunzip.h"

struct upload {
    struct caller *caller; /* who pays */
    struct session_writer writer;
    bool is_gzip;
    struct gunzip gunzip;
};

int upload_check_quota(struct request *request, struct error *err)
{
    return quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, err);
}

static void upload_free(struct upload *upload)
{
    quota_spend(upload->caller, loop_now_ns(), 0, (double)upload->writer.files.written);
    session_write_abort(&upload->writer);
    if (upload->is_gzip)
        gunzip_done(&upload->gunzip);
    free(upload);
}

static void on_gone(struct request *request)
{
    upload_free(request->user);
}

static int write_unpacked(void *user, const void *data, size_t len, struct error *err)
{
    struct upload *upload = user;

    return session_write_feed(&upload->writer, data, len, err);
}

static int on_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct upload *upload = request->user;

    if (upload->is_gzip)
        return gunzip_feed(&upload->gunzip, data, len, write_unpacked, upload, err);
    return session_write_feed(&upload->writer, data, len, err);
}

int upload_begin(struct request *request, const struct upload_order *order, struct error *err)
{
    struct upload *upload = calloc(1, sizeof(*upload));

    if (!upload)
        return error_memory(err);
    upload->caller = request->caller;
    if (order->is_gzip && gunzip_init(&upload->gunzip, err) < 0) {
        free(upload);
        return -1;
    }
    upload->is_gzip = order->is_gzip;
    if (session_write_begin(&upload->writer, order->session, order->path, &order->options, err) <
        0) {
        if (order->is_gzip)
            gunzip_done(&upload->gunzip);
        free(upload);
        return -1;
    }
    request->user = upload;
    request->on_piece = on_piece;
    request->on_gone = on_gone;
    return 0;
}

int upload_end(struct request *request, char ret_path[PATH_MAX], uint64_t *ret_size,
               struct error *err)
{
    struct upload *upload = request->user;
    int r = 0;

    request->on_gone = NULL;
    (void)snprintf(ret_path, PATH_MAX, "%s", upload->writer.path);
    if (upload->is_gzip)
        r = gunzip_end(&upload->gunzip, err);
    if (r == 0)
        r = session_write_commit(&upload->writer, err);
    if (ret_size)
        *ret_size = upload->writer.files.written;
    upload_free(upload);
    return r;
}
