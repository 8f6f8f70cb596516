/* belljar cluster: becomes belljar-cluster, which has the bus. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "cli/cmd.h"

int cmd_cluster(int argc, char **argv)
{
    struct error err = {0};
    cleanup_free char *path = paths_program("belljar-cluster", &err);

    (void)argc;
    if (!path)
        return cmd_fail(&err);
    (void)execv(path, argv);
    if (errno == ENOENT) {
        error_set(&err, E_UNSUPPORTED, "this Belljar was built without `belljar cluster`");
        error_hint(&err, "install the package with belljar-cluster, or build with libnats-dev");
    } else {
        (void)error_errno(&err, "start `%s`", path);
    }
    return cmd_fail(&err);
}
