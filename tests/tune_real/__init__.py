"""`adminkit tune` on a real Slurm: six days' records, what it picks from them, and twelve other days with the pick."""
