/*
 * What the processes below this one do, seen from outside: for benches that must tell engines that compute
 * from engines that wait. Engines are grandchildren, in namespaces of their own.
 *
 * Every few milliseconds a thread of its own looks into /proc, once at the state of each child and once at
 * the time that it has been on a core. The state tells who has something to compute, whether or not a
 * neighbour has the core; the time tells who computed, which means something on an idle machine only.
 */
#ifndef BENCH_WATCH_H
#define BENCH_WATCH_H

struct watch_seen {
    int cores;      /* that this process may use */
    double work;    /* share of the samples in which at least so many processes were running or ready to */
    double running; /* share of the time in which they ran on all of these cores, at the least */
    double cpu;     /* seconds that looking took */
    /* Seconds on a core of the reference, and of all other processes below; what ended meanwhile is in the
     * second, as its parent was told of it. */
    double reference, engines;
};

struct watch;
struct watch *watch_start(void); /* NULL when there is no thread to be had */
void watch_stop(struct watch *watch, struct watch_seen *seen);

#endif
