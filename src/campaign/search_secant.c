#include "campaign/search_secant.h"

#include "base/memory.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget(struct known_logits *known)
{
    free(known->values);
    *known = (struct known_logits){0};
}

void search_secant_init(struct search_secant *secant, const struct genome_layout *layout,
                        const struct genetic *genetic)
{
    *secant = (struct search_secant){
        .layout = layout,
        .genetic = genetic,
        .of_slot = memory_zeroed(genetic_population(genetic), sizeof *secant->of_slot),
        .of_seed = memory_zeroed(genome_seeds(layout), sizeof *secant->of_seed),
    };
}

void search_secant_release(struct search_secant *secant)
{
    for (size_t i = 0; secant->of_slot && i < genetic_population(secant->genetic); i++)
        forget(&secant->of_slot[i]);
    for (size_t i = 0; secant->of_seed && i < genome_seeds(secant->layout); i++)
        forget(&secant->of_seed[i]);
    free(secant->of_slot);
    free(secant->of_seed);
}

void search_secant_learn(struct search_secant *secant, size_t genome, struct search_seen *seen)
{
    struct known_logits *known = &secant->of_slot[genetic_slot(secant->genetic, genome)];
    forget(known);
    *known = (struct known_logits){seen->n_logits, seen->logits};
    seen->logits = NULL;
    if (genetic_round(secant->genetic) || genome >= genome_seeds(secant->layout) || !known->count)
        return;
    struct known_logits *seed = &secant->of_seed[genome];
    forget(seed);
    seed->values = memory_zeroed(known->count, sizeof *seed->values);
    seed->count = known->count;
    memcpy(seed->values, known->values, known->count * sizeof *seed->values);
}

static size_t top_of(const struct known_logits *known)
{
    size_t top = 0;
    for (size_t i = 1; i < known->count; i++)
        if (known->values[i] > known->values[top])
            top = i;
    return top;
}

/* A genome with its logits: one that was kept, or a seed. */
struct landmark {
    const float *genes;
    const struct known_logits *known;
};

static size_t landmarks(const struct search_secant *secant)
{
    return genetic_first_new(secant->genetic) + genome_seeds(secant->layout);
}

static struct landmark landmark_at(const struct search_secant *secant, size_t number)
{
    size_t kept = genetic_first_new(secant->genetic);
    if (number < kept)
        return (struct landmark){genetic_genome(secant->genetic, number),
                                 &secant->of_slot[genetic_slot(secant->genetic, number)]};
    return (struct landmark){genome_seed(secant->layout)[number - kept], &secant->of_seed[number - kept]};
}

static bool parts(const struct landmark *a, const struct landmark *b)
{
    return a->known->count > 1 && a->known->count == b->known->count && top_of(a->known) != top_of(b->known);
}

/* Of long genomes only some genes are looked at. */
static double distance_between(const struct landmark *a, const struct landmark *b, size_t n)
{
    enum { LOOKED_AT = 4096 };
    size_t step = n / LOOKED_AT + 1;
    double sum = 0;
    for (size_t i = 0; i < n; i += step) {
        double difference = (double)a->genes[i] - (double)b->genes[i];
        sum += difference * difference;
    }
    return sum;
}

/* The nearest landmark with another top class; false when there is none. */
static bool find_other_side(const struct search_secant *secant, const struct landmark *from, size_t n,
                            struct landmark *found)
{
    double nearest = INFINITY;
    for (size_t i = 0; i < landmarks(secant); i++) {
        struct landmark other = landmark_at(secant, i);
        double distance = parts(from, &other) ? distance_between(from, &other, n) : INFINITY;
        if (distance < nearest) {
            nearest = distance;
            *found = other;
        }
    }
    return nearest < INFINITY;
}

void search_secant_mutate(void *context, struct rng *rng, const float *parent, float *child, size_t n)
{
    const struct search_secant *secant = context;
    size_t kept = genetic_first_new(secant->genetic);
    size_t first = (size_t)rng_below(rng, kept ? kept : landmarks(secant));
    struct landmark a = landmark_at(secant, kept && rng_chance(rng, 0.5) ? 0 : first), b = {0};
    (void)parent;
    if (!find_other_side(secant, &a, n, &b))
        return;
    size_t x = top_of(a.known), y = top_of(b.known);
    double at_a = a.known->values[x] - a.known->values[y], at_b = b.known->values[x] - b.known->values[y];
    double way = at_a > at_b ? at_a / (at_a - at_b) : 0.5, room = fmin(way, 1 - way);
    /* Most children are put a little beside it, so that some land on either side. */
    if (rng_chance(rng, 0.75))
        way += (rng_chance(rng, 0.5) ? 1 : -1) * room * pow(10, -rng_uniform(rng, 0, 5));
    for (size_t i = 0; i < n; i++)
        child[i] = (float)((1 - way) * (double)a.genes[i] + way * (double)b.genes[i]);
}

static void write_logits(const struct known_logits *known, struct str *out)
{
    str_printf(out, "logits %zu", known->count);
    for (size_t i = 0; i < known->count; i++)
        str_printf(out, " %a", known->values[i]);
    str_add(out, "\n");
}

void search_secant_write(const struct search_secant *secant, struct str *out)
{
    size_t kept = genetic_first_new(secant->genetic);
    str_printf(out, "kept %zu\n", kept);
    for (size_t i = 0; i < kept; i++)
        write_logits(&secant->of_slot[genetic_slot(secant->genetic, i)], out);
    for (size_t i = 0; i < genome_seeds(secant->layout); i++)
        write_logits(&secant->of_seed[i], out);
}

static bool read_logits(struct known_logits *known, const char **text)
{
    static const char word[] = "logits ";
    char *end;
    forget(known);
    if (strncmp(*text, word, sizeof word - 1) != 0)
        return false;
    unsigned long long count = strtoull(*text + sizeof word - 1, &end, 10);
    if (end == *text + sizeof word - 1 || count > SEARCH_LOGITS)
        return false;
    *text = end;
    *known = (struct known_logits){count, memory_zeroed(count + 1, sizeof *known->values)};
    for (size_t i = 0; i < count; i++) {
        known->values[i] = strtod(*text, &end);
        if (end == *text || !isfinite(known->values[i]))
            return false;
        *text = end;
    }
    return *(*text)++ == '\n';
}

bool search_secant_read(struct search_secant *secant, const char **text)
{
    size_t kept;
    int taken = 0;
    if (sscanf(*text, "kept %zu%n", &kept, &taken) != 1 || !taken || (*text)[taken] != '\n' ||
        kept > genetic_population(secant->genetic))
        return false;
    *text += taken + 1;
    bool good = true;
    for (size_t i = 0; i < kept && good; i++)
        good = read_logits(&secant->of_slot[genetic_slot(secant->genetic, i)], text);
    for (size_t i = 0; i < genome_seeds(secant->layout) && good; i++)
        good = read_logits(&secant->of_seed[i], text);
    return good;
}
