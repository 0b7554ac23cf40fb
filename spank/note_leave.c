/* note_leave.c - the one call that a note needs; apart from note.c, which needs no Slurm. */
#include "note.h"

#include "slurm_compat.h"

int ak_note_leave(uint32_t job_id, char *comment) {
    job_desc_msg_t message;
    slurm_init_job_desc_msg(&message);
    /* The number, not job_id_str: of an array's last task that text means the whole array. */
    ck_slurm_name_job(&message, job_id);
    message.admin_comment = comment;
    return slurm_update_job(&message) ? errno : 0;
}
