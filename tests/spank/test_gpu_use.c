/* How busy GPUs are: which of them a job has, what is added up, the file of the sums, and the word. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "gpu_use/files.h"
#include "gpu_use/site.h"
#include "gpu_use/sums.h"
#include "gpu_use/word.h"

static void gpus_of_a_job(void) {
    static const struct {
        const char *detail, *expected, *why;
    } table[] = {
        {"gpu:2(IDX:0-1)", "0 1 ", "a range"},
        {"gpu:a100:3(IDX:0,2-3)", "0 2 3 ", "a type, and a list"},
        {"gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:3)", "0 1 3 ", "two types"},
        {"nic:1(IDX:4),gpu:1(IDX:2)", "2 ", "beside something else"},
        {"gpu(IDX:1)", "1 ", "without a count"},
        {"shard:2(2/8,0/8)", "", "a GPU that others use too"},
        {"shard:2(2/8,0/8),gpu:1(IDX:1)", "1 ", "beside a whole one"},
        {"mps:50(IDX:0)", "", "a part"},
        {"gpu:2", "", "a count without names"},
        {"gpu:1(IDX:0),gpu:v100:1", "", "not all are named"},
        {"gpu:0(IDX:N/A)", "", "none"},
        {"gpu:2(IDX:1-0)", "", "backwards"},
        {"gpu:2(IDX:0-)", "", "cut"},
        {"gpu:2(IDX:0", "", "cut"},
        {"gpu:1(IDX:-1)", "", "negative"},
        {"gpu:1(IDX:0)x", "", "something follows"},
        {"gpu:65(IDX:0-64)", "", "more than there may be"},
        {"gpu:1(IDX:99999999999999999999)", "", "no number of a device"},
        {"gpux:1(IDX:0)", "", "another name"},
        {"", "", "nothing"},
        {NULL, "", "nothing"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint32_t minor[GU_GPUS];
        char got[512] = "";
        uint32_t count = gu_gres_gpus(table[i].detail, minor);
        for (uint32_t k = 0; k < count; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%" PRIu32 " ", minor[k]);
        CASE(strcmp(got, table[i].expected) == 0, "%s: %s (%s)", table[i].detail ? table[i].detail : "(none)",
             got, table[i].why);
    }
}

static struct gu_sums two_gpus(void) {
    struct gu_sums sums = {.run = 1000, .node = 0, .count = 2};
    sums.gpu[1].minor = 3;
    for (int turn = 0; turn < 4; turn++) {
        gu_sums_add(&sums, 0, 1010 + 30 * turn, turn ? 30 : 0, 0.5);
        gu_sums_add(&sums, 1, 1010 + 30 * turn, turn ? 30 : 0, turn == 1 ? 0.25 : 0);
    }
    return sums;
}

static void adding_up(void) {
    struct gu_sums sums = two_gpus();
    CASE(sums.at == 1010 && sums.to == 1100, "from the first reading to the last");
    CASE(sums.gpu[0].seconds == 90 && sums.gpu[0].busy == 45 && sums.gpu[0].last == 1100, "half of the time");
    CASE(sums.gpu[1].seconds == 90 && sums.gpu[1].busy == 7.5 && sums.gpu[1].last == 1040, "a quarter, once");
    CASE(gu_sums_used(&sums) == 2, "both were in use within the window");
    sums.to = 1040 + GU_WINDOW;
    CASE(gu_sums_used(&sums) == 1, "a GPU that was in use before it is not");
}

static void the_file(const char *folder) {
    char path[200];
    struct gu_sums sums = two_gpus(), back;
    sums.gpu[0].memory = 1 << 30;
    sums.gpu[0].of = (uint64_t)80 << 30;
    snprintf(path, sizeof path, "%s/7", folder);
    CASE(!gu_sums_read(path, &back), "there is none");
    CASE(gu_sums_write(path, &sums) == 0 && gu_sums_read(path, &back), "written and read");
    CASE(back.run == 1000 && back.at == sums.at && back.to == sums.to && back.count == 2 &&
             back.gpu[1].minor == 3 && back.gpu[1].busy == 7.5 && back.gpu[0].of == sums.gpu[0].of,
         "the same");
    struct stat status;
    CASE(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600, "for its owner only");
    for (off_t size = status.st_size - 2; size > 0; size -= 7)
        CASE(truncate(path, size) == 0 && !gu_sums_read(path, &back), "cut to %jd bytes", (intmax_t)size);
    unlink(path);
    CASE(symlink("/etc/hostname", path) == 0 && !gu_sums_read(path, &back), "a link is not followed");
    CASE(gu_sums_write("/nowhere/7", &sums) != 0, "no folder");
    unlink(path);
}

static void words(void) {
    static const char WORD[] = "gu1:at=1010,to=1100,node=0,gpus=2,s=180,busy=52,used=2,last=1100";
    static const struct {
        const char *comment, *before, *after, *why;
    } table[] = {
        {NULL, "", "", "no comment"},
        {"mine", "mine ", "", "at the end"},
        {"ak1:lim=60,src=e gu1:at=1010,to=1040,node=0,gpus=2,s=60,busy=1,used=0 b", "ak1:lim=60,src=e b ", "",
         "in place of its own"},
        {"gu1:at=1010,to=1040,node=1,gpus=2,s=60,busy=1,used=0",
         "gu1:at=1010,to=1040,node=1,gpus=2,s=60,busy=1,used=0 ", "", "beside another node's"},
        {"gu1:at=900,to=940,node=1,gpus=2,s=60,busy=1,used=0", "", "", "in place of an earlier run's"},
        {"gu1:x", "gu1:x ", "", "what is no word stays"},
        {"xgu1:at=1010,to=1040,node=0", "xgu1:at=1010,to=1040,node=0 ", "", "another word stays"},
        {"a  b", "a  b ", "", "blanks stay"},
    };
    struct gu_sums sums = two_gpus();
    char out[1025], expected[2048];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        snprintf(expected, sizeof expected, "%s%s%s", table[i].before, WORD, table[i].after);
        CASE(gu_word_put(out, sizeof out, table[i].comment, &sums) && strcmp(out, expected) == 0, "%s: %s",
             table[i].why, out);
    }
    char full[1025];
    memset(full, 'x', 1000);
    full[1000] = '\0';
    CASE(!gu_word_put(out, sizeof out, full, &sums) && *out == '\0', "there is no room for it");
    struct gu_sums none = {.run = 1000, .count = 2};
    CASE(!gu_word_put(out, sizeof out, "a", &none), "nothing was measured");
    sums.gpu[0].memory = (uint64_t)5 << 30;
    sums.gpu[0].of = (uint64_t)80 << 30;
    CASE(gu_word_put(out, sizeof out, "", &sums) && strstr(out, ",mem=5120,of=81920"), "memory, MiB: %s",
         out);
    struct gu_sums idle = {.run = 1000, .count = 1, .at = 1010, .to = 1100};
    idle.gpu[0].seconds = 90;
    CASE(gu_word_put(out, sizeof out, "", &idle) && !strstr(out, "last="), "never in use: %s", out);
}

static void options(void) {
    static const struct {
        const char *word;
        bool fits;
    } table[] = {
        {"period=30", true},  {"period=0", false},    {"period=301", false}, {"period=", false},
        {"period=3x", false}, {"report=600", true},   {"report=1", false},   {"nvml=/usr/lib/a.so", true},
        {"nvml=a.so", false}, {"state=/run/a", true}, {"state=a", false},    {"textfile=/var/lib/a", true},
        {"textfile=", false}, {"else=1", false},      {"", false},           {"period", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gu_site site;
        char why[160] = "", *words[] = {(char *)table[i].word};
        CASE(gu_site_read(&site, 1, words, why, sizeof why) == table[i].fits, "%s: %s", table[i].word, why);
    }
}

static void locks(const char *folder) {
    char state[200];
    snprintf(state, sizeof state, "%s/run/state", folder);
    int first = gu_files_lock(state, 7);
    CASE(first >= 0, "the folder is made");
    CASE(gu_files_lock(state, 7) < 0, "the second waits");
    int other = gu_files_lock(state, 8);
    CASE(other >= 0, "another job's is free");
    close(first);
    first = gu_files_lock(state, 7);
    CASE(first >= 0, "free again");
    CASE(gu_files_since_report(state, 7) < 5 && gu_files_since_report(state, 9) == 0,
         "just now, and not known");
    close(first);
    close(other);
    chmod(state, 0755);
    CASE(gu_files_lock(state, 7) == -1, "others may look into it: EPERM");
}

int main(void) {
    char folder[] = "/tmp/adminkit-gpu-use.XXXXXX", line[300];
    CASE(mkdtemp(folder) != NULL, "a folder");
    gpus_of_a_job();
    adding_up();
    the_file(folder);
    words();
    options();
    locks(folder);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CASE(system(line) == 0, "gone");
    return DONE();
}
