/*
 * Execution providers: who computes the nodes that it can, before the CPU's own kernels get the rest. Some
 * are built into a library, others come as libraries of their own (plugins).
 */
#include "ort.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_NAMED_PROVIDER_API = 12, OLDEST_DNNL_API = 15, OLDEST_PLUGIN_API = 22 };

/* The library of a plugin, which the engine's file names; NULL: none. */
static const char *plugin_library(void)
{
    const char *path = getenv("ASSAY_PROVIDER_LIBRARY");
    return path && *path ? path : NULL;
}

const char *ort_provider_default(void)
{
    const char *value = getenv("ASSAY_PROVIDER");
    return value && *value ? value : plugin_library() ? "plugin" : "cpu";
}

static int append_cpu(struct adapter_call *call, OrtSessionOptions *options)
{
    (void)call, (void)options; /* it is there in any case */
    return 0;
}

static int append_named(struct adapter_call *call, OrtSessionOptions *options, const char *name,
                        const char *key, const char *value)
{
    const struct ort *ort = call->engine;
    if (ort->minor < OLDEST_NAMED_PROVIDER_API)
        return adapter_fail(call, ADAPTER_FAILED, "releases before 1.%d take no provider by name",
                            (int)OLDEST_NAMED_PROVIDER_API);
    return ort_check(
        call, ORT_STAGE_START,
        ort->api->SessionOptionsAppendExecutionProvider(options, name, &key, &value, key ? 1 : 0));
}

static int append_xnnpack(struct adapter_call *call, OrtSessionOptions *options)
{
    return append_named(call, options, "XNNPACK", "intra_op_num_threads",
                        adapter_knob(call->adapter, "threads"));
}

static int append_webgpu(struct adapter_call *call, OrtSessionOptions *options)
{
    return append_named(call, options, "WebGPU", NULL, NULL);
}

static int append_dnnl(struct adapter_call *call, OrtSessionOptions *options)
{
    const struct ort *ort = call->engine;
    OrtDnnlProviderOptions *own = NULL;
    if (ort->minor < OLDEST_DNNL_API)
        return adapter_fail(call, ADAPTER_FAILED, "provider=dnnl: releases before 1.%d are not tried",
                            (int)OLDEST_DNNL_API);
    if (ort_check(call, ORT_STAGE_START, ort->api->CreateDnnlProviderOptions(&own)) < 0)
        return -1;
    int result =
        ort_check(call, ORT_STAGE_START, ort->api->SessionOptionsAppendExecutionProvider_Dnnl(options, own));
    ort->api->ReleaseDnnlProviderOptions(own);
    return result;
}

#if ORT_API_VERSION >= 22
static bool is_among(const OrtEpDevice *device, const OrtEpDevice *const *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i] == device)
            return true;
    return false;
}

/* The devices that registering brought: those of one provider, as a session wants them. They live as long as
 * the library. */
static int find_new_devices(struct adapter_call *call, const OrtEpDevice *const *before, size_t n_before)
{
    struct ort *ort = call->engine;
    const OrtEpDevice *const *all = NULL;
    size_t count = 0, n = 0;
    if (ort_check(call, ORT_STAGE_START, ort->api->GetEpDevices(ort->env, &all, &count)) < 0)
        return -1;
    const OrtEpDevice **devices = memory_zeroed(count + 1, sizeof *devices);
    for (size_t i = 0; i < count; i++)
        if (!is_among(all[i], before, n_before) &&
            (n == 0 || strcmp(ort->api->EpDevice_EpName(all[i]), ort->api->EpDevice_EpName(devices[0])) == 0))
            devices[n++] = all[i];
    ort->provider.devices = devices;
    ort->provider.n_devices = n;
    return n > 0 ? 0
                 : adapter_fail(call, ADAPTER_FAILED,
                                "the plugin of the engine's file has no device on this machine");
}

static int register_plugin(struct adapter_call *call)
{
    const struct ort *ort = call->engine;
    const OrtEpDevice *const *listed = NULL;
    size_t count = 0;
    if (ort->minor < OLDEST_PLUGIN_API)
        return adapter_fail(call, ADAPTER_FAILED, "provider=plugin: releases before 1.%d know no plugins",
                            (int)OLDEST_PLUGIN_API);
    if (ort_check(call, ORT_STAGE_START, ort->api->GetEpDevices(ort->env, &listed, &count)) < 0)
        return -1;
    const OrtEpDevice **before = memory_zeroed(count + 1, sizeof *before); /* registering changes the list */
    for (size_t i = 0; i < count; i++)
        before[i] = listed[i];
    int result =
        ort_check(call, ORT_STAGE_START,
                  ort->api->RegisterExecutionProviderLibrary(ort->env, "assay-plugin", plugin_library()));
    if (result == 0)
        result = find_new_devices(call, before, count);
    free(before);
    return result;
}

static int append_plugin(struct adapter_call *call, OrtSessionOptions *options)
{
    const struct ort *ort = call->engine;
    if (!plugin_library())
        return adapter_fail(call, ADAPTER_REJECTED,
                            "provider=plugin: the engine's file names no library "
                            "(environment.ASSAY_PROVIDER_LIBRARY = FILE)");
    if (!ort->provider.devices && register_plugin(call) < 0)
        return -1;
    return ort_check(call, ORT_STAGE_START,
                     ort->api->SessionOptionsAppendExecutionProvider_V2(
                         options, ort->env, ort->provider.devices, ort->provider.n_devices, NULL, NULL, 0));
}
#else
static int append_plugin(struct adapter_call *call, OrtSessionOptions *options)
{
    (void)options;
    return adapter_fail(call, ADAPTER_FAILED,
                        "provider=plugin: this adapter was built with the header of ONNX Runtime 1.%d, and "
                        "plugins need that of 1.%d",
                        ORT_API_VERSION, (int)OLDEST_PLUGIN_API);
}
#endif

/* `listed`: its name among those that a library says it was built with; NULL: it comes from elsewhere.
 * `needs`: a library of the system without which it cannot start. */
static const struct provider {
    const char *value, *listed, *needs;
    int (*append)(struct adapter_call *call, OrtSessionOptions *options);
} providers[] = {
    {"cpu", "CPUExecutionProvider", NULL, append_cpu},
    {"xnnpack", "XnnpackExecutionProvider", NULL, append_xnnpack},
    {"dnnl", "DnnlExecutionProvider", NULL, append_dnnl},
    {"webgpu", "WebGpuExecutionProvider", "libvulkan.so.1", append_webgpu},
    {"plugin", NULL, NULL, append_plugin},
};
enum { PROVIDERS = sizeof providers / sizeof *providers };

static bool is_here(const struct provider *provider, char **built_in, int count)
{
    if (!provider->listed)
        return plugin_library();
    bool listed = false;
    for (int i = 0; i < count; i++)
        listed |= strcmp(built_in[i], provider->listed) == 0;
    if (listed && provider->needs) {
        void *needed = dlopen(provider->needs, RTLD_NOW | RTLD_LOCAL);
        listed = needed;
        if (needed)
            dlclose(needed);
    }
    return listed;
}

/* Hello offers what this library has on this machine. */
static int offer_providers(struct adapter_call *call)
{
    const struct ort *ort = call->engine;
    char **built_in = NULL;
    int count = 0;
    if (ort_check(call, ORT_STAGE_START, ort->api->GetAvailableProviders(&built_in, &count)) < 0)
        return -1;
    struct str values;
    str_init(&values);
    for (size_t i = 0; i < PROVIDERS; i++)
        if (is_here(&providers[i], built_in, count))
            str_printf(&values, "%s%s", values.length ? "|" : "", providers[i].value);
    int result = ort_check(call, ORT_STAGE_START, ort->api->ReleaseAvailableProviders(built_in, count));
    for (struct adapter_knob *knob = call->adapter->knobs; knob->name; knob++)
        if (strcmp(knob->name, "provider") == 0)
            knob->values = str_detach(&values); /* as long as the process */
    str_release(&values);
    return result;
}

/* Nodes that the provider does not take are an error then. */
static int set_fallback(struct adapter_call *call)
{
    const struct ort *ort = call->engine;
    int off = adapter_choice(call, "fallback");
    return off <= 0 ? off
                    : ort_check(call, ORT_STAGE_START,
                                ort->api->AddSessionConfigEntry(ort->options,
                                                                "session.disable_cpu_ep_fallback", "1"));
}

int ort_provider_start(struct adapter_call *call)
{
    struct ort *ort = call->engine;
    int chosen = adapter_choice(call, "provider"); /* before the values become fewer */
    if (chosen < 0 || set_fallback(call) < 0 || offer_providers(call) < 0)
        return -1;
    const struct provider *provider = &providers[chosen];
    if (provider->append == append_cpu)
        return 0;
    if (provider->needs && !dlopen(provider->needs, RTLD_NOW | RTLD_LOCAL))
        return adapter_fail(
            call, ADAPTER_FAILED,
            "provider=%s: %s; 'tools/fetch-root trixie webgpu' brings a Vulkan that runs on the "
            "processor, which the engine onnxruntime-webgpu uses",
            provider->value, dlerror());
    ort->provider.chosen = provider;
    if (ort_check(call, ORT_STAGE_START, ort->api->CreateSessionOptions(&ort->provider.kept)) < 0)
        return -1;
    return provider->append(call, ort->provider.kept);
}

int ort_session_create(struct adapter_call *call, const OrtSessionOptions *options, const char *path,
                       const void *data, size_t size, OrtSession **session)
{
    const struct ort *ort = call->engine;
    OrtSessionOptions *own = NULL;
    int result = 0;
    *session = NULL;
    if (ort->provider.chosen) {
        result = ort_check(call, ORT_STAGE_LOAD, ort->api->CloneSessionOptions(options, &own));
        if (result == 0)
            result = ort->provider.chosen->append(call, own);
        options = own;
    }
    if (result == 0)
        result = ort_check(call, ORT_STAGE_LOAD,
                           path ? ort->api->CreateSession(ort->env, path, options, session)
                                : ort->api->CreateSessionFromArray(ort->env, data, size, options, session));
    if (result < 0)
        *session = NULL;
    ort->api->ReleaseSessionOptions(own);
    return result;
}

void ort_provider_stop(struct ort *ort)
{
    ort->api->ReleaseSessionOptions(ort->provider.kept);
    free(ort->provider.devices);
}
