/* dump.c - rows and kinds on standard output, as JSON. */
#include "dump.h"

#include <stdio.h>
#include <string.h>

static void print_text(const char *s, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\' || c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

void ak_dump_row(const char *sort, const struct ak_cell *cell, int n) {
    printf("[\"%s\"", sort);
    for (int i = 0; i < n; i++) {
        char number[40];
        putchar(',');
        switch (cell[i].type) {
        case AK_NULL:
            fputs("null", stdout);
            break;
        case AK_INT:
            printf("%lld", (long long)cell[i].v.i);
            break;
        case AK_REAL:
            snprintf(number, sizeof number, "%.17g", cell[i].v.d);
            fputs(number, stdout);
            if (!strpbrk(number, ".e"))
                fputs(".0", stdout);
            break;
        case AK_TEXT:
            print_text(cell[i].v.s, cell[i].n);
        }
    }
    puts("]");
}

void ak_dump_rejected(uint64_t line, const char *reason) {
    printf("[\"rejected\",%llu,", (unsigned long long)line);
    print_text(reason, strlen(reason));
    puts("]");
}

void ak_dump_kinds(void) {
    for (int kind = 0; kind < AK_KINDS; kind++) {
        printf("%s\"%s\": [", kind ? ",\n " : "{", ak_kinds[kind].name);
        for (int i = 0; i < ak_kinds[kind].outputs; i++)
            printf("%s\"%s\"", i ? ", " : "", ak_kinds[kind].output[i]);
        putchar(']');
    }
    puts("}");
}
