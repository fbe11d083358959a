/*
 * What this process's children do, seen from outside: for benches that must tell engines that compute from
 * engines that wait.
 *
 * Every few milliseconds a thread of its own looks into /proc, once at the state of each child and once at
 * the time that it has been on a core. The state tells who has something to compute, whether or not a
 * neighbour has the core; the time tells who computed, which means something on an idle machine only.
 */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

struct watch_seen {
    int cores;      /* that this process may use */
    double work;    /* share of the samples in which at least so many children were running or ready to */
    double running; /* share of the time in which they ran on all of these cores, at the least */
    double cpu;     /* seconds that looking took */
};

struct watch;
struct watch *watch_start(void); /* NULL when there is no thread to be had */
void watch_stop(struct watch *watch, struct watch_seen *seen);

/* Seconds that the living children whose name starts so have been on a core. */
double watch_children(const char *name);

#endif
