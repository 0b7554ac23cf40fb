/* Lines for the job's stderr: odd texts, and readers that do not read. */
#include "common/job_log.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "fake_spank.h"

/* What is logged of that text, while stderr is `descriptor`. */
static const char *logged(const char *text, int descriptor) {
    int kept = dup(STDERR_FILENO);
    *fake.log = '\0';
    if (descriptor < 0)
        close(STDERR_FILENO);
    else
        dup2(descriptor, STDERR_FILENO);
    ak_job_log("%s", text);
    dup2(kept, STDERR_FILENO);
    close(kept);
    return fake.log;
}

static void odd_texts(void) {
    static const struct {
        const char *why, *text, *line;
    } TEXTS[] = {
        {"a plain one", "the job goes back (1 of 2)", "adminkit: the job goes back (1 of 2)\n"},
        {"a line of its own in the node's log", "x\n[2026-01-01T00:00:00] error",
         "adminkit: x?[2026-01-01T00:00:00] error\n"},
        {"the terminal's title", "\033]0;x\a", "adminkit: ?]0;x?\n"},
        {"bytes above ASCII, some of which are controls", "\xc2\x9b", "adminkit: ??\n"},
        {"a format", "%n%s", "adminkit: %n%s\n"},
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
        CASE(strcmp(logged(TEXTS[i].text, STDERR_FILENO), TEXTS[i].line) == 0, "%s: %s", TEXTS[i].why,
             fake.log);
}

/* Slurm holds its log's lock while it writes, so a line that waits for a reader would hold slurmstepd. */
static void nobody_reads(void) {
    int ends[2];
    char bytes[4096] = {0};
    if (pipe(ends) != 0)
        return;
    CASE(*logged("x", ends[1]) != '\0', "a pipe with room");
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], bytes, sizeof bytes) > 0)
        ;
    fcntl(ends[1], F_SETFL, 0);
    CASE(*logged("x", ends[1]) == '\0', "a full pipe");
    close(ends[0]);
    CASE(*logged("x", ends[1]) == '\0', "a pipe that nobody reads");
    close(ends[1]);
    CASE(*logged("x", -1) == '\0', "no stderr");
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    CASE(*logged("x", null) != '\0', "/dev/null");
    close(null);
}

int main(void) {
    odd_texts();
    nobody_reads();
    return DONE();
}
