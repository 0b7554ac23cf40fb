-- The record that a submission gets in Comment, AdminComment or extra. record.lua has its grammar.
local need = ...
local elastic = need("elastic")
local record = need("record")
local text = need("text")

local recording = {}

local NONE = text.NONE

-- Whether this decision changes the job's queue or times.
local function is_changed(outcome, job, request)
    return outcome.queue ~= nil or (job.limit and job.limit ~= request.limit)
        or (job.time_min and job.time_min ~= request.time_min)
end

-- Whether a record that came with the job may be an earlier decision's. That one left nothing to change, and its record names
-- all that fires now; in admin_comment, which users cannot write, it may be of a sibling cluster with other rules.
local function is_earlier(there, outcome, job, request, ruleset)
    if not record.plausible(there, request.limit, job.asked_kind, ruleset.check_of) then
        return false
    end
    return ruleset.record == "admin_comment" or (not is_changed(outcome, job, request)
        and record.agrees(there, outcome.fired or NONE, job.paid, request.whole))
end

-- The stage of a decision that writes the record. A soft limit stays only where the record in force says so: without one
-- nobody could tell it from what the user typed. `job.extends`: whether it says that the job may get more time.
function recording.give(outcome, job, request, ruleset)
    local field, kind, planned, typed = ruleset.record, job.asked_kind, job.planned, job.typed
    if not field or kind == "unknown" then
        job.planned = nil
        return
    end
    local limit, before = request.limit, request[field]
    local is_kept = planned and typed and ruleset.soft.typed
    local there = before and record.read(before)
    if there and is_earlier(there, outcome, job, request, ruleset) then
        local key = is_kept and "keep" or "soft"
        local is_its = planned and there[key] == text.whole(planned) and there.lim == text.whole(limit)
        job.planned = is_its and planned or nil
        job.extends = there.ext == "auto" and field == "admin_comment"
        return
    end
    local fired, whole, paid = outcome.fired or NONE, request.whole, job.paid
    local range = elastic.range(job, request, ruleset)
    local extended = job.extend == "auto" and field == "admin_comment"
    local keys = record.keys(paid, whole, typed, planned, is_kept, range, extended)
    outcome.record = record.write(limit, kind, fired, before, keys)
    if not outcome.record and (planned or extended) then
        job.planned, extended = nil, false
        outcome.record = record.write(limit, kind, fired, before, record.keys(paid, whole, typed, nil, nil, range))
    end
    job.extends = extended
end

return recording
