/*
 * assay-judge: the program behind the public library, which starts it with a socket as descriptor 3. People
 * have no use for it.
 */
#define _GNU_SOURCE /* close_range */
#include "base/file_map.h"
#include "base/heap.h"
#include "base/wrap.h"
#include "library/server.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET = 3 };

int main(void)
{
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(SOCKET, SOL_SOCKET, SO_TYPE, &type, &size)) {
        wrap_print(stderr, "assay-judge is started by libassay; people use the command assay.\n");
        return 2;
    }
    close_range(SOCKET, UINT_MAX, CLOSE_RANGE_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    file_guard_maps();
    heap_keep_freed();
    return library_serve(SOCKET);
}
