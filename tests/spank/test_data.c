/* Staging, the parts without a file: what a user asks for, the index, the record, the word, mounts and
 * cgroups. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "data/index.h"
#include "data/mounts.h"
#include "data/record.h"
#include "data/request.h"
#include "data/site.h"
#include "data/word.h"

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "adminkit-data\t1\nseed\t7\norder\tshuffled\n"
#define ONE "shards\t1\nshard\t000000.tar\t10\t1\t" SHA "\n"

static void requests(void) {
    static const struct {
        const char *text, *folder, *why;
        enum da_mode mode;
    } table[] = {
        {"/scratch/set", "/scratch/set", "no mode", DA_FIRST},
        {"/scratch/set:first", "/scratch/set", "a mode", DA_FIRST},
        {"/scratch/set:behind", "/scratch/set", "a mode", DA_BEHIND},
        {"/scratch/set:off", "/scratch/set", "a mode", DA_OFF},
        {"/scratch/a:b", "/scratch/a:b", "a colon in the name", DA_FIRST},
        {"/scratch/a:off:behind", "/scratch/a:off", "the last one counts", DA_BEHIND},
        {"/scratch/set:", "/scratch/set:", "no word after it", DA_FIRST},
        {"/scratch/set:First", "/scratch/set:First", "another word", DA_FIRST},
        {"/scratch/set///", "/scratch/set", "slashes at the end", DA_FIRST},
        {"/", "/", "the root", DA_FIRST},
        {"set:off", "/home/u/set", "relative", DA_OFF},
        {"../set", "/home/u/../set", "relative", DA_FIRST},
        {"", NULL, "nothing", 0},
        {":off", NULL, "only a mode", 0},
        {"/a\nb", NULL, "a newline", 0},
        {"/a\033b", NULL, "an escape", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct da_request request;
        const char *why = "";
        bool read = da_request_read(&request, table[i].text, "/home/u", &why);
        CASE(read == (table[i].folder != NULL), "%s (%s)", table[i].text, table[i].why);
        if (read && table[i].folder)
            CASE(strcmp(request.folder, table[i].folder) == 0 && request.mode == table[i].mode,
                 "%s: %s %d (%s)", table[i].text, request.folder, request.mode, table[i].why);
    }
    struct da_request request;
    const char *why;
    char *text = malloc(2 * PATH_MAX + 1);
    memset(text, 'x', 2 * PATH_MAX);
    text[2 * PATH_MAX] = '\0';
    CASE(!da_request_read(&request, text, "/home/u", &why), "too long, relative");
    text[0] = '/';
    CASE(!da_request_read(&request, text, "/home/u", &why), "too long");
    CASE(!da_request_read(&request, "set", "", &why), "relative to nothing that is known");
    free(text);
}

static void indexes(void) {
    static const struct {
        const char *text, *why;
        uint32_t count;
    } table[] = {
        {HEAD ONE, "one shard", 1},
        {HEAD ONE "file\tname\t000000.tar\t512\t1\t\t" SHA "\n", "files follow", 1},
        {HEAD "codec\tnone\n" ONE, "a key that is to come", 1},
        {HEAD "shards\t2\nshard\t000000.tar\t10\t1\t" SHA "\nshard\t000001.tar\t10\t1\t" SHA "\n", "two", 2},
        {HEAD "shards\t2\nshard\t000001.tar\t10\t1\t" SHA "\nshard\t000000.tar\t10\t1\t" SHA "\n",
         "backwards", 0},
        {HEAD "shards\t2\nshard\t000000.tar\t10\t1\t" SHA "\nshard\t000000.tar\t10\t1\t" SHA "\n", "twice",
         0},
        {HEAD "shards\t2\nshard\t000000.tar\t10\t1\t" SHA "\n", "cut", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t10\t1\t" SHA, "cut in the last line", 0},
        {HEAD "shards\t0\n", "none", 0},
        {HEAD "shards\t-1\n", "negative", 0},
        {HEAD "shards\t65537\n", "too many", 0},
        {HEAD "shards\t99999999999999999999\n", "no number of shards", 0},
        {HEAD "shards\t01\nshard\t000000.tar\t10\t1\t" SHA "\n", "a zero in front", 0},
        {HEAD "shards\t1\nshard\t../000.tar\t10\t1\t" SHA "\n", "out of the folder", 0},
        {HEAD "shards\t1\nshard\t/00000.tar\t10\t1\t" SHA "\n", "another folder", 0},
        {HEAD "shards\t1\nshard\t..\t10\t1\t" SHA "\n", "the folder above", 0},
        {HEAD "shards\t1\nshard\t.tar\t10\t1\t" SHA "\n", "no digits", 0},
        {HEAD "shards\t1\nshard\t0000000000.tar\t10\t1\t" SHA "\n", "ten digits", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t0\t1\t" SHA "\n", "an empty shard", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t-1\t1\t" SHA "\n", "a negative length", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t9999999999999999999\t1\t" SHA "\n", "a length that no file has",
         0},
        {HEAD "shards\t1\nshard\t000000.tar\t10\t1\t../../etc/shadow\n", "a name in place of the sum", 0},
        {HEAD "shards\t1\nshard\t000000."
              "tar\t10\t1\t0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\n",
         "upper case", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t10\t" SHA "\n", "a field less", 0},
        {HEAD "shards\t1\nshard\t000000.tar\t10\t1\t" SHA "\tx\n", "a field more", 0},
        {"adminkit-data\t2\n" ONE, "a newer one", 0},
        {"adminkit-data\n" ONE, "without a version", 0},
        {"other\t1\n" ONE, "another file", 0},
        {"\n\n\n", "empty lines", 0},
        {"", "nothing", 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint32_t count = 0;
        const char *why = "";
        struct da_shard *shards = da_index_read(table[i].text, strlen(table[i].text), &count, &why);
        CASE((shards != NULL) == (table[i].count > 0), "%s: %s", table[i].why, why);
        CASE(!shards || count == table[i].count, "%s: %" PRIu32, table[i].why, count);
        CASE(!shards || (strcmp(shards[0].name, "000000.tar") == 0 && shards[0].size == 10), "%s",
             table[i].why);
        free(shards);
    }
    /* Cut at each byte it is refused, or the same. */
    for (size_t n = 0; n < strlen(HEAD ONE); n++) {
        uint32_t count;
        const char *why;
        char *text = malloc(n + 1);
        memcpy(text, HEAD ONE, n);
        struct da_shard *shards = da_index_read(text, n, &count, &why);
        CASE(!shards, "cut after %zu bytes", n);
        free(shards);
        free(text);
    }
}

static void sites(void) {
    static const struct {
        const char *word, *why;
        bool good;
    } table[] = {
        {"cache=/var/cache/x", "a path", true},
        {"cache=x", "relative", false},
        {"cache=", "nothing", false},
        {"size=100G", "a size", true},
        {"size=1", "bytes", true},
        {"size=0", "none", false},
        {"size=1g", "a lower case unit", false},
        {"size=1GB", "two letters", false},
        {"size=-1", "negative", false},
        {"size=999999999999T", "too much", false},
        {"patience=0", "no waiting", true},
        {"patience=86401", "too long", false},
        {"patience=1h", "a unit", false},
        {"cashe=/x", "another word", false},
    };
    struct da_site site;
    char why[160];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CASE(da_site_read(&site, 1, (char *[]){(char *)table[i].word}, "n1", why, sizeof why) ==
                 table[i].good,
             "%s (%s)", table[i].word, table[i].why);
    CASE(da_site_read(&site, 0, NULL, "n1", why, sizeof why) && site.size == 0 && site.patience == 1800,
         "none");
    CASE(da_site_read(&site, 2, (char *[]){"cache=/c/%n/x", "size=3M"}, "n1", why, sizeof why) &&
             strcmp(site.cache, "/c/n1/x") == 0 && site.size == 3 << 20,
         "a node's own: %s", site.cache);
}

static void records(void) {
    char text[DA_RECORD_SIZE], line[400];
    struct da_record back, one = {.phase = DA_PART,
                                  .mode = DA_BEHIND,
                                  .why = DA_FULL,
                                  .name = "000003.tar",
                                  .pid = INT32_MAX,
                                  .began = 1790000000,
                                  .ms = UINT64_MAX,
                                  .copied = UINT64_MAX,
                                  .hit = UINT64_MAX,
                                  .shards = UINT32_MAX,
                                  .here = UINT32_MAX,
                                  .left = UINT32_MAX};
    da_record_print(text, &one);
    CASE(da_record_parse(&back, text, sizeof text) && memcmp(&back, &one, sizeof one) == 0, "the longest");
    for (size_t n = 0; n < sizeof text; n++)
        CASE(!da_record_parse(&back, text, n), "cut after %zu", n);
    memset(text, 0, sizeof text);
    CASE(!da_record_parse(&back, text, sizeof text), "zeros, as in a file that was only made longer");
    CASE(da_record_line(&one, "/s", false, line, sizeof line) &&
             strstr(line, "the cache of the node is full"),
         "%s", line);
    one = (struct da_record){.phase = DA_DONE, .shards = 2, .here = 2};
    CASE(!da_record_line(&one, "/s", false, line, sizeof line), "nothing is missing");
    one = (struct da_record){.phase = DA_READY, .shards = 3, .here = 1};
    CASE(!da_record_line(&one, "/s", false, line, sizeof line), "more is to come");
    CASE(da_record_line(&one, "/s", true, line, sizeof line) &&
             strcmp(line, "1 of 3 shards are here; the others are read from /s until they are") == 0,
         "%s", line);
    one = (struct da_record){.phase = DA_FAILED, .why = DA_FULL, .shards = 3};
    CASE(da_record_line(&one, "/s", false, line, sizeof line) &&
             strcmp(line, "/s is read where it is: the cache of the node is full") == 0,
         "%s", line);
    for (int why = DA_WHOLE + 1; why < DA_WHYS; why++) {
        one = (struct da_record){
            .phase = DA_FAILED, .why = (enum da_why)why, .left = 1, .shards = 1, .name = "x"};
        CASE(da_record_line(&one, "/s", false, line, sizeof line) && strstr(line, "/s"), "reason %d: %s", why,
             line);
    }
}

static void words(void) {
    struct da_record record = {.began = 1790000000, .ms = 1201, .copied = 5, .hit = 3, .mode = DA_FIRST};
    char out[2048], full[2048];
    static const struct {
        const char *comment, *expected, *why;
    } table[] = {
        {NULL, "st1:at=1790000000,node=2,bytes=5,hit=3,s=2,mode=first", "no comment"},
        {"a b", "a b st1:at=1790000000,node=2,bytes=5,hit=3,s=2,mode=first", "behind what is there"},
        {"st1:at=1790000000,node=2,bytes=1,hit=0,s=1,mode=first x",
         " x st1:at=1790000000,node=2,bytes=5,hit=3,s=2,mode=first", "in place of the former one"},
        {"st1:at=1790000000,node=1,bytes=1,hit=0,s=1,mode=first",
         "st1:at=1790000000,node=1,bytes=1,hit=0,s=1,mode=first "
         "st1:at=1790000000,node=2,bytes=5,hit=3,s=2,mode=first",
         "another node's stays"},
        {"st1:at=1700000000,node=1,bytes=1,hit=0,s=1,mode=first",
         "st1:at=1790000000,node=2,bytes=5,hit=3,s=2,mode=first", "an earlier run's goes"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool put = da_word_put(out, sizeof out, table[i].comment, &record, 2, 1789999999);
        CASE(put && strcmp(out, table[i].expected) == 0, "%s: %s", table[i].why, out);
    }
    memset(full, 'x', 1000);
    full[1000] = '\0';
    CASE(!da_word_put(out, sizeof out, full, &record, 2, 1) && !*out, "no room");
    CASE(!da_word_put(out, sizeof out, "", &record, DA_WORD_NODES, 1), "a node too many");
    CASE(!da_word_put(out, sizeof out, "", &record, 0, 1790000001), "of an earlier run");
    record.copied = record.hit = 0;
    CASE(!da_word_put(out, sizeof out, "", &record, 0, 1), "nothing was copied");
}

static void mounts(void) {
    static const struct {
        const char *line, *source, *why;
        bool by_user;
    } table[] = {
        {"36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue", "ext3 /dev/root",
         "a disk", false},
        {"40 35 0:50 / /data rw - nfs4 server:/export rw,vers=4.2", "nfs4 server:/export", "NFS", false},
        {"41 35 0:51 / /f rw - fuse.sshfs u@h:/ rw,user_id=1000,group_id=1000", "fuse.sshfs u@h:/",
         "a user's", true},
        {"42 35 0:52 / /f rw - fuse x rw,user_id=0,group_id=0,allow_other", "fuse x", "root's", false},
        {"43 35 0:53 / /f rw - fuseblk /dev/sdb rw,user_id=01", "fuseblk /dev/sdb", "a spelling of its own",
         true},
        {"44 35 0:54 / /f rw - fuse x rw,user_id=00", "fuse x", "a spelling of its own", true},
        {"45 35 0:55 / /f rw - fuse x rw", "fuse x", "it does not say", true},
        {"46 35 0:56 / /f rw - fuse x rw,user_id=0", "fuse x", "at the end", false},
        {"47 35 0:57 / /f rw - fuse user_id=0 rw,user_id=7", "fuse user_id=0", "a source of that name", true},
        {"48 35 0:58 / /f rw fuse x rw", NULL, "no dash", false},
        {"x 35 0:58 / /f rw - fuse x rw", NULL, "no number", false},
        {"49 35 0:58 / /f rw - fuse", NULL, "cut", false},
        {"", NULL, "nothing", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct da_mount mount;
        bool read = da_mount_parse(&mount, table[i].line, strlen(table[i].line));
        CASE(read == (table[i].source != NULL), "%s (%s)", table[i].line, table[i].why);
        if (read && table[i].source)
            CASE(strcmp(mount.source, table[i].source) == 0 && mount.by_user == table[i].by_user, "%s (%s)",
                 table[i].line, table[i].why);
    }
    static const struct {
        const char *line, *kind, *path, *why;
    } groups[] = {
        {"4:memory:/slurm/uid_7/job_3/step_0", "memory", "/slurm", "v1"},
        {"4:cpu,cpuacct:/slurm_n1/uid_7/job_3/step_batch/task_0", "cpu,cpuacct", "/slurm_n1", "v1, a task"},
        {"0::/system.slice/slurmstepd.scope/job_3/step_batch/slurm", "", "/system.slice/slurmstepd.scope",
         "v2"},
        {"0::/system.slice/slurmstepd.scope/s1ABCDEF/step_0/user/task_0", "",
         "/system.slice/slurmstepd.scope", "v2 of 26.05"},
        {"4:memory:/uid_7/job_3/step_0", "memory", "", "at the root"},
        {"4:memory:/job_3/step_0", "memory", "", "at the root"},
        {"4:memory:/step_0", NULL, NULL, "no job above it"},
        {"4:memory:/", NULL, NULL, "no step"},
        {"0::/user.slice/user-0.slice", NULL, NULL, "no step"},
        {"nothing", NULL, NULL, "not a line"},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char kind[64], path[4096];
        bool found =
            da_cgroup_above(groups[i].line, strlen(groups[i].line), kind, sizeof kind, path, sizeof path);
        CASE(found == (groups[i].kind != NULL), "%s (%s)", groups[i].line, groups[i].why);
        if (found && groups[i].kind)
            CASE(strcmp(kind, groups[i].kind) == 0 && strcmp(path, groups[i].path) == 0, "%s: %s %s (%s)",
                 groups[i].line, kind, path, groups[i].why);
    }
}

int main(void) {
    requests();
    indexes();
    sites();
    records();
    words();
    mounts();
    return DONE();
}
