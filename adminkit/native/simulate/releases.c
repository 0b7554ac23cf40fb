/* releases.c - a sorted list of times in blocks, with the sum of each block. */
#include "releases.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 64

struct sim_release_block {
    int64_t sum;
    size_t used;
    int64_t time[BLOCK], procs[BLOCK];
};

void sim_releases_free(struct sim_releases *releases) {
    for (size_t i = 0; i < releases->blocks; i++)
        free(releases->block[i]);
    free(releases->block);
    free(releases->last);
    *releases = (struct sim_releases){0};
}

/* The first of n sorted times that is not before `time`; n: none. */
static size_t search(const int64_t *sorted, size_t n, int64_t time) {
    const int64_t *base = sorted;
    while (n > 1) {
        size_t half = n / 2;
        base += base[half - 1] < time ? half : 0;
        n -= half;
    }
    return (size_t)(base - sorted) + (n && *base < time);
}

/* Puts an empty block at `at`. */
static bool insert_block(struct sim_releases *releases, size_t at) {
    if (releases->blocks == releases->size) {
        size_t more = releases->size ? 2 * releases->size : 16;
        void *block = realloc(releases->block, more * sizeof *releases->block);
        if (!block)
            return false;
        releases->block = block;
        void *last = realloc(releases->last, more * sizeof *releases->last);
        if (!last)
            return false;
        releases->last = last;
        releases->size = more;
    }
    struct sim_release_block *made = malloc(sizeof *made);
    if (!made)
        return false;
    made->sum = 0;
    made->used = 0;
    size_t after = releases->blocks++ - at;
    memmove(releases->block + at + 1, releases->block + at, after * sizeof *releases->block);
    memmove(releases->last + at + 1, releases->last + at, after * sizeof *releases->last);
    releases->block[at] = made;
    return true;
}

/* Moves the second half of block `at` into a block of its own. */
static bool split(struct sim_releases *releases, size_t at) {
    if (!insert_block(releases, at + 1))
        return false;
    struct sim_release_block *left = releases->block[at], *right = releases->block[at + 1];
    right->used = BLOCK / 2;
    left->used = BLOCK - right->used;
    memcpy(right->time, left->time + left->used, right->used * sizeof *right->time);
    memcpy(right->procs, left->procs + left->used, right->used * sizeof *right->procs);
    for (size_t i = 0; i < right->used; i++)
        right->sum += right->procs[i];
    left->sum -= right->sum;
    releases->last[at] = left->time[left->used - 1];
    releases->last[at + 1] = right->time[right->used - 1];
    return true;
}

static void remove_time(struct sim_releases *releases, size_t at, size_t index) {
    struct sim_release_block *block = releases->block[at];
    size_t after = --block->used - index;
    memmove(block->time + index, block->time + index + 1, after * sizeof *block->time);
    memmove(block->procs + index, block->procs + index + 1, after * sizeof *block->procs);
    if (block->used) {
        releases->last[at] = block->time[block->used - 1];
        return;
    }
    free(block);
    after = --releases->blocks - at;
    memmove(releases->block + at, releases->block + at + 1, after * sizeof *releases->block);
    memmove(releases->last + at, releases->last + at + 1, after * sizeof *releases->last);
}

bool sim_releases_add(struct sim_releases *releases, int64_t time, int64_t procs) {
    size_t at = search(releases->last, releases->blocks, time);
    if (at == releases->blocks) {
        if (!at && !insert_block(releases, 0))
            return false;
        at = releases->blocks - 1;
    }
    if (releases->block[at]->used == BLOCK) {
        if (!split(releases, at))
            return false;
        at += releases->last[at] < time;
    }
    struct sim_release_block *block = releases->block[at];
    size_t index = search(block->time, block->used, time);
    block->sum += procs;
    if (index < block->used && block->time[index] == time) {
        block->procs[index] += procs;
        if (!block->procs[index])
            remove_time(releases, at, index);
        return true;
    }
    size_t after = block->used++ - index;
    memmove(block->time + index + 1, block->time + index, after * sizeof *block->time);
    memmove(block->procs + index + 1, block->procs + index, after * sizeof *block->procs);
    block->time[index] = time;
    block->procs[index] = procs;
    releases->last[at] = block->time[block->used - 1];
    return true;
}

int64_t sim_releases_due(struct sim_releases *releases, int64_t now) {
    int64_t procs = 0;
    while (releases->blocks && releases->block[0]->time[0] <= now) {
        procs += releases->block[0]->procs[0];
        releases->block[0]->sum -= releases->block[0]->procs[0];
        remove_time(releases, 0, 0);
    }
    return procs;
}

struct sim_shadow sim_releases_shadow(const struct sim_releases *releases, int64_t procs) {
    int64_t released = 0;
    for (size_t at = 0; at < releases->blocks; at++) {
        const struct sim_release_block *block = releases->block[at];
        if (released + block->sum < procs) {
            released += block->sum;
            continue;
        }
        for (size_t i = 0; i < block->used; i++) {
            if (released + block->procs[i] >= procs)
                return (struct sim_shadow){block->time[i], released, released + block->procs[i]};
            released += block->procs[i];
        }
    }
    return (struct sim_shadow){INT64_MAX, released, released};
}
