#include "engine/pool.h"

#include "base/file.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A folder with fetched versions and registry files, the user's own kept out. */
static int set_up(void **state)
{
    static const char *const versions[] = {"1.9.0", "1.10.1", "1.10.0", "2.0.0-rc1"};
    char *folder = strdup("/tmp/assay-test-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < 4; i++) {
        struct str path;
        str_init(&path);
        str_printf(&path, "%s/data/lib/%s", folder, versions[i]);
        assert_int_equal(file_make_folders(path.data, NULL), 0);
        str_add(&path, "/libx.so");
        assert_int_equal(file_write(path.data, "x", 1, NULL), 0);
        str_release(&path);
    }
    char *empty = file_join(folder, "data/lib/3.0.0"); /* no library in it: not a version */
    assert_int_equal(file_make_folders(empty, NULL), 0);
    free(empty);
    char *data = file_join(folder, "data");
    setenv("ASSAY_DATA", data, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    unsetenv("ASSAY_ENGINES");
    unsetenv("VIRTUAL_ENV");
    free(data);
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    int result = file_remove_tree(*state, NULL);
    free(*state);
    return result;
}

static int open_with(struct registry **registry, const char *folder, const char *text, struct error *err)
{
    char *path = file_join(folder, "test.ini");
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    int result = registry_open(registry, (const char *[]){path}, 1, err);
    free(path);
    return result;
}

static const char basic[] = "; a comment\n"
                            "[x]\n"
                            "command = \"{libexec}/a b\" --flag {library}   ; behind it\n"
                            "library = {data}/lib/{version}/libx.so\n"
                            "fetch = tools/fetch-x\n"
                            "environment.THREADS = 1\n"
                            "knob-environment.isa = X_ISA\n"
                            "memory = 512M\n"
                            "\n"
                            "# another\n"
                            "[plain]\n"
                            "command = run {library} it\n"
                            "launcher = yes\n";

static const char *variable(const struct engine_spec *spec, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; spec->environment[i]; i++)
        if (strncmp(spec->environment[i], name, length) == 0 && spec->environment[i][length] == '=')
            return spec->environment[i] + length + 1;
    return NULL;
}

static void names_become_commands(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, basic, &err), 0);
    assert_int_equal(
        registry_find(registry,
                      given_typed(registry_arena(registry), "x@1.10.0:opt=none,passes=A;B,C,isa=sse41"),
                      &spec, &err),
        0);
    assert_string_equal(spec->label, "x@1.10.0:opt=none,passes=A;B,C,isa=sse41");
    assert_string_equal(spec->name, "x");
    assert_string_equal(spec->version, "1.10.0");
    assert_true(text_ends(spec->argv[0], "/a b"));
    assert_string_equal(spec->argv[1], "--flag");
    assert_true(text_ends(spec->argv[2], "/data/lib/1.10.0/libx.so"));
    assert_null(spec->argv[3]);
    assert_string_equal(variable(spec, "ASSAY_LIBRARY"), spec->argv[2]);
    assert_string_equal(variable(spec, "THREADS"), "1");
    assert_string_equal(variable(spec, "X_ISA"), "sse41");
    assert_int_equal(spec->knobs, 2);
    assert_string_equal(spec->knob_names[1], "passes");
    assert_string_equal(spec->knob_values[1], "A;B,C");
    assert_int_equal(spec->memory, (size_t)512 << 20);
    assert_false(spec->launcher);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "plain"), &spec, &err), 0);
    assert_string_equal(spec->argv[0], "run");
    assert_string_equal(spec->argv[1], "it"); /* without a library its place is left out */
    assert_null(spec->version);
    assert_null(variable(spec, "ASSAY_LIBRARY"));
    assert_true(spec->launcher);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "identity"), &spec, &err),
                     0); /* comes with the build */
    assert_true(file_exists(spec->argv[0]));
    registry_free(registry);
}

static void a_plain_name_is_the_newest(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, basic, &err), 0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x"), &spec, &err), 0);
    assert_string_equal(spec->version, "2.0.0-rc1");
    setenv("ASSAY_LIBRARY_X", "/some/libx.so", 1);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x"), &spec, &err), 0);
    assert_string_equal(variable(spec, "ASSAY_LIBRARY"), "/some/libx.so");
    assert_null(spec->version);
    unsetenv("ASSAY_LIBRARY_X");
    registry_free(registry);
}

static int collect(void *context, const char *name, const char *version, const char *path)
{
    if (text_equal(name, "x"))
        str_printf(context, "%s%s;", version, strstr(path, "libx.so") ? "" : "?");
    if (text_equal(name, "plain"))
        str_printf(context, "plain%s;", version || path ? "?" : "");
    return 0;
}

/* It comes among the others, and is what the plain name means, though others are newer. */
static void a_python_environment_has_one(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    struct str text;
    char *packages = file_join(*state, "venv/lib/python3.11/site-packages/px");
    char *library = file_join(packages, "libx.so.1.9.5"), *environment = file_join(*state, "venv");
    assert_int_equal(file_make_folders(packages, NULL), 0);
    assert_int_equal(file_write(library, "x", 1, NULL), 0);
    str_init(&text);
    str_add(&text, basic);
    str_add(&text, "[x]\ncommand = run\nlibrary = {data}/lib/{version}/libx.so\n"
                   "package = px/libx.so.{version}\n");
    assert_int_equal(open_with(&registry, *state, text.data, &err), 0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x"), &spec, &err), 0);
    assert_string_equal(spec->version, "2.0.0-rc1"); /* no environment */
    registry_free(registry);

    setenv("VIRTUAL_ENV", environment, 1);
    assert_int_equal(open_with(&registry, *state, text.data, &err), 0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x"), &spec, &err), 0);
    assert_string_equal(spec->version, "1.9.5");
    assert_string_equal(variable(spec, "ASSAY_LIBRARY"), library);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x@1.10.0"), &spec, &err),
                     0);
    assert_true(text_ends(variable(spec, "ASSAY_LIBRARY"), "/data/lib/1.10.0/libx.so"));
    str_clear(&text);
    assert_int_equal(registry_each(registry, collect, &text), 0);
    assert_string_equal(text.data, "1.9.0;1.9.5;1.10.0;1.10.1;2.0.0-rc1;plain;");
    registry_free(registry);
    unsetenv("VIRTUAL_ENV");
    str_release(&text);
    free(environment);
    free(library);
    free(packages);
}

static const char several[] = "[z]\n"
                              "command = run it\n"
                              "versions = {data}/lib/{version}/libx.so\n"
                              "fetch = tools/fetch-z\n";

/* Versions that are programs of their own, beside a command that stays what the plain name means. */
static void a_version_may_be_a_program(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, several, &err), 0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "z"), &spec, &err), 0);
    assert_string_equal(spec->argv[0], "run");
    assert_null(spec->version);
    assert_int_equal(
        registry_find(registry, given_typed(registry_arena(registry), "z@1.10.0:a=b"), &spec, &err), 0);
    assert_true(text_ends(spec->argv[0], "/data/lib/1.10.0/libx.so"));
    assert_null(spec->argv[1]);
    assert_string_equal(spec->version, "1.10.0");
    assert_null(variable(spec, "ASSAY_LIBRARY"));
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "z@9"), &spec, &err), -1);
    assert_non_null(strstr(err.message, "plain z is this system's, 'tools/fetch-z' fetches others"));
    registry_free(registry);
}

static void versions_come_in_order(void **state)
{
    struct registry *registry;
    struct error err;
    struct str seen;
    str_init(&seen);
    assert_int_equal(open_with(&registry, *state, basic, &err), 0);
    assert_int_equal(registry_each(registry, collect, &seen), 0);
    assert_string_equal(seen.data, "1.9.0;1.10.0;1.10.1;2.0.0-rc1;plain;");
    str_release(&seen);
    registry_free(registry);
}

static void what_is_missing_is_said(void **state)
{
    static const struct {
        const char *label, *says, *says_too;
    } cases[] = {
        {"y", "no engine 'y'", "identity"},
        {"x@9", "no version '9' of x; get it with 'tools/fetch-x 9'", "1.10.1"},
        {"plain@1", "no version '1' of plain, which has none to choose from", "plain"},
    };
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, basic, &err), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            registry_find(registry, given_typed(registry_arena(registry), cases[i].label), &spec, &err), -1);
        assert_int_equal(err.code, ERROR_NOT_FOUND);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_non_null(strstr(err.message, cases[i].says_too));
    }
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x:opt"), &spec, &err),
                     -1);
    assert_int_equal(err.code, ERROR_USAGE);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "x:=1"), &spec, &err), -1);
    registry_free(registry);
}

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"command = a\n", "test.ini:1: a key before"},
        {"[x]\nnonsense\n", "test.ini:2: the line is neither"},
        {"[x\ncommand = a\n", "test.ini:1: a section"},
        {"[x]\ncolour = red\n", "test.ini:2: no key 'colour'"},
        {"[x]\nmemory = much\n", "memory must read"},
        {"[x]\nmemory = 99999999999T\n", "memory must read"},
        {"[x]\nlauncher = perhaps\n", "yes or no"},
        {"[x]\nmemory = 1G\n", "engine x has no command"},
        {"[a@b]\ncommand = a\n", "cannot hold"},
        {"[x]\nlike = y\n", "test.ini:2: like = y: no earlier section"},
        {"[x]\nlike = x\n", "no earlier section"},
        {"[x]\nknob.opt = paint red|blue\n",
         "test.ini:2: knob.opt must be 'file', or kernels, graph or schedule"},
        {"[x]\nmessage.colour = red\n", "test.ini:2: no key 'message.colour'"},
        {"[x]\nmessage.operator. = red\n", "no key"},
        {"[x]\nmessage.around = Status: \n", "test.ini:2: the pattern 'Status:': it must end in {rest}"},
        {"[x]\nmessage.around = {rest}\n", "it must begin with text"},
        {"[x]\nmessage.around = a{rest}b\n", "it must end in"},
        {"[x]\nmessage.around = a{}{}b{rest}\n", "text must follow"},
        {"[x]\nmessage.around = a{}{rest}\n", "text must follow"},
        {"[x]\nmessage.around = a{where}{rest}\n", "there are {}, "},
        {"[x]\nmessage.around = a{\n", "there are {}, "},
        {"[x]\nmessage.reason = a{name}{rest}\n", "it must end in"},
        {"[x]\nmessage.name = Node ({name}\n", "what closes the name"},
        {"[x]\nmessage.name = {name})\n", "what closes the name"},
        {"[x]\nmessage.operator = Op {operator}{rest}\n", "one {operator}"},
        {"[x]\nmessage.no-kernel = ^Op {operator}\n", "one {operator}"},
        {"[x]\nmessage.operator.Cast = \n", "it must be text"},
        {"[x]\ntransform = t {in} {out}\n", "comes with then = ENGINE"},
        {"[x]\ntransform = t {in}\nthen = identity\n", "transform needs {in} and {out}"},
        {"[x]\ntransform = t {in} {out}\nthen = identity\ncommand = c\n", "without a command"},
        {"[x]\ntransform = t {in} {out}\nthen = nobody\n", "then = nobody: there is no such engine"},
        {"[x]\ntransform = t {in} {out}\nthen = x\n", "there is no such engine"},
        {"[x]\ncommand = c\nlacks = nothing\n", "engine x has no transform"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct registry *registry;
        struct error err;
        assert_int_equal(open_with(&registry, *state, cases[i].text, &err), -1);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
    }
}

static void a_later_section_replaces_an_earlier(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(
        open_with(&registry, *state, "[identity]\ncommand = a\nmemory = 1G\n[identity]\ncommand = b\n", &err),
        0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "identity"), &spec, &err),
                     0);
    assert_string_equal(spec->argv[0], "b");
    assert_int_equal(spec->memory, 0);
    registry_free(registry);
}

/* What an engine declares about its messages and settings, its own or another's. */
static void engines_declare_themselves(void **state)
{
    static const struct {
        const char *message, *around, *reason;
    } cuts[] = {
        {"no mark at all", "no mark at all", "no mark at all"},
        {"x Status: a Status: b", "b", "x Status: a Status: b"},
        {"x Status: ", "x Status: ", "x Status: "},
        {"[E] : 1 : FAIL : /src/x.cc:7 bad", "/src/x.cc:7 bad", "[E] : 1 : FAIL : /src/x.cc:7 bad"},
        {"[E] : 1 : FAIL : bad", "[E] : 1 : FAIL : bad", "[E] : 1 : FAIL : bad"},
        {"/a b) c) d", "/a b) c) d", "d"},
        {"a b) c) d", "a b) c) d", "a b) c) d"},
        {"", "", ""},
    };
    struct registry *registry;
    const struct engine_spec *spec;
    const char *name;
    struct error err;
    assert_int_equal(open_with(&registry, *state,
                               "[x]\ncommand = a\nsignature-without = opt\tthreads\nfloat64 = mode\n"
                               "message.around = Status: {rest}\n"
                               "message.around = [E] : {} : {} : {place}\n"
                               "message.reason = ^/{*}) {rest}\n"
                               "message.name = node ({name})\n"
                               "message.operator = {} Op ({operator})\n"
                               "message.operator.Cast = (Inserted_\n"
                               "made-by-several = Fused\nreads-model = adapter\nconvolves = directly\n"
                               "departs.threads = 1 | one for each core | so that results repeat\n"
                               "[y]\ncommand = b\nlike = x\n",
                               &err),
                     0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "y"), &spec, &err), 0);
    const struct engine_profile *profile = spec->profile;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        assert_string_equal(patterns_cut(profile->around, cuts[i].message), cuts[i].around);
        assert_string_equal(patterns_cut(profile->reason, cuts[i].message), cuts[i].reason);
    }
    assert_true(profile_lists(profile->signature_without, "threads=2", 7));
    assert_false(profile_lists(profile->signature_without, "thread", 6));
    assert_false(profile_lists(NULL, "opt", 3));
    assert_string_equal(profile->float64_knob, "mode");
    assert_true(profile->adapter_reads);
    assert_false(profile->no_onnx);
    assert_true(profile->convolves_directly);
    assert_string_equal(profile->departures->name, "threads");
    assert_string_equal(profile->departures->value, "1");
    assert_string_equal(profile->departures->library, "one for each core");
    assert_string_equal(profile->departures->because, "so that results repeat");
    assert_null(profile->departures->next);
    assert_int_equal(patterns_operator(profile->operators, "Op (A) Op (a.b.Cc) Op () Op (D", &name), 2);
    assert_int_equal(strncmp(name, "Cc)", 3), 0);
    assert_int_equal(patterns_operator(profile->operators, "Op (A)", &name), 0);
    assert_int_equal(patterns_open(profile->names, "in node ("), ')');
    assert_int_equal(patterns_open(profile->names, "node"), 0);
    assert_string_equal(patterns_meaning(profile->inserted, "of (Inserted_3)"), "Cast");
    assert_null(patterns_meaning(profile->inserted, "of (inserted_3)"));
    registry_free(registry);
}

static const char tools[] = "[x]\ncommand = run {library}\nlibrary = {data}/lib/{version}/libx.so\n"
                            "signature-without = opt\nknob-environment.isa = X_ISA\nmemory = 512M\n"
                            "[tool]\nlibrary = {data}/lib/{version}/libx.so\n"
                            "transform = {library} -v \"{in}\" {out}\nthen = x@1.9.0:opt=none,isa=a\n"
                            "lacks = not there|nor here\n";

/* The command is that of engines/transform, with the tool's and the other engine's. */
static void tools_are_engines(void **state)
{
    static const char *const words[] = {"--lacks", "not there", "--lacks", "nor here", NULL, "-v",
                                        "{in}",    "{out}",     "--",      "run",      NULL};
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, tools, &err), 0);
    struct arena *arena = registry_arena(registry);
    assert_int_equal(registry_find(registry, given_typed(arena, "tool@1.10.1:isa=b,more=1"), &spec, &err), 0);
    assert_true(text_ends(spec->argv[0], "/assay-engine-transform"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i])
            assert_string_equal(spec->argv[i + 1], words[i]);
    assert_true(text_ends(spec->argv[5], "/data/lib/1.10.1/libx.so"));
    assert_true(text_ends(spec->argv[11], "/data/lib/1.9.0/libx.so"));
    assert_null(spec->argv[12]);
    assert_string_equal(variable(spec, "ASSAY_LIBRARY"), spec->argv[11]);
    assert_string_equal(variable(spec, "X_ISA"), "b");
    assert_int_equal(spec->knobs, 2);
    assert_string_equal(spec->knob_names[0], "opt");
    assert_string_equal(spec->knob_values[0], "none");
    assert_string_equal(spec->knob_names[1], "more");
    assert_string_equal(spec->profile->like, "x");
    assert_string_equal(spec->profile->signature_without, "opt");
    assert_int_equal(spec->memory, (size_t)512 << 20);
    registry_free(registry);
}

/* Two tools that stand one behind the other in a circle are no engine. */
static void tools_in_a_circle_are_refused(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state,
                               "[a]\ntransform = t {in} {out}\nthen = b\n"
                               "[b]\ntransform = t {in} {out}\nthen = a\n",
                               &err),
                     0);
    assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), "a"), &spec, &err), -1);
    assert_non_null(strstr(err.message, "tools one after the other"));
    registry_free(registry);
}

/* Every engine can be given dirty memory, without a word in its section. */
static void memory_is_perturbed_by_the_environment(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state, "[plain]\ncommand = /bin/true\n", &err), 0);
    assert_int_equal(registry_find(registry,
                                   given_typed(registry_arena(registry), "plain:perturb=170,opt=all"), &spec,
                                   &err),
                     0);
    assert_string_equal(variable(spec, "MALLOC_PERTURB_"), "170");
    assert_int_equal(spec->knobs, 1);
    assert_string_equal(spec->knob_names[0], "opt");
    static const char *const bad[] = {"plain:perturb=0", "plain:perturb=256", "plain:perturb=on"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(registry_find(registry, given_typed(registry_arena(registry), bad[i]), &spec, &err),
                         -1);
        assert_int_equal(err.code, ERROR_USAGE);
    }
    registry_free(registry);
}

/* What settings select, by the kinds that the reference engine itself declares. */
static void settings_are_of_kinds(void **state)
{
    static const struct {
        const char *label, *kernels;
        const char *plain; /* label of the engine that leaves graphs alone; NULL: itself */
    } rows[] = {
        {"reference", "", NULL},
        {"reference:opt=all", "", "reference"},
        {"reference:round=on,opt=all", "round=on", "reference:round=on"},
        {"reference:round=off", "", NULL}, /* the default */
        {"reference:round=on,disturb=on", "disturb=on,round=on", NULL},
        {"reference:disturb=on,round=on,opt=all", "disturb=on,round=on", "reference:round=on,disturb=on"},
        {"hidden:isa=sse41", "isa=sse41", NULL}, /* goes into the environment */
        {"hidden:opt=all,isa=sse41,round=on", "isa=sse41,round=on", "hidden:isa=sse41,round=on"},
        {"reference:perturb=7", "", NULL},
        {"reference:perturb=7,opt=all", "", "reference"}, /* memory is no matter of kernels */
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    assert_int_equal(open_with(&registry, *state,
                               "[hidden]\ncommand = {libexec}/assay-engine-reference\n"
                               "knob-environment.isa = SOME_ISA\n",
                               &err),
                     0);
    struct pool *pool = pool_new(NULL);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(
            registry_find(registry, given_typed(registry_arena(registry), rows[i].label), &spec, &err), 0);
        assert_int_equal(pool_add(pool, spec), (int)i);
    }
    assert_int_equal(pool_plain(pool, 1), -1); /* it has not spoken yet */
    pool_warm(pool);
    for (size_t i = 0; i < COUNT; i++) {
        assert_string_equal(pool_engine(pool, (int)i)->kernels, rows[i].kernels);
        int plain = pool_plain(pool, (int)i);
        assert_string_equal(pool_engine(pool, plain)->label, rows[i].plain ? rows[i].plain : rows[i].label);
        assert_int_equal(pool_plain(pool, (int)i), plain); /* added once */
    }
    assert_true(pool_same_kernels(pool_engine(pool, 0), pool_engine(pool, 1)));
    assert_true(pool_same_kernels(pool_engine(pool, 4), pool_engine(pool, 5)));
    assert_false(pool_same_kernels(pool_engine(pool, 0), pool_engine(pool, 2)));
    assert_false(pool_same_kernels(pool_engine(pool, 0), pool_engine(pool, 6)));
    pool_free(pool);
    registry_free(registry);
}

static int find(struct registry *registry, const struct given_label *label, const char *said)
{
    const struct engine_spec *spec;
    struct error err = {0};
    int status = registry_find(registry, label, &spec, &err);
    if (status && !(said && strstr(err.message, said)))
        fail_msg("'%s' does not say '%s'", err.message, said ? said : "");
    return status;
}

static const char declared[] = "[x]\ncommand = run\nknob.opt = graph none|all\nknob.save = file\n"
                               "knob-environment.isa = X_ISA\n"
                               "[y]\ncommand = run\nlike = x\nknob.isa = kernels avx|avx2\n";

/* Labels that somebody else wrote choose among what the engine's file declares. */
static void foreign_labels_choose_what_is_declared(void **state)
{
    struct registry *registry;
    struct error err;
    static const struct {
        const char *label, *said;
    } rows[] = {
        {"x:opt=none,perturb=170", NULL},
        {"x:opt=some", "bundle/finding.json sets the knob opt of x to 'some', and others than you may choose "
                       "among none|all"},
        {"x:save=/x", "bundle/finding.json sets the knob save of x, which names a file to write"},
        {"x:save=", "names a file to write"},
        {"x:isa=avx",
         "does not say that others than you may; give the whole label yourself with -e, or declare knob.isa"},
        {"x:other=1", "sets the knob other of x"},
        {"x:perturb=256", "perturb takes a number"},
        {"y:opt=all,isa=avx2", NULL},
        {"y:isa=/etc", "to '/etc'"},
        {"y:save=/x", "names a file"},
    };
    assert_int_equal(open_with(&registry, *state, declared, &err), 0);
    struct arena *arena = registry_arena(registry);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            find(registry, given_foreign(arena, rows[i].label, "bundle/finding.json"), rows[i].said),
            rows[i].said ? -1 : 0);
    const struct given_label *typed = given_typed(arena, "x:isa=/etc,other=1");
    assert_int_equal(find(registry, typed, NULL), 0);
    assert_int_equal(find(registry, given_with(arena, typed, "opt=all", "it", &err), NULL), 0);
    assert_int_equal(
        find(registry, given_with(arena, typed, "isa=/root", "it", &err), "it sets the knob isa"), -1);
    registry_free(registry);
}

/* What a knob writes is made anew, and what stayed empty is gone with the registry. */
static void files_that_knobs_name_are_made_anew(void **state)
{
    struct registry *registry;
    const struct engine_spec *spec;
    struct error err;
    char *path = file_join(*state, "saved.onnx"), *link = file_join(*state, "link");
    assert_int_equal(open_with(&registry, *state, declared, &err), 0);
    struct arena *arena = registry_arena(registry);
    const struct given_label *label = given_typed(arena, arena_printf(arena, "x:save=%s", path));
    for (int i = 0; i < 2; i++) { /* another engine of the same command may share it */
        assert_int_equal(
            registry_find(registry, i ? given_with(arena, label, "opt=all", "it", &err) : label, &spec, &err),
            0);
        assert_string_equal(spec->writes[0], path);
        assert_null(spec->writes[1]);
        assert_string_equal(spec->knob_values[0], path);
    }
    assert_true(file_exists(path));
    registry_free(registry);
    assert_false(file_exists(path));
    assert_int_equal(file_write(path, "x", 1, NULL), 0);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_int_equal(open_with(&registry, *state, declared, &err), 0);
    arena = registry_arena(registry);
    assert_int_equal(
        find(registry, given_typed(arena, arena_printf(arena, "x:save=%s", path)), "the knob save"), -1);
    assert_int_equal(find(registry, given_typed(arena, arena_printf(arena, "x:save=%s", link)),
                          "is there already; move it away"),
                     -1);
    assert_int_equal(
        find(registry, given_typed(arena, "x:save=/nowhere/at/all"), "cannot make /nowhere/at/all"), -1);
    assert_int_equal(registry_find(registry, given_typed(arena, "x:save="), &spec, &err), 0);
    assert_null(spec->writes[0]);
    registry_free(registry);
    assert_true(file_exists(path));
    free(link);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_commands),
        cmocka_unit_test(a_plain_name_is_the_newest),
        cmocka_unit_test(a_version_may_be_a_program),
        cmocka_unit_test(versions_come_in_order),
        cmocka_unit_test(a_python_environment_has_one),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(a_later_section_replaces_an_earlier),
        cmocka_unit_test(tools_are_engines),
        cmocka_unit_test(tools_in_a_circle_are_refused),
        cmocka_unit_test(engines_declare_themselves),
        cmocka_unit_test(memory_is_perturbed_by_the_environment),
        cmocka_unit_test(settings_are_of_kinds),
        cmocka_unit_test(foreign_labels_choose_what_is_declared),
        cmocka_unit_test(files_that_knobs_name_are_made_anew),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
