#include "corpus/drawn_cases.h"

#include "base/progress.h"
#include "generate/operator_case.h"

#include <stdlib.h>

/* Rounds through all element types of a form: at least, at most, and how many that bring nothing end them. */
enum { ROUNDS_LEAST = 10, ROUNDS_MOST = 60, ROUNDS_IDLE = 6 };

/* What is drawn in one round; they take turns. */
struct turn {
    enum fill fill;
    enum draw_sizes sizes;
    enum draw_constants constants;
    const char *edge; /* what people call it; NULL: none */
    bool each_type;   /* the edge is one in each element type */
};
static const struct turn turns[] = {
    {FILL_NORMAL, SIZES_PLAIN, CONSTANTS_SOME, NULL, false},
    {FILL_SPECIAL, SIZES_PLAIN, CONSTANTS_SOME, "special numbers", true},
    {FILL_EXACT, SIZES_ONES, CONSTANTS_SOME, "dimensions of 1", false},
    {FILL_NORMAL, SIZES_PLAIN, CONSTANTS_NONE, NULL, false},
    {FILL_NORMAL, SIZES_EMPTY, CONSTANTS_SOME, "empty tensors", false},
    {FILL_NORMAL, SIZES_PLAIN, CONSTANTS_ALL, "constants only", false},
    {FILL_NORMAL, SIZES_ODD, CONSTANTS_SOME, "odd dimensions", false},
};
enum { TURNS = sizeof turns / sizeof *turns };

struct drawing {
    const struct drawn_options *options;
    struct tally tally;
    struct arena arena; /* of the keys of edges */
    struct map edges;
    const struct op *op;
    int form;
};

/* Those that cases of the form can have, narrow ones too. */
static dtype_set types_of(const struct op *op, int opset)
{
    dtype_set set = op_types_at(op, opset);
    for (int type = 1; type < DTYPE_COUNT; type++) {
        dtype_set one = op_narrow_at(op, opset) & DTYPE_BIT(type);
        set |= one && op_drawn_types(op, opset, one) ? one : 0;
    }
    return set;
}

static const char *edge_key(struct drawing *drawing, const struct turn *turn, enum dtype type)
{
    return arena_printf(&drawing->arena, "%s %s %s", drawing->op->name, turn->edge,
                        turn->each_type ? dtype_name(type) : "");
}

/* Offers a case that shows something new; *kept tells whether it was taken. */
static int offer(struct drawing *drawing, struct test_case *test, const struct turn *turn, enum dtype type,
                 bool *kept, struct error *err)
{
    struct str covers;
    struct drawn_cover cover = {.op = drawing->op, .form = drawing->form};
    const char *key = turn->edge ? edge_key(drawing, turn, type) : NULL;
    str_init(&covers);
    int status = tally_peek(&drawing->tally, test, &covers, &cover.part, err);
    if (!status && key && !map_has(&drawing->edges, key))
        str_printf(&covers, "%s\n", turn->edge);
    cover.things = covers.data;
    if (!status && covers.length)
        status = drawing->options->take(drawing->options->context, test, &cover, kept, err);
    if (!status && *kept) {
        status = tally_add(&drawing->tally, test, err);
        if (key)
            map_set(&drawing->edges, key, 0);
    }
    str_release(&covers);
    return status;
}

static int draw_one(struct drawing *drawing, size_t round, enum dtype type, bool *kept, struct error *err)
{
    const struct turn *turn = &turns[round % TURNS];
    struct generate_options options = {
        .ops = drawing->op->name,
        .opset = drawing->form,
        .max_opset = OPSET_NEWEST,
        .types = DTYPE_BIT(type),
        .fill = (int)turn->fill + 1,
        .sizes = turn->sizes,
        .constants = turn->constants,
    };
    struct test_case *test;
    struct error why = {0};
    /* Where the sampler cannot make such a case, there is none. */
    if (generate_one(drawing->options->seed, round * DTYPE_COUNT + (size_t)type, &options, &test, &why))
        return 0;
    int status = offer(drawing, test, turn, type, kept, err);
    test_case_free(test);
    return status;
}

static int draw_form(struct drawing *drawing, struct error *err)
{
    dtype_set types = types_of(drawing->op, drawing->form);
    for (size_t round = 0, idle = 0; round < ROUNDS_MOST && (round < ROUNDS_LEAST || idle < ROUNDS_IDLE);
         round++) {
        bool any = false;
        for (int type = 1; type < DTYPE_COUNT; type++) {
            bool kept = false;
            if (dtype_in((enum dtype)type, types) && draw_one(drawing, round, (enum dtype)type, &kept, err))
                return -1;
            any |= kept;
        }
        idle = any ? 0 : idle + 1;
    }
    return 0;
}

static int draw_operator(struct drawing *drawing, struct error *err)
{
    const struct op *op = drawing->op;
    int status = 0;
    for (int opset = op_drawn_since(op) > OPSET_FIRST ? op_drawn_since(op) : OPSET_FIRST;
         opset <= OPSET_NEWEST && !status; opset++) {
        drawing->form = opset;
        if (tally_form(op, opset) == opset)
            status = draw_form(drawing, err);
    }
    return status;
}

static bool is_wanted(const struct op *op, const char *names)
{
    return op->sample && !*op->owner && !(op->flags & OP_RANDOM) && (!names || op_list_has(names, op));
}

int draw_cases(const struct drawn_options *options, struct error *err)
{
    struct drawing drawing = {.options = options};
    struct progress progress = {0};
    int status = op_check_names(options->ops, err);
    tally_init(&drawing.tally);
    arena_init(&drawing.arena);
    map_init(&drawing.edges);
    progress_begin(&progress, "operators", op_count());
    for (size_t i = 0; i < op_count() && !status; i++) {
        drawing.op = op_at(i);
        if (is_wanted(drawing.op, options->ops))
            status = draw_operator(&drawing, err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    map_release(&drawing.edges);
    arena_release(&drawing.arena);
    tally_release(&drawing.tally);
    return status;
}
