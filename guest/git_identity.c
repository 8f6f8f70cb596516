#include "guest/git_identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "wire/message.h"

/* In quotes, as git reads values. */
static int add(struct buf *text, const char *key, const char *value)
{
    if (!value)
        return 0;
    if (buf_printf(text, NULL, "\t%s = \"", key) < 0)
        return -1;
    for (; *value; value++)
        if (((*value == '"' || *value == '\\') && buf_add(text, "\\", 1, NULL) < 0) ||
            buf_add(text, value, 1, NULL) < 0)
            return -1;
    return buf_add_str(text, "\"\n", NULL);
}

void git_identity_write(void)
{
    const char *name = getenv(WIRE_GIT_NAME), *email = getenv(WIRE_GIT_EMAIL);
    const char *file = getenv("GIT_CONFIG_SYSTEM");
    cleanup(buf_done) struct buf text = BUF_OF(4096);
    cleanup_close int fd = -1;

    if ((!name && !email) || !file || strcmp(file, WIRE_GIT_CONFIG) != 0)
        return;
    if (buf_add_str(&text, "[user]\n", NULL) < 0 || add(&text, "name", name) < 0 ||
        add(&text, "email", email) < 0)
        return;
    /* A cell before this kernel may have put something in its place. */
    (void)unlink(WIRE_GIT_CONFIG);
    fd = open(WIRE_GIT_CONFIG, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0)
        (void)file_write_all(fd, buf_str(&text), text.len);
}
