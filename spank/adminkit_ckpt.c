/* The signal before the kill: glue between Slurm and the parts that do it. See docs/checkpoint.md. */
#include <slurm/spank.h>

SPANK_PLUGIN(adminkit_ckpt, 1)

int slurm_spank_init(spank_t spank, int ac, char **av) {
    (void)spank;
    (void)ac;
    (void)av;
    return 0;
}
