#include "cluster/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"

#define PASSWORD_MAX 256

int64_t identity_clock_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int identity_beat(const struct settings *settings, struct beat *ret_beat, struct error *err)
{
    uint64_t instance;

    if (getrandom(&instance, sizeof(instance), 0) != (ssize_t)sizeof(instance))
        return error_errno(err, "getrandom");
    *ret_beat = (struct beat){.instance = instance, .started_ms = identity_clock_ms()};
    (void)snprintf(ret_beat->name, sizeof(ret_beat->name), "%s", settings->name);
    (void)snprintf(ret_beat->version, sizeof(ret_beat->version), "%s", BELLJAR_VERSION);
    return 0;
}

static int read_password(const char *path, char **ret_password, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    cleanup(buf_done) struct buf text = BUF_OF(PASSWORD_MAX);

    if (fd < 0)
        return error_errno(err, "`bus_password_file` `%s`", path);
    if (buf_read_fd(&text, fd, err) < 0)
        return error_wrap(err, "`bus_password_file` `%s`", path);
    *ret_password = strndup(buf_str(&text), strcspn(buf_str(&text), "\r\n"));
    buf_wipe(&text);
    return *ret_password ? 0 : error_memory(err);
}

int identity_options(const struct settings *settings, const struct bus_identity *identity,
                     struct bus_options *ret_options, char **ret_password, struct error *err)
{
    *ret_options = (struct bus_options){
        .servers = (const char *const *)settings->servers,
        .ca = settings->ca,
        .cert = identity->cert,
        .key = identity->key,
        .user = identity->user,
    };
    if (identity->password_file && read_password(identity->password_file, ret_password, err) < 0)
        return -1;
    ret_options->password = *ret_password;
    return 0;
}
