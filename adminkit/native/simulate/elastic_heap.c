/* elastic_heap.c - a binary heap of keys. */
#include "elastic.h"

#include <stdlib.h>

bool elastic_before(const struct elastic_key *a, const struct elastic_key *b) {
    if (a->score != b->score)
        return a->score > b->score;
    return a->when != b->when ? a->when < b->when : a->item < b->item;
}

int elastic_by_key(const void *a, const void *b) {
    return elastic_before(a, b) ? -1 : 1;
}

bool elastic_push(struct elastic_heap *heap, struct elastic_key key) {
    if (heap->used == heap->room) {
        const size_t more = heap->room ? 2 * heap->room : 256;
        struct elastic_key *grown = realloc(heap->key, more * sizeof *grown);
        if (!grown)
            return false;
        heap->key = grown;
        heap->room = more;
    }
    size_t at = heap->used++;
    for (; at && elastic_before(&key, &heap->key[(at - 1) / 2]); at = (at - 1) / 2)
        heap->key[at] = heap->key[(at - 1) / 2];
    heap->key[at] = key;
    return true;
}

/* Puts a key where the first one was, and further down. */
static void sink(struct elastic_heap *heap, struct elastic_key key) {
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < heap->used; at = child) {
        if (child + 1 < heap->used && elastic_before(&heap->key[child + 1], &heap->key[child]))
            child++;
        if (!elastic_before(&heap->key[child], &key))
            break;
        heap->key[at] = heap->key[child];
    }
    heap->key[at] = key;
}

struct elastic_key elastic_pop(struct elastic_heap *heap) {
    const struct elastic_key first = heap->key[0];
    sink(heap, heap->key[--heap->used]);
    return first;
}

void elastic_replace(struct elastic_heap *heap, struct elastic_key key) {
    sink(heap, key);
}
