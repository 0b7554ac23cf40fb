/* batch.c - standard input as batches of typed rows. */
#include "batch.h"
#include "fingerprint.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (2 * AK_MAX_RECORD + 64 + AK_BLOCK)
#define AHEAD 3 /* batches: one being stored, one ready, one being read */
#define CHUNK ((size_t)64 << 10)

/* Texts that are not in the input: converted ones, and those of a job's steps. */
struct chunk {
    struct chunk *before;
    size_t used, size;
    char text[];
};

struct slot {
    struct ak_batch batch; /* what the caller sees of the following */
    struct ak_row *row;
    struct ak_cell *cell;
    size_t rows_size, cells, cells_size;
    struct chunk *texts;
    char *buffer;
    size_t len;
    char error[AK_REASON]; /* instead of a batch */
};

struct ak_batches {
    struct ak_batches_options options;
    struct ak_reader reader;
    struct ak_record record;
    struct ak_rows rows;
    struct ak_layout layout; /* of the last header */
    struct slot slot[AHEAD];
    uint64_t next; /* batch for the caller */
    size_t left;   /* bytes at the front of the next buffer that belong to a record not yet read */
    pthread_t thread;
    bool runs; /* the thread does, and then the mutex guards what follows */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t filled, taken; /* how many batches ever; each in its number's slot, modulo AHEAD */
    bool stop;
};

/* ---- a batch ---- */

/* Makes room for one more of `size` bytes in *array. False: no memory. */
static bool grow(void *array, size_t size, size_t wanted, size_t *has) {
    void **place = array;
    if (wanted <= *has)
        return true;
    size_t more = wanted > 2 * *has ? wanted : 2 * *has;
    void *grown = realloc(*place, more * size);
    if (!grown)
        return false;
    *place = grown;
    *has = more;
    return true;
}

/* A copy that lives as long as the batch, or NULL. */
static char *keep(struct slot *slot, const char *s, size_t n) {
    struct chunk *chunk = slot->texts;
    if (!chunk || chunk->size - chunk->used < n) {
        size_t size = n > CHUNK ? n : CHUNK;
        chunk = malloc(sizeof *chunk + size);
        if (!chunk)
            return NULL;
        *chunk = (struct chunk){.before = slot->texts, .size = size};
        slot->texts = chunk;
    }
    char *copy = memcpy(chunk->text + chunk->used, s, n);
    chunk->used += n;
    return copy;
}

static void forget_texts(struct slot *slot) {
    for (struct chunk *before; slot->texts; slot->texts = before) {
        before = slot->texts->before;
        free(slot->texts);
    }
}

/* Copies the row's cells into the batch, and the texts that the next row would overwrite. False: no memory.
 */
static bool keep_cells(struct ak_batches *b, struct slot *slot, struct ak_row *row) {
    size_t n = (size_t)b->options.spec->outputs;
    const char *begin = slot->buffer, *end = begin + slot->len;
    if (!b->options.want_cells || n == 0) /* with every column skipped there is no array to copy from */
        return true;
    row->cell = slot->cells;
    if (!grow(&slot->cell, sizeof *slot->cell, slot->cells + n, &slot->cells_size))
        return false;
    struct ak_cell *cell = memcpy(slot->cell + slot->cells, b->rows.cell, n * sizeof *cell);
    slot->cells += n;
    if (row->verdict == AK_JOB && b->rows.scratch_used == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (cell[i].type == AK_TEXT && !(cell[i].v.s >= begin && cell[i].v.s < end) &&
            !(cell[i].v.s = keep(slot, cell[i].v.s, cell[i].n)))
            return false;
    return true;
}

/* Adds an event of the reader to the batch. False: no memory. */
static bool add(struct ak_batches *b, struct slot *slot, enum ak_event event) {
    const char *reason = b->record.reason;
    if (!grow(&slot->row, sizeof *slot->row, slot->batch.rows + 1, &slot->rows_size))
        return false;
    struct ak_row *row = &slot->row[slot->batch.rows++];
    *row = (struct ak_row){.verdict = AK_REJECTED, .line = b->record.line, .raw = b->record.raw};
    if (event == AK_HEADER) {
        row->verdict = AK_HEADS;
        ak_rows_broken(&b->rows);
        return (row->reason = keep(slot, reason, strlen(reason) + 1)) != NULL;
    }
    if (event == AK_BROKEN) {
        ak_rows_broken(&b->rows);
    } else {
        if (b->options.fields)
            ak_layout_apply(&b->layout, b->options.spec, &b->record);
        row->verdict = ak_rows_take(&b->rows, &b->record);
        row->repaired = b->record.repaired;
        row->utf8 = b->rows.utf8;
        row->ambiguous = b->rows.ambiguous;
        row->contradictory = b->rows.contradictory;
        if (b->rows.seal.n && row->verdict <= AK_STEP)
            row->print = ak_fingerprint_fields(b->options.spec, &b->record, b->rows.seal);
        reason = b->rows.reason;
    }
    if (row->verdict == AK_REJECTED)
        return (row->reason = keep(slot, reason, strlen(reason) + 1)) != NULL;
    return row->verdict == AK_SKIPPED || keep_cells(b, slot, row);
}

/* Makes a batch of what one read() brings. False: slot->error. */
static bool fill(struct ak_batches *b, struct slot *slot) {
    ssize_t got;
    int state;
    /* The thread can be cancelled only here, where it may wait for ever. */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    do
        got = read(STDIN_FILENO, slot->buffer + b->left, AK_BLOCK);
    while (got < 0 && errno == EINTR);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (got < 0) {
        snprintf(slot->error, sizeof slot->error, "couldn't read standard input: %s", strerror(errno));
        return false;
    }
    slot->len = b->left + (size_t)got;
    slot->batch = (struct ak_batch){.last = got == 0, .bytes = (uint64_t)got};
    slot->cells = 0;
    forget_texts(slot);
    enum ak_event event;
    while ((event = ak_reader_next(&b->reader, slot->buffer, slot->len, got == 0, &b->record)) != AK_MORE)
        if (!add(b, slot, event)) {
            snprintf(slot->error, sizeof slot->error, "out of memory");
            return false;
        }
    slot->batch.row = slot->row;
    slot->batch.cell = b->options.want_cells ? slot->cell : b->rows.cell;
    slot->batch.lines = b->reader.line - 1;
    slot->batch.bytes_records = b->reader.bytes_records;
    slot->batch.bytes_broken = b->reader.bytes_broken;
    slot->batch.bytes_blank = b->reader.bytes_blank;
    return true;
}

/* Copies what this batch has not used to the front of the next one's buffer. */
static void hand_on(struct ak_batches *b, const struct slot *from, struct slot *to) {
    size_t used = ak_reader_release(&b->reader);
    b->left = from->len - used;
    memmove(to->buffer, from->buffer + used, b->left);
}

/* ---- the thread ---- */

/* The thread: waits for a free slot and fills it, until the input ends. */
static void *reads(void *context) {
    struct ak_batches *b = context;
    int state;
    bool more = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    for (uint64_t number = 0; more; number++) {
        struct slot *slot = &b->slot[number % AHEAD];
        pthread_mutex_lock(&b->mutex);
        while (!b->stop && number - b->taken >= AHEAD)
            pthread_cond_wait(&b->changed, &b->mutex);
        more = !b->stop;
        pthread_mutex_unlock(&b->mutex);
        if (!more)
            break;
        if (number)
            hand_on(b, &b->slot[(number - 1) % AHEAD], slot);
        more = fill(b, slot) && !slot->batch.last;
        pthread_mutex_lock(&b->mutex);
        b->filled = number + 1;
        pthread_cond_signal(&b->changed);
        pthread_mutex_unlock(&b->mutex);
    }
    return NULL;
}

/* Waits for the slot of that batch; the one before it may be filled again. */
static struct slot *wait_for(struct ak_batches *b, uint64_t number) {
    pthread_mutex_lock(&b->mutex);
    b->taken = number;
    pthread_cond_signal(&b->changed);
    while (b->filled <= number)
        pthread_cond_wait(&b->changed, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
    return &b->slot[number % AHEAD];
}

/* ---- open, next, close ---- */

struct ak_batches *ak_batches_open(const struct ak_batches_options *options, char *error, size_t error_size) {
    struct ak_batches *b = calloc(1, sizeof *b);
    if (!b)
        goto no_memory;
    b->options = *options;
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->changed, NULL);
    for (int i = 0; i < (options->thread ? AHEAD : 1); i++)
        if (!(b->slot[i].buffer = calloc(1, BUFFER + AK_PADDING)))
            goto no_memory;
    if (!ak_rows_init(&b->rows, options->spec, options->zone))
        goto no_memory;
    if (!ak_reader_init(&b->reader, options->spec, options->format, error, error_size))
        goto fail;
    ak_layout_of_spec(&b->layout, options->spec, options->format->ends);
    if (options->fields) {
        ak_reader_heads(&b->reader, options->fields, &b->layout);
        b->rows.place = b->layout.from;
    }
    b->rows.want_jobs = options->want_jobs;
    b->rows.want_steps = options->want_steps;
    b->rows.no_steps = options->no_steps;
    b->rows.seal = options->seal;
    b->rows.known = options->known;
    b->rows.tres_ids = options->tres_ids;
    /* Where no thread can be started, ak_batches_next() reads. */
    b->runs = options->thread && pthread_create(&b->thread, NULL, reads, b) == 0;
    return b;
no_memory:
    snprintf(error, error_size, "out of memory");
fail:
    ak_batches_close(b);
    return NULL;
}

const struct ak_batch *ak_batches_next(struct ak_batches *b, char *error, size_t error_size) {
    struct slot *slot = b->slot;
    uint64_t number = b->next++;
    if (b->runs) {
        slot = wait_for(b, number);
    } else {
        if (number)
            hand_on(b, slot, slot);
        fill(b, slot);
    }
    if (!*slot->error)
        return &slot->batch;
    snprintf(error, error_size, "%s", slot->error);
    return NULL;
}

void ak_batches_close(struct ak_batches *b) {
    if (!b)
        return;
    if (b->runs) {
        pthread_mutex_lock(&b->mutex);
        b->stop = true;
        pthread_cond_signal(&b->changed);
        pthread_mutex_unlock(&b->mutex);
        pthread_cancel(b->thread);
        pthread_join(b->thread, NULL);
    }
    for (int i = 0; i < AHEAD; i++) {
        forget_texts(&b->slot[i]);
        free(b->slot[i].row);
        free(b->slot[i].cell);
        free(b->slot[i].buffer);
    }
    ak_rows_free(&b->rows);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}
