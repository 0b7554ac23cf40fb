-- The decision that comes of what was found: what Slurm is told, the lines for the user and the one for slurmctld.log.
local need = ...
local found = need("found")
local route = need("route")
local rules = need("rules")
local text = need("text")
local verdict = need("verdict")

local answer = {}

local NONE = text.NONE
local find, format = string.find, string.format
local is_empty, log, said, untold = found.is_empty, found.log, found.said, verdict.untold

local LAST_FIT = "adminkit: queue {fit} takes this job: -p {fit}"

-- These tables serve every decision, one after the other.
local accepted = { verdict = "accept", fired = NONE, untold = NONE, messages = NONE, log = NONE }
local refused, changed = { verdict = "reject" }, {}

-- A line for slurmctld.log on a job for which something fired: it was refused, amended or warned.
function answer.note(now, request, what)
    local uid = request.uid
    if uid then
        log(now, format("adminkit: %s job of uid %d:%s", what, uid, said(now.fired)))
    else
        log(now, format("adminkit: %s job of uid -:%s", what, said(now.fired)))
    end
end

-- The queue that would take the job as it was asked for, or nil.
local function fitting(job, request, policy, made)
    if not policy.routing or request.reservation or request.node_list then
        return nil
    end
    if job.limit ~= job.asked_limit or job.time_min ~= job.asked_time_min then
        job = verdict.asked_job(request)
    end
    return (route.shortest(job, request, made))
end

-- The lines that name the queue that fits, made once for each.
local function fit_lines(fit, policy, made)
    local kept = made.fit[fit]
    if not kept then
        kept = {}
        text.say(kept, policy, "fit", "reject", { fit = text.word[fit] }, nil, LAST_FIT)
        made.fit[fit] = kept
    end
    return kept
end

-- The refusal. The queue that fits stands in the texts that ask for it, else behind them.
function answer.refuse(now, job, request, policy, made)
    local lines, named = now.refused, now.misfit
    local fit = fitting(job, request, policy, made)
    if now.asks_fit then
        for i = 1, #lines do
            if find(lines[i], "{fit}", 1, true) then
                lines[i] = text.fill(lines[i], { fit = fit and text.word[fit] or "-" })
                named = true
            end
        end
    end
    if fit and not named then
        local kept = fit_lines(fit, policy, made)
        for i = 1, #kept do
            lines[#lines + 1] = kept[i]
        end
    end
    refused.code = now.code or rules.POLICY
    refused.fired, refused.messages, refused.log = now.fired, lines, now.log or NONE
    refused.untold = now.blind and untold(now, made) or NONE
    return refused
end

-- The decision on a job that is not refused: what changes, and the lines for the user. Without a `request` nothing is logged.
function answer.of(now, job, request, made, points, record)
    if is_empty(now) then
        accepted.points, accepted.record, accepted.max_nodes = points, record, job.most_nodes
        return accepted
    end
    local limit, time_min, queue = job.limit, job.time_min, now.queue or nil
    if limit == job.asked_limit then
        limit = nil
    end
    if time_min == job.asked_time_min then
        time_min = nil
    end
    local amended = queue or limit or time_min
    local fired, messages, warned = now.fired, now.amended or now.warned, now.warned
    if fired and request then
        answer.note(now, request, amended and "amended" or "warned")
    end
    if warned and messages ~= warned then
        for i = 1, #warned do
            messages[#messages + 1] = warned[i]
        end
    end
    changed.verdict = amended and "amend" or "accept"
    changed.queue, changed.limit, changed.time_min, changed.points, changed.record = queue, limit, time_min, points, record
    changed.max_nodes = job.most_nodes
    changed.fired, changed.messages, changed.log = fired or NONE, messages or NONE, now.log or NONE
    changed.untold = now.blind and untold(now, made) or NONE
    return changed
end

return answer
