/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that wait leave the core to those that work. Open MPI has an option for it
 * (mpi_yield_when_idle); MPICH spins in every blocking call, and with more ranks than
 * cores each message then costs time slices of others: tests took five times as long.
 *
 * Linked into a test program, this takes the place of the function of UCX that MPICH
 * calls in every round of a wait: rounds that found nothing end in a yield, and after a
 * few of them in a nap. Another MPI, or MPICH on another transport, never calls it. */
#include <dlfcn.h>
#include <sched.h>
#include <time.h>

enum {
    YIELDS = 4,   /* rounds without anything before naps begin */
    NAP_NS = 1000 /* what the kernel adds (50 us) is what a nap takes */
};

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker);

/* Preloaded into a program that loads MPI with RTLD_LOCAL, as ctypes does: UCX is not
 * in the search order behind this object, but it is loaded, since MPI called. */
static void *real_progress(void)
{
    void *f = dlsym(RTLD_NEXT, "ucp_worker_progress");
    void *ucp = f == NULL ? dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return ucp != NULL ? dlsym(ucp, "ucp_worker_progress") : f;
}

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    static _Thread_local int idle; /* rounds without anything */
    const struct timespec nap = { 0, NAP_NS };
    if (progress == NULL) /* POSIX: dlsym's result may be stored so */
        *(void **)&progress = real_progress();
    unsigned n = progress(worker);
    idle = n > 0 ? 0 : idle < YIELDS ? idle + 1 : YIELDS;
    if (idle == YIELDS)
        nanosleep(&nap, NULL);
    else if (idle > 0)
        sched_yield();
    return n;
}
