#include "cli/habits.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

/* Commands as letters: r(un), e(xec), s(hell), b(atch). */
static const struct {
    const char *commands, *option, *hint;
} options[] = {
    {"resb", "-v", "`--allow DIR[:ro|:rw|:cow]` shows a directory, under its own path"},
    {"resb", "--volume", "`--allow DIR[:ro|:rw|:cow]` shows a directory, under its own path"},
    {"resb", "--mount", "`--allow DIR[:ro|:rw|:cow]` shows a directory, under its own path"},
    {"resb", "-e", "`--env NAME=VALUE` sets a variable"},
    {"res", "-w", "`--workdir DIR`, or -C, says where it starts, in a directory of `--allow`"},
    {"b", "-w", "`--workdir DIR` says where it starts, in a directory of `--allow`"},
    {"re", "-i", "standard input is passed on anyway; `-t` gives it a terminal"},
    {"e", "-c", "`belljar exec -- sh -c CODE` runs a line of a shell"},
    {"r", "-m",
     "`belljar exec --here -- python3 -m MODULE` runs a module; `--memory` limits memory"},
    {"e", "-m", "`--memory MB` limits memory"},
    {"re", "--rm", "leave it out: a sandbox is always removed"},
    {"re", "--name", "leave it out: `-d` prints the id of a run on a server"},
    {"resb", "--network", "`--net HOST` grants a host; without it there is no network"},
    {"re", "-p", "leave it out: ports of a sandbox cannot be reached from outside"},
    {"re", "--publish", "leave it out: ports of a sandbox cannot be reached from outside"},
    {"re", "-u", "leave it out: programs run without privileges"},
    {"re", "--user", "leave it out: programs run without privileges"},
    {"re", "--privileged", "leave it out; `--allow` and `--net` grant what the program needs"},
};

static const struct {
    const char *word, *hint;
} commands[] = {
    {"kill", "`belljar stop ID` ends a run or session of a server"},
    {"rm", "runs leave nothing behind; `belljar stop ID` ends one on a server"},
    {"attach",
     "`belljar logs -f ID` follows a run; `belljar shell --session NAME` opens a session"},
    {"inspect", "`belljar session show NAME` describes a session, `belljar audit show ID` a run"},
    {"top", "`belljar ps` lists what a server runs"},
    {"cp", "`belljar session put` and `belljar session get` copy files; `belljar run --file` does"},
    {"pull", "there are no images: programs see the host's /usr; see `belljar environment --help`"},
    {"build",
     "there are no images: programs see the host's /usr; see `belljar environment --help`"},
    {"images",
     "there are no images: programs see the host's /usr; see `belljar environment --help`"},
    {"install", "`belljar environment create NAME --with PACKAGE` installs packages"},
    {"pip", "`belljar environment create NAME --with PACKAGE` installs packages"},
    {"python", "`belljar run FILE` runs a program, `belljar shell` opens a prompt"},
    {"python3", "`belljar run FILE` runs a program, `belljar shell` opens a prompt"},
    {"ipython", "`belljar shell` opens a prompt"},
    {"repl", "`belljar shell` opens a prompt"},
    {"env", "`belljar environment` manages sets of packages; `--env NAME=VALUE` sets a variable"},
    {"venv", "`belljar environment` manages sets of packages"},
    {"profile", "`belljar run --profile NAME` chooses one: `standard`, `strict`, `open` or the "
                "path of a file"},
    {"profiles", "`belljar run --profile NAME` chooses one: `standard`, `strict`, `open` or the "
                 "path of a file"},
    {"prune", "runs leave nothing behind; `belljar stop ID` ends one on a server"},
    {"info", "`belljar doctor` describes this host, `belljar version --build` the program"},
    {"start", "`belljar serve` starts a server, `belljar run FILE` runs a program"},
    {"-c", "`belljar run -c CODE` runs a program"},
    {"-v", "`belljar version` shows the version"},
    {"-V", "`belljar version` shows the version"},
};

const char *habit_option(const char *command, const char *option)
{
    static const char *const known[] = {"run", "exec", "shell", "batch"};
    bool is_known = false;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        is_known |= strcmp(command, known[i]) == 0;
    for (size_t i = 0; is_known && i < ARRAY_SIZE(options); i++)
        if (strcmp(options[i].option, option) == 0 && strchr(options[i].commands, *command))
            return options[i].hint;
    return NULL;
}

const char *habit_command(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i].word, word) == 0)
            return commands[i].hint;
    return NULL;
}
