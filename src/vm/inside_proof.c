#include "vm/inside_proof.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/ns.h"
#include "wire/machine.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

static bool is_child_of_first(void)
{
    return getppid() == 1;
}

/* Linux notes who makes a pair of sockets. A service manager that is the first process passes
 * sockets that listen, or are streams. */
static bool has_proof(void)
{
    struct ucred maker = {0};
    socklen_t maker_len = sizeof(maker), type_len = sizeof(int);
    int type = 0;
    bool is_good = getsockopt(MACHINE_PROOF, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
                   type == SOCK_SEQPACKET &&
                   getsockopt(MACHINE_PROOF, SOL_SOCKET, SO_PEERCRED, &maker, &maker_len) == 0 &&
                   maker.pid == 1 && maker.uid == 0;

    if (is_good)
        (void)close(MACHINE_PROOF);
    return is_good;
}

/* The root is that of the initramfs, and /usr comes from the host. */
static bool has_root(void)
{
    struct statfs root, usr;

    return statfs("/", &root) == 0 && statfs("/usr", &usr) == 0 &&
           (root.f_type == RAMFS_MAGIC || root.f_type == TMPFS_MAGIC) &&
           usr.f_type == FUSE_SUPER_MAGIC;
}

static bool has_port(void)
{
    cleanup_closedir DIR *ports = opendir("/sys/class/virtio-ports");
    const struct dirent *entry;

    while (ports && (entry = readdir(ports)) != NULL) {
        char path[512], name[64];

        (void)snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", entry->d_name);
        if (file_read(AT_FDCWD, path, name, sizeof(name)) >= 0 &&
            strncmp(name, MACHINE_PORT, strlen(MACHINE_PORT)) == 0)
            return true;
    }
    return false;
}

int inside_begin(const struct config *config, struct error *err)
{
    static const struct {
        bool (*is_so)(void);
        const char *missing;
    } table[] = {
        {is_child_of_first, "it was not started by the first process of a machine"},
        {has_root, "its root is not that of a machine"},
        {has_port, "there is no port to a host"},
        {has_proof, "it was not given the first process's socket"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (!table[i].is_so()) {
            error_set(
                err, E_DENIED,
                "`--inside-machine`: this process is not inside a machine that Belljar started: %s",
                table[i].missing);
            return error_hint(err, "`belljar serve --machine kvm` starts a machine, and the server "
                                   "inside");
        }
    if (config->allow.count)
        ns_share_id(MACHINE_OWNER);
    return 0;
}
