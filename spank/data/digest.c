/* digest.c - see digest.h. The functions are those of OpenSSL's "EVP_DigestInit", the same since 1.1.0. */
#include "digest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define SIZE 32 /* bytes of a SHA-256 */

static struct {
    void *(*create)(void);
    const void *(*sha256)(void);
    int (*init)(void *context, const void *type, void *engine);
    int (*update)(void *context, const void *data, size_t size);
    int (*final)(void *context, unsigned char *out, unsigned *size);
    void *context;
    bool whole;
} da;

/* POSIX's dlsym() gives functions as objects. */
static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

bool da_digest_open(void) {
    static const char *const NAMES[] = {"libcrypto.so.3", "libcrypto.so.4", "libcrypto.so.1.1"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        void *library = dlopen(NAMES[i], RTLD_NOW | RTLD_LOCAL);
        if (library && find(library, "EVP_MD_CTX_new", &da.create) &&
            find(library, "EVP_sha256", &da.sha256) && find(library, "EVP_DigestInit_ex", &da.init) &&
            find(library, "EVP_DigestUpdate", &da.update) && find(library, "EVP_DigestFinal_ex", &da.final) &&
            (da.context = da.create()))
            return true;
        if (library)
            dlclose(library);
    }
    return false;
}

bool da_digest_begin(void) {
    da.whole = da.init(da.context, da.sha256(), NULL) == 1;
    return da.whole;
}

void da_digest_add(const void *data, size_t size) {
    da.whole = da.whole && da.update(da.context, data, size) == 1;
}

bool da_digest_end(char sha[DA_SHA_SIZE]) {
    unsigned char bytes[64];
    unsigned size = 0;
    if (!da.whole || da.final(da.context, bytes, &size) != 1 || size != SIZE)
        return false;
    for (unsigned i = 0; i < size; i++)
        snprintf(sha + 2 * i, 3, "%02x", bytes[i]);
    return true;
}
