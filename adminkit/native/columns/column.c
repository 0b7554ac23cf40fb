#include "column.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_ROOM 4096

static int64_t least(int width) {
    return width == 8 ? INT64_MIN : -((int64_t)1 << (8 * width - 1));
}

static int64_t get(const void *values, int width, int64_t at) {
    switch (width) {
    case 1:
        return ((const int8_t *)values)[at];
    case 2:
        return ((const int16_t *)values)[at];
    case 4:
        return ((const int32_t *)values)[at];
    default:
        return ((const int64_t *)values)[at];
    }
}

static void set(void *values, int width, int64_t at, int64_t value) {
    switch (width) {
    case 1:
        ((int8_t *)values)[at] = (int8_t)value;
        break;
    case 2:
        ((int16_t *)values)[at] = (int16_t)value;
        break;
    case 4:
        ((int32_t *)values)[at] = (int32_t)value;
        break;
    default:
        ((int64_t *)values)[at] = value;
    }
}

/* Makes room for one more value of at least `width` bytes; what is there already gets that width. */
static bool make_room(struct ak_column *column, int width) {
    int old = column->width;
    int64_t room = column->count < column->room ? column->room : column->room ? column->room * 2 : FIRST_ROOM;
    if (width <= old && room == column->room)
        return true;
    width = width > old ? width : old;
    void *values = realloc(column->values, (size_t)room * (size_t)width);
    if (values == NULL)
        return false;
    column->values = values;
    column->room = room;
    column->width = width;
    if (width > old && old > 0)
        for (int64_t at = column->count - 1; at >= 0; at--) {
            int64_t value = get(values, old, at);
            set(values, width, at, value == least(old) ? least(width) : value);
        }
    return true;
}

static bool make_real(struct ak_column *column) {
    if (!make_room(column, 8))
        return false;
    double *values = column->values;
    for (int64_t at = 0; at < column->count; at++) {
        int64_t value = get(values, 8, at);
        values[at] = value == INT64_MIN ? NAN : (double)value;
    }
    column->real = true;
    return true;
}

bool ak_column_whole(struct ak_column *column, int64_t value) {
    if (column->real)
        return ak_column_real(column, (double)value);
    int width = column->width ? column->width : 1;
    while (width < 8 && (value <= least(width) || value >= -least(width)))
        width *= 2;
    if (!make_room(column, width))
        return false;
    set(column->values, column->width, column->count++, value);
    return true;
}

bool ak_column_real(struct ak_column *column, double value) {
    if ((!column->real && !make_real(column)) || !make_room(column, 8))
        return false;
    ((double *)column->values)[column->count++] = value;
    return true;
}

bool ak_column_missing(struct ak_column *column) {
    column->missing = true;
    if (column->real)
        return ak_column_real(column, NAN);
    if (!make_room(column, 1))
        return false;
    set(column->values, column->width, column->count++, least(column->width));
    return true;
}

bool ak_column_text(struct ak_column *column, const char *text, int64_t length) {
    int64_t number = ak_texts_number(&column->texts, text, length);
    return number >= 0 && ak_column_whole(column, number);
}

bool ak_column_no_text(struct ak_column *column) {
    int64_t number = ak_texts_nothing(&column->texts);
    return number >= 0 && ak_column_whole(column, number);
}

void ak_column_free(struct ak_column *column) {
    free(column->values);
    ak_texts_free(&column->texts);
    *column = (struct ak_column){0};
}
