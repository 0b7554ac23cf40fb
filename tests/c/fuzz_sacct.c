/* fuzz_sacct.c - libFuzzer's way in. The first three bytes choose spec, format and the size of pieces; the
 * rest is input. Whatever it is, it must give the same rows in pieces as in one, and every byte must be
 * accounted for. */
#include "feed.h"

static const char *const specs[] = {
    "jobid!,rawid!,time!^,state,limit,tres,free",
    "jobid,text,int,real,swf,seconds,cputime,exit,mem,reqmem,gres,usage,nodelist",
    "free,int,free",
    "int",
    "text,free,int",
    "tres,gres,usage",
    "time,time^,epoch,text",
    "jobid!,time!^,submitted,free,time!",
    "submitted",
    "int,admin_comment",
};

static const struct ak_format formats[] = {
    {.delimiter = "|"},
    {.delimiter = "|", .ends = true},
    {.delimiter = "\xE2\x98\x83"},
    {.delimiter = "aa", .ends = true, .comment = ";"},
    {.delimiter = ",", .surplus_ignore = true, .comment = "#"},
    {.space = true, .comment = ";", .surplus_ignore = true},
    {.space = true},
};

/* An hour forth and back every 2^20 seconds. */
static bool swings(void *context, int64_t epoch, int64_t *seconds) {
    (void)context;
    *seconds = epoch >> 20 & 1 ? 7200 : 3600;
    return epoch >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct ak_zone zone = {swings, NULL};
    static struct ak_known known;
    if (!feed_known &&
        !ak_known_parse(&known, "torchrun=f:torchrun,deepspeed=f:ds,apptainer=c:a,--image=c:b"))
        abort();
    static struct ak_tres_ids ids;
    if (!feed_ids && !ak_tres_ids_parse(&ids, "1001:gres/gpu=,1002:gres/gpu:a=,1003:,1006:gres/gpuutil="))
        abort();
    feed_known = &known;
    feed_ids = &ids;
    struct ak_spec spec;
    char error[100];
    if (size < 3)
        return 0;
    if (!ak_spec_parse(&spec, specs[data[0] % (sizeof specs / sizeof *specs)], error, sizeof error))
        abort();
    const struct ak_format *format = &formats[data[1] % (sizeof formats / sizeof *formats)];
    feed_seal = data[1] & 0x80 ? (struct ak_slice){"x0", 2} : (struct ak_slice){"", 0};
    const char *input = (const char *)data + 3;
    const struct ak_zone *maybe = data[2] & 0x80 ? &zone : NULL;
    struct feed_text whole = feed(&spec, format, maybe, input, size - 3, size);
    struct feed_text pieces = feed(&spec, format, maybe, input, size - 3, 1 + (data[2] & 0x7F));
    if (whole.n != pieces.n || memcmp(whole.s, pieces.s, whole.n) != 0) {
        fprintf(stderr, "whole:\n%s\npieces:\n%s\n", whole.s, pieces.s);
        abort();
    }
    free(whole.s);
    free(pieces.s);
    return 0;
}
