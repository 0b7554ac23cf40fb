-- A request and the site's tables in, a decision out. Pure: no slurm, no io, no os, no clock. docs/policy-spec.md is the
-- contract.
local need = ...
local allocation = need("allocation")
local decision = need("decision")
local elastic = need("elastic")
local evaluate = need("evaluate")
local hint = need("hint")
local modify = need("modify")
local points = need("points")
local power = need("power")
local record = need("record")
local rule_text = need("rule_text")
local route = need("route")
local rules = need("rules")
local soft = need("soft")
local text = need("text")

local decide = {}

local NONE = text.NONE

local LAST_TYPED = "adminkit: --time-min was left out; jobs are planned by what jobs like them needed."
local LAST_UNKEPT = "adminkit: --time-min was left out; this job cannot be planned by it now, and is planned by its limit."
local LAST_MISFIT = "adminkit: {queue} cannot take this job; {fit} can (-p {fit})."

-- The placeholders of a text about a job that names `queue`, which cannot take it, while `fit` can.
local function misfit_words(job, request, queue, fit)
    local nodes, gpus = request.nodes, request.gpus
    return {
        rule = "routing",
        check = "routing",
        queue = text.word[queue],
        fit = text.word[fit],
        asked = text.duration(job.kind == "unlimited" and math.huge or job.limit),
        class = allocation.class_of(nodes, gpus) or "-",
        gpus = gpus and text.amount[gpus] or "-",
        nodes = nodes and text.count[nodes] or "-",
    }
end

-- A job that names no queue goes to the shortest that fits. Neither queue nor limit: Slurm's default queue, as before.
-- True where the rules of its new queue have nothing to say to the job.
local function find_queue(outcome, job, request, ruleset, action)
    if job.kind == "unset" then
        return false
    end
    local queue, doubtful, is_silent = route.shortest(job, request, ruleset)
    if doubtful then
        decision.add(outcome, "log", "adminkit: not routed, in doubt about queue " .. text.word[doubtful])
        return false
    end
    if not queue then
        decision.add(outcome, "log", "adminkit: not routed, no queue fits")
        return false
    end
    decision.fire(outcome, ruleset.routed[action])
    local lines = decision.list(outcome, action == "amend" and "messages" or "warned")
    rule_text.say(lines, queue.messages[action], job, request)
    if action ~= "amend" then
        return false
    end
    job.queues, outcome.queue = queue.alone, queue.name
    return is_silent
end

-- A job that names only queues which can never take it, with the rules' amendments, is refused where another one can:
-- then there is something to type. A named QOS may lift a queue's limits, so such a job is left to Slurm.
local function check_named(outcome, job, request, ruleset, action)
    local queues = job.queues
    for i = 1, #queues do
        local queue = ruleset.queues[queues[i]]
        if not queue or route.takes(queue, job, request) then
            return
        end
    end
    if #queues == 0 or request.qos_given or request.reservation or request.node_list then
        return
    end
    local there = { limit = job.limit, kind = job.kind, time_min = job.time_min, nodes = nil, class = nil }
    local fit = route.shortest(there, request, ruleset)
    if not fit then
        return
    end
    local words, lines = misfit_words(job, request, queues[1], fit.name), "warned"
    if action == "amend" then
        action, lines = "reject", "refused"
        outcome.misfit, outcome.fit, outcome.code = true, fit.name, rules.CODES.routing
    end
    decision.fire(outcome, ruleset.routed[action])
    text.say(decision.list(outcome, lines), ruleset.policy, "misfit", action, words, nil, LAST_MISFIT)
end

-- A rule may have made the job fit a shorter queue than before: naming the queue keeps a second decision the same.
local function pin_queue(outcome, job, request, ruleset)
    local changed = job.limit ~= request.limit or (job.time_min ~= request.time_min and not outcome.drops)
    if changed and ruleset.default then
        job.queues, outcome.queue = { ruleset.default }, ruleset.default
    end
end

-- Routing and rules over a job.
local function judge(outcome, job, request, ruleset)
    local routing, from = ruleset.routing, ruleset.routing_from
    if from and request.now and request.now < from then
        routing = "warn"
    end
    local open = routing and #job.queues == 0 and not request.reservation and not request.node_list
    local is_silent = open and find_queue(outcome, job, request, ruleset, routing)
    if not outcome.queue then -- else it is known in the queue that fits
        allocation.set_size(job, request, ruleset)
    end
    if not is_silent then
        evaluate.rules(outcome, job, request, ruleset)
    end
    local routed = outcome.queue
    if open and routing == "amend" and not routed then
        pin_queue(outcome, job, request, ruleset)
    end
    if routing and not routed and not outcome.refused then -- the queue of a routed job takes it
        check_named(outcome, job, request, ruleset, routing)
    end
end

local function give_hint(outcome, job, request, ruleset)
    local queue = job.queues[1] or ruleset.default
    local row = hint.row_of(ruleset.hints, request, queue)
    if row then
        local limit = rules.effective(job, queue and ruleset.facts[queue])
        hint.say(decision.list(outcome, "warned"), row, queue, limit, ruleset.policy, ruleset.hints)
    end
end

-- The points of the job, nil for none, and the class that they are given for.
local function points_of(job, request, ruleset)
    local packed = ruleset.points
    if not packed then
        return nil
    end
    local class = job.class and packed.class_points[job.class] and allocation.sure_class(job, request, ruleset)
    local sum, paid = points.of(class, request.uid, packed)
    return sum > 0 and sum or nil, paid
end

-- Whether this decision changes the job's queue or times.
local function is_changed(outcome, job, request)
    return outcome.queue ~= nil or (job.limit and job.limit ~= request.limit)
        or (job.time_min and job.time_min ~= request.time_min)
end

-- Whether a record that came with the job may be an earlier decision's. That one left nothing to change, and its record names
-- all that fires now; in admin_comment, which users cannot write, it may be of a sibling cluster with other rules.
local function is_earlier(there, outcome, kind, job, request, ruleset, paid)
    if not record.plausible(there, request.limit, kind, ruleset.check_of) then
        return false
    end
    return ruleset.record == "admin_comment" or (not is_changed(outcome, job, request)
        and record.agrees(there, outcome.fired or NONE, paid, request.whole))
end

-- The new text of the field of the record, nil to leave it, and the soft limit where the record in force says so: without a
-- record nobody could tell it from what the user typed, which is `typed`. `kind`: of the limit that was asked for.
local function record_of(outcome, kind, job, request, ruleset, paid, planned, typed)
    local field, limit = ruleset.record, request.limit
    if not field or kind == "unknown" then
        return nil, nil
    end
    local is_kept = planned and typed and ruleset.soft.typed
    local before = request[field]
    local there = before and record.read(before)
    if there and is_earlier(there, outcome, kind, job, request, ruleset, paid) then
        local key = is_kept and "keep" or "soft"
        local is_its = planned and there[key] == text.whole(planned) and there.lim == text.whole(limit)
        return nil, is_its and planned or nil
    end
    local fired, whole = outcome.fired or NONE, request.whole
    local range = elastic.range(job, request, ruleset)
    local line = record.write(limit, kind, fired, before, record.keys(paid, whole, typed, planned, is_kept, range))
    if line or not planned then
        return line, line and planned
    end
    return record.write(limit, kind, fired, before, record.keys(paid, whole, typed, nil, nil, range)), nil
end

-- Takes a --time-min from the job: with soft limits on, Slurm would hold its maxima to it, and not to the limit. Returns it
-- where the user typed it: nil where an earlier decision gave it, by a record that users cannot write.
local function take_time_min(outcome, job, request, ruleset)
    job.time_min, outcome.drops = nil, true
    local there = ruleset.record == "admin_comment" and request.admin_comment and record.read(request.admin_comment)
    return (not there or there.soft ~= text.whole(request.time_min)) and request.time_min or nil
end

-- Says that a typed --time-min goes, or leaves it where the job is planned by it.
local function settle_typed(outcome, ruleset, planned)
    local keeps = ruleset.soft.typed
    if planned and keeps then
        outcome.drops = nil
    elseif keeps then
        text.say(decision.list(outcome, "warned"), ruleset.policy, "time_min_off", "amend", {}, nil, LAST_UNKEPT)
    else
        text.say(decision.list(outcome, "warned"), ruleset.policy, "time_min", "amend", {}, nil, LAST_TYPED)
    end
end

-- The soft limit of a job that is accepted, where soft limits are on and the record can say so. `typed`: the user's own.
local function planned_of(job, request, ruleset, typed)
    local packed = ruleset.soft
    if not packed or ruleset.record ~= "admin_comment" then
        return nil
    end
    return soft.of(job, request, packed, ruleset.default, typed and packed.typed and typed)
end

-- The job of every submission: a fresh one each would be half of a decision's garbage.
local JOB = allocation.job_of({})

-- The decision on a submission. Nothing it is given is changed; `ruleset` is of ruleset.lua.
function decide.decide(request, ruleset)
    local job, outcome = allocation.job_of(request, JOB), decision.outcome()
    local kind, by, exempt = job.kind, request.by or request.uid, ruleset.policy.exempt
    local typed = request.time_min
    if ruleset.soft and typed then
        typed = take_time_min(outcome, job, request, ruleset)
    end
    if by ~= nil and exempt ~= nil and exempt[by] == true then
        allocation.set_size(job, request, ruleset)
    else
        judge(outcome, job, request, ruleset)
        if outcome.refused then
            decision.note(outcome, request, "refused")
            return decision.refuse(outcome, request, ruleset)
        end
        if ruleset.hints then
            give_hint(outcome, job, request, ruleset)
        end
    end
    if ruleset.power and not power.settle(outcome, job, request, ruleset) then
        return decision.refuse(outcome, request, ruleset)
    end
    local sum, paid = points_of(job, request, ruleset)
    local planned = planned_of(job, request, ruleset, typed)
    local written
    written, planned = record_of(outcome, kind, job, request, ruleset, paid, planned, typed)
    if planned then
        outcome.soft = planned
    end
    if ruleset.soft and typed then
        settle_typed(outcome, ruleset, planned)
    end
    return decision.accept(outcome, job, request, ruleset, true, sum, written)
end

-- The decision on an update; see modify.decide.
function decide.modify(request, job, ruleset)
    local made = modify.decide(request, job, ruleset)
    return ruleset.power and power.keep(made, request, job, ruleset) or made
end

return decide
