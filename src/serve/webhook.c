#define _GNU_SOURCE /* memfd_create */
#include "serve/webhook.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/wrap.h"
#include "diagnose/known_findings.h"
#include "findings/campaign_view.h"
#include "serve/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ADDRESS_SIZE = 2000, MOST_CAUSES = 50, MOST_TOLD = 1 << 20, TOLD_LINE = 17 };
/* A look takes at most a tenth of the time. A finding that nobody reduces for so many seconds is news as it
 * is. */
static const double LOOK_SECONDS = 5, LOOK_SHARE = 10, FIRST_PAUSE = 2, LONGEST_PAUSE = 300;
static const int64_t REDUCTION_SECONDS = 600;

/* Hashes of a campaign's name and a finding's signature, ascending. */
struct hashes {
    uint64_t *items;
    size_t count, capacity;
};

struct webhook {
    char address[ADDRESS_SIZE];
    char *file, *told_file;
    const char *database;
    struct hashes told, sent; /* what the message under way tells */
    pid_t pid;                /* of curl; 0: nothing is under way */
    double next, pause;       /* when to look again; after the next failure */
    uint64_t trouble;         /* the last one that was said of a campaign, hashed */
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void add_hash(struct hashes *hashes, uint64_t hash)
{
    hashes->items = memory_grow(hashes->items, &hashes->capacity, hashes->count + 1, sizeof *hashes->items);
    hashes->items[hashes->count++] = hash;
}

static bool is_told(const struct webhook *hook, uint64_t hash)
{
    return hook->told.count &&
           bsearch(&hash, hook->told.items, hook->told.count, sizeof *hook->told.items, by_value);
}

static void sort_told(struct webhook *hook)
{
    if (hook->told.count)
        qsort(hook->told.items, hook->told.count, sizeof *hook->told.items, by_value);
}

static int read_told(struct webhook *hook, struct error *err)
{
    char *text;
    size_t size;
    if (!file_exists(hook->told_file))
        return 0;
    if (file_read(hook->told_file, (size_t)MOST_TOLD * TOLD_LINE, &text, &size, err))
        return -1;
    for (const char *at = text; *at; at += TOLD_LINE) {
        char *end;
        uint64_t hash = strtoull(at, &end, 16);
        if (end != at + TOLD_LINE - 1 || *end != '\n') {
            free(text);
            return error_set(err, ERROR_FORMAT,
                             "%s: it is no list of what a webhook told; without it all causes are told again",
                             hook->told_file);
        }
        add_hash(&hook->told, hash);
    }
    free(text);
    sort_told(hook);
    return 0;
}

static int write_told(struct webhook *hook, struct error *err)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < hook->told.count; i++)
        str_printf(&text, "%016" PRIx64 "\n", hook->told.items[i]);
    int status = file_write(hook->told_file, text.data, text.length, err);
    str_release(&text);
    return status;
}

static bool is_address(const char *line)
{
    size_t length = strlen(line);
    for (size_t i = 0; i < length; i++)
        if (line[i] <= ' ' || line[i] > '~' || line[i] == '"' || line[i] == '\\')
            return false;
    return text_starts(line, "http://") || text_starts(line, "https://");
}

static bool has_curl(void)
{
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *at = path ? path : ""; *at && !found; at += *at == ':') {
        size_t length = strcspn(at, ":");
        struct str program;
        str_init(&program);
        str_printf(&program, "%.*s/curl", (int)length, at);
        found = !file_is_folder(program.data) && access(program.data, X_OK) == 0;
        str_release(&program);
        at += length;
    }
    return found;
}

int webhook_open(struct webhook **out, const char *file, const char *database, struct error *err)
{
    struct str told;
    struct webhook *hook = memory_zeroed(1, sizeof *hook);
    str_init(&told);
    str_printf(&told, "%s.told", file);
    hook->file = memory_strdup(file);
    hook->told_file = memory_strdup(told.data);
    hook->database = database;
    hook->pause = FIRST_PAUSE;
    str_release(&told);
    *out = NULL;
    int status = private_file_read(file, hook->address, sizeof hook->address, err);
    if (!status && !is_address(hook->address))
        status = error_set(err, ERROR_FORMAT, "%s: it holds no address that begins with http:// or https://",
                           file);
    if (!status && !has_curl())
        status =
            error_set(err, ERROR_UNSUPPORTED,
                      "a webhook is sent by curl, which is not installed; in Debian it is the package curl");
    if (!status)
        status = read_told(hook, err);
    if (status)
        webhook_close(hook);
    else
        *out = hook;
    return status;
}

void webhook_close(struct webhook *hook)
{
    if (!hook)
        return;
    if (hook->pid) {
        kill(hook->pid, SIGKILL);
        waitpid(hook->pid, NULL, 0);
    }
    free(hook->file);
    free(hook->told_file);
    free(hook->told.items);
    free(hook->sent.items);
    free(hook);
}

/* --- What is new --- */

static uint64_t hash_of(const char *campaign, const struct cause_variant *one)
{
    return hash_combine(hash_text(campaign), hash_text(one->stored.signature));
}

static bool is_news(const struct webhook *hook, const char *campaign, const struct finding_cause *cause)
{
    bool ready = false;
    if (cause_is_apart(cause))
        return false;
    for (const struct cause_variant *one = cause->first; one; one = one->next) {
        if (one->stored.state == STATE_KNOWN || is_told(hook, hash_of(campaign, one)))
            return false;
        ready |= one->stored.state != STATE_NEW || time(NULL) - one->stored.first_seen > REDUCTION_SECONDS;
    }
    return ready;
}

static void add_cause(struct json *json, const struct finding_cause *cause)
{
    const struct stored *lead = &cause->lead->stored;
    json_object(json, NULL);
    json_string(json, "cause", cause->key);
    json_string(json, "name", lead->name);
    json_string(json, "engine", lead->engine);
    json_string(json, "version", lead->version);
    json_string(json, "class", lead->class);
    json_string(json, "title", lead->title);
    json_string(json, "recipe", lead->recipe);
    json_int(json, "nodes", lead->nodes);
    json_int(json, "findings", (int64_t)cause->count);
    json_int(json, "first_seen", lead->first_seen);
    json_end(json);
}

struct news {
    const struct finding_cause *causes[MOST_CAUSES];
    size_t count;
};

static void write_text(struct str *text, const char *campaign, const struct news *news)
{
    str_printf(text, "Assay: %zu new cause%s in the campaign %s", news->count, news->count == 1 ? "" : "s",
               campaign);
    for (size_t i = 0; i < news->count; i++) {
        const struct stored *lead = &news->causes[i]->lead->stored;
        str_printf(text, "%s %s: %s", i ? ";" : ":", lead->engine, lead->title);
    }
}

static void write_message(struct str *message, const char *campaign, const struct news *news)
{
    struct str text;
    struct json json;
    str_init(&text);
    write_text(&text, campaign, news);
    json_init(&json, message, false);
    json_object(&json, NULL);
    json_string(&json, "text", text.data);
    json_string(&json, "campaign", campaign);
    json_array(&json, "causes");
    for (size_t i = 0; i < news->count; i++)
        add_cause(&json, news->causes[i]);
    json_end(&json);
    json_end(&json);
    str_release(&text);
}

/* Writes what is new in a campaign, if anything is. */
static void tell_news(struct webhook *hook, const char *campaign, const struct finding_causes *causes,
                      struct str *message)
{
    struct news news = {.count = 0};
    for (size_t i = 0; i < causes->count && news.count < MOST_CAUSES; i++) {
        if (!is_news(hook, campaign, &causes->items[i]))
            continue;
        news.causes[news.count++] = &causes->items[i];
        for (const struct cause_variant *one = causes->items[i].first; one; one = one->next)
            add_hash(&hook->sent, hash_of(campaign, one));
    }
    if (news.count)
        write_message(message, campaign, &news);
}

struct look {
    struct webhook *hook;
    struct str *message;
    struct error trouble; /* with the first campaign that cannot be read, which does not hide the others */
};

static int read_causes(struct look *look, const char *campaign, struct error *err)
{
    static const struct known_files files = {0};
    static const struct store_filter all = {0};
    struct finding_causes causes;
    struct store *store;
    if (store_open_campaign(&store, look->hook->database, campaign, STORE_READ, err))
        return -1;
    causes_init(&causes);
    int status = known_causes(&causes, store, NULL, &files, &all, err);
    if (!status)
        tell_news(look->hook, campaign, &causes, look->message);
    causes_release(&causes);
    store_close(store);
    return status;
}

static int look_at(void *context, const struct campaign_entry *entry, struct error *err)
{
    struct look *look = context;
    struct error trouble = {0};
    (void)err;
    if (!look->message->length && read_causes(look, entry->name, &trouble) && !look->trouble.code) {
        error_prefix(&trouble, "the campaign '%s'", entry->name);
        look->trouble = trouble;
    }
    return 0;
}

/* --- Sending it --- */

/* A quoted text of curl's configuration. */
static void add_quoted(struct str *out, const char *word, const char *text)
{
    str_printf(out, "%s = \"", word);
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            str_append(out, "\\", 1);
        str_append(out, at, 1);
    }
    str_add(out, "\"\n");
}

/* An open file with curl's configuration, at its beginning. */
static int configure(const struct webhook *hook, const char *message)
{
    struct str text;
    str_init(&text);
    str_add(&text, "silent\nfail\nmax-time = 20\nproto = \"=http,https\"\noutput = \"/dev/null\"\n"
                   "header = \"Content-Type: application/json\"\n");
    add_quoted(&text, "url", hook->address);
    add_quoted(&text, "data-raw", message);
    int file = memfd_create("assay-webhook", MFD_CLOEXEC);
    if (file >= 0 &&
        (write(file, text.data, text.length) != (ssize_t)text.length || lseek(file, 0, SEEK_SET))) {
        close(file);
        file = -1;
    }
    str_release(&text);
    return file;
}

static void start_curl(struct webhook *hook, const char *message)
{
    char *argv[] = {(char[]){"curl"}, (char[]){"--disable"}, (char[]){"--config"}, (char[]){"-"}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int file = configure(hook, message);
    if (file < 0)
        return;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* which we ignore */
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (posix_spawnp(&hook->pid, "curl", &actions, &attributes, argv, environ))
        hook->pid = 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(file);
}

/* It is said once of several failures in a row. */
static void put_off(struct webhook *hook, const char *why)
{
    if (hook->pause <= FIRST_PAUSE)
        wrap_printf(stderr, "assay campaign: the webhook of %s: %s; it is tried again until it works\n",
                    hook->file, why);
    hook->next = clock_seconds() + hook->pause;
    hook->pause = fmin(hook->pause * 2, LONGEST_PAUSE);
}

static void note_told(struct webhook *hook)
{
    struct error err = {0};
    for (size_t i = 0; i < hook->sent.count && hook->told.count < MOST_TOLD; i++)
        add_hash(&hook->told, hook->sent.items[i]);
    sort_told(hook);
    hook->pause = FIRST_PAUSE;
    if (write_told(hook, &err))
        put_off(hook, err.message);
}

static void see_end(struct webhook *hook)
{
    int ended;
    pid_t pid = waitpid(hook->pid, &ended, WNOHANG);
    if (!pid)
        return;
    hook->pid = 0;
    if (pid > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0)
        note_told(hook);
    else
        put_off(hook, "its address did not take a message");
}

/* It is looked at again as often as the others. */
static void say_once(struct webhook *hook, const char *trouble)
{
    uint64_t hash = hash_text(trouble);
    if (hash != hook->trouble)
        wrap_printf(stderr, "assay campaign: the webhook of %s tells nothing of one: %s\n", hook->file,
                    trouble);
    hook->trouble = hash;
}

void webhook_go_on(struct webhook *hook)
{
    double begin = clock_seconds();
    struct str message;
    struct look look = {hook, &message, {0}};
    if (hook->pid)
        see_end(hook);
    if (hook->pid || begin < hook->next)
        return;
    hook->sent.count = 0;
    str_init(&message);
    int status = campaign_visit(hook->database, look_at, &look, &look.trouble);
    if (!status && message.length)
        start_curl(hook, message.data);
    else if (status)
        put_off(hook, look.trouble.message);
    else if (look.trouble.code)
        say_once(hook, look.trouble.message);
    str_release(&message);
    double now = clock_seconds();
    hook->next = fmax(hook->next, now + fmax(LOOK_SECONDS, (now - begin) * LOOK_SHARE));
}
