/* column.h - one column of values, as narrow as they allow. */
#ifndef ADMINKIT_COLUMN_H
#define ADMINKIT_COLUMN_H

#include "texts.h"

/* Zeroed but for the seed of its texts it is empty. A column of texts holds their numbers. */
struct ak_column {
    struct ak_texts texts;
    bool real;    /* doubles, else whole numbers */
    bool missing; /* some are: the least whole number of the width, or NaN */
    int width;    /* bytes of a value; 0 for none yet */
    int64_t count;
    int64_t room;
    void *values;
};

/* Each adds one value behind the others. False without memory. */
bool ak_column_whole(struct ak_column *column, int64_t value);
bool ak_column_real(struct ak_column *column, double value);
bool ak_column_missing(struct ak_column *column);
bool ak_column_text(struct ak_column *column, const char *text, int64_t length);
bool ak_column_no_text(struct ak_column *column);

void ak_column_free(struct ak_column *column);

#endif
