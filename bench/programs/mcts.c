/*
 * Guided against random choice of blocks: the measurement behind bench/mcts.
 *
 *     bench_mcts [--models N] [--first SEED] [--repeats N] [--blocks N] [--no-engine] [-e ENGINE]
 *
 * For each strategy and repeat so many models of so many blocks, out of 50 operators (ONNX's counterparts of
 * the paper's 50); one line "STRATEGY-CANDIDATES BLOCKS SEED OLC DISTINCT TOTAL SECONDS" each. Both
 * strategies choose a case among the same number of candidates. An exception is a verdict that is a finding;
 * two are the same when symptom, operators and message are (findings/signature.h).
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "campaign/fuzz_source.h"
#include "findings/signature.h"
#include "trial/trial.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operators[] =
    "Add,ArgMax,AveragePool,BatchNormalization,Cast,Ceil,Clip,Concat,Conv,ConvTranspose,DepthToSpace,Div,Exp,"
    "Expand,Gather,Gemm,Greater,GlobalAveragePool,LRN,MatMul,Max,MaxPool,Min,Mul,Pad,Pow,Reciprocal,"
    "ReduceMax,ReduceMean,ReduceProd,ReduceSum,Relu,Reshape,Resize,Selu,Shape,Sigmoid,Slice,Softmax,"
    "SpaceToDepth,Split,Sqrt,Squeeze,Sub,Sum,Tanh,Tile,TopK,Transpose,Unsqueeze";

struct bench {
    uint64_t first; /* seed */
    size_t models, repeats, blocks, children, root, candidates;
    double exploration;
    const char *engine;
    struct pool *pool;
    int reference, number;
};

struct tally {
    uint64_t *seen;
    size_t distinct, capacity, total;
};

static void note(struct tally *tally, uint64_t core)
{
    tally->total++;
    for (size_t i = 0; i < tally->distinct; i++)
        if (tally->seen[i] == core)
            return;
    tally->seen = memory_grow(tally->seen, &tally->capacity, tally->distinct + 1, sizeof *tally->seen);
    tally->seen[tally->distinct++] = core;
}

static int take(struct bench *bench, struct trials *trials, struct tally *tally, struct error *err)
{
    struct trial_done done;
    struct signature signature;
    int status = trials_next(trials, &done, err);
    if (status != 1)
        return status;
    const struct model *model = test_case_model(done.test, err);
    if (verdict_is_finding(done.judgement.verdicts[0].kind) && model) {
        signature_of(&signature, bench->engine, pool_engine(bench->pool, bench->number)->profile,
                     &done.judgement.verdicts[0], &done.settlements[0], model, &done.results[0]);
        uint64_t place = hash_combine(hash_text(signature.engine), hash_text(signature.operators));
        note(tally, hash_combine(place, hash_text(signature.message)));
    }
    trial_done_release(&done);
    return 1;
}

static int run_models(struct bench *bench, struct fuzz_source *source, struct trials *trials,
                      struct tally *tally, struct error *err)
{
    for (size_t i = 0; i < bench->models; i++) {
        struct test_case *test;
        struct fuzz_origin origin;
        if (fuzz_source_make(source, i, &test, &origin, err))
            return -1;
        if (!trials) {
            test_case_free(test);
            continue;
        }
        if (trials_submit(trials, test, NULL, err))
            return -1;
        while (!trials_room(trials))
            if (take(bench, trials, tally, err) < 0)
                return -1;
    }
    while (trials && trials_pending(trials))
        if (take(bench, trials, tally, err) < 0)
            return -1;
    return 0;
}

static int run_one(struct bench *bench, enum fuzz_strategy strategy, uint64_t seed, struct error *err)
{
    struct fuzz_source_options options = {
        .seed = seed,
        .strategy = strategy,
        .mcts = {.exploration = bench->exploration,
                 .children = bench->children,
                 .root_children = bench->root},
        .candidates = bench->candidates,
        .blocks = bench->blocks,
        .redraw = true,
        .generate = {.ops = operators, .max_opset = 17},
    };
    struct panel panel = {
        .pool = bench->pool, .count = 1, .engines = &bench->number, .reference = bench->reference};
    struct trial_options trial = {.panel = &panel, .settle = true};
    struct tally tally = {0};
    struct fuzz_source *source;
    double start = clock_seconds();
    if (fuzz_source_new(&source, &options, err))
        return -1;
    struct trials *trials = bench->pool ? trials_new(&trial) : NULL;
    int status = run_models(bench, source, trials, &tally, err);
    struct coverage_figures c = coverage_total(fuzz_source_coverage(source));
    printf("%s-%zu %zu %llu %.2f %zu %zu %.1f  OTC %.1f IDC %.1f ODC %.1f SEC %.1f SPC %.1f pairs %.1f\n",
           strategy == FUZZ_MCTS ? "mcts" : "random", bench->candidates, bench->blocks,
           (unsigned long long)seed, 100 * c.olc, tally.distinct, tally.total, clock_seconds() - start,
           100 * c.otc, 100 * c.idc, 100 * c.odc, 100 * c.sec, 100 * c.spc, 100 * c.pairs);
    fflush(stdout);
    trials_free(trials);
    fuzz_source_free(source);
    free(tally.seen);
    return status;
}

static int add_engine(struct registry *registry, struct pool *pool, const char *label, struct error *err)
{
    const struct engine_spec *spec;
    return registry_find(registry, given_typed(registry_arena(registry), label), &spec, err)
               ? -1
               : pool_add(pool, spec);
}

static int read_options(struct bench *bench, int argc, char **argv)
{
    static const struct option names[] = {
        {"models", 1, NULL, 'm'},      {"repeats", 1, NULL, 'r'}, {"blocks", 1, NULL, 'b'},
        {"first", 1, NULL, 'f'},       {"engine", 1, NULL, 'e'},  {"no-engine", 0, NULL, 'n'},
        {"children", 1, NULL, 'c'},    {"root", 1, NULL, 'R'},    {"candidates", 1, NULL, 'C'},
        {"exploration", 1, NULL, 'x'}, {NULL, 0, NULL, 0},
    };
    int c;
    while ((c = getopt_long(argc, argv, "e:", names, NULL)) != -1)
        switch (c) {
        case 'm':
            bench->models = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            bench->repeats = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            bench->first = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            bench->blocks = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            bench->children = strtoull(optarg, NULL, 10);
            break;
        case 'R':
            bench->root = strtoull(optarg, NULL, 10);
            break;
        case 'C':
            bench->candidates = strtoull(optarg, NULL, 10);
            break;
        case 'x':
            bench->exploration = strtod(optarg, NULL);
            break;
        case 'e':
            bench->engine = optarg;
            break;
        case 'n':
            bench->engine = NULL;
            break;
        default:
            return -1;
        }
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.first = 1,
                          .models = 400,
                          .repeats = 10,
                          .blocks = 5,
                          .candidates = 1,
                          .engine = "onnxruntime@1.12.0"};
    struct registry *registry = NULL;
    struct pool_options pool_options = {.deadline = 10};
    struct error err = {0};
    if (read_options(&bench, argc, argv)) {
        fprintf(stderr, "usage: see the head of bench/programs/mcts.c\n");
        return 2;
    }
    int status = registry_open(&registry, NULL, 0, &err);
    if (!status && bench.engine) {
        bench.pool = pool_new(&pool_options);
        bench.reference = add_engine(registry, bench.pool, "reference", &err);
        bench.number = add_engine(registry, bench.pool, bench.engine, &err);
        status = bench.reference < 0 || bench.number < 0 ? -1 : 0;
    }
    for (uint64_t seed = bench.first; seed < bench.first + bench.repeats && !status; seed++)
        for (int strategy = FUZZ_RANDOM; strategy <= FUZZ_MCTS && !status; strategy++)
            status = run_one(&bench, (enum fuzz_strategy)strategy, seed, &err);
    if (bench.pool)
        pool_free(bench.pool);
    registry_free(registry);
    if (status)
        fprintf(stderr, "%s\n", err.message);
    return status ? 2 : 0;
}
