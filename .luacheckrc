std = "lua51+lua54"
max_line_length = 128
unused_args = true
files["job_submit/job_submit.lua"] = { globals = { "slurm_job_submit", "slurm_job_modify" }, read_globals = { "slurm" } }
files["job_submit/adminkit/start.lua"] = { read_globals = { "slurm" } }
