/* belljar state: work that goes on over several runs, as its owner sees it. */
#include <stdio.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "gate/tokens.h"
#include "state/work.h"

static int help(void)
{
    (void)printf("usage: belljar state list [--json]\n"
                 "       belljar state show NAME…\n"
                 "       belljar state rm NAME…\n\n"
                 "List, show or delete the refactoring sessions that you and your agents have "
                 "saved.\n"
                 "Secrets in what is shown are masked.\n\n"
                 "  --json         for machines\n\n"
                 "example:\n"
                 "  belljar state show rename-api\n");
    return 0;
}

static int list(struct kept *kept, char **names, struct error *err)
{
    json_t *works = NULL;
    int r = work_list(kept->store, TOKEN_FIRST, &works, err);

    (void)names;
    if (r == 0)
        r = kept_print_list(kept, works, err);
    json_decref(works);
    return r;
}

static int show(struct kept *kept, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++) {
        json_t *work = NULL;

        r = work_load(kept->store, TOKEN_FIRST, *names, 0, &work, err);
        if (r == 0)
            r = kept_print(kept, work, err);
        json_decref(work);
    }
    return r;
}

static int rm(struct kept *kept, char **names, struct error *err)
{
    int r = 0;

    for (; *names && r == 0; names++)
        r = work_delete(kept->store, TOKEN_FIRST, *names, err);
    return r;
}

int cmd_state(int argc, char **argv)
{
    static const struct kept_action actions[] = {
        {"list", list, false},
        {"show", show, true },
        {"rm",   rm,   true },
    };

    return kept_run(argc, argv, help, actions, ARRAY_SIZE(actions));
}
