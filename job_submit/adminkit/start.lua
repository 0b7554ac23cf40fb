-- Loads the modules and tables beside this file, once and never later. Returns { submit, modify, around }. It may raise:
-- whoever loads it does so under pcall, for slurmctld does not start when its script fails to load.
local folder = string.match(debug.getinfo(1, "S").source, "^@(.*/)") or "./"

-- Lua 5.1 collects garbage in large steps by itself, in the middle of decisions, which makes the slowest of them slow.
if _VERSION == "Lua 5.1" then
    collectgarbage("setstepmul", 50)
end

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

local slurm_api = need("slurm_api")
local data = need("data")
local validate = need("validate")
local slurm = slurm

local ENOENT = 2

-- The table in a file, if it is data, and whole as `check` (of validate.lua) sees it; nil and a reason otherwise, without one
-- where there is no such file.
local function table_in(path, check)
    local file, wrong, number = io.open(path, "rb")
    if not file then
        return nil, number ~= ENOENT and tostring(wrong) or nil
    end
    local source = file:read(data.MOST_BYTES + 1) or ""
    file:close()
    local value
    value, wrong = data.read(source, "=" .. string.match(path, "[^/]*$"))
    if value == nil then
        return nil, path .. ": " .. tostring(wrong or "it returns nothing")
    end
    local ok, complaint = pcall(check, value)
    if not ok or complaint then
        return nil, path .. ": " .. tostring(complaint)
    end
    return value
end

-- The table of that name: NAME.lua, else NAME.good.lua, else nil. slurmctld.log gets the reason why a file was passed over.
local function load_table(name)
    local value, wrong = table_in(folder .. name .. ".lua", validate[name])
    if value then
        return value
    end
    if wrong then
        slurm.log_error("%s", "adminkit: " .. wrong)
    end
    value, wrong = table_in(folder .. name .. ".good.lua", validate[name])
    if value then
        local line = "adminkit: " .. name .. ".good.lua is used instead of " .. name .. ".lua, generation " .. value.generation
        slurm.log_error("%s", line)
        return value
    end
    if wrong then
        slurm.log_error("%s", "adminkit: " .. wrong)
    end
    return nil
end

local tables = {
    incentives = load_table("incentives"),
    policy = load_table("policy"),
    hints = load_table("hints"),
    soft_limits = load_table("soft_limits"),
}
slurm.log_info("%s", slurm_api.summary(tables))

-- Seconds for which a lease counts as it was read. Slurm itself looks at the time of its script at each call.
local LEASE_KEPT = 5

local lease, read_at

-- The lease of soft limits, which the guard writes a few times a minute: too often to load all tables for it. Nil without one.
local function lease_at(now)
    if not read_at or now >= read_at + LEASE_KEPT or now < read_at then
        lease, read_at = table_in(folder .. "soft_lease", validate.soft_lease), now
    end
    return lease
end

local adminkit = slurm_api.callbacks(slurm, tables, os.time, lease_at)

local function refused(code)
    return type(code) == "number" and code ~= slurm.SUCCESS
end

-- The site's function (nil: none), then ours, where the site's let the job pass. An error of the site's is raised behind ours:
-- Slurm up to 25.11 takes a job on an error, and that must not leave out a rule of adminkit's.
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
