-- A round of rules over a job, what fired in it, and the decision's parts that submission and update share.
local need = ...
local classes = need("classes")
local route = need("route")
local rules = need("rules")
local text = need("text")

local verdict = {}

local UNTOLD = rules.UNTOLD
local NOWHERE = {}

local LAST = {
    reject = "adminkit: refused by rule {rule} ({check}): asked {asked}, allowed {value}.",
    amend = "adminkit: changed by rule {rule} ({check}): asked {asked}, now {limit}.",
    warn = "adminkit: against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later = "adminkit: from {from} on against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later_frame = "From {from} on: {message}",
    fit = "adminkit: queue {fit} takes this job: -p {fit}",
}

-- Fresh results: what fired, which rules could not be judged, and lines for the user by how they matter.
function verdict.begin()
    return { fired = {}, untold = {}, seen = {}, recorded = {}, refused = {}, amended = {}, warned = {}, log = {} }
end

-- Note that a rule fired. Once per rule: later rounds see again what earlier ones saw.
function verdict.fire(found, name, action)
    found.fired[#found.fired + 1] = { rule = name, action = action }
    if action ~= "reject" then
        found.recorded[#found.recorded + 1] = name
    end
end

function verdict.kind_of(request)
    return request.limit_kind or (request.limit and "finite" or "unset")
end

-- The part of a request that decisions change.
function verdict.job_of(request)
    return {
        limit = request.limit,
        kind = verdict.kind_of(request),
        time_min = request.time_min,
        queues = request.queues or NOWHERE,
    }
end

-- Nodes and class, which depend on how many GPUs a node of the job's queues has.
function verdict.shape(job, request, policy, made)
    local queues = policy.queues or NOWHERE
    local most
    for i = 1, #job.queues do
        local facts = queues[job.queues[i]]
        if facts and facts.node_gpus and facts.node_gpus > (most or 0) then
            most = facts.node_gpus
        end
    end
    if #job.queues == 0 and made.default then
        most = queues[made.default].node_gpus
    end
    job.nodes = classes.least_nodes(request, most)
    job.class = classes.of(job.nodes, request.gpus)
end

-- "later" puts the rule's words behind the day from which they count.
local function say(into, rule, outcome, later, values, policy)
    local word = later and "later" or outcome
    if later then
        local lines = {}
        local languages = policy.languages or NOWHERE
        for i = 1, #languages do
            local texts = policy.texts and policy.texts[languages[i]] or NOWHERE
            local own = texts[rule.check .. ".later"]
            local plain = own or text.template(policy, languages[i], rule.check, "warn", rule.text)
            if plain then
                values.message = text.fill(plain, values)
                lines[#lines + 1] = own and values.message or text.fill(texts.later or LAST.later_frame, values)
            end
        end
        for i = 1, #lines do
            into[#into + 1] = lines[i]
        end
        if #lines > 0 then
            return
        end
    end
    text.say(into, policy, rule.check, word, values, rule.text, LAST[word])
end

-- One rule has been broken: amend, refuse or warn, and note it.
local function act(found, rule, job, queue, facts, broken, request, policy)
    local outcome, later = rules.outcome(rule, request.now)
    local changed = false
    if outcome == "amend" then
        local limit, time_min = job.limit, job.time_min
        rules.amend[rule.check](job, rule.value, facts)
        changed = job.limit ~= limit or job.time_min ~= time_min
    elseif outcome == "reject" then
        found.code = found.code or rules.CODES[rule.check] or "ERROR"
    end
    if not found.seen[rule] then
        found.seen[rule] = true
        verdict.fire(found, rule.name, outcome)
        local values = rules.values(rule, job, queue, facts, broken)
        local into = outcome == "reject" and found.refused or (outcome == "amend" and found.amended) or found.warned
        say(into, rule, outcome, later, values, policy)
    end
    return changed
end

-- One rule in one queue. Returns whether the job was changed, and whether the rule could not be judged.
local function judge(found, rule, job, queue, request, policy, accept)
    local facts = queue and policy.queues and policy.queues[queue] or nil
    local broken = rules.check[rule.check](job, rule.value, facts, request)
    if broken == nil then
        return false, false
    end
    if broken == UNTOLD then
        return false, true
    end
    if accept and accept(rule, facts) then
        return false, false
    end
    return act(found, rule, job, queue, facts, broken, request, policy), false
end

-- All rules once, in order, over every queue of the job. True when something changed: then another round may see more.
-- `accept(rule, facts)`, where given, says of a broken rule that it does not matter.
function verdict.round(found, job, request, policy, made, accept)
    verdict.shape(job, request, policy, made)
    local queues = job.queues
    local count = #queues
    local only = count == 1 and queues[1] or nil
    if count == 0 and made.default then
        only, count = made.default, 1
    end
    local list = made.rules
    if only then
        list = made.of_queue[only] or made.anywhere
    end
    local changed, untold = false, {}
    for i = 1, #list do
        local rule = list[i]
        local when = rule.when
        local applies = rules.applies(when, job, request)
        local blind = applies == nil
        if applies and only then
            local altered, unsure = judge(found, rule, job, only, request, policy, accept)
            changed, blind = changed or altered, unsure
        elseif applies and count == 0 then
            if when and when.queues then
                blind = true
            else
                local altered, unsure = judge(found, rule, job, nil, request, policy, accept)
                changed, blind = changed or altered, unsure
            end
        elseif applies then
            for q = 1, count do
                if not (when and when.queues) or when.queues[queues[q]] then
                    local altered, unsure = judge(found, rule, job, queues[q], request, policy, accept)
                    changed, blind = changed or altered, blind or unsure
                end
            end
        end
        if blind then
            untold[#untold + 1] = rule.name
        end
    end
    found.untold = untold
    return changed
end

-- The queue that would take the job as it was asked for, or nil.
function verdict.fit(request, policy, made)
    local routing = policy.routing
    if not routing or request.reservation or request.node_list then
        return nil
    end
    return (route.shortest(verdict.job_of(request), request, policy, made))
end

-- Puts the queue that fits into refusals that ask for it, else behind them.
function verdict.add_fit(found, policy, fit)
    local values = { fit = fit and text.word(fit) or "-" }
    local named = false
    for i = 1, #found.refused do
        local filled = text.fill(found.refused[i], values)
        named = named or filled ~= found.refused[i]
        found.refused[i] = filled
    end
    for i = 1, #found.fired do
        named = named or (found.fired[i].rule == "routing" and found.fired[i].action == "reject")
    end
    if fit and not named then
        text.say(found.refused, policy, "fit", "reject", values, nil, LAST.fit)
    end
end

-- The decision on a job that is not refused: what changes, and the lines for the user.
function verdict.answer(found, job, request)
    local answer = { fired = found.fired, untold = found.untold, log = found.log, queue = found.queue }
    local changed = found.queue ~= nil
    if job.limit ~= request.limit then
        answer.limit, changed = job.limit, true
    end
    if job.time_min ~= request.time_min then
        answer.time_min, changed = job.time_min, true
    end
    local messages = found.amended
    for i = 1, #found.warned do
        messages[#messages + 1] = found.warned[i]
    end
    answer.messages = messages
    answer.verdict = changed and "amend" or "accept"
    return answer
end

return verdict
