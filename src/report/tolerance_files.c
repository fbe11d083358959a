#include "report/tolerance_files.h"

#include "base/json.h"

#include <math.h>

/* The choice for all outputs of a case together. */
static struct tolerance_choice choose(const struct tolerance_list *list, size_t i)
{
    return tolerances_choose(&list->cases[i].tolerances->all, list->error);
}

static bool is_written(const struct tolerance_list *list, size_t i)
{
    return tolerances_has_common_choice(list->cases[i].tolerances, list->error);
}

static void write_pair(struct json *json, const char *name, struct tolerance tolerance)
{
    json_object(json, name);
    json_double(json, "rtol", tolerance.rtol);
    json_double(json, "atol", tolerance.atol);
    json_end(json);
}

void tolerance_write_backend_test(const struct tolerance_list *list, struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    if (list->count == 1 && is_written(list, 0)) {
        write_pair(&json, NULL, choose(list, 0).least);
    } else {
        json_object(&json, NULL);
        for (size_t i = 0; i < list->count; i++)
            if (is_written(list, i))
                write_pair(&json, list->cases[i].name, choose(list, i).least);
        json_end(&json);
    }
}

/* What ONNX Runtime's tests use where nothing overrides it. */
static const struct tolerance ort_default = {.rtol = 1e-3, .atol = 1e-5};

static bool default_will_do(const struct tolerance_list *list, size_t i)
{
    struct tolerance_row *all = &list->cases[i].tolerances->all;
    struct tolerance_choice choice = choose(list, i);
    struct tolerance_fit *fit = &all->fits[choice.basis];
    return tolerance_holds(fit, ort_default) &&
           (tolerance_passes(fit, ort_default) <= list->error || choice.passes > list->error);
}

static void write_overrides(const struct tolerance_list *list, struct json *json, const char *name, bool atol)
{
    json_object(json, name);
    for (size_t i = 0; i < list->count; i++) {
        if (!is_written(list, i) || default_will_do(list, i))
            continue;
        struct tolerance least = choose(list, i).least;
        json_double(json, list->cases[i].name, atol ? least.atol : least.rtol);
    }
    json_end(json);
}

void tolerance_write_ort(const struct tolerance_list *list, struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_double(&json, "atol_default", ort_default.atol);
    json_double(&json, "rtol_default", ort_default.rtol);
    write_overrides(list, &json, "atol_overrides", true);
    write_overrides(list, &json, "rtol_overrides", false);
    json_end(&json);
}

/* The threshold of all outputs of a type; 0: there are none. The comparison is with "less than". */
static double threshold(const struct tolerances *tolerances, enum dtype type, enum tolerance_basis basis)
{
    double most = 0;
    for (size_t k = 0; k < tolerances->count; k++) {
        const struct tolerance_row *row = &tolerances->rows[k];
        if (row->output && row->type == type && row->fits[basis].added)
            most = fmax(most, tolerance_norms(&row->fits[basis]).atol * 1.01 + 1e-30);
    }
    return most;
}

static void write_flags(const struct tolerance_list *list, size_t i, struct json *json)
{
    static const struct {
        enum dtype type;
        const char *bits;
    } types[] = {{DTYPE_FLOAT16, "f16"}, {DTYPE_FLOAT, "f32"}, {DTYPE_DOUBLE, "f64"}};
    enum tolerance_basis basis = choose(list, i).basis;
    bool begun = false;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        double most = threshold(list->cases[i].tolerances, types[k].type, basis);
        if (!(most > 0))
            continue;
        if (!begun) {
            json_object(json, list->cases[i].name);
            json_array(json, "iree_run_module_flags");
        }
        begun = true;
        struct str flag;
        str_init(&flag);
        str_printf(&flag, "--expected_%s_threshold=%g", types[k].bits, most);
        json_string(json, NULL, flag.data);
        str_release(&flag);
    }
    if (begun) {
        json_end(json);
        json_end(json);
    }
}

void tolerance_write_iree(const struct tolerance_list *list, struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    for (size_t i = 0; i < list->count; i++)
        if (is_written(list, i))
            write_flags(list, i, &json);
    json_end(&json);
}

/* A name that is an identifier of C++; everything else becomes '_'. */
static void add_identifier(struct str *out, const char *name)
{
    for (; *name; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9');
        str_append(out, letter ? name : "_", 1);
    }
}

void tolerance_write_norms(const struct tolerance_list *list, struct str *out)
{
    for (size_t i = 0; i < list->count; i++) {
        struct tolerance_row *all = &list->cases[i].tolerances->all;
        if (!is_written(list, i))
            continue;
        struct tolerance norms = tolerance_norms(&all->fits[choose(list, i).basis]);
        str_add(out, "CASE(");
        add_identifier(out, list->cases[i].name);
        str_printf(out, ")\n    default_l1 = %g;\n    default_lInf = %g;\n", norms.rtol, norms.atol);
    }
}

/* A text as a literal of Python. */
static void add_literal(struct str *out, const char *text)
{
    struct json json;
    json_init(&json, out, false);
    json_string(&json, NULL, text);
}

void tolerance_write_pytest(const struct tolerance_list *list, struct str *out)
{
    str_add(out, "import pytest\n\nTOLERANCES = [\n    # case, output, rtol, atol\n");
    for (size_t i = 0; i < list->count; i++) {
        const struct tolerances *tolerances = list->cases[i].tolerances;
        for (size_t k = 0; k < tolerances->count; k++) {
            struct tolerance_row *row = &tolerances->rows[k];
            if (!tolerances_has_choice(row, list->error))
                continue;
            struct tolerance least = tolerances_choose(row, list->error).least;
            str_add(out, "    pytest.param(");
            add_literal(out, list->cases[i].name);
            str_add(out, ", ");
            add_literal(out, row->name);
            str_printf(out, ", %g, %g),\n", least.rtol, least.atol);
        }
    }
    str_add(out, "]\n");
}

static bool is_blind(const struct tolerance_list *list, struct tolerance_row *row)
{
    return tolerances_has_choice(row, list->error) &&
           !(tolerances_choose(row, list->error).passes <= list->error);
}

static void note_output(const struct tolerance_list *list, const char *name, struct tolerance_row *row,
                        struct str *out)
{
    bool left_out = row->refuted && !tolerances_has_choice(row, list->error);
    if (row->refuted)
        str_printf(out, "%s, %s: %s%zu of %zu expected numbers, which no right engine gives%s\n", name,
                   row->name, left_out ? "left out for " : "", row->refuted, row->values,
                   left_out ? "" : ": the tolerance covers that");
    if (row->unjudged)
        str_printf(out, "%s, %s: %zu of %zu numbers cannot be bounded: leave them out of comparisons\n", name,
                   row->name, row->unjudged, row->values);
    if (is_blind(list, row))
        str_printf(out, "%s, %s: no tolerance sees errors of %g, as rounding may be as large\n", name,
                   row->name, list->error);
}

void tolerance_notes(const struct tolerance_list *list, bool by_case, struct str *out)
{
    for (size_t i = 0; i < list->count; i++) {
        struct tolerances *tolerances = list->cases[i].tolerances;
        bool blind = false;
        for (size_t k = 0; k < tolerances->count; k++) {
            if (by_case && !tolerances->rows[k].output)
                continue;
            note_output(list, list->cases[i].name, &tolerances->rows[k], out);
            blind = blind || is_blind(list, &tolerances->rows[k]);
        }
        if (by_case && !blind && is_written(list, i) && is_blind(list, &tolerances->all))
            str_printf(out,
                       "%s: one tolerance for all outputs misses errors of %g, which one for each would "
                       "see\n",
                       list->cases[i].name, list->error);
    }
}
