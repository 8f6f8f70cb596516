#include "cli/run_input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define PIECE_BYTES ((size_t)64 << 10)

bool run_input_is_there(void)
{
    struct stat st;

    return fstat(STDIN_FILENO, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISREG(st.st_mode));
}

/* Ends when there is no more, when the program does not want more, or with its parent. */
static _Noreturn void copy(const struct run_input *input, int target, pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static char data[PIECE_BYTES];
    ssize_t n;

    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)signal(SIGPIPE, SIG_DFL); /* nobody reads it any more */
    (void)prctl(PR_SET_NAME, "belljar-stdin");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        dup2(target, STDOUT_FILENO) < 0 || dup2(target, STDERR_FILENO) < 0)
        _exit(1);
    (void)close_range(STDERR_FILENO + 1, ~0U, 0);
    for (;;) {
        n = input->begin < 0
                ? read(STDIN_FILENO, data, sizeof(data))
                : pread(STDIN_FILENO, data, sizeof(data), input->begin + (off_t)*input->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || file_write_all(STDOUT_FILENO, data, (size_t)n) < 0)
            _exit(n < 0);
        *input->written += (uint64_t)n;
    }
}

int run_input_start(struct run_input *input, struct error *err)
{
    cleanup_close int target = -1;
    pid_t parent = getpid();
    struct stat st;
    int pair[2];
    void *shared = mmap(NULL, sizeof(*input->written), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return error_errno(err, "mmap");
    input->written = shared;
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        input->begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (pipe2(pair, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    input->fd = pair[0];
    target = pair[1];
    input->helper = fork();
    if (input->helper < 0) {
        input->helper = 0;
        return error_errno(err, "fork");
    }
    if (input->helper == 0)
        copy(input, target, parent);
    return 0;
}

/* Of a file: goes to where the program has read. */
static void seek(const struct run_input *input)
{
    int unread = 0;

    if (input->begin >= 0 && ioctl(input->fd, FIONREAD, &unread) == 0 &&
        (uint64_t)unread <= *input->written)
        (void)lseek(STDIN_FILENO, input->begin + (off_t)*input->written - unread, SEEK_SET);
}

void run_input_end(struct run_input *input)
{
    if (input->helper > 0) {
        (void)kill(input->helper, SIGKILL);
        while (waitpid(input->helper, NULL, 0) < 0 && errno == EINTR)
            ;
        seek(input);
    }
    if (input->written)
        (void)munmap(input->written, sizeof(*input->written));
    if (input->fd >= 0)
        close_fd(&input->fd);
    *input = RUN_INPUT_NONE;
}
