/* What users and others write and staging parses: the head of an index, the option, lines of mounts and
 * cgroups. */
#include <stdlib.h>
#include <string.h>

#include "data/index.h"
#include "data/mounts.h"
#include "data/record.h"
#include "data/request.h"

/* What is read from an index can be used as names of files. */
static void check_index(const char *text, size_t size) {
    uint32_t count = 0;
    const char *why = NULL;
    struct da_shard *shards = da_index_read(text, size, &count, &why);
    for (uint32_t i = 0; shards && i < count; i++)
        if (strlen(shards[i].sha) != 64 || strspn(shards[i].sha, "0123456789abcdef") != 64 ||
            !shards[i].size || strcmp(shards[i].name + strspn(shards[i].name, "0123456789"), ".tar") != 0)
            abort();
    if (shards ? count == 0 : !why)
        abort();
    free(shards);
}

static void check_request(const char *text, size_t size) {
    struct da_request request;
    const char *why;
    char *copy = malloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (da_request_read(&request, copy, "/here", &why) &&
        (request.folder[0] != '/' || strchr(request.folder, '\n')))
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const char *text = (const char *)data + 1;
    struct da_record record;
    struct da_mount mount;
    char kind[64], path[256];
    if (size == 0)
        return 0;
    switch (data[0] % 4) {
    case 0:
        check_index(text, size - 1);
        break;
    case 1:
        check_request(text, size - 1);
        break;
    case 2:
        da_mount_parse(&mount, text, size - 1);
        da_cgroup_above(text, size - 1, kind, sizeof kind, path, sizeof path);
        break;
    default:
        da_record_parse(&record, text, size - 1);
    }
    return 0;
}
