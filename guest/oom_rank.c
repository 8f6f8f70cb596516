#include "guest/oom_rank.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HIGHEST 1000

static int score_fd = -1;
static int own_score;

static void set_score(int score)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d", score);

    /* The order is a precaution. A sandbox works without it. */
    if (score_fd >= 0 && pwrite(score_fd, text, (size_t)len, 0) < 0)
        own_score = HIGHEST;
}

int oom_rank_open(void)
{
    char text[16] = "";
    int inherited;

    score_fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (score_fd < 0 || read(score_fd, text, sizeof(text) - 1) <= 0)
        return score_fd;
    inherited = (int)strtol(text, NULL, 10);
    /* Two thirds of the way up: above every zygote, below every program. */
    own_score = inherited + (HIGHEST - inherited) * 2 / 3;
    return score_fd;
}

void oom_rank_as_program(void)
{
    set_score(HIGHEST);
}

void oom_rank_as_init(void)
{
    set_score(own_score);
}
