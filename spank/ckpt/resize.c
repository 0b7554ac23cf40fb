/* resize.c - see resize.h. */
#include "resize.h"

#include <string.h>

#include "note.h"

/* Reads digits, `most_digits` at most, and steps behind them. False: none, or more. */
static bool read_digits(const char **text, size_t most_digits, int64_t *value) {
    size_t n = strspn(*text, "0123456789");
    *value = 0;
    if (n == 0 || n > most_digits)
        return false;
    for (size_t i = 0; i < n; i++)
        *value = *value * 10 + ((*text)[i] - '0');
    *text += n;
    return true;
}

static bool skip(const char **text, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0)
        return false;
    *text += n;
    return true;
}

bool ck_range_read(struct ck_range *range, const char *text) {
    int64_t least, most;
    *range = (struct ck_range){0, 0};
    if (!read_digits(&text, 4, &least) || !skip(&text, "-") || !read_digits(&text, 4, &most) || *text ||
        least < 1 || least > most || most > CK_MOST_GPUS)
        return false;
    *range = (struct ck_range){(uint32_t)least, (uint32_t)most};
    return true;
}

bool ck_order_find(const char *comment, struct ck_order *order) {
    *order = (struct ck_order){0, 0};
    for (const char *word = comment ? comment : ""; *word; word += strspn(word, " ")) {
        const char *rest = word;
        int64_t gpus, until;
        if (skip(&rest, "el1:gpus=") && read_digits(&rest, 4, &gpus) && skip(&rest, ",until=") &&
            read_digits(&rest, 12, &until) && (*rest == ' ' || *rest == '\0')) {
            *order = (struct ck_order){gpus ? (uint32_t)gpus : CK_SAME_GPUS, until};
            return true;
        }
        word += strcspn(word, " ");
    }
    return false;
}

uint32_t ck_gpus_of(const char *tres_per_node) {
    const char *rest = tres_per_node;
    int64_t gpus;
    if (!skip(&rest, "gres:") && !skip(&rest, "gres/"))
        rest = tres_per_node;
    if (!skip(&rest, "gpu") || strpbrk(rest, ", ()="))
        return 0;
    if (*rest == '\0')
        return 1;
    const char *last = strrchr(rest, ':');
    if (*rest != ':' || !last)
        return 0;
    last++;
    if (strspn(last, "0123456789") != strlen(last)) /* gpu:a100 */
        return last == rest + 1 && *last ? 1 : 0;
    return read_digits(&last, 4, &gpus) ? (uint32_t)gpus : 0;
}

bool ck_order_holds(const struct ck_order *order, const struct ck_elastic *job,
                    const struct ak_job_info *info, int64_t now) {
    uint32_t present = ck_gpus_of(info->tres_per_node);
    if (order->gpus == CK_SAME_GPUS)
        return job->requeue && now < order->until;
    return job->range.most > 0 && order->gpus >= job->range.least && order->gpus <= job->range.most &&
           present != 0 && order->gpus != present && now < order->until;
}

bool ck_order_due(const struct ck_order *order, const struct ck_elastic *job, const struct ak_job_info *info,
                  int64_t now) {
    struct ck_note note;
    ck_note_find(info->comment, &note);
    return ck_order_holds(order, job, info, now) && job->requeue && info->may_requeue &&
           info->comment_whole && note.requeues < job->most && info->restarts < job->most &&
           now - info->start >= 2 * job->lead && info->end - now > job->lead;
}
