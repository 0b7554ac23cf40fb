-- A request and the site's tables in, a decision out. Pure: no slurm, no io, no os, no clock. docs/policy-spec.md is the
-- contract.
local need = ...
local allocation = need("allocation")
local decision = need("decision")
local extend = need("extend")
local hint = need("hint")
local modify = need("modify")
local points = need("points")
local power = need("power")
local recording = need("recording")
local routing = need("routing")
local soft = need("soft")

local decide = {}

-- Rules over the job, but for who is exempt from them.
local function judge(outcome, job, request, ruleset)
    local by, exempt = request.by or request.uid, ruleset.policy.exempt
    if by ~= nil and exempt ~= nil and exempt[by] == true then
        job.is_exempt = true
        allocation.set_size(job, request, ruleset)
        return
    end
    routing.judge(outcome, job, request, ruleset)
    if outcome.refused then
        decision.note(outcome, request, "refused")
    end
end

-- What is done to a submission, in this order: each is given outcome, job, request and ruleset.
local STAGES = {
    soft.take, judge, hint.give, power.settle, points.give, soft.plan, extend.judge, recording.give, soft.settle,
    extend.settle,
}

-- The decision on a submission; the first stage that refuses ends it. Nothing it is given is changed; `ruleset` is of
-- ruleset.lua.
function decide.decide(request, ruleset)
    local job, outcome = allocation.job_of(request), decision.outcome()
    for i = 1, #STAGES do
        STAGES[i](outcome, job, request, ruleset)
        if outcome.refused then
            return decision.refuse(outcome, request, ruleset)
        end
    end
    return decision.accept(outcome, job, request, ruleset, true)
end

-- The decision on an update; see modify.decide.
function decide.modify(request, job, ruleset)
    local made = modify.decide(request, job, ruleset)
    return ruleset.power and power.keep(made, request, job, ruleset) or made
end

return decide
