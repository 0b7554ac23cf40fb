/* The plugin as a file: loaded, run and unloaded by a program that is its Slurm (make links this one with
 * -rdynamic). A thread that is still in libslurm when Slurm unloads the plugin must come back to code that is
 * there. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "fake_spank.h"

#ifndef PLUGIN
#define PLUGIN "./adminkit_ckpt.so"
#endif

static char *words[] = {"quiet=0", "state=/tmp/ck-unload"};

static int call(void *plugin, const char *name) {
    spank_f *callback = (spank_f *)(uintptr_t)dlsym(plugin, name);
    return callback ? callback(NULL, 2, words) : -1;
}

static bool mapped(void) {
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        found = found || strstr(line, "adminkit_ckpt.so");
    if (maps)
        fclose(maps);
    return found;
}

static void load_and_unload(uint32_t id, int hangs) {
    void *plugin = dlopen(PLUGIN, RTLD_LAZY);
    if (!plugin) {
        CASE(plugin, "%s", dlerror());
        return;
    }
    fake.options = 0;
    fake.job = id;
    fake.task = getpid();
    fake_job(id)->end = time(NULL) + 3600;
    fake_job(id)->hangs = hangs;
    CASE(call(plugin, "slurm_spank_init") == 0, "init");
    CASE(call(plugin, "slurm_spank_task_post_fork") == 0, "post_fork");
    usleep(300000);
    if (hangs) /* make install, meanwhile */
        CASE(system("cp '" PLUGIN "' '" PLUGIN ".new' && mv '" PLUGIN ".new' '" PLUGIN "'") == 0, "replaced");
    fake_lock();
    CASE(fake_job(id)->questions == 1, "%u questions", fake_job(id)->questions);
    fake_unlock();
    CASE(call(plugin, "slurm_spank_exit") == 0, "exit");
    dlclose(plugin);
    CASE(dlsym(RTLD_DEFAULT, "plugin_name") == NULL, "its names are its own");
}

int main(void) {
    fake.variable[0][0] = "ADMINKIT_CKPT";
    fake.variable[0][1] = "TERM@1";
    for (uint32_t i = 1; i <= 5; i++)
        load_and_unload(i, 0);
    CASE(!mapped(), "unloaded when nothing is left behind");
    load_and_unload(6, 2000);
    CASE(mapped(), "kept while a question waits for its answer");
    usleep(2500000);
    return DONE();
}
