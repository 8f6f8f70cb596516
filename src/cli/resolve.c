/* belljar --resolve NAME: the addresses of a name, one a line. Executed by the supervisor for each
 * name that a sandbox asks for (base/resolve.h), so that it neither waits nor reads what name
 * servers send. */
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/limits.h"
#include "cli/cmd.h"

int cmd_resolve(int argc, char **argv)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    if (argc != 2)
        return 64;
    /* The parent may end at any moment, even before this line. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(LIMIT_NET_LOOKUP_S);
    if (getaddrinfo(argv[1], NULL, &hints, &list) != 0)
        return 1;
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        char text[ADDRESS_TEXT];
        struct address address;

        if (!address_of_socket(at->ai_addr, &address))
            continue;
        address_text(&address, text);
        (void)puts(text);
    }
    freeaddrinfo(list);
    return fflush(stdout) == 0 ? 0 : 1;
}
