-- Runs one case against a folder with job_submit.lua, as slurmctld would: load the script, call it, look at what became of the
-- job. `lua driver.lua CASES` prints the results of a file of cases as JSON.
local here = string.match(debug.getinfo(1, "S").source, "^@(.*/)") or "./"
local mock = dofile(here .. "mock.lua")

local driver = {}

local function copy(fields)
    local made = {}
    for key, value in pairs(fields or {}) do
        made[key] = value
    end
    return made
end

local function parts_of(case)
    return mock.part_list(case.parts or {})
end

-- A script in a fresh set of globals: what slurmctld calls, and what it was told. `script` is job_submit.lua by default.
function driver.load(folder, script, release)
    local slurm, said = mock.slurm(release)
    _G.slurm, _G.slurm_job_submit, _G.slurm_job_modify = slurm, nil, nil
    local chunk = assert(loadfile(folder .. "/" .. (script or "job_submit.lua")))
    local code = chunk()
    return { submit = _G.slurm_job_submit, modify = _G.slurm_job_modify, code = code, said = said, slurm = slurm }
end

-- case: folder, desc, uid and, for an update, rec; parts; calls (how often: a second time sees what the first left); before (a
-- desc that is submitted first);
-- release (of Slurm, as 23.11); lacks (names that this release's `slurm` has not).
function driver.run(case)
    local loaded = driver.load(case.folder, case.script, case.release)
    local said = loaded.said
    for _, name in ipairs(case.lacks or {}) do
        loaded.slurm[name] = nil
    end
    local fields = copy(case.desc)
    local loading = { info = said.info, errors = said.errors }
    said.info, said.errors = {}, {}
    loaded.slurm.log_info = function(format, ...)
        said.info[#said.info + 1] = string.format(format, ...)
    end
    loaded.slurm.log_error = function(format, ...)
        said.errors[#said.errors + 1] = string.format(format, ...)
    end
    local desc = mock.job_desc(fields, said)
    local function call()
        if case.rec then
            return loaded.modify(desc, mock.job_rec(case.rec), parts_of(case), mock.pushed(case.uid))
        end
        return loaded.submit(desc, parts_of(case), mock.pushed(case.uid))
    end
    if case.before then
        loaded.submit(mock.job_desc(copy(case.before), said), parts_of(case), mock.pushed(case.uid))
    end
    local code, raised
    for _ = 1, case.calls or 1 do
        if case.catch then
            _, raised = pcall(call)
        else
            code = call()
        end
    end
    return {
        code = code, desc = fields, messages = said.messages, info = said.info, errors = said.errors,
        lookups = said.lookups, loading = loading, load_code = loaded.code, raised = raised and tostring(raised),
    }
end

local function json(value)
    local kind = type(value)
    if kind == "number" then
        return string.format(value == math.floor(value) and "%.0f" or "%.17g", value)
    elseif kind == "string" then
        return '"' .. string.gsub(value, '[%c"\\\128-\255]', function(char)
            return string.format("\\u%04x", string.byte(char))
        end) .. '"'
    elseif kind ~= "table" then
        return tostring(value)
    end
    local parts = {}
    if #value > 0 then
        for i = 1, #value do
            parts[i] = json(value[i])
        end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    for key, entry in pairs(value) do
        parts[#parts + 1] = json(tostring(key)) .. ":" .. json(entry)
    end
    return "{" .. table.concat(parts, ",") .. "}"
end

driver.json = json

if arg and arg[1] then
    local cases = dofile(arg[1])
    local results = {}
    for i = 1, #cases do
        results[i] = driver.run(cases[i])
    end
    print(json(results))
end

return driver
