-- A submission's queue: routing finds one for a job that names none, and refuses a job whose queues can never take it. In
-- between, the rules are judged on the queue that was found.
local need = ...
local allocation = need("allocation")
local decision = need("decision")
local evaluate = need("evaluate")
local route = need("route")
local rule_text = need("rule_text")
local rules = need("rules")
local text = need("text")

local routing = {}

local LAST_MISFIT = "adminkit: {queue} cannot run this job; {fit} can (-p {fit})."

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
function routing.judge(outcome, job, request, ruleset)
    local action, from = ruleset.routing, ruleset.routing_from
    if from and request.now and request.now < from then
        action = "warn"
    end
    local open = action and #job.queues == 0 and not request.reservation and not request.node_list
    local is_silent = open and find_queue(outcome, job, request, ruleset, action)
    if not outcome.queue then -- else it is known in the queue that fits
        allocation.set_size(job, request, ruleset)
    end
    if not is_silent then
        evaluate.rules(outcome, job, request, ruleset)
    end
    local routed = outcome.queue
    if open and action == "amend" and not routed then
        pin_queue(outcome, job, request, ruleset)
    end
    if action and not routed and not outcome.refused then -- the queue of a routed job takes it
        check_named(outcome, job, request, ruleset, action)
    end
end

return routing
