-- Loads the modules and tables beside this file, once. Returns { submit, modify, around }. It may raise: whoever loads it
-- does so under pcall, for slurmctld does not start when its script fails to load.
local folder = string.match(debug.getinfo(1, "S").source, "^@(.*/)") or "./"

local loaded = {}

-- The module of that name. Each is a chunk that is given this function.
local function need(name)
    if loaded[name] == nil then
        local chunk, wrong = loadfile(folder .. name .. ".lua")
        if not chunk then
            error(wrong, 0)
        end
        loaded[name] = chunk(need)
    end
    return loaded[name]
end

local glue = need("glue")
local slurm = slurm

local tables = need("loading").all(folder, function(line)
    slurm.log_error("%s", line)
end)
slurm.log_info("%s", glue.summary(tables))

local adminkit = glue.callbacks(slurm, tables, os.time)

local function refused(code)
    return type(code) == "number" and code ~= slurm.SUCCESS
end

-- The site's function (nil: none), then ours, where the site's let the job pass. An error of the site's is raised behind ours:
-- Slurm up to 25.11 takes a job on an error, and no rule of ours may be left out by it.
local function both(site, ours, ...)
    local ok, code = true, nil
    if site then
        ok, code = pcall(site, ...)
    end
    if ok and refused(code) then
        return code
    end
    local answer = ours(...)
    if not ok and not refused(answer) then
        error(code, 0)
    end
    return answer
end

-- The site's own two functions (nil: none) followed by ours.
function adminkit.around(site_submit, site_modify)
    local function submit(job_desc, part_list, submit_uid)
        return both(site_submit, adminkit.submit, job_desc, part_list, submit_uid)
    end
    local function modify(job_desc, job_rec, part_list, modify_uid)
        return both(site_modify, adminkit.modify, job_desc, job_rec, part_list, modify_uid)
    end
    return submit, modify
end

return adminkit
