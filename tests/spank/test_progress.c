/* How far a run came: what a file may say, what becomes of it in the comment, and files that are traps. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "ckpt/progress_file.h"

static void parsing(void) {
    static const struct {
        const char *text, *digits;
    } table[] = {
        {"12345", "12345"},
        {"12345\n", "12345"},
        {"7 \n\n", "7"},
        {"0", "0"},
        {"007\n", "007"},
        {"12345678901234567890", "12345678901234567890"},
        {"123456789012345678901", ""}, /* 21 digits */
        {"", ""},
        {"\n", ""},
        {" 7", ""},
        {"-7", ""},
        {"7.5", ""},
        {"7 8", ""},
        {"7\t", ""},
        {"0x10", ""},
        {"seven", ""},
    };
    char digits[CK_PROGRESS_DIGITS + 1];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool read = ck_progress_parse(table[i].text, strlen(table[i].text), digits);
        CASE(read == (*table[i].digits != '\0') && strcmp(digits, table[i].digits) == 0, "%s: %s",
             table[i].text, digits);
    }
    CASE(!ck_progress_parse("7\0", 2, digits), "a NUL is no blank");
}

static void words(void) {
    static const struct {
        const char *comment, *digits, *expected;
    } table[] = {
        {NULL, "7", "pf1:it=7"},
        {"", "7", "pf1:it=7"},
        {"mine", "7", "mine pf1:it=7"},
        {"ak1:lim=60,src=e ck1:at=9,heard=2,rq=1", "7", "ak1:lim=60,src=e ck1:at=9,heard=2,rq=1 pf1:it=7"},
        {"a pf1:it=6 b", "7", "a pf1:it=7 b"},
        {"pf1:it=6", "70", "pf1:it=70"},
        {"pf1:it=6 pf1:it=5", "7", "pf1:it=7 pf1:it=5"},
        {"pf1:it=x", "7", "pf1:it=x pf1:it=7"},
        {"xpf1:it=6", "7", "xpf1:it=6 pf1:it=7"},
        {"pf1:it=6,at=9", "7", "pf1:it=6,at=9 pf1:it=7"},
        {"pf1:it=6", "", ""},
        {"a pf1:it=6 b", "", "a b"},
        {"a pf1:it=6", "", "a"},
        {"pf1:it=6 b", "", "b"},
        {"a  b", "", "a  b"},
        {"a", "", "a"},
    };
    char out[2000];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CASE(ck_progress_put(out, sizeof out, table[i].comment, table[i].digits) &&
                 strcmp(out, table[i].expected) == 0,
             "%s + %s: %s", table[i].comment ? table[i].comment : "(none)", table[i].digits, out);
    char full[1025];
    memset(full, 'x', 1024);
    full[1024] = '\0';
    CASE(!ck_progress_put(out, sizeof out, full, "7") && *out == '\0', "there is no room for it");
    CASE(!ck_progress_put(out, 8, "", "7") && *out == '\0', "nor in so small a text");
}

static void write_file(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "w");
    CASE(file && fwrite(text, 1, size, file) == size && fclose(file) == 0, "%s", path);
}

static void files(void) {
    char place[] = "/tmp/ck-progress-XXXXXX", script[128], other[128], digits[CK_PROGRESS_DIGITS + 1];
    struct ck_progress file = {.uid = getuid(), .gid = getgid()};
    CASE(mkdtemp(place) != NULL, "a folder");
    snprintf(script, sizeof script, "%s/slurm_script", place);
    CASE(!ck_progress_name(&file, NULL) && !ck_progress_name(&file, "script") &&
             !ck_progress_name(&file, "/script"),
         "no folder of its own");
    CASE(!ck_progress_read(&file, digits), "so nothing is read");
    CASE(ck_progress_name(&file, script) && strstr(file.path, place) == file.path, "%s", file.path);
    CASE(!ck_progress_read(&file, digits) && *digits == '\0', "there is no file");
    struct stat made;
    CASE(ck_progress_create(&file) == 0 && stat(file.path, &made) == 0 && (made.st_mode & 07777) == 0600,
         "made");
    CASE(!ck_progress_read(&file, digits) && *digits == '\0', "nothing was written");
    CASE(ck_progress_create(&file) == EEXIST, "what is there stays");
    write_file(file.path, "12345\n", 6);
    CASE(ck_progress_read(&file, digits) && strcmp(digits, "12345") == 0, "%s", digits);

    static char large[4096];
    memset(large, '7', sizeof large);
    write_file(file.path, large, sizeof large);
    CASE(!ck_progress_read(&file, digits) && *digits == '\0', "too large");
    ck_progress_remove(&file);
    CASE(access(file.path, F_OK) != 0, "removed");

    snprintf(other, sizeof other, "%s/other", place);
    write_file(other, "99", 2);
    CASE(symlink(other, file.path) == 0 && !ck_progress_read(&file, digits), "a link is not followed");
    ck_progress_remove(&file);
    CASE(access(other, F_OK) == 0, "nor is what it points to removed");
    CASE(mkfifo(file.path, 0600) == 0 && !ck_progress_read(&file, digits), "a pipe is not waited for");
    ck_progress_remove(&file);
    CASE(mkdir(file.path, 0700) == 0 && !ck_progress_read(&file, digits), "a folder");
    ck_progress_remove(&file);
    rmdir(file.path);
    CASE(symlink("/dev/zero", file.path) == 0 && !ck_progress_read(&file, digits), "a device");
    ck_progress_remove(&file);

    if (geteuid() == 0) { /* as slurmstepd */
        uid_t nobody = 65534;
        write_file(file.path, "7", 1);
        file.uid = file.gid = nobody;
        CASE(!ck_progress_read(&file, digits), "root's file is not the user's");
        CASE(chown(file.path, nobody, nobody) == 0 && chmod(file.path, 0) == 0 &&
                 !ck_progress_read(&file, digits),
             "what the user may not read");
        CASE(chmod(file.path, 0600) == 0 && !ck_progress_read(&file, digits),
             "in a folder the user may not enter");
        CASE(chmod(place, 0711) == 0 && ck_progress_read(&file, digits) && strcmp(digits, "7") == 0,
             "and what they may");
        write_file(other, "8", 1);
        CASE(unlink(other) == 0 && geteuid() == 0, "root is root again");
        ck_progress_remove(&file);
    }
    unlink(other);
    CASE(rmdir(place) == 0, "nothing is left in the folder");
}

int main(void) {
    parsing();
    words();
    files();
    return DONE();
}
