#include "fake_spank.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/slurm_compat.h"

#define SET_TO(type, value) *va_arg(place, type *) = (type)(value)

struct fake fake = {.context = S_CTX_REMOTE, .nodes = 1, .job = 1};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fake_lock(void) {
    pthread_mutex_lock(&lock);
}
void fake_unlock(void) {
    pthread_mutex_unlock(&lock);
}

unsigned fake_hanging(void) {
    fake_lock();
    unsigned hanging = fake.hanging;
    fake_unlock();
    return hanging;
}

struct fake_job *fake_job(uint32_t id) {
    struct fake_job *job = fake.jobs;
    while (job->id != 0 && job->id != id)
        job++;
    if (job->id == 0)
        *job = (struct fake_job){.id = id, .state = JOB_RUNNING, .requeue = 1};
    return job;
}

int fake_option(const char *name, const char *text) {
    for (int i = 0; i < fake.options; i++)
        if (strcmp(fake.option[i]->name, name) == 0)
            return fake.option[i]->cb(fake.option[i]->val, text, 0);
    return -1;
}

pid_t fake_child(int number, int code) {
    int ready[2];
    char byte, words[3][16];
    if (pipe(ready) != 0)
        exit(1);
    snprintf(words[0], sizeof words[0], "%d", number);
    snprintf(words[1], sizeof words[1], "%d", code);
    snprintf(words[2], sizeof words[2], "%d", ready[1]);
    pid_t pid = fork();
    if (pid == 0) {
        execl(CHILD, CHILD, words[0], words[1], words[2], NULL);
        _exit(127);
    }
    if (read(ready[0], &byte, 1) != 1)
        exit(1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

spank_context_t spank_context(void) {
    return fake.context;
}
int spank_remote(spank_t spank) {
    return spank == NULL && fake.context == S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option) {
    (void)spank;
    fake.option[fake.options++] = option;
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *text, int size) {
    (void)spank;
    for (int i = 0; i < FAKE_VARIABLES && fake.variable[i][0]; i++)
        if (strcmp(fake.variable[i][0], name) == 0)
            return snprintf(text, (size_t)size, "%s", fake.variable[i][1]) < size ? ESPANK_SUCCESS
                                                                                  : ESPANK_NOSPACE;
    return ESPANK_ENV_NOEXIST;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *text, int overwrite) {
    (void)spank, (void)overwrite;
    int i = 0;
    while (i < FAKE_VARIABLES && fake.variable[i][0] && strcmp(fake.variable[i][0], name) != 0)
        i++;
    if (i == FAKE_VARIABLES)
        return ESPANK_NOSPACE;
    fake.variable[i][0] = name;
    fake.variable[i][1] = strdup(text); /* for good: a process is one scenario */
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...) {
    spank_err_t error = ESPANK_SUCCESS;
    va_list place;
    (void)spank;
    va_start(place, item);
    switch (item) {
    case S_JOB_UID:
        SET_TO(uid_t, getuid());
        break;
    case S_JOB_GID:
        SET_TO(gid_t, getgid());
        break;
    case S_JOB_ARGV:
        SET_TO(int, fake.script ? 1 : 0);
        *va_arg(place, char ***) = (char **)&fake.script;
        break;
    case S_JOB_ID:
        SET_TO(uint32_t, fake.job);
        break;
    case S_JOB_STEPID:
        SET_TO(uint32_t, fake.step);
        break;
    case S_JOB_NNODES:
        SET_TO(uint32_t, fake.nodes);
        break;
    case S_JOB_NODEID:
        SET_TO(uint32_t, fake.node);
        break;
    case S_TASK_PID:
        SET_TO(pid_t, fake.task);
        break;
    case S_TASK_EXIT_STATUS:
        SET_TO(int, fake.status);
        break;
    default:
        error = ESPANK_BAD_ARG;
    }
    va_end(place);
    return error;
}

static void log_line(const char *format, va_list words) {
    fake_lock();
    size_t used = strlen(fake.log);
    vsnprintf(fake.log + used, sizeof fake.log - used, format, words);
    used = strlen(fake.log);
    snprintf(fake.log + used, sizeof fake.log - used, "\n");
    fake_unlock();
}

void slurm_error(const char *format, ...) {
    va_list words;
    va_start(words, format);
    log_line(format, words);
    va_end(words);
}

void slurm_info(const char *format, ...) {
    va_list words;
    va_start(words, format);
    log_line(format, words);
    va_end(words);
}

void slurm_spank_log(const char *format, ...) {
    va_list words;
    va_start(words, format);
    log_line(format, words);
    va_end(words);
}

char *slurm_strerror(int number) {
    return strerror(number);
}

/* As libslurm: -1 with errno where slurmctld refuses or is not there. */
static int answer(int error, int hangs) {
    fake.hanging += hangs > 0;
    fake_unlock();
    if (hangs) {
        usleep((useconds_t)hangs * 1000);
        fake_lock();
        fake.hanging--;
        fake_unlock();
    }
    errno = error;
    return error ? -1 : 0;
}

/* What a job is named by, see slurm_compat.h. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
typedef slurm_step_id_t named_t;
#define NUMBER(named) ((named).job_id)
#define UPDATED(message) ((message)->step_id.job_id)
#else
typedef uint32_t named_t;
#define NUMBER(named) (named)
#define UPDATED(message) ((message)->job_id)
#endif

int(slurm_load_job)(job_info_msg_t **found, named_t named, uint16_t flags) {
    fake_lock();
    uint32_t id = NUMBER(named);
    struct fake_job *job = fake_job(id);
    job->questions += flags & SHOW_LOCAL ? 1 : 2; /* libslurm asks for the federation first */
    if (!job->load_error) {
        job_info_msg_t *message = calloc(1, sizeof *message);
        job_info_t *record = calloc(2, sizeof *record);
        /* An array comes as a whole, and the job asked for need not be the first. */
        record[0] = (job_info_t){.job_id = id + 1000000, .job_state = JOB_CANCELLED, .end_time = 1};
        record[1] = (job_info_t){.job_id = id,
                                 .job_state = job->state,
                                 .derived_ec = job->derived,
                                 .start_time = job->start,
                                 .end_time = job->end,
                                 .requeue = job->requeue,
                                 .bitflags = job->bitflags,
                                 .restart_cnt = job->restarts,
                                 .tres_per_node = (char *)job->tres,
                                 .admin_comment = strdup(job->comment)};
        *message = (job_info_msg_t){.record_count = 2, .job_array = record};
        *found = message;
    }
    return answer(job->load_error, job->hangs);
}

void slurm_free_job_info_msg(job_info_msg_t *message) {
    free(message->job_array[1].admin_comment);
    free(message->job_array);
    free(message);
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf) {
    (void)since;
    fake.confs++;
    *conf = calloc(1, sizeof **conf);
    (*conf)->job_file_append = fake.appends;
    return 0;
}

void slurm_free_ctl_conf(slurm_conf_t *conf) {
    free(conf);
}

void slurm_init_job_desc_msg(job_desc_msg_t *message) {
    memset(message, 0, sizeof *message);
}

int slurm_update_job(job_desc_msg_t *message) {
    fake_lock();
    struct fake_job *job = fake_job(UPDATED(message));
    int late = job->updates++ == 0 ? job->first_update : 0;
    if (late) {
        fake_unlock();
        usleep((useconds_t)late * 1000);
        fake_lock();
    }
    job->releases += message->priority == INFINITE;
    if (!job->update_error && message->admin_comment)
        snprintf(job->comment, sizeof job->comment, "%s", message->admin_comment);
    return answer(job->update_error, job->hangs);
}

int(slurm_requeue)(named_t named, uint32_t flags) {
    fake_lock();
    struct fake_job *job = fake_job(NUMBER(named));
    job->requeues++;
    job->held = flags & JOB_REQUEUE_HOLD;
    snprintf(job->ended, sizeof job->ended, "%s", job->comment);
    if (!job->requeue_error)
        job->state = JOB_PENDING;
    return answer(job->requeue_error, job->hangs);
}
