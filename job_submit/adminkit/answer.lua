-- The decision that comes of what was found: what Slurm is told, the lines for the user and the one for slurmctld.log.
local need = ...
local found = need("found")
local route = need("route")
local text = need("text")
local verdict = need("verdict")

local answer = {}

local NONE = text.NONE
local find = string.find
local is_empty, untold = found.is_empty, verdict.untold

local LAST_FIT = "adminkit: queue {fit} takes this job: -p {fit}"

-- These tables serve every decision, one after the other.
local accepted = { verdict = "accept", fired = NONE, untold = NONE, messages = NONE, log = NONE }
local refused, changed = { verdict = "reject" }, {}

local OPENING = {
    refused = "adminkit: refused job of uid ",
    amended = "adminkit: amended job of uid ",
    warned = "adminkit: warned job of uid ",
}

-- A line for slurmctld.log on a job for which something fired; `word` is one of OPENING.
local function log_line(now, request, word)
    local uid = request.uid
    found.log(now, OPENING[word] .. (uid and text.count[uid] or "-") .. ":" .. found.said(now.fired))
end
answer.log_line = log_line

-- The queue that would take the job as it was asked for, or nil.
local function fitting(request, policy, made)
    if not policy.routing or request.reservation or request.node_list then
        return nil
    end
    return (route.shortest(verdict.asked_job(request), request, made))
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
function answer.refuse(now, request, policy, made)
    local lines, named = now.refused, now.misfit
    local fit = fitting(request, policy, made)
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
    refused.code = now.code or "ERROR"
    refused.fired, refused.messages, refused.log = now.fired, lines, now.log or NONE
    refused.untold = now.blind and untold(now, made) or NONE
    return refused
end

-- The decision on a job that is not refused: what changes, and the lines for the user.
function answer.of(now, job, made)
    if is_empty(now) then
        accepted.points, accepted.record = nil, nil
        return accepted
    end
    local messages, warned = now.amended or now.warned, now.warned
    if warned and messages ~= warned then
        for i = 1, #warned do
            messages[#messages + 1] = warned[i]
        end
    end
    local limit, time_min = job.limit, job.time_min
    if limit == job.asked_limit then
        limit = nil
    end
    if time_min == job.asked_time_min then
        time_min = nil
    end
    local queue = now.queue or nil
    changed.verdict = (queue or limit or time_min) and "amend" or "accept"
    changed.queue, changed.limit, changed.time_min = queue, limit, time_min
    changed.points, changed.record = nil, nil
    changed.fired = now.fired or NONE
    changed.untold = now.blind and untold(now, made) or NONE
    changed.messages = messages or NONE
    changed.log = now.log or NONE
    return changed
end

return answer
