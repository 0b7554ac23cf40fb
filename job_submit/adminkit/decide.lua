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

local decide = { modify = modify.decide, class_of = classes.of }

local NONE = text.NONE
local begin, shape, round, answer_of = verdict.begin, verdict.shape, verdict.round, verdict.answer
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
        return text.word(this._queue)
    end,
    fit = function(this)
        return this._fit and text.word(this._fit) or "-"
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
local function find_queue(found, job, request, policy, made, action)
    if job.kind == "unset" then
        return false
    end
    local queue, doubtful, keeps = shortest(job, request, made)
    if doubtful then
        verdict.add(found, "log", "adminkit: not routed, in doubt about queue " .. text.word(doubtful))
        return false
    end
    if not queue then
        verdict.add(found, "log", "adminkit: not routed, no queue fits")
        return false
    end
    verdict.fire(found, "routing", action)
    if action == "amend" then
        job.queues = only(queue)
        found.queue = queue
        say_routed(verdict.lines(found, "amended"), job, request, queue, policy, made)
        return keeps
    end
    local values = route_values(job, request, queue)
    text.say(verdict.lines(found, "warned"), policy, "routed", "warn", values, nil, LAST_ADVISED)
    return false
end

-- A job that names only queues which can never take it, with the rules' amendments, is refused where another one can:
-- then there is something to type. A named QOS may lift a queue's limits, so such a job is left to Slurm.
local function check_named(found, job, request, policy, made, action)
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
        found.misfit = true
        verdict.fire(found, "routing", "reject")
        text.say(verdict.lines(found, "refused"), policy, "misfit", "reject", values, nil, LAST_MISFIT)
    else
        verdict.fire(found, "routing", "warn")
        text.say(verdict.lines(found, "warned"), policy, "misfit", "warn", values, nil, LAST_MISFIT)
    end
end

-- A rule may have made the job fit a shorter queue than before: naming the queue keeps a second decision the same.
local function pin_queue(found, job, made)
    local changed = job.limit ~= job.asked_limit or job.time_min ~= job.asked_time_min
    if changed and made.default then
        job.queues = only(made.default)
        found.queue = made.default
    end
end

-- Routing and rules over a job, both until nothing changes.
local function judge(found, job, request, policy, made)
    local routing, from = made.routing, made.routing_from
    if from and request.now and request.now < from then
        routing = "warn"
    end
    local open = routing and #job.queues == 0 and not request.reservation and not request.node_list
    local keeps = open and find_queue(found, job, request, policy, made, routing)
    shape(job, request, policy, made)
    for _ = 1, keeps and 0 or ROUNDS do
        if not round(found, job, request, policy, made) then
            break
        end
    end
    local routed = found.queue
    if open and routing == "amend" and not routed then
        pin_queue(found, job, made)
    end
    if routing and not routed and not found.refused then -- the queue of a routed job takes it
        check_named(found, job, request, policy, made, routing)
    end
end

local function write_record(found, job, kind, request, made)
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
    return record.write(job.asked_limit, kind, found.fired or NONE, before)
end

local function log_line(found, request, word)
    local fired = found.fired
    local uid = request.uid and text.count(request.uid) or "-"
    local line = "adminkit: " .. word .. " job of uid " .. uid .. ": " .. fired[1].rule .. "=" .. fired[1].action
    for i = 2, #fired do
        line = line .. " " .. fired[i].rule .. "=" .. fired[i].action
    end
    verdict.add(found, "log", line)
end

-- The decision on a submission, which lasts until the next one is made. Nothing it is given is changed, and nobody changes the
-- lists in it. `incentives` and `hints` may be nil.
function decide.decide(request, policy, incentives, hints)
    local made = plan_of(policy)
    local job = verdict.submitted_job(request)
    local asked_kind = job.kind
    local found = begin()
    local by, exempt = request.by or request.uid, policy.exempt
    local passes = by ~= nil and exempt ~= nil and exempt[by] == true
    if not passes then
        judge(found, job, request, policy, made)
    end
    if found.refused then
        log_line(found, request, "refused") -- what refuses has fired
        return verdict.refuse(found, request, policy, made)
    end
    if found.fired then
        local amended = found.queue or job.limit ~= job.asked_limit or job.time_min ~= job.asked_time_min
        log_line(found, request, amended and "amended" or "warned")
    end
    local row = not passes and hints and hint.row_of(hints, request, job.queues[1] or made.default)
    if row then
        local queue = job.queues[1] or made.default
        local facts = queue and policy.queues and policy.queues[queue]
        hint.say(verdict.lines(found, "warned"), row, queue, rules.effective(job, facts or nil), policy, hints)
    end
    local answer = answer_of(found, job, made)
    if incentives then
        if passes then
            shape(job, request, policy, made)
        end
        local earned = points_of(job.class, request.uid, incentives)
        answer.points = earned > 0 and earned or nil
    end
    answer.record = write_record(found, job, asked_kind, request, made)
    return answer
end

return decide
