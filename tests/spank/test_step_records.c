/* What steps leave to the batch step: read as it was written, and never through anything a user could have
 * put there. */
#include "ckpt/step_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

static char place[64] = "/tmp/ck-records-XXXXXX", folder[96], file[128];

static void write_and_read(void) {
    struct ck_steps steps;
    CASE(ck_step_records_add_code(folder, 7, 85) == ENOENT, "no batch step here: nothing is left");
    CASE(ck_step_records_create(folder, 7) == 0, "begin");
    CASE(ck_step_records_read(folder, 7, &steps) == 0 && !steps.failed && steps.heard == 0, "empty");
    ck_step_records_add_code(folder, 7, 0);
    ck_step_records_add_code(folder, 7, 85);
    ck_step_records_add_code(folder, 7, 137);
    ck_step_records_add_signal(folder, 7, 0, 900);
    ck_step_records_add_signal(folder, 7, 2, 1002);
    ck_step_records_add_signal(folder, 7, 1, 1001);
    CASE(ck_step_records_read(folder, 7, &steps) == 0, "read");
    CASE(steps.failed && steps.code[85] && steps.code[137] && !steps.code[0] && !steps.code[1], "codes");
    CASE(steps.heard == 3 && steps.at == 1001, "%u at %ld", steps.heard, (long)steps.at);
    CASE(ck_step_records_create(folder, 7) == 0, "the next run on this node");
    CASE(ck_step_records_read(folder, 7, &steps) == 0 && !steps.failed, "has nothing of the run before");
    ck_step_records_remove(folder, 7);
    CASE(ck_step_records_read(folder, 7, &steps) == ENOENT && access(file, F_OK) != 0, "removed");
}

static void modes(void) {
    struct stat found;
    ck_step_records_create(folder, 7);
    CASE(stat(folder, &found) == 0 && (found.st_mode & 07777) == 0700, "folder %o", found.st_mode);
    CASE(stat(file, &found) == 0 && (found.st_mode & 07777) == 0600, "file %o", found.st_mode);
    ck_step_records_remove(folder, 7);
}

static void traps(void) {
    struct ck_steps steps;
    char other[128];
    snprintf(other, sizeof other, "%s/other", place);
    FILE *target = fopen(other, "w");
    fclose(target);
    CASE(symlink(other, file) == 0, "a link where the file will be");
    CASE(ck_step_records_add_code(folder, 7, 85) == ELOOP && ck_step_records_read(folder, 7, &steps) == ELOOP,
         "is not followed");
    CASE(ck_step_records_create(folder, 7) == 0 && ck_step_records_add_code(folder, 7, 85) == 0,
         "and replaced");
    struct stat found;
    CASE(stat(other, &found) == 0 && found.st_size == 0, "its target is as it was");
    chmod(folder, 0777);
    CASE(ck_step_records_create(folder, 7) == EPERM && ck_step_records_add_code(folder, 7, 85) == EPERM,
         "a folder for all is refused");
    chmod(folder, 0700);
    char link[128];
    snprintf(link, sizeof link, "%s/link", place);
    CASE(symlink(folder, link) == 0 && ck_step_records_create(link, 7) != 0,
         "a link to the folder is refused");
}

static void bounds(void) {
    struct ck_steps steps;
    struct stat found;
    ck_step_records_create(folder, 7);
    for (int i = 0; i < 20000; i++)
        ck_step_records_add_code(folder, 7, 1 + i % 255);
    CASE(stat(file, &found) == 0 && found.st_size < 70000, "%ld bytes", (long)found.st_size);
    FILE *broken = fopen(file, "a");
    fprintf(broken, "\ncode\ncode 999\ncode -1\nheard x y\n%1000s\nheard 1 5\n", "x");
    fclose(broken);
    CASE(ck_step_records_read(folder, 7, &steps) == 0 && steps.heard == 1,
         "what is no record is passed over");
    ck_step_records_remove(folder, 7);
}

/* Where the disk was full in the middle of a line. */
static void cut(const char *text, int code, bool other) {
    struct ck_steps steps;
    ck_step_records_create(folder, 7);
    FILE *broken = fopen(file, "a");
    fputs(text, broken);
    fclose(broken);
    CASE(ck_step_records_read(folder, 7, &steps) == 0 && !steps.code[code], "%s: code %d", text, code);
    ck_step_records_add_code(folder, 7, 85);
    CASE(ck_step_records_read(folder, 7, &steps) == 0 && steps.code[85] && steps.code[137] == other,
         "%s: then 85", text);
    ck_step_records_remove(folder, 7);
}

int main(void) {
    if (!mkdtemp(place))
        return 1;
    snprintf(folder, sizeof folder, "%s/run/ckpt", place);
    snprintf(file, sizeof file, "%s/7", folder);
    CASE(ck_exit_code(85 << 8) == 85 && ck_exit_code(9) == 137, "codes of statuses");
    write_and_read();
    modes();
    traps();
    bounds();
    cut("code 8", 8, false);
    cut("code 137\ncode 13", 13, true);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command) ? 1 : DONE();
}
