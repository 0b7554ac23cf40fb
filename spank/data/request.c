/* request.c - see request.h. Pure. */
#include "request.h"

#include <stdio.h>
#include <string.h>

static const char *const NAMES[] = {[DA_FIRST] = "first", [DA_BEHIND] = "behind", [DA_OFF] = "off"};

const char *da_mode_name(enum da_mode mode) {
    return NAMES[mode];
}

/* The length of the folder in the text, without the mode. */
static size_t read_mode(const char *text, enum da_mode *mode) {
    const char *colon = strrchr(text, ':');
    *mode = DA_FIRST;
    for (int i = DA_FIRST; colon && i <= DA_OFF; i++)
        if (strcmp(colon + 1, NAMES[i]) == 0) {
            *mode = (enum da_mode)i;
            return (size_t)(colon - text);
        }
    return strlen(text);
}

bool da_request_read(struct da_request *request, const char *text, const char *here, const char **why) {
    size_t size = read_mode(text, &request->mode);
    int n;
    while (size > 1 && text[size - 1] == '/')
        size--;
    *why = "it names no folder";
    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 127) {
            *why = "the folder's name has a control character";
            return false;
        }
    *why = "the folder's name is too long";
    if (size >= sizeof request->folder)
        return false;
    *why = "it is relative, and nobody knows to what";
    if (text[0] != '/' && here[0] != '/')
        return false;
    *why = "the folder's name is too long";
    if (text[0] == '/')
        n = snprintf(request->folder, sizeof request->folder, "%.*s", (int)size, text);
    else
        n = snprintf(request->folder, sizeof request->folder, "%s/%.*s", here, (int)size, text);
    return n > 0 && (size_t)n < sizeof request->folder;
}
