#include "base/homes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { FIELD_UID = 2, FIELD_HOME = 5, FIELDS };

int homes_each(const char *passwd, homes_fn fn, void *arg, struct error *err)
{
    cleanup_fclose FILE *users = file_open_stream(-1, passwd);
    cleanup_free char *line = NULL;
    size_t size = 0;

    while (users && getline(&line, &size, users) > 0) {
        char *rest = line, *field[FIELDS] = {0};

        for (int i = 0; i < FIELDS && rest; i++)
            field[i] = strsep(&rest, ":\n");
        if (!field[FIELD_HOME] || field[FIELD_HOME][0] != '/' || !field[FIELD_HOME][1])
            continue;
        if (fn(arg, (uid_t)strtoul(field[FIELD_UID], NULL, 10), field[FIELD_HOME], err) < 0)
            return -1;
    }
    return 0;
}
