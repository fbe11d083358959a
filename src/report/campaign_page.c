#include "report/campaign_page.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/markup.h"
#include "base/memory.h"
#include "findings/model_text.h"
#include "locate/classify.h"
#include "report/answer.h"
#include "report/campaign_report.h"
#include "report/causes_answer.h"
#include "report/page.h"
#include "report/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of one page: causes that are shown in full, variants of each that are named, rows and columns of operators
 * and engines; bytes of a file, and of a model's text. */
enum { MOST_CAUSES = 300, MOST_VARIANTS = 30, MOST_OPERATORS = 60, MOST_ENGINES = 10 };
enum { FILE_LIMIT = 1 << 20, MODEL_LIMIT = 6000, TITLE_LIMIT = 160 };

static bool is_known(const struct finding_cause *cause)
{
    return cause->lead->stored.state == STATE_KNOWN;
}

/* The causes as they are sorted: `news` that are not known, those up to `counted` that are, and those that
 * are listed apart. */
struct order {
    const struct finding_cause **sorted;
    size_t news, counted, count;
};

static struct order order_of(const struct finding_causes *causes)
{
    struct order order = {.sorted = causes_sorted(causes), .count = causes->count};
    while (order.counted < order.count && !cause_is_apart(order.sorted[order.counted]))
        order.counted++;
    while (order.news < order.counted && !is_known(order.sorted[order.news]))
        order.news++;
    return order;
}

static void add_count(struct str *out, size_t count, const char *one, const char *many)
{
    answer_add_count(out, count);
    str_printf(out, " %s", count == 1 ? one : many);
}

static void add_cell(struct str *out, const char *kind, const char *text)
{
    str_printf(out, "<td class=\"%s\">", kind);
    markup_escape(out, text);
    str_add(out, "</td>");
}

static void add_number_cell(struct str *out, int64_t number)
{
    str_printf(out, "<td class=\"n%s\">", number > 0 ? "" : " zero");
    answer_add_count(out, number > 0 ? (size_t)number : 0);
    str_add(out, "</td>");
}

/* --- The beginning --- */

static void add_figure(struct str *out, const char *kind, const char *number, const char *words)
{
    str_add(out, "<div class=\"figure\"><b class=\"");
    str_add(out, kind);
    str_add(out, "\">");
    markup_escape(out, number);
    str_add(out, "</b><span>");
    markup_escape(out, words);
    str_add(out, "</span></div>\n");
}

static void add_counted(struct str *out, const char *kind, double count, const char *words)
{
    struct str text;
    str_init(&text);
    answer_add_count(&text, (size_t)fmin(fmax(count, 0), 1e15));
    add_figure(out, kind, text.data, words);
    str_release(&text);
}

static void add_figures(struct str *out, const struct campaign_page *page, const struct order *order)
{
    const struct campaign_view *view = page->view;
    struct str text;
    str_init(&text);
    str_add(out, "<div id=\"figures\">\n");
    add_counted(out, order->news ? "bad" : "good", (double)order->news, "causes that are not known");
    add_counted(out, "", (double)(order->counted - order->news), "causes that are known");
    if (order->count > order->counted)
        add_counted(out, "", (double)(order->count - order->counted), "listed apart");
    add_counted(out, "", view->cases, "cases");
    add_counted(out, "", view->rate, "cases a second");
    if (view->n_coverage) {
        const struct coverage_view *last = &view->coverage[view->n_coverage - 1];
        str_printf(&text, "%.1f %%", 100 * fmin(last->olc, 1));
        add_figure(out, "", text.data, "of operators, types and attributes covered");
        str_clear(&text);
    }
    campaign_time(&text, view->elapsed);
    add_figure(out, "", text.data, "run time");
    str_add(out, "</div>\n");
    str_release(&text);
}

static void add_head(struct str *out, const struct campaign_page *page, const struct order *order)
{
    struct str sentences;
    str_init(&sentences);
    causes_answer(&sentences, page->causes, false, page->path, " ");
    str_add(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Assay campaign ");
    markup_escape(out, page->view->name);
    str_add(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                 "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<style>\n");
    str_add(out, page_style());
    str_add(out, "</style>\n<body>\n<header>\n<h1>");
    markup_escape(out, page->view->name);
    str_add(out, "</h1>\n<p id=\"sentence\">");
    markup_escape(out, sentences.data);
    str_add(out, "</p>\n<p id=\"options\">");
    markup_escape(out, page->view->options);
    str_add(out, "</p>\n<nav><a href=\"#causes\">causes</a> <a href=\"#operators\">operators and engines</a> "
                 "<a href=\"#course\">course</a> <a href=\"#known\">known</a></nav>\n</header>\n");
    add_figures(out, page, order);
    str_release(&sentences);
}

/* --- Causes --- */

static void add_table_head(struct str *out, const char *first)
{
    str_add(out, "<table class=\"causes\">\n<tr><th>");
    markup_escape(out, first);
    str_add(out, "</th><th class=\"w\">class</th><th class=\"w\">engine</th><th class=\"n\">nodes</th>"
                 "<th class=\"n\">seen</th></tr>\n");
}

/* A row for a cause: `what` leads to its article, where it has one. */
static void add_row(struct str *out, const struct finding_cause *cause, const char *what, size_t article)
{
    const struct stored *lead = &cause->lead->stored;
    struct str text;
    str_init(&text);
    text_print(&text, what, TITLE_LIMIT);
    str_add(out, "<tr><td class=\"t\">");
    if (article)
        str_printf(out, "<a href=\"#cause-%zu\">", article);
    markup_escape(out, text.data);
    str_add(out, article ? "</a></td>" : "</td>");
    str_release(&text);
    add_cell(out, "w", lead->class);
    add_cell(out, "w", lead->engine);
    add_number_cell(out, lead->nodes);
    add_number_cell(out, cause->seen);
    str_add(out, "</tr>\n");
}

/* Appends a file of the bundle; nothing when there is none that can be read. */
static void read_file(const struct campaign_page *page, const struct stored *stored, const char *name,
                      struct str *content)
{
    struct error why = {0};
    if (!finding_name_is_plain(stored->name))
        return;
    if (!page->folder) {
        campaign_finding_file(page->store, stored->name, name, content, &why);
        return;
    }
    struct str path;
    char *data = NULL;
    size_t size = 0;
    str_init(&path);
    str_printf(&path, "findings/%s/%s", stored->name, name);
    if (folder_has(page->folder, path.data) &&
        folder_read(page->folder, path.data, FILE_LIMIT, &data, &size, &why) == 0)
        str_append(content, data, size);
    free(data);
    str_release(&path);
}

static void add_map(struct str *out, const struct campaign_page *page, const struct stored *stored)
{
    struct str svg;
    str_init(&svg);
    read_file(page, stored, "map.svg", &svg);
    if (svg.length && svg.length <= FILE_LIMIT) {
        str_add(out, "<img class=\"map\" alt=\"the model's graph, nodes at fault marked\" "
                     "src=\"data:image/svg+xml;base64,");
        base64_write(out, svg.data, svg.length);
        str_add(out, "\">\n");
    }
    str_release(&svg);
}

static void add_model(struct str *out, const struct campaign_page *page, const struct stored *stored)
{
    struct str bytes, text;
    struct model *model = NULL;
    struct error why = {0};
    str_init(&bytes);
    str_init(&text);
    read_file(page, stored, "model.onnx", &bytes);
    if (bytes.length && model_parse(&model, bytes.data, bytes.length, &why) == 0) {
        model_text(&text, model, MODEL_LIMIT);
        str_add(out, "<div><h4>Minimal model</h4>\n<pre>");
        markup_escape(out, text.data);
        str_add(out, "</pre></div>\n");
    }
    model_free(model);
    str_release(&bytes);
    str_release(&text);
}

/* A word for a shell, in quotes where it needs them. */
static void add_word(struct str *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@=:,+-";
    if (*word && word[strspn(word, plain)] == '\0') {
        str_add(out, word);
        return;
    }
    str_add(out, "'");
    for (const char *at = word; *at; at++)
        str_append(out, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
    str_add(out, "'");
}

/* The commands that show it again. */
static void add_commands(struct str *out, const struct campaign_page *page, const struct stored *stored)
{
    struct str lines;
    bool bundled = *stored->bundle && finding_name_is_plain(stored->name);
    const char *space = *page->options ? " " : "";
    str_init(&lines);
    if (bundled) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/findings/%s", page->path, stored->name);
        if (page->before)
            str_printf(&lines, "%s\n", page->before);
        str_printf(&lines, "assay replay%s%s ", space, page->options);
        add_word(&lines, path.data);
        str_release(&path);
    } else {
        str_printf(&lines, "assay fuzz%s%s -e ", space, page->options);
        add_word(&lines, stored->engine);
        str_add(&lines, " --replay ");
        add_word(&lines, stored->recipe);
    }
    str_add(out, "<h4>To reproduce</h4>\n<pre>");
    markup_escape(out, lines.data);
    str_add(out, "</pre>\n");
    str_release(&lines);
}

static void add_report(struct str *out, const struct campaign_page *page, const struct stored *stored)
{
    struct str report;
    str_init(&report);
    read_file(page, stored, "report.md", &report);
    if (report.length) {
        str_add(out, "<details><summary>Report for the engine's maintainers</summary>\n<pre>");
        markup_escape(out, report.data);
        str_add(out, "</pre></details>\n");
    }
    str_release(&report);
}

static int add_verdict(void *context, const char *engine, const char *verdict, struct error *err)
{
    struct str *list = context;
    (void)err;
    str_printf(list, "%s%s: %s", list->length ? ", " : "", engine, verdict);
    return 0;
}

static void add_class(struct str *out, const char *word)
{
    struct str text;
    enum finding_class class;
    str_init(&text);
    str_add(&text, word);
    if (finding_class_parse(word, &class))
        str_printf(&text, ": %s", finding_class_row(class)->sentence);
    page_add_fact(out, "class", text.data);
    str_release(&text);
}

static void add_seen(struct str *out, const struct finding_cause *cause)
{
    char first[CLOCK_DATE_SIZE];
    struct str text;
    str_init(&text);
    add_count(&text, cause->seen > 0 ? (size_t)cause->seen : 0, "time", "times");
    str_add(&text, " in ");
    add_count(&text, cause->count, "form", "forms");
    str_printf(&text, ", first %s", clock_date(cause->first->stored.first_seen, first));
    page_add_fact(out, "seen", text.data);
    str_release(&text);
}

static int add_facts(struct str *out, const struct campaign_page *page, const struct finding_cause *cause,
                     struct error *err)
{
    const struct stored *lead = &cause->lead->stored;
    struct str text;
    str_init(&text);
    str_add(out, "<dl>\n");
    page_add_fact(out, "finding", lead->name);
    str_printf(&text, "%s%s%s%s", lead->engine, *lead->version ? " (" : "", lead->version,
               *lead->version ? ")" : "");
    page_add_fact(out, "engine", text.data);
    add_class(out, lead->class);
    page_add_fact(out, "operators", lead->operators);
    page_add_fact(out, "cause", cause->key);
    add_seen(out, cause);
    page_add_fact(out, "status", lead->status);
    str_clear(&text);
    int status = store_history_list(page->store, lead->signature, add_verdict, &text, err);
    if (text.length)
        page_add_fact(out, "elsewhere", text.data);
    str_add(out, "</dl>\n");
    str_release(&text);
    return status;
}

static void add_variants(struct str *out, const struct finding_cause *cause)
{
    size_t said = 0;
    if (cause->count < 2)
        return;
    str_add(out, "<details><summary>");
    add_count(out, cause->count - 1, "other form of it", "other forms of it");
    str_add(out, "</summary>\n<ul>\n");
    for (const struct cause_variant *one = cause->first; one && said < MOST_VARIANTS; one = one->next) {
        if (one == cause->lead)
            continue;
        said++;
        str_add(out, "<li>");
        markup_escape(out, one->stored.name);
        str_add(out, ": ");
        markup_escape(out, one->stored.title);
        str_add(out, " (");
        markup_escape(out, one->stored.engine);
        str_add(out, ")\n");
    }
    if (said + 1 < cause->count)
        str_printf(out, "<li>and %zu more\n", cause->count - 1 - said);
    str_add(out, "</ul></details>\n");
}

static int add_article(struct str *out, const struct campaign_page *page, const struct finding_cause *cause,
                       size_t number, struct error *err)
{
    const struct stored *lead = &cause->lead->stored;
    str_printf(out, "<article class=\"cause\" id=\"cause-%zu\">\n<h3>%zu. ", number, number);
    markup_escape(out, lead->title);
    str_add(out, "</h3>\n");
    if (add_facts(out, page, cause, err))
        return -1;
    str_add(out, "<div class=\"case\">\n");
    add_model(out, page, lead);
    add_map(out, page, lead);
    str_add(out, "</div>\n");
    add_commands(out, page, lead);
    add_report(out, page, lead);
    add_variants(out, cause);
    str_add(out, "</article>\n");
    return 0;
}

static int add_news(struct str *out, const struct campaign_page *page, const struct order *order,
                    struct error *err)
{
    const struct finding_cause **sorted = order->sorted;
    size_t news = order->news, shown = news < MOST_CAUSES ? news : MOST_CAUSES;
    str_add(out, "<main>\n<section id=\"causes\">\n<h2>Causes that are not known</h2>\n");
    if (!news)
        str_add(out, "<p class=\"none\">There is none.</p>\n");
    else
        add_table_head(out, "what");
    for (size_t i = 0; i < news; i++)
        add_row(out, sorted[i], sorted[i]->lead->stored.title, i < shown ? i + 1 : 0);
    str_add(out, news ? "</table>\n</section>\n" : "</section>\n");
    for (size_t i = 0; i < shown; i++)
        if (add_article(out, page, sorted[i], i + 1, err))
            return -1;
    return 0;
}

/* Causes that are folded away, as rows: the issue, if any, and what it does here. */
static void add_folded(struct str *out, const struct finding_cause **sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct stored *lead = &sorted[i]->lead->stored;
        struct str what;
        str_init(&what);
        if (is_known(sorted[i]))
            str_printf(&what, "%s: ", lead->detail);
        str_add(&what, lead->title);
        add_row(out, sorted[i], what.data, 0);
        str_release(&what);
    }
    str_add(out, "</table>\n</details>\n</section>\n");
}

static void add_known(struct str *out, const struct order *order)
{
    str_add(out, "<section id=\"known\">\n<details><summary><b>");
    add_count(out, order->counted - order->news, "cause that is known", "causes that are known");
    str_add(out, "</b></summary>\n");
    add_table_head(out, "issue, and what it does here");
    add_folded(out, order->sorted + order->news, order->counted - order->news);
}

static void add_apart(struct str *out, const struct order *order)
{
    size_t apart = order->count - order->counted;
    if (!apart)
        return;
    str_add(out, "<section id=\"apart\">\n<details><summary><b>");
    add_count(out, apart, "cause", "causes");
    str_add(out, "</b> listed apart, no findings</summary>\n");
    add_table_head(out, "what");
    add_folded(out, order->sorted + order->counted, apart);
}

/* --- Operators by engines --- */

struct names {
    size_t count, capacity;
    struct name {
        char *text;
        size_t causes, known;
    } * items;
};

static void names_add(struct names *names, const char *text, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i].text) == length && memcmp(names->items[i].text, text, length) == 0)
            return;
    names->items = memory_grow(names->items, &names->capacity, names->count + 1, sizeof *names->items);
    struct name *name = &names->items[names->count++];
    *name = (struct name){.text = memory_zeroed(length + 1, 1)};
    memcpy(name->text, text, length);
}

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i].text);
    free(names->items);
}

/* Those with the most causes that are not known first. */
static int compare_names(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    size_t one = x->causes - x->known, other = y->causes - y->known;
    if (one != other)
        return one > other ? -1 : 1;
    return x->causes != y->causes ? (x->causes > y->causes ? -1 : 1) : strcmp(x->text, y->text);
}

/* Whether "A+B" has the operator. */
static bool has_operator(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, "+"), at += *at == '+')
        if (strcspn(at, "+") == length && memcmp(at, name, length) == 0)
            return true;
    return false;
}

/* Causes that show on the engine and with the operator (NULL: any); how many of them are known. What is
 * listed apart is not counted. */
static size_t count_causes(const struct finding_causes *causes, const char *op, const char *engine,
                           size_t *known)
{
    size_t count = 0;
    *known = 0;
    for (size_t i = 0; i < causes->count; i++) {
        const struct cause_variant *one = cause_is_apart(&causes->items[i]) ? NULL : causes->items[i].first;
        while (one && !((!op || has_operator(one->stored.operators, op)) &&
                        (!engine || text_equal(one->stored.engine, engine))))
            one = one->next;
        count += one != NULL;
        *known += one && is_known(&causes->items[i]);
    }
    return count;
}

static void collect(const struct finding_causes *causes, struct names *ops, struct names *engines)
{
    for (size_t i = 0; i < causes->count; i++)
        for (const struct cause_variant *one = causes->items[i].first; one; one = one->next) {
            names_add(engines, one->stored.engine, strlen(one->stored.engine));
            for (const char *at = one->stored.operators; *at; at += *at == '+') {
                size_t length = strcspn(at, "+");
                names_add(ops, at, length);
                at += length;
            }
        }
    for (size_t i = 0; i < ops->count; i++)
        ops->items[i].causes = count_causes(causes, ops->items[i].text, NULL, &ops->items[i].known);
    for (size_t i = 0; i < engines->count; i++)
        engines->items[i].causes =
            count_causes(causes, NULL, engines->items[i].text, &engines->items[i].known);
    if (ops->count)
        qsort(ops->items, ops->count, sizeof *ops->items, compare_names);
    if (engines->count)
        qsort(engines->items, engines->count, sizeof *engines->items, compare_names);
}

static void add_matrix_row(struct str *out, const struct finding_causes *causes, const char *op,
                           const struct names *engines)
{
    str_add(out, "<tr>");
    add_cell(out, "w", op);
    for (size_t i = 0; i < engines->count && i < MOST_ENGINES; i++) {
        size_t known, all = count_causes(causes, op, engines->items[i].text, &known), news = all - known;
        str_printf(out, "<td class=\"n%s\">", news ? " hot" : "");
        if (news)
            str_printf(out, "<b>%zu</b>", news);
        if (known)
            str_printf(out, "%s<span class=\"soft\">%zu known</span>", news ? " + " : "", known);
        str_add(out, "</td>");
    }
    str_add(out, "</tr>\n");
}

static void add_matrix(struct str *out, const struct finding_causes *causes)
{
    struct names ops = {0}, engines = {0};
    collect(causes, &ops, &engines);
    str_add(out, "<section id=\"operators\">\n<h2>Causes by operator and engine</h2>\n");
    if (!ops.count)
        str_add(out, "<p class=\"none\">Nothing was found.</p>\n");
    else
        str_add(out, "<table class=\"matrix\">\n<tr><th>operator</th>");
    for (size_t i = 0; i < engines.count && i < MOST_ENGINES && ops.count; i++) {
        str_add(out, "<th class=\"n\">");
        markup_escape(out, engines.items[i].text);
        str_add(out, "</th>");
    }
    str_add(out, ops.count ? "</tr>\n" : "");
    for (size_t i = 0; i < ops.count && i < MOST_OPERATORS; i++)
        add_matrix_row(out, causes, ops.items[i].text, &engines);
    str_add(out, ops.count ? "</table>\n" : "");
    if (ops.count > MOST_OPERATORS)
        str_printf(out, "<p class=\"none\">and %zu operators more</p>\n", ops.count - MOST_OPERATORS);
    if (engines.count > MOST_ENGINES)
        str_printf(out, "<p class=\"none\">and %zu engines more</p>\n", engines.count - MOST_ENGINES);
    str_add(out, "</section>\n");
    names_release(&ops);
    names_release(&engines);
}

/* --- The course --- */

/* A campaign that was resumed ran for less time than passed: then its last causes stand at its end. */
static void count_over_time(struct campaign_view *view, const struct finding_causes *causes)
{
    double begun = view->now - view->elapsed;
    for (size_t k = 0; k < view->n_points; k++) {
        view->points[k].findings = 0;
        for (size_t i = 0; i < causes->count; i++)
            view->points[k].findings +=
                (double)causes->items[i].first->stored.first_seen - begun <= view->points[k].seconds ||
                k + 1 == view->n_points;
    }
}

static void add_course(struct str *out, const struct campaign_page *page)
{
    count_over_time(page->view, page->causes);
    str_add(out, "<section id=\"course\">\n<h2>Course</h2>\n");
    if (!page->view->n_points)
        str_add(out, "<p class=\"none\">The campaign kept no figures of its course.</p>\n");
    str_add(out, "<div id=\"charts\">\n");
    if (page->view->n_points)
        campaign_charts(out, page->view, "Causes");
    str_add(out, "</div>\n</section>\n");
}

int campaign_page_write(struct str *out, const struct campaign_page *page, struct error *err)
{
    struct order order = order_of(page->causes);
    char now[CLOCK_DATE_SIZE];
    add_head(out, page, &order);
    int status = add_news(out, page, &order, err);
    add_matrix(out, page->causes);
    add_course(out, page);
    add_known(out, &order);
    add_apart(out, &order);
    str_add(out, "</main>\n<footer>Written by Assay on ");
    markup_escape(out, clock_date((int64_t)time(NULL), now));
    str_add(out, ". This page loads nothing and runs nothing.</footer>\n");
    free(order.sorted);
    return status;
}
