-- adminkit for slurmctld. Slurm loads this file from the folder of slurm.conf; docs/job-submit.md says how it works and how to
-- use it from a job_submit.lua of your own. Trap: slurmctld does not start when this script fails to load, so it loads
-- whatever is missing or damaged.
local folder = string.match(debug.getinfo(1, "S").source, "^@(.*/)") or "/etc/slurm/"
local ok, adminkit = pcall(dofile, folder .. "adminkit/start.lua")

if ok then
    slurm_job_submit, slurm_job_modify = adminkit.submit, adminkit.modify
else
    slurm.log_error("%s", "adminkit: not in force, every submission is accepted: " .. tostring(adminkit))
    function slurm_job_submit()
        return slurm.SUCCESS
    end
    function slurm_job_modify()
        return slurm.SUCCESS
    end
end

return slurm.SUCCESS
