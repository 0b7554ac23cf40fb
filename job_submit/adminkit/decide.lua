-- A request and a policy in, a decision out. Pure: no slurm, no io, no os, no clock. docs/policy-spec.md is the contract.
local need = ...
local answer = need("answer")
local classes = need("classes")
local found = need("found")
local hint = need("hint")
local modify = need("modify")
local plan = need("plan")
local points = need("points")
local record = need("record")
local route = need("route")
local rules = need("rules")
local text = need("text")
local verdict = need("verdict")

local decide = { modify = modify.decide, class_of = classes.of }

local NONE = text.NONE
local shape, round = verdict.shape, verdict.round
local submitted_job = verdict.submitted_job
local begin, fire, lines = found.begin, found.fire, found.lines
local answer_of = answer.of
local plan_of, points_of, takes, shortest = plan.of, points.of, route.takes, route.shortest

-- More rounds than a policy without contradictions ever needs.
local ROUNDS = 4

local LAST_ROUTED = "adminkit: no queue was named, so the job went to {queue}."
local LAST_ADVISED = "adminkit: no queue was named; {queue} would take this job (-p {queue})."
local LAST_MISFIT = "adminkit: {queue} cannot take this job; {fit} can (-p {fit})."

local value_of = {
    rule = function()
        return "routing"
    end,
    check = function()
        return "routing"
    end,
    queue = function(this)
        return text.word[this._queue]
    end,
    fit = function(this)
        return this._fit and text.word[this._fit] or "-"
    end,
    asked = function(this)
        return text.duration(this._job.kind == "unlimited" and math.huge or this._job.limit)
    end,
    class = function(this)
        return classes.of(this._request.nodes, this._request.gpus) or "-"
    end,
    gpus = function(this)
        return this._request.gpus and text.whole(this._request.gpus) or "-"
    end,
    nodes = function(this)
        return this._request.nodes and text.whole(this._request.nodes) or "-"
    end,
}

local VALUES = {
    __index = function(this, name)
        local make = value_of[name]
        return make and make(this)
    end,
}

local values_now = setmetatable({}, VALUES)

-- The placeholders of a text about queues, for text.fill; they last until the next call.
local function route_values(job, request, queue, fit)
    local this = values_now
    this._job, this._request, this._queue, this._fit = job, request, queue, fit
    return this
end

-- A list of one queue, which nobody changes.
local only = text.kept(function(queue)
    return { queue }
end)

local SAME = { rule = true, check = true, queue = true, fit = true }

-- The words to a job that was sent to `queue`. Where they speak of nothing but the queue they are made once.
local function say_routed(into, job, request, queue, policy, made)
    local kept = made.routed[queue]
    if not kept then
        kept = {}
        text.say(kept, policy, "routed", "amend", route_values(job, request, queue), nil, LAST_ROUTED)
        if text.depends_on(SAME, policy, "routed", "amend", LAST_ROUTED) then
            made.routed[queue] = kept
        end
    end
    for i = 1, #kept do
        into[i] = kept[i]
    end
end

-- A job that names no queue goes to the shortest that fits. Neither queue nor limit: Slurm's default queue, as before.
-- True where no rule has anything to say to the job in its new queue.
local function find_queue(now, job, request, policy, made, action)
    if job.kind == "unset" then
        return false
    end
    local queue, doubtful, keeps = shortest(job, request, made)
    if doubtful then
        found.log(now, "adminkit: not routed, in doubt about queue " .. text.word[doubtful])
        return false
    end
    if not queue then
        found.log(now, "adminkit: not routed, no queue fits")
        return false
    end
    fire(now, "routing", action)
    if action == "amend" then
        job.queues = only[queue]
        now.queue = queue
        say_routed(lines(now, "amended"), job, request, queue, policy, made)
        return keeps
    end
    local values = route_values(job, request, queue)
    text.say(lines(now, "warned"), policy, "routed", "warn", values, nil, LAST_ADVISED)
    return false
end

-- A job that names only queues which can never take it, with the rules' amendments, is refused where another one can:
-- then there is something to type. A named QOS may lift a queue's limits, so such a job is left to Slurm.
local function check_named(now, job, request, policy, made, action)
    local queues, bounded = job.queues, made.bounded
    for i = 1, #queues do
        local queue = bounded[queues[i]]
        if not queue or takes(queue, job, request) then
            return
        end
    end
    if #queues == 0 or request.qos_given or request.reservation or request.node_list then
        return
    end
    local fit = shortest(job, request, made)
    if not fit then
        return
    end
    local values = route_values(job, request, queues[1], fit)
    if action == "amend" then
        now.misfit, now.code = true, rules.CODES.routing
        fire(now, "routing", "reject")
        text.say(lines(now, "refused"), policy, "misfit", "reject", values, nil, LAST_MISFIT)
    else
        fire(now, "routing", "warn")
        text.say(lines(now, "warned"), policy, "misfit", "warn", values, nil, LAST_MISFIT)
    end
end

-- A rule may have made the job fit a shorter queue than before: naming the queue keeps a second decision the same.
local function pin_queue(now, job, made)
    local changed = job.limit ~= job.asked_limit or job.time_min ~= job.asked_time_min
    if changed and made.default then
        job.queues = only[made.default]
        now.queue = made.default
    end
end

-- Routing and rules over a job, both until nothing changes.
local function judge(now, job, request, policy, made)
    local routing, from = made.routing, made.routing_from
    if from and request.now and request.now < from then
        routing = "warn"
    end
    local open = routing and #job.queues == 0 and not request.reservation and not request.node_list
    local keeps = open and find_queue(now, job, request, policy, made, routing)
    shape(job, request, policy, made)
    for _ = 1, keeps and 0 or ROUNDS do
        if not round(now, job, request, policy, made) then
            break
        end
    end
    local routed = now.queue
    if open and routing == "amend" and not routed then
        pin_queue(now, job, made)
    end
    if routing and not routed and not now.refused then -- the queue of a routed job takes it
        check_named(now, job, request, policy, made, routing)
    end
end

local function write_record(now, job, kind, request, made, paid)
    local field = made.record
    if not field or kind == "unknown" then
        return nil
    end
    local before = request[field]
    if before then
        local there = record.read(before)
        if there and record.plausible(there, job.asked_limit, kind, made.checks) then
            return nil
        end
    end
    return record.write(job.asked_limit, kind, now.fired or NONE, before, paid, request.whole)
end

local function give_hint(now, job, request, policy, made, hints)
    local queue = job.queues[1] or made.default
    local row = hint.row_of(hints, request, queue)
    if row then
        local facts = queue and policy.queues and policy.queues[queue]
        hint.say(lines(now, "warned"), row, queue, rules.effective(job, facts or nil), policy, hints)
    end
end

-- The decision on a submission, which lasts until the next one is made. Nothing it is given is changed, and nobody changes the
-- lists in it. `incentives`, `hints` and `made`, the policy's plan, may be nil.
function decide.decide(request, policy, incentives, hints, made)
    made = made or plan_of(policy)
    local job = submitted_job(request)
    local asked_kind = job.kind
    local now = begin()
    local by, exempt = request.by or request.uid, policy.exempt
    local passes = by ~= nil and exempt ~= nil and exempt[by] == true
    if not passes then
        judge(now, job, request, policy, made)
        if now.refused then
            answer.note(now, request, "refused")
            return answer.refuse(now, job, request, policy, made)
        end
        if hints then
            give_hint(now, job, request, policy, made, hints)
        end
    end
    local earned, paid
    if incentives then
        if passes then
            shape(job, request, policy, made)
        end
        local class = points.is_paid(job.class, incentives) and verdict.sure_class(job, request, policy, made)
        earned, paid = points_of(class, request.uid, incentives)
        earned = earned > 0 and earned or nil
    end
    local kept = write_record(now, job, asked_kind, request, made, paid)
    return answer_of(now, job, request, made, earned, kept)
end

return decide
