/*
 * What a search changes about a case, as a genome (search/genetic.h): the numbers in the model's inputs, in
 * its weights, or in both, one gene each.
 *
 * Inputs of floats and integers are genes, but for integers that a node takes as a parameter (pads, a shape);
 * others stay as in the first sample. Weights are the initialisers of floats with more than one element that
 * some node computes with. Where they have more genes than the limit, some tensors drawn at random are genes
 * and the others stay as they are.
 */
#ifndef SEARCH_GENOME_H
#define SEARCH_GENOME_H

#include "case/inputs.h"
#include "case/test_case.h"
#include "search/genetic.h"

enum genome_level { GENOME_INPUTS = 1, GENOME_WEIGHTS = 2, GENOME_BOTH = 3 };

struct genome_options {
    enum genome_level level;
    /*
     * Genes stay in the range of the data: inputs between the least and the greatest number of the samples,
     * weights below twice their tensor's greatest magnitude. Otherwise their element type is the limit.
     */
    bool data_limits;
    size_t most_genes; /* 0: 4 million */
    size_t most_seeds; /* samples that the first population is made of; 0: 1 */
    uint64_t seed;     /* chooses tensors where there are too many genes */
};

/* One tensor of the genome: genes first ... first + count - 1 are its elements. */
struct genome_part {
    bool weight;  /* an initialiser of the graph; else an input */
    size_t index; /* its place among them */
    enum dtype type;
    size_t first, count;
};

struct genome_layout;

/*
 * The model is borrowed; samples are copied. Only samples with the types and shapes of the first become
 * seeds; of a genome without inputs, only the first. Fails with ERROR_UNSUPPORTED when nothing is a gene.
 */
int genome_layout_new(struct genome_layout **layout, const struct model *model, const struct inputs *inputs,
                      const struct genome_options *options, struct error *err);
void genome_layout_free(struct genome_layout *layout); /* accepts NULL */

const struct genome_part *genome_parts(const struct genome_layout *layout, size_t *count);
size_t genome_length(const struct genome_layout *layout);
/* One for each part. */
const struct gene_stretch *genome_stretches(const struct genome_layout *layout);
size_t genome_seeds(const struct genome_layout *layout);
const float *const *genome_seed(const struct genome_layout *layout); /* all of them */

/* The inputs that the genes stand for; the caller frees genome_inputs_count values with values_free. */
size_t genome_inputs_count(const struct genome_layout *layout);
int genome_inputs(const struct genome_layout *layout, const float *genes, struct value **inputs,
                  struct error *err);

/* The case of a genome, which the caller frees. */
int genome_case(const struct genome_layout *layout, const float *genes, struct test_case **out,
                struct error *err);

/* Several genomes of inputs as one case, stacked along the first axis of every input (compare/batch.h says
 * when this is right). */
int genome_stack(const struct genome_layout *layout, size_t count, const float *const *genes,
                 struct test_case **out, struct error *err);

#endif
