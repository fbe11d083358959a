/*
 * Where the core's processor time goes in a campaign: the linker puts a function of loop_parts.c before each
 * function named in PARTS_WRAPPED of meson.build, which notes the time and calls it. What is called within
 * settling or storing belongs to these; waking is the system calls by which the core and workers wait for and
 * talk to each other.
 */
#ifndef BENCH_LOOP_PARTS_H
#define BENCH_LOOP_PARTS_H

#include "engine/panel.h"

enum part {
    PART_REST,
    PART_GENERATING,
    PART_PACKING,
    PART_TALKING,
    PART_WAKING,
    PART_JUDGING,
    PART_SETTLING,
    PART_STORING,
    PARTS
};

struct loop_parts {
    double core[PARTS]; /* seconds of the main thread */
    /* Seconds that engines told: for cases, for settling, and the reference's for either. */
    struct engine_parts {
        double load, run, unload, adapter;
        size_t jobs;
    } cases, settling, reference;
};

/* Begins; from then on until loop_parts_end everything is noted. */
void loop_parts_begin(const struct panel *panel);
void loop_parts_end(struct loop_parts *parts);

extern const char *const loop_part_names[PARTS];

#endif
