#include "search/genetic.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct genome {
    float *genes;
    double fitness;
};

struct genetic {
    struct genetic_settings settings;
    struct gene_stretch *stretches;
    size_t n_stretches, length;
    size_t n_seeds;
    float *seeds, *genes; /* one genome behind the other */
    struct genome *genomes;
    uint64_t round;
    size_t first_new;
};

static float inside(double gene, const struct gene_stretch *limits)
{
    if (!(gene > (double)limits->low)) /* NaN too */
        return limits->low;
    return gene >= (double)limits->high ? limits->high : (float)gene;
}

static void clamp(const struct genetic *genetic, float *genes)
{
    for (size_t i = 0; i < genetic->n_stretches; i++) {
        const struct gene_stretch *stretch = &genetic->stretches[i];
        for (size_t k = 0; k < stretch->count; k++, genes++)
            *genes = inside((double)*genes, stretch);
    }
}

/* Adds noise to this part of the genes: to all of them when it is 1. */
static void add_noise(const struct genetic *genetic, struct rng *rng, float *genes, double part,
                      double factor)
{
    for (size_t i = 0; i < genetic->n_stretches; i++) {
        const struct gene_stretch *stretch = &genetic->stretches[i];
        double scale = factor * (double)stretch->scale;
        for (size_t k = 0; k < stretch->count; k++, genes++)
            if (part >= 1 || rng_chance(rng, part))
                *genes = inside((double)*genes + scale * rng_cauchy(rng), stretch);
    }
}

static struct rng stream(const struct genetic *genetic, size_t number)
{
    struct rng root = rng_seed(hash_combine(genetic->settings.seed, hash_text("genetic")));
    struct rng round = rng_split(&root, genetic->round);
    return rng_split(&round, number);
}

/* From one gene to all of them, and from a thousandth of the usual noise to a thousand times as much. */
static void mutate_by_noise(const struct genetic *genetic, struct rng *rng, float *genes)
{
    double part = 1, factor = 1;
    if (!genetic->settings.every_gene) {
        part = pow((double)genetic->length, -rng_unit(rng));
        factor = pow(10, rng_uniform(rng, -3, 3));
    }
    add_noise(genetic, rng, genes, part, factor);
}

static void mutate(const struct genetic *genetic, struct rng *rng, const float *parent, float *child)
{
    const struct genetic_settings *s = &genetic->settings;
    if (s->guided && rng_chance(rng, s->guided_share)) {
        s->guided(s->context, rng, parent, child, genetic->length);
        clamp(genetic, child);
    } else {
        mutate_by_noise(genetic, rng, child);
    }
}

static void cross(const struct genetic *genetic, struct rng *rng, const float *a, const float *b,
                  float *child)
{
    for (size_t i = 0; i < genetic->length; i++)
        child[i] = rng_chance(rng, genetic->settings.crossover) ? a[i] : b[i];
}

static void breed(struct genetic *genetic, size_t number)
{
    struct rng rng = stream(genetic, number);
    const struct genome *a = &genetic->genomes[rng_below(&rng, genetic->settings.kept)],
                        *b = &genetic->genomes[rng_below(&rng, genetic->settings.kept)];
    float *child = genetic->genomes[number].genes;
    cross(genetic, &rng, a->genes, b->genes, child);
    if (rng_chance(&rng, genetic->settings.mutation)) {
        memcpy(genetic->seeds + genetic->n_seeds * genetic->length, child, genetic->length * sizeof *child);
        mutate(genetic, &rng, genetic->seeds + genetic->n_seeds * genetic->length, child);
    }
    genetic->genomes[number].fitness = -INFINITY;
}

static void breed_round(struct genetic *genetic)
{
    genetic->first_new = genetic->settings.kept;
    for (size_t i = genetic->first_new; i < genetic->settings.population; i++)
        breed(genetic, i);
}

/* Seeds with noise; in the very first round the seeds themselves come first. */
static void sow_round(struct genetic *genetic)
{
    size_t size = genetic->length * sizeof(float);
    genetic->first_new = 0;
    for (size_t i = 0; i < genetic->settings.population; i++) {
        struct genome *genome = &genetic->genomes[i];
        struct rng rng = stream(genetic, i);
        memcpy(genome->genes, genetic->seeds + i % genetic->n_seeds * genetic->length, size);
        genome->fitness = -INFINITY;
        if (genetic->round || i >= genetic->n_seeds)
            add_noise(genetic, &rng, genome->genes, 1, 1);
    }
}

/* Sizes and rates with their defaults; false when they make no sense. */
static bool complete(struct genetic_settings *s)
{
    if (!s->population)
        s->population = GENETIC_POPULATION;
    if (!s->kept)
        s->kept = s->population > 4 ? s->population / 4 : 1;
    s->crossover = s->crossover != 0 ? s->crossover : 0.5;
    s->mutation = s->mutation != 0 ? s->mutation : 0.8;
    s->guided_share = s->guided_share != 0 ? s->guided_share : 0.5;
    return s->population > 1 && s->population <= GENETIC_MOST && s->kept < s->population &&
           s->crossover > 0 && s->crossover <= 1 && s->mutation > 0 && s->mutation <= 1 &&
           s->guided_share > 0 && s->guided_share <= 1;
}

static int check_stretches(size_t n, const struct gene_stretch *stretches, size_t *length, struct error *err)
{
    *length = 0;
    for (size_t i = 0; i < n; i++) {
        const struct gene_stretch *s = &stretches[i];
        if (!(isfinite(s->low) && isfinite(s->high) && s->low <= s->high && isfinite(s->scale) &&
              s->scale >= 0))
            return error_set(err, ERROR_USAGE, "a gene cannot have the limits %g and %g, scale %g",
                             (double)s->low, (double)s->high, (double)s->scale);
        if (s->count > GENETIC_MOST_GENES - *length)
            return error_set(err, ERROR_LIMIT, "a genome has more than %zu genes", GENETIC_MOST_GENES);
        *length += s->count;
    }
    return 0;
}

static void copy_seeds(struct genetic *genetic, const float *const *seeds)
{
    for (size_t i = 0; i < genetic->n_seeds && genetic->length; i++) {
        float *seed = genetic->seeds + i * genetic->length;
        memcpy(seed, seeds[i], genetic->length * sizeof *seed);
        clamp(genetic, seed);
    }
}

static void fill(struct genetic *genetic, const struct gene_stretch *stretches, const float *const *seeds)
{
    size_t n = genetic->settings.population;
    genetic->stretches = memory_zeroed(genetic->n_stretches + 1, sizeof *stretches);
    if (genetic->n_stretches)
        memcpy(genetic->stretches, stretches, genetic->n_stretches * sizeof *stretches);
    copy_seeds(genetic, seeds);
    genetic->genomes = memory_zeroed(n, sizeof *genetic->genomes);
    for (size_t i = 0; i < n; i++)
        genetic->genomes[i].genes = genetic->genes + i * genetic->length;
    sow_round(genetic);
}

int genetic_new(struct genetic **out, const struct genetic_settings *settings, size_t n_stretches,
                const struct gene_stretch *stretches, size_t n_seeds, const float *const *seeds,
                struct error *err)
{
    struct genetic_settings complete_settings = *settings;
    size_t length;
    *out = NULL;
    if (check_stretches(n_stretches, stretches, &length, err))
        return -1;
    if (!complete(&complete_settings) || !n_seeds)
        return error_set(err, ERROR_USAGE, "a population of %zu genomes cannot keep %zu of them",
                         complete_settings.population, complete_settings.kept);
    size_t rows = complete_settings.population + n_seeds + 1;
    if (n_seeds > GENETIC_MOST || (length && rows > GENETIC_MOST_GENES / length))
        return error_set(err, ERROR_LIMIT, "%zu genomes of %zu genes are more than %zu genes", rows, length,
                         GENETIC_MOST_GENES);
    struct genetic *genetic = memory_zeroed(1, sizeof *genetic);
    *genetic = (struct genetic){.settings = complete_settings,
                                .n_stretches = n_stretches,
                                .length = length,
                                .n_seeds = n_seeds,
                                /* One more: the parent of the child at hand. */
                                .seeds = calloc((n_seeds + 1) * length + 1, sizeof(float)),
                                .genes = calloc(complete_settings.population * length + 1, sizeof(float))};
    if (!genetic->seeds || !genetic->genes) {
        genetic_free(genetic);
        return error_set(err, ERROR_MEMORY, "no memory for %zu genomes of %zu genes", rows, length);
    }
    fill(genetic, stretches, seeds);
    *out = genetic;
    return 0;
}

void genetic_free(struct genetic *genetic)
{
    if (!genetic)
        return;
    free(genetic->stretches);
    free(genetic->seeds);
    free(genetic->genes);
    free(genetic->genomes);
    free(genetic);
}

size_t genetic_population(const struct genetic *genetic)
{
    return genetic->settings.population;
}

uint64_t genetic_round(const struct genetic *genetic)
{
    return genetic->round;
}

const float *genetic_genome(const struct genetic *genetic, size_t number)
{
    return genetic->genomes[number].genes;
}

size_t genetic_slot(const struct genetic *genetic, size_t number)
{
    return genetic->length ? (size_t)(genetic->genomes[number].genes - genetic->genes) / genetic->length : 0;
}

size_t genetic_first_new(const struct genetic *genetic)
{
    return genetic->first_new;
}

void genetic_rate(struct genetic *genetic, size_t number, double fitness)
{
    genetic->genomes[number].fitness = isnan(fitness) ? -INFINITY : fitness;
}

double genetic_fitness(const struct genetic *genetic, size_t number)
{
    return genetic->genomes[number].fitness;
}

size_t genetic_best(const struct genetic *genetic)
{
    size_t best = 0;
    for (size_t i = 1; i < genetic->settings.population; i++)
        if (genetic->genomes[i].fitness > genetic->genomes[best].fitness)
            best = i;
    return best;
}

/* Brings the fittest to the front, as far as they are kept; the first of equals first. */
static void select_best(struct genetic *genetic)
{
    for (size_t i = 0; i < genetic->settings.kept; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < genetic->settings.population; k++)
            if (genetic->genomes[k].fitness > genetic->genomes[best].fitness)
                best = k;
        struct genome chosen = genetic->genomes[best];
        memmove(&genetic->genomes[i + 1], &genetic->genomes[i], (best - i) * sizeof chosen);
        genetic->genomes[i] = chosen;
    }
}

void genetic_next(struct genetic *genetic)
{
    select_best(genetic);
    genetic->round++;
    breed_round(genetic);
}

void genetic_restart(struct genetic *genetic)
{
    genetic->round++;
    sow_round(genetic);
}

static const char hexadecimal[] = "0123456789abcdef";

/* The bits of every gene: eight hexadecimal digits each. */
static void write_genes(const struct genetic *genetic, const float *genes, struct str *out)
{
    char digits[8];
    for (size_t i = 0; i < genetic->length; i++) {
        uint32_t bits;
        memcpy(&bits, &genes[i], sizeof bits);
        for (int k = 0; k < 8; k++)
            digits[k] = hexadecimal[bits >> (28 - 4 * k) & 15];
        str_append(out, digits, sizeof digits);
    }
}

void genetic_write(const struct genetic *genetic, struct str *out)
{
    str_printf(out, "population %" PRIu64 " %zu %zu\n", genetic->round, genetic->first_new, genetic->length);
    for (size_t i = 0; i < genetic->first_new; i++) {
        str_printf(out, "%a ", genetic->genomes[i].fitness);
        write_genes(genetic, genetic->genomes[i].genes, out);
        str_add(out, "\n");
    }
}

static bool read_gene(const char *text, float *gene)
{
    uint32_t bits = 0;
    for (int i = 0; i < 8; i++) {
        const char *at = text[i] ? strchr(hexadecimal, text[i]) : NULL;
        if (!at)
            return false;
        bits = bits << 4 | (uint32_t)(at - hexadecimal);
    }
    memcpy(gene, &bits, sizeof bits);
    return true;
}

static bool read_genome(struct genetic *genetic, struct genome *genome, const char **text)
{
    char *end;
    genome->fitness = strtod(*text, &end);
    if (end == *text || *end != ' ' || isnan(genome->fitness))
        return false;
    *text = end + 1;
    for (size_t i = 0; i < genetic->length; i++, *text += 8)
        if (!read_gene(*text, &genome->genes[i]))
            return false;
    clamp(genetic, genome->genes);
    return *(*text)++ == '\n';
}

static bool read_head(struct genetic *genetic, const char **text)
{
    size_t length, first_new;
    uint64_t round;
    int taken = 0;
    if (sscanf(*text, "population %" SCNu64 " %zu %zu%n", &round, &first_new, &length, &taken) != 3 ||
        !taken || (*text)[taken] != '\n' || length != genetic->length ||
        (first_new != 0 && first_new != genetic->settings.kept))
        return false;
    genetic->round = round;
    genetic->first_new = first_new;
    *text += taken + 1;
    return true;
}

int genetic_read(struct genetic *genetic, const char **text, struct error *err)
{
    bool good = read_head(genetic, text);
    for (size_t i = 0; good && i < genetic->first_new; i++)
        good = read_genome(genetic, &genetic->genomes[i], text);
    if (!good)
        return error_set(err, ERROR_FORMAT, "the population is damaged");
    if (genetic->first_new)
        breed_round(genetic);
    else
        sow_round(genetic);
    return 0;
}
