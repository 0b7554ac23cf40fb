-- A request and a policy in, a decision out. Pure: no slurm, no io, no os, no clock. docs/policy-spec.md is the contract.
local need = ...
local classes = need("classes")
local hint = need("hint")
local modify = need("modify")
local plan = need("plan")
local points = need("points")
local record = need("record")
local route = need("route")
local rules = need("rules")
local text = need("text")
local verdict = need("verdict")

local decide = { modify = modify.decide }

-- More rounds than a policy without contradictions ever needs.
local ROUNDS = 4

local LAST_ROUTED = "adminkit: no queue was named, so the job went to {queue}."
local LAST_ADVISED = "adminkit: no queue was named; {queue} would take this job (-p {queue})."
local LAST_MISFIT = "adminkit: {queue} cannot take this job; {fit} can (-p {fit})."

local function route_values(job, request, queue, fit)
    return {
        rule = "routing",
        check = "routing",
        queue = queue and text.word(queue) or "-",
        fit = fit and text.word(fit) or "-",
        asked = text.duration(job.kind == "unlimited" and math.huge or job.limit),
        class = job.class or "-",
        gpus = request.gpus and text.whole(request.gpus) or "-",
        nodes = job.nodes and text.whole(job.nodes) or "-",
    }
end

-- A job that names no queue goes to the shortest that fits. Neither queue nor limit: Slurm's default queue, as before.
local function find_queue(found, job, request, policy, made, action)
    if job.kind == "unset" then
        return
    end
    local queue, doubtful = route.shortest(job, request, policy, made)
    if doubtful then
        found.log[#found.log + 1] = "adminkit: not routed, in doubt about queue " .. text.word(doubtful)
        return
    end
    if not queue then
        found.log[#found.log + 1] = "adminkit: not routed, no queue fits"
        return
    end
    local values = route_values(job, request, queue)
    if action == "amend" then
        job.queues = { queue }
        found.queue = queue
        verdict.fire(found, "routing", "amend")
        text.say(found.amended, policy, "routed", "amend", values, nil, LAST_ROUTED)
    else
        verdict.fire(found, "routing", "warn")
        text.say(found.warned, policy, "routed", "warn", values, nil, LAST_ADVISED)
    end
end

-- A job that names only queues which can never take it, with the rules' amendments, is refused where another one can:
-- then there is something to type. A named QOS may lift a queue's limits, so such a job is left to Slurm.
local function check_named(found, job, request, policy, made, action)
    if #job.queues == 0 or request.qos_given then
        return
    end
    for i = 1, #job.queues do
        local facts = policy.queues[job.queues[i]]
        if not facts or route.takes(facts, job, request) then
            return
        end
    end
    local fit = route.shortest(job, request, policy, made)
    if not fit then
        return
    end
    local values = route_values(job, request, job.queues[1], fit)
    if action == "amend" then
        verdict.fire(found, "routing", "reject")
        text.say(found.refused, policy, "misfit", "reject", values, nil, LAST_MISFIT)
    else
        verdict.fire(found, "routing", "warn")
        text.say(found.warned, policy, "misfit", "warn", values, nil, LAST_MISFIT)
    end
end

-- Whether queues are this policy's business for this job: amend, warn, or nil. Before its day, routing only warns.
local function routing_of(request, policy)
    local routing = policy.routing
    local action = routing and routing.action
    if (action ~= "amend" and action ~= "warn") or request.reservation or request.node_list then
        return nil
    end
    if routing.from and request.now and request.now < routing.from then
        return "warn"
    end
    return action
end

-- A rule may have made the job fit a shorter queue than before: naming the queue keeps a second decision the same.
local function pin_queue(found, job, made, request)
    local changed = job.limit ~= request.limit or job.time_min ~= request.time_min
    if changed and #job.queues == 0 and made.default then
        job.queues = { made.default }
        found.queue = made.default
    end
end

local function write_record(found, request, policy, made)
    if not policy.record or policy.record == "none" then
        return nil
    end
    local before = request[policy.record]
    local kind = verdict.kind_of(request)
    if kind == "unknown" then
        return nil
    end
    local there, rest = record.read(before)
    if there then
        if record.plausible(there, request.limit, kind, made.checks) then
            return nil
        end
        before = rest
    end
    return record.write(request.limit, kind, found.recorded, before)
end

local function log_line(found, request, word)
    local names = {}
    for i = 1, #found.fired do
        names[i] = found.fired[i].rule .. "=" .. found.fired[i].action
    end
    if #names > 0 then
        found.log[#found.log + 1] = "adminkit: "
            .. word
            .. " job of uid "
            .. (request.uid and text.whole(request.uid) or "-")
            .. ": "
            .. table.concat(names, " ")
    end
end

local function exempt(request, policy)
    local by = request.by or request.uid
    return by ~= nil and policy.exempt ~= nil and policy.exempt[by] == true
end

local function judge(found, job, request, policy, made)
    local routing = routing_of(request, policy)
    if routing and #job.queues == 0 then
        find_queue(found, job, request, policy, made, routing)
    end
    for _ = 1, ROUNDS do
        if not verdict.round(found, job, request, policy, made) then
            break
        end
    end
    if routing == "amend" then
        pin_queue(found, job, made, request)
    end
    if routing and #found.refused == 0 then
        check_named(found, job, request, policy, made, routing)
    end
end

-- The decision on a submission. Nothing it is given is changed. `incentives` and `hints` may be nil.
function decide.decide(request, policy, incentives, hints)
    local made = plan.of(policy)
    local job = verdict.job_of(request)
    local found = verdict.begin()
    local passes = exempt(request, policy)
    if not passes then
        judge(found, job, request, policy, made)
    end
    if #found.refused > 0 then
        local fit = verdict.fit(request, policy, made)
        verdict.add_fit(found, policy, fit)
        log_line(found, request, "refused")
        return { verdict = "reject", code = found.code, fired = found.fired, untold = found.untold,
                 messages = found.refused, log = found.log }
    end
    local queue = job.queues[1] or made.default
    local facts = policy.queues and queue and policy.queues[queue]
    local answer = verdict.answer(found, job, request)
    verdict.shape(job, request, policy, made)
    local earned = points.of(job.class, request.uid, incentives)
    answer.points = earned > 0 and earned or nil
    answer.record = write_record(found, request, policy, made)
    if not passes and (request.het_offset or 0) == 0 then
        hint.say(answer.messages, request, queue, rules.effective(job, facts or nil), policy, hints)
    end
    log_line(found, request, answer.verdict == "amend" and "amended" or "warned")
    return answer
end

decide.class_of = classes.of

return decide
