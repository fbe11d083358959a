#include "findings/known_issues.h"

#include "base/file.h"
#include "base/glob.h"
#include "base/memory.h"
#include "engine/ini.h"
#include "engine/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const stages[] = {"start", "load", "run", "unload", NULL};

/* Words between white space, or other separators, in the arena. */
static const char **split(struct arena *arena, const char *text, const char *separators, size_t *count)
{
    const char **words = arena_array(arena, strlen(text) / 2 + 1, sizeof *words);
    char *save = NULL, *copy = arena_strdup(arena, text);
    *count = 0;
    for (char *word = strtok_r(copy, separators, &save); word; word = strtok_r(NULL, separators, &save)) {
        word += strspn(word, " \t");
        for (size_t end = strlen(word); end && strchr(" \t", word[end - 1]);)
            word[--end] = '\0';
        if (*word)
            words[(*count)++] = word;
    }
    return words;
}

static int index_of(const char *const *names, const char *word)
{
    for (int i = 0; names[i]; i++)
        if (text_equal(names[i], word))
            return i;
    return -1;
}

static int not_one_of(const char *const *names, const char *word, struct error *err)
{
    struct str list;
    str_init(&list);
    for (size_t i = 0; names[i]; i++)
        str_printf(&list, "%s%s", i ? ", " : "", names[i]);
    error_set(err, ERROR_FORMAT, "'%.40s' is not one of %s", word, list.data);
    str_release(&list);
    return -1;
}

/* "3", "3..5", "3.." or "..5". */
static int read_range(const char *text, struct known_range *range, struct error *err)
{
    char part[2][40];
    const char *dots = strstr(text, "..");
    size_t length = dots ? (size_t)(dots - text) : strlen(text);
    *range = (struct known_range){-INFINITY, INFINITY};
    bool fits = length < sizeof part[0] && strlen(dots ? dots + 2 : text) < sizeof part[1];
    if (fits) {
        memcpy(part[0], text, length);
        part[0][length] = '\0';
        strcpy(part[1], dots ? dots + 2 : part[0]);
    }
    if (!fits || !*text || (*part[0] && !text_double(part[0], &range->low)) ||
        (*part[1] && !text_double(part[1], &range->high)) || !(range->low <= range->high))
        return error_set(err, ERROR_FORMAT, "'%.40s' is not a range such as 3, 3..5, 3.. or ..5", text);
    return 0;
}

static int read_element(struct arena *arena, const char *text, struct known_element *element,
                        struct error *err)
{
    size_t count;
    const char **words = split(arena, text, " \t", &count);
    element->asked = true;
    for (size_t i = 0; i < count; i++)
        if (text_equal(words[i], "nan"))
            element->nan = true;
        else if (element->n_ranges == KNOWN_NUMBERS)
            return error_set(err, ERROR_FORMAT, "more than %d ranges", KNOWN_NUMBERS);
        else if (read_range(words[i], &element->ranges[element->n_ranges++], err))
            return -1;
    return count ? 0 : error_set(err, ERROR_FORMAT, "expected nan, inf, -inf, or a range of numbers");
}

static enum known_compare read_compare(const char **text)
{
    static const struct {
        const char *sign;
        enum known_compare compare;
    } signs[] = {{"!=", COMPARE_NOT},  {"<=", COMPARE_UP_TO}, {">=", COMPARE_FROM},
                 {"=", COMPARE_EQUAL}, {"<", COMPARE_LESS},   {">", COMPARE_MORE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (text_starts(*text, signs[i].sign)) {
            *text += strlen(signs[i].sign);
            return signs[i].compare;
        }
    return COMPARE_NONE;
}

/* "mode=linear|cubic", "alpha!=1", "axis<0". */
static int read_attribute_word(struct arena *arena, const char *text, struct known_word *word,
                               struct error *err)
{
    size_t length = strcspn(text, "!<>=");
    const char *rest = text + length;
    *word = (struct known_word){.subject = KNOWN_ATTRIBUTE};
    word->name = arena_printf(arena, "%.*s", (int)length, text);
    word->compare = length ? read_compare(&rest) : COMPARE_NONE;
    word->text = rest;
    bool number = word->compare != COMPARE_EQUAL && word->compare != COMPARE_NOT;
    if (!word->compare || !*rest || (number && !text_double(rest, &word->number)))
        return error_set(err, ERROR_FORMAT,
                         "'%.60s' is not a condition on an attribute such as mode=linear, alpha!=1 or axis<0",
                         text);
    return 0;
}

static bool names_a_type(const char *alternatives)
{
    for (const char *at = alternatives; *at;) {
        size_t length = strcspn(at, "|");
        bool found = false;
        for (int type = 1; type < DTYPE_COUNT && !found; type++)
            found = dtype_name((enum dtype)type) && glob_fits(at, length, dtype_name((enum dtype)type));
        if (!found)
            return false;
        at += length + (at[length] == '|');
    }
    return *alternatives != '\0';
}

/* "nan" or "nan|inf": the bits of the marks; 0 when something else stands there. */
static unsigned marks_of(const char *alternatives)
{
    unsigned marks = 0;
    for (const char *at = alternatives; *at;) {
        size_t length = strcspn(at, "|");
        int mark = 0;
        while (mark < FACT_MARKS &&
               (strlen(fact_mark_names[mark]) != length || strncmp(at, fact_mark_names[mark], length) != 0))
            mark++;
        if (mark == FACT_MARKS)
            return 0;
        marks |= 1U << mark;
        at += length + (at[length] == '|');
    }
    return marks;
}

/* "rank>1", "dim-1=3", "elements=0", "some<0". */
static bool read_measure(const char *text, struct known_word *word)
{
    static const struct {
        const char *name;
        enum known_subject subject;
    } measures[] = {{"rank", KNOWN_RANK},
                    {"elements", KNOWN_ELEMENTS},
                    {"some", KNOWN_SOME},
                    {"magnitude", KNOWN_MAGNITUDE},
                    {"dim", KNOWN_DIM}};
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        if (!text_starts(text, measures[i].name))
            continue;
        char *end = NULL;
        const char *rest = text + strlen(measures[i].name);
        word->subject = measures[i].subject;
        if (word->subject == KNOWN_DIM) {
            word->index = (int)strtol(rest, &end, 10);
            if (end == rest)
                return false;
            rest = end;
        }
        word->compare = read_compare(&rest);
        return word->compare != COMPARE_NONE && text_double(rest, &word->number);
    }
    return false;
}

static int read_value_word(const char *text, struct known_word *word, struct error *err)
{
    *word = (struct known_word){.negated = *text == '!'};
    text += word->negated;
    word->text = text;
    word->mark = marks_of(text);
    if (word->mark) {
        word->subject = KNOWN_MARK;
        return 0;
    }
    if (text_equal(text, "const"))
        word->subject = KNOWN_CONSTANT;
    else if (text_equal(text, "given"))
        word->subject = KNOWN_GIVEN;
    else if (text_equal(text, "empty") || text_equal(text, "scalar")) {
        word->subject = *text == 'e' ? KNOWN_ELEMENTS : KNOWN_RANK;
        word->compare = COMPARE_EQUAL;
    } else if (names_a_type(text))
        word->subject = KNOWN_TYPE;
    else if (!read_measure(text, word))
        return error_set(err, ERROR_FORMAT,
                         "'%.60s' is not a condition on a value; use an element type, const, given, empty, "
                         "scalar, nan, inf, -inf, zero, fraction, lowest, rank=N, elements=N, dimK=N, some<N "
                         "or magnitude>N",
                         text);
    return 0;
}

/* "Cast#2.input.0": operator and number are cut off. */
static int read_operator(struct arena *arena, const char **key, struct known_condition *condition,
                         struct error *err)
{
    const char *dot = strchr(*key, '.');
    if (!dot || !(**key == '*' || (**key >= 'A' && **key <= 'Z')))
        return 0;
    char *op = arena_printf(arena, "%.*s", (int)(dot - *key), *key);
    char *hash = strchr(op, '#');
    long long number = 0;
    if (hash && (!text_int64(hash + 1, &number) || number < 1 || number > 1000))
        return error_set(err, ERROR_FORMAT, "'%.40s' is not an operator and number such as Cast#2", op);
    if (hash)
        *hash = '\0';
    condition->op = op;
    condition->which = (int)number;
    *key = dot + 1;
    return 0;
}

static int read_words(struct arena *arena, const char *text, struct known_condition *condition,
                      struct error *err)
{
    const char **words = split(arena, text, " \t", &condition->n_words);
    condition->words = arena_array(arena, condition->n_words, sizeof *condition->words);
    for (size_t i = 0; i < condition->n_words; i++)
        if (condition->place == KNOWN_NODE ? read_attribute_word(arena, words[i], &condition->words[i], err)
                                           : read_value_word(words[i], &condition->words[i], err))
            return -1;
    return condition->n_words ? 0 : error_set(err, ERROR_FORMAT, "an empty condition");
}

/* What a key behind the operator asks about; false when it is no such key. */
static bool read_place(const char *key, struct known_condition *condition)
{
    long long index = -1;
    const char *dot = strchr(key, '.');
    if (dot && (!text_int64(dot + 1, &index) || index < 0 || index > 1000))
        return false;
    size_t length = dot ? (size_t)(dot - key) : strlen(key);
    condition->index = (int)index;
    if (length == 5 && !strncmp(key, "input", 5))
        condition->place = KNOWN_INPUT;
    else if (length == 6 && !strncmp(key, "output", 6))
        condition->place = KNOWN_OUTPUT;
    else if (text_equal(key, "attribute"))
        condition->place = KNOWN_NODE;
    else if (text_equal(key, "inputs"))
        condition->place = KNOWN_INPUT_COUNT;
    else if (text_equal(key, "shapes"))
        condition->place = KNOWN_SHAPES;
    else if (text_equal(key, "ranks"))
        condition->place = KNOWN_RANKS;
    else
        return false;
    return true;
}

/* 1: it is a condition on a node; 0: another key; -1. */
static int add_condition(struct arena *arena, struct known_issue *issue, const char *key, const char *value,
                         struct error *err)
{
    enum { MOST = 40 };
    struct known_condition condition = {0};
    if (read_operator(arena, &key, &condition, err))
        return -1;
    if (!read_place(key, &condition))
        return 0;
    bool differ = condition.place == KNOWN_SHAPES || condition.place == KNOWN_RANKS;
    int status = 0;
    condition.same = text_equal(value, "same");
    if (differ && !condition.same && !text_equal(value, "differ"))
        status = error_set(err, ERROR_FORMAT, "%s must be 'same' or 'differ'", key);
    else if (condition.place == KNOWN_INPUT_COUNT)
        status = read_range(value, &condition.count, err);
    else if (!differ)
        status = read_words(arena, value, &condition, err);
    if (status)
        return -1;
    if (!issue->conditions)
        issue->conditions = arena_array(arena, MOST, sizeof *issue->conditions);
    if (issue->n_conditions == MOST)
        return error_set(err, ERROR_FORMAT, "more than %d conditions", MOST);
    issue->conditions[issue->n_conditions++] = condition;
    return 1;
}

static bool is_finding(enum symptom symptom)
{
    return verdict_is_finding(symptom_verdict(symptom));
}

static int no_symptom(const char *word, struct error *err)
{
    struct str list;
    str_init(&list);
    for (int i = 0; i < SYMPTOM_COUNT; i++)
        if (is_finding((enum symptom)i))
            str_printf(&list, "%s%s", list.length ? ", " : "", symptom_word((enum symptom)i));
    error_set(err, ERROR_FORMAT, "'%.40s' is not a symptom; there are %s", word, list.data);
    str_release(&list);
    return -1;
}

static int read_symptoms(struct arena *arena, struct known_issue *issue, const char *value, struct error *err)
{
    size_t count;
    const char **words = split(arena, value, " \t", &count);
    _Static_assert(SYMPTOM_COUNT <= 32, "a symptom is a bit");
    for (size_t i = 0; i < count; i++) {
        enum symptom symptom;
        if (!symptom_parse(words[i], strlen(words[i]), &symptom) || !is_finding(symptom))
            return no_symptom(words[i], err);
        issue->symptoms |= UINT32_C(1) << symptom;
        unsigned apart = symptom == SYMPTOM_REFUSED    ? CLASS_LIMITED
                         : symptom == SYMPTOM_NAN_LOST ? CLASS_UNSAID
                                                       : 0;
        for (int k = 0; k < SYMPTOM_COUNT; k++) /* and the same where it is listed apart */
            if (verdict_is(symptom_verdict((enum symptom)k), apart))
                issue->symptoms |= UINT32_C(1) << k;
    }
    return 0;
}

static int read_asked(struct arena *arena, struct known_issue *issue, const char *value, struct error *err)
{
    static const char *const words[] = {"outputs", "gradients", NULL}; /* in the order of their bits */
    size_t count;
    const char **said = split(arena, value, " \t", &count);
    for (size_t i = 0; i < count; i++) {
        int word = index_of(words, said[i]);
        if (word < 0)
            return not_one_of(words, said[i], err);
        issue->asked |= 1U << word;
    }
    return count ? 0 : error_set(err, ERROR_FORMAT, "expected outputs, gradients or both");
}

static int read_stages(struct arena *arena, struct known_issue *issue, const char *value, struct error *err)
{
    issue->stages = split(arena, value, " \t", &issue->n_stages);
    for (size_t i = 0; i < issue->n_stages; i++)
        if (index_of(stages, issue->stages[i]) < 0)
            return not_one_of(stages, issue->stages[i], err);
    return 0;
}

static int read_message(struct arena *arena, struct known_issue *issue, const char *value, struct error *err)
{
    issue->messages = split(arena, value, "|", &issue->n_messages);
    for (size_t i = 0; i < issue->n_messages; i++)
        if (strspn(issue->messages[i], "* ") == strlen(issue->messages[i]))
            return error_set(err, ERROR_FORMAT,
                             "every message matches that: quote some words of the engine's message");
    return issue->n_messages ? 0 : error_set(err, ERROR_FORMAT, "an empty message");
}

static int read_version(struct arena *arena, const char **where, const char *value, struct error *err)
{
    *where = arena_strdup(arena, value);
    return value[strcspn(value, "0123456789")]
               ? 0
               : error_set(err, ERROR_FORMAT, "'%.40s' is not a release", value);
}

static int read_signal(struct known_issue *issue, const char *value, struct error *err)
{
    long long number;
    if (!text_int64(value, &number) || number < 1 || number > 64)
        return error_set(err, ERROR_FORMAT, "'%.40s' is not the number of a signal", value);
    issue->signal = (int)number;
    return 0;
}

/* A word that is longer than what is compared would never match, without anybody noticing. */
static int check_groups(const struct known_issue *issue, struct error *err)
{
    for (size_t i = 0; i < issue->n_groups; i++) {
        size_t words = 0;
        for (const char *at = issue->groups[i] + strspn(issue->groups[i], " \t"); *at;
             at += strspn(at, " \t")) {
            size_t length = strcspn(at, " \t");
            if (++words > KNOWN_GROUP_WORDS || length >= KNOWN_WORD_SIZE)
                return error_set(err, ERROR_FORMAT,
                                 "operators are at most %d in a group, each named in fewer than %d letters, "
                                 "alternatives included; write more groups, with commas",
                                 KNOWN_GROUP_WORDS, KNOWN_WORD_SIZE);
            at += length;
        }
    }
    return 0;
}

static int read_key(struct known_issues *known, struct known_issue *issue, const char *key, const char *value,
                    struct error *err)
{
    struct arena *arena = &known->arena;
    const struct {
        const char *key, **text;
    } texts[] = {{"engine", &issue->engine},         {"cause", &issue->cause}, {"case", &issue->document},
                 {"same-cause", &issue->same_cause}, {"crash", &issue->crash}, {"witness", &issue->witness}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (text_equal(key, texts[i].key)) {
            *texts[i].text = arena_strdup(arena, value);
            return 0;
        }
    if (text_equal(key, "finding")) {
        issue->names = split(arena, value, " \t", &issue->n_names);
        return issue->n_names ? 0 : error_set(err, ERROR_FORMAT, "no names");
    }
    if (text_equal(key, "parameter")) {
        issue->parameters = split(arena, value, " \t", &issue->n_parameters);
        return 0;
    }
    if (text_equal(key, "place")) {
        issue->places = split(arena, value, " \t", &issue->n_places);
        return 0;
    }
    if (text_equal(key, "from"))
        return read_version(arena, &issue->from, value, err);
    if (text_equal(key, "until"))
        return read_version(arena, &issue->until, value, err);
    if (text_equal(key, "symptom"))
        return read_symptoms(arena, issue, value, err);
    if (text_equal(key, "asked"))
        return read_asked(arena, issue, value, err);
    if (text_equal(key, "stage"))
        return read_stages(arena, issue, value, err);
    if (text_equal(key, "signal"))
        return read_signal(issue, value, err);
    if (text_equal(key, "message"))
        return read_message(arena, issue, value, err);
    if (text_equal(key, "opset"))
        return read_range(value, &issue->opset, err);
    if (text_equal(key, "factor"))
        return read_range(value, &issue->factor, err);
    if (text_equal(key, "expected"))
        return read_element(arena, value, &issue->expected, err);
    if (text_equal(key, "got"))
        return read_element(arena, value, &issue->got, err);
    if (text_equal(key, "knobs")) {
        issue->knobs = split(arena, value, " \t", &issue->n_knobs);
        return 0;
    }
    if (text_equal(key, "operators")) {
        issue->groups = split(arena, value, ",", &issue->n_groups);
        return issue->n_groups ? check_groups(issue, err) : error_set(err, ERROR_FORMAT, "no operators");
    }
    int condition = add_condition(arena, issue, key, value, err);
    return condition
               ? condition < 0 ? -1 : 0
               : error_set(err, ERROR_FORMAT,
                           "no key '%.40s'; there are engine, finding, same-cause, crash, parameter, place, "
                           "witness, from, "
                           "until, "
                           "knobs, symptom, asked, stage, signal, operators, opset, factor, expected, got, "
                           "message, cause, case and, with or "
                           "without OPERATOR. before them, attribute, input, output, inputs, shapes, ranks",
                           key);
}

struct reader {
    struct known_issues *known;
    const char *path;
    size_t first; /* of the file's issues */
    enum known_origin origin;
    size_t n_keys, key_capacity;
    char **keys; /* of the section, to refuse one that is given twice */
};

static void forget_keys(struct reader *reader)
{
    for (size_t i = 0; i < reader->n_keys; i++)
        free(reader->keys[i]);
    reader->n_keys = 0;
}

static int begin(struct reader *reader, const char *name, int line, struct error *err)
{
    struct known_issues *known = reader->known;
    forget_keys(reader);
    if (known->count - reader->first == KNOWN_ISSUES)
        return error_set(err, ERROR_LIMIT, "more than %d issues in a file", KNOWN_ISSUES);
    for (size_t i = reader->first; i < known->count; i++)
        if (text_equal(known->items[i].name, name))
            return error_set(err, ERROR_FORMAT, "there is another [%.60s] in line %d", name,
                             known->items[i].line);
    known->items = memory_grow(known->items, &known->capacity, known->count + 1, sizeof *known->items);
    known->items[known->count++] = (struct known_issue){
        .name = arena_strdup(&known->arena, name),
        .file = reader->path,
        .line = line,
        .accepted = reader->origin != KNOWN_INSTALLED,
        .foreign = reader->origin == KNOWN_OF_CAMPAIGN,
        .engine = "",
        .cause = "",
        .document = "",
        .same_cause = "",
        .crash = "",
        .witness = "",
        .from = "",
        .until = "",
        .opset = {-INFINITY, INFINITY},
        .factor = {-INFINITY, INFINITY},
    };
    return 0;
}

static int visit(void *context, const char *section, const char *key, const char *value, int line,
                 struct error *err)
{
    struct reader *reader = context;
    if (!key)
        return begin(reader, section, line, err);
    for (size_t i = 0; i < reader->n_keys; i++)
        if (text_equal(reader->keys[i], key))
            return error_set(err, ERROR_FORMAT, "%s is given twice", key);
    reader->keys = memory_grow(reader->keys, &reader->key_capacity, reader->n_keys + 1, sizeof *reader->keys);
    reader->keys[reader->n_keys++] = memory_strdup(key);
    return read_key(reader->known, &reader->known->items[reader->known->count - 1], key, value, err);
}

static bool is_limited(const struct known_range *range)
{
    return isfinite(range->low) || isfinite(range->high);
}

static bool has_condition(const struct known_issue *issue)
{
    return known_is_of_findings(issue) || issue->n_conditions || issue->n_messages || issue->expected.asked ||
           issue->got.asked || is_limited(&issue->opset) || is_limited(&issue->factor);
}

static int check_whole(const struct known_issue *issue, struct error *err)
{
    const char *missing = !*issue->engine                          ? "engine"
                          : !*issue->cause                         ? "cause"
                          : known_is_of_findings(issue)            ? NULL
                          : !issue->symptoms                       ? "symptom"
                          : !issue->n_groups && !issue->n_messages ? "operators"
                                                                   : NULL;
    if (missing)
        return error_set(err, ERROR_FORMAT, "%s:%d: [%s] has no %s", issue->file, issue->line, issue->name,
                         missing);
    if (!has_condition(issue))
        return error_set(
            err, ERROR_FORMAT,
            "%s:%d: [%s] has no condition beyond its operators: it would hide every other bug of "
            "theirs; say what of attributes, inputs, opset, values or message makes it",
            issue->file, issue->line, issue->name);
    return 0;
}

void known_init(struct known_issues *known)
{
    *known = (struct known_issues){0};
    arena_init(&known->arena);
    known->foreign_seconds = arena_alloc(&known->arena, sizeof *known->foreign_seconds);
}

void known_release(struct known_issues *known)
{
    free(known->items);
    arena_release(&known->arena);
    *known = (struct known_issues){0};
}

int known_read_in(struct known_issues *known, const struct folder *in, const char *name,
                  enum known_origin origin, struct error *err)
{
    char *path = folder_path(in, name);
    struct reader reader = {
        .known = known, .path = arena_strdup(&known->arena, path), .first = known->count, .origin = origin};
    free(path);
    int status = ini_read_in(in, name, visit, &reader, err);
    forget_keys(&reader);
    free(reader.keys);
    for (size_t i = reader.first; i < known->count && !status; i++)
        status = check_whole(&known->items[i], err);
    return status;
}

int known_read(struct known_issues *known, const char *path, enum known_origin origin, struct error *err)
{
    return known_read_in(known, USERS_PATH, path, origin, err);
}

static int read_installed(struct known_issues *known, struct error *err)
{
    char **names, *folder = paths_known();
    size_t count;
    int status = file_list(folder, &names, &count, err);
    if (status) {
        free(folder);
        return -1;
    }
    for (size_t i = 0; !status && i < count; i++) {
        char *path = file_join(folder, names[i]);
        if (text_ends(names[i], ".ini"))
            status = known_read(known, path, KNOWN_INSTALLED, err);
        free(path);
    }
    file_names_free(names, count);
    free(folder);
    return status;
}

/* A campaign need not have a list of its own. */
static int read_campaign(struct known_issues *known, const char *path, struct error *err)
{
    struct folder folder;
    if (!file_is_folder(path)) /* it is made later */
        return 0;
    int status = folder_open(&folder, USERS_PATH, path, err);
    if (!status && folder_has(&folder, KNOWN_FILE))
        status = known_read_in(known, &folder, KNOWN_FILE, KNOWN_OF_CAMPAIGN, err);
    folder_close(&folder);
    return status;
}

int known_open(struct known_issues *known, const struct known_files *files, struct error *err)
{
    known_init(known);
    if (files->named && known_read(known, files->named, KNOWN_OF_USER, err))
        return -1;
    if (files->folder && read_campaign(known, files->folder, err))
        return -1;
    return files->none_installed ? 0 : read_installed(known, err);
}

const char *known_document(const struct known_issue *issue)
{
    return *issue->document ? issue->document : issue->name;
}

static const char *const witness_words[WITNESS_STATES] = {
    [WITNESS_UNTRIED] = "untried", [WITNESS_FAILS] = "fails",           [WITNESS_OTHERWISE] = "otherwise",
    [WITNESS_AGREES] = "agrees",   [WITNESS_NOT_JUDGED] = "not judged",
};

const char *witness_state_word(enum witness_state state)
{
    return witness_words[state];
}

bool witness_state_parse(const char *word, enum witness_state *state)
{
    for (int i = 0; i < WITNESS_STATES; i++)
        if (text_equal(witness_words[i], word)) {
            *state = (enum witness_state)i;
            return true;
        }
    return false;
}
