/* Whether a run goes back into the queue, and what is said of it. */
#include "ckpt/requeue.h"

#include <string.h>

#include "cases.h"

#define EXITED(code) ((code) << 8)
#define WANTED true

static const struct {
    const char *why;
    bool wanted;
    unsigned most, ours;
    bool signalled;
    unsigned heard;
    int script, step, other; /* exit codes; 0: none but that */
    unsigned derived;
    enum ak_job_state state;
    bool allowed;
    int ran, lead;
    enum ck_verdict verdict;
    const char *said; /* a part of the line; NULL: none */
} CASES[] = {
    {"not asked for", false, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_NOT_WANTED, NULL},
    {"the script's code", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_MORE,
     "(1 of 5)"},
    {"a step's code behind a script's 0", WANTED, 5, 0, true, 1, 0, 85, 0, 0, AK_JOB_RUNNING, true, 900, 60,
     CK_MORE, "85"},
    {"a step's 85 beside one's 137", WANTED, 5, 0, true, 1, 0, 85, 137, EXITED(137), AK_JOB_RUNNING, true,
     900, 60, CK_MORE, "85"},
    {"slurmctld knows it of another node", WANTED, 5, 0, true, 0, 0, 0, 0, EXITED(85), AK_JOB_RUNNING, true,
     900, 60, CK_MORE, "85"},
    {"another code", WANTED, 5, 0, true, 1, 1, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_FAILED, NULL},
    {"a step was killed", WANTED, 5, 0, true, 1, 0, 137, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_FAILED,
     NULL},
    {"all is done", WANTED, 5, 0, true, 1, 0, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_DONE, NULL},
    {"ended for slurmctld already", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_FINISHED, true, 900, 60,
     CK_MORE, "85"},
    {"done at the limit", WANTED, 5, 0, true, 1, 0, 0, 0, 0, AK_JOB_TIMEOUT, true, 900, 60, CK_DONE, NULL},
    {"the limit after the signal", WANTED, 5, 2, true, 1, 143, 0, 0, 0, AK_JOB_TIMEOUT, true, 900, 60,
     CK_LIMIT, "(3 of 5)"},
    {"the limit, and nobody heard", WANTED, 5, 0, true, 0, 143, 0, 0, 0, AK_JOB_TIMEOUT, true, 900, 60,
     CK_UNHEARD, "nothing"},
    {"the code before the signal", WANTED, 5, 0, false, 0, 85, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60,
     CK_UNSIGNALLED, "before"},
    {"scancel", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_CANCELLED, true, 900, 60, CK_GIVEN_UP, NULL},
    {"a node failed", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_ENDED, true, 900, 60, CK_GIVEN_UP, NULL},
    {"the framework requeued itself", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_PENDING, true, 900, 60,
     CK_ALREADY, NULL},
    {"--no-requeue", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, false, 900, 60, CK_FORBIDDEN,
     "--no-requeue"},
    {"often enough", WANTED, 5, 5, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, true, 900, 60, CK_MAX, "5 times"},
    {"no progress", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, true, 119, 60, CK_SHORT, "119 s"},
    {"just enough progress", WANTED, 5, 0, true, 1, 85, 0, 0, 0, AK_JOB_RUNNING, true, 120, 60, CK_MORE,
     "85"},
};

static const struct {
    const char *why;
    bool expedited, exited;
    int script;
    enum ak_job_state state;
    bool allowed, held, ends_held;
} HELD[] = {
    {"the script left with a code", true, true, 85, AK_JOB_RUNNING, true, false, true},
    {"any code", true, true, 1, AK_JOB_RUNNING, true, false, true},
    {"its epilog runs", true, true, 85, AK_JOB_FINISHED, true, false, true},
    {"it is held already", true, true, 85, AK_JOB_PENDING, true, true, true},
    {"not asked for", false, true, 85, AK_JOB_RUNNING, true, false, false},
    {"a step's code alone", true, true, 0, AK_JOB_RUNNING, true, false, false},
    {"killed by a signal", true, false, 137, AK_JOB_RUNNING, true, false, false},
    {"its limit", true, true, 85, AK_JOB_TIMEOUT, true, false, false},
    {"scancel", true, true, 85, AK_JOB_CANCELLED, true, false, false},
    {"put back by somebody else", true, true, 85, AK_JOB_PENDING, true, false, false},
    {"--no-requeue", true, true, 85, AK_JOB_RUNNING, false, false, false},
};

int main(void) {
    for (size_t i = 0; i < sizeof HELD / sizeof *HELD; i++) {
        struct ck_steps steps = {0};
        struct ck_run run = {.wanted = true,
                             .steps = &steps,
                             .script = HELD[i].script,
                             .exited = HELD[i].exited,
                             .state = HELD[i].state,
                             .allowed = HELD[i].allowed,
                             .expedited = HELD[i].expedited,
                             .held = HELD[i].held};
        CASE(ck_ends_held(&run) == HELD[i].ends_held, "%s", HELD[i].why);
        bool is_left = ck_requeue_decide(&run) == CK_ALREADY;
        CASE(is_left == (HELD[i].state == AK_JOB_PENDING && !HELD[i].held), "%s", HELD[i].why);
    }
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct ck_steps steps = {0};
        steps.code[CASES[i].step] = steps.code[CASES[i].other] = true;
        steps.failed = CASES[i].step || CASES[i].other;
        struct ck_run run = {.wanted = CASES[i].wanted,
                             .most = CASES[i].most,
                             .ours = CASES[i].ours,
                             .code = 85,
                             .signalled = CASES[i].signalled,
                             .heard = CASES[i].heard,
                             .script = CASES[i].script,
                             .steps = &steps,
                             .derived = CASES[i].derived,
                             .state = CASES[i].state,
                             .allowed = CASES[i].allowed,
                             .ran = CASES[i].ran,
                             .lead = CASES[i].lead};
        char line[256];
        enum ck_verdict verdict = ck_requeue_decide(&run);
        CASE(verdict == CASES[i].verdict, "%s: %d", CASES[i].why, verdict);
        ck_requeue_line(verdict, &run, line, sizeof line);
        CASE(CASES[i].said ? strstr(line, CASES[i].said) != NULL : *line == '\0', "%s: %s", CASES[i].why,
             line);
    }
    return DONE();
}
