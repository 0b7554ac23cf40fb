/* digest.h - SHA-256 by the node's libcrypto, which is opened where it is: it uses what the processor has for
 * it (1.8 GB/s beside 0.3), and the plugin can be built without its headers. Trap: the kernel's AF_ALG is not
 * on every node. */
#ifndef ADMINKIT_DATA_DIGEST_H
#define ADMINKIT_DATA_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "index.h"

/* Once, before the others. False: there is no libcrypto. */
bool da_digest_open(void);

/* Begins; False: no memory. */
bool da_digest_begin(void);
void da_digest_add(const void *data, size_t size);
/* In hexadecimal, in lower case. False: libcrypto failed since da_digest_begin(). */
bool da_digest_end(char sha[DA_SHA_SIZE]);

#endif
