/* A file of tokens with a mode of its own. */
#pragma once

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static void write_file(const char *text, mode_t mode)
{
    FILE *file;

    (void)unlink(path);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}
