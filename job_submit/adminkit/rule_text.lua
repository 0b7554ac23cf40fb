-- The words about a broken rule and about the queue that fits a job: the policy's texts, in which what depends on the rule
-- or the queue alone is filled in when the policy is loaded.
local need = ...
local allocation = need("allocation")
local rules = need("rules")
local text = need("text")

local rule_text = {}

local concat, find, huge = table.concat, string.find, math.huge

local LAST = {
    reject = "adminkit: refused by rule {rule} ({check}): asked {asked}, allowed {value}.",
    amend = "adminkit: changed by rule {rule} ({check}): asked {asked}, now {limit}.",
    warn = "adminkit: against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later = "adminkit: from {from} on against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later_frame = "From {from} on: {message}",
    fit = "adminkit: queue {fit} takes this job: -p {fit}",
    routed = "adminkit: no queue was named, so the job went to {queue}.",
    advised = "adminkit: no queue was named; {queue} would take this job (-p {queue}).",
    unsure = "adminkit: refused by rule {rule} ({check}): how many it may take cannot be told, allowed {value}.",
    help = "adminkit: more about this: {url}",
}

local function range_text(range)
    if range.min and range.max then
        if range.min == range.max then
            return text.whole(range.min)
        end
        return text.whole(range.min) .. "-" .. text.whole(range.max)
    end
    if range.min then
        return text.whole(range.min) .. "+"
    end
    return "0-" .. text.whole(range.max or 0)
end

-- The one queue a rule is for, or nil.
local function only_queue(rule)
    local queues = rule.when and rule.when.queues
    local name = queues and next(queues)
    return name and next(queues, name) == nil and name or nil
end

-- What stands for a placeholder depends on these five: `job` is as amended, `number` broke the rule.

local function queue_of(_, _, queue)
    return queue and text.word[queue] or "-"
end

local function class_of(job)
    return job.class or "-"
end

local function limit_of(job, _, _, facts)
    return text.duration(rules.effective(job, facts))
end

local function time_min_of(job)
    return text.duration(job.time_min)
end

local function default_of(_, _, _, facts)
    return text.duration(facts and (facts.default_limit or facts.max_limit))
end

local function asked_seconds(_, _, _, _, number)
    return text.duration(number)
end

local function mem_text(mib)
    return mib % 1024 == 0 and text.whole(mib / 1024) .. "G" or text.whole(mib) .. "M"
end

local function asked_mem(_, _, _, _, number)
    return number == huge and "?" or mem_text(number)
end

local function asked_count(_, _, _, _, number)
    return number == huge and "?" or text.count[number]
end

-- What stands for each placeholder: a text where it is the same whenever the rule is broken, else a function (job, request,
-- queue, facts, number).
local function values_of(rule)
    local value, queue = rule.value, only_queue(rule)
    local values = {
        rule = text.word[rule.name],
        check = rule.check,
        queue = queue and text.word[queue] or queue_of,
        class = class_of,
        limit = limit_of,
        time_min = time_min_of,
        default = default_of,
        from = rule.from_day or (rule.from and text.day(rule.from)) or "-",
    }
    if type(value) == "table" then
        values.value = range_text(value)
        values.min = value.min and text.whole(value.min) or "0"
        values.max = value.max and text.whole(value.max) or "-"
        values.asked = asked_count
    elseif rule.check == "cpus_per_gpu" or rule.check == "mem_per_gpu" then
        local is_mem = rule.check == "mem_per_gpu"
        local bound = is_mem and mem_text(value) or text.whole(value)
        values.value, values.min, values.max = bound, "0", bound
        values.asked = is_mem and asked_mem or asked_count
    else
        local bound = text.duration(type(value) == "number" and value or nil)
        values.value, values.min, values.max = bound, bound, bound
        values.asked = asked_seconds
    end
    if value == true or rule.check == "default_limit" then
        values.asked = "-"
    end
    return values
end

-- The policy's text for a rule whose day is ahead: one of its own, else that of a warning in its frame.
local function later_template(rule, policy, language)
    local texts = policy.texts and policy.texts[language] or text.NONE
    local own = texts[rule.check .. ".later"]
    if own then
        return own
    end
    local plain = text.template(policy, language, rule.check, "warn", rule.text)
    if not plain then
        return nil
    end
    return (string.gsub(texts.later or LAST.later_frame, "{message}", (string.gsub(plain, "%%", "%%%%"))))
end

-- A template as text, function, text, ..., text. What `values` does not know stays as it is; `asks_fit` says that {fit} does.
local function pieces_of(template, values)
    local parts = text.parts[template]
    local pieces = { parts[1], asks_fit = not values.fit and find(template, "{fit}", 1, true) ~= nil }
    for i = 2, #parts, 2 do
        local value = values[parts[i]] or "{" .. parts[i] .. "}"
        if type(value) == "function" then
            pieces[#pieces + 1] = value
            pieces[#pieces + 1] = parts[i + 1]
        else
            pieces[#pieces] = pieces[#pieces] .. value .. parts[i + 1]
        end
    end
    return pieces
end

-- A message for each language. `unsure`: nobody can tell the number that broke the rule, for which there may be texts.
local function messages_of(rule, outcome, unsure, policy)
    local values, messages = values_of(rule), {}
    local languages = policy.languages or text.NONE
    for i = 1, #languages do
        local template = unsure and text.template(policy, languages[i], "unsure", outcome)
        if not template and outcome == "later" then
            template = later_template(rule, policy, languages[i])
        elseif not template then
            template = text.template(policy, languages[i], rule.check, outcome, rule.text)
        end
        if template then
            messages[#messages + 1] = pieces_of(template, values)
        end
    end
    if not messages[1] then
        messages[1] = pieces_of(unsure and outcome == "reject" and LAST.unsure or LAST[outcome], values)
    end
    return messages
end

-- The messages of a rule by outcome (reject, amend, warn, later), and in `unsure` those of a number that nobody can tell.
function rule_text.of(rule, policy)
    local outcomes = { (rules.outcome(rule, nil)), rule.from and rule.action ~= "warn" and "later" or nil }
    local messages = { unsure = {} }
    for i = 1, #outcomes do
        local outcome = outcomes[i]
        messages[outcome] = messages_of(rule, outcome, false, policy)
        messages.unsure[outcome] = rules.may_be_unsure(rule.check) and messages_of(rule, outcome, true, policy) or nil
    end
    return messages
end

-- What stands for a placeholder where a job is routed: as it was asked for.

local function asked_limit(job)
    return text.duration(job.kind == "unlimited" and huge or job.limit)
end

local function asked_class(_, request)
    return allocation.class_of(request.nodes, request.gpus) or "-"
end

local function asked_gpus(_, request)
    return request.gpus and text.count[request.gpus] or "-"
end

local function asked_nodes(_, request)
    return request.nodes and text.count[request.nodes] or "-"
end

-- The messages of a check that is no rule's.
local function named_messages(check, outcome, values, policy, last)
    local languages, messages = policy.languages or text.NONE, {}
    for i = 1, #languages do
        local template = text.template(policy, languages[i], check, outcome)
        messages[#messages + 1] = template and pieces_of(template, values)
    end
    messages[1] = messages[1] or pieces_of(last, values)
    return messages
end

-- The messages that name the queue that fits a job: `amend` and `warn`, by what routing does to one that names no queue, and
-- `fit`, for one that is refused.
function rule_text.of_routing(queue, policy)
    local values = {
        rule = "routing",
        check = "routing",
        queue = text.word[queue],
        fit = "-",
        asked = asked_limit,
        class = asked_class,
        gpus = asked_gpus,
        nodes = asked_nodes,
    }
    return {
        amend = named_messages("routed", "amend", values, policy, LAST.routed),
        warn = named_messages("routed", "warn", values, policy, LAST.advised),
        fit = named_messages("fit", "reject", { fit = values.queue }, policy, LAST.fit),
    }
end

-- The lines that lead to the site's page for users, one in each language; nil where it has no page.
function rule_text.of_help(policy)
    local url = policy.help_url
    if not url then
        return nil
    end
    local lines = named_messages("help", "reject", { url = url }, policy, LAST.help)
    for i = 1, #lines do
        lines[i] = lines[i][1]
    end
    return lines
end

-- One text of the pieces. Most have no more than two functions, for which no list is made.
local function rendered(pieces, job, request, queue, facts, number)
    local count, value = #pieces, pieces[2]
    if count == 1 then
        return pieces[1]
    end
    value = value(job, request, queue, facts, number)
    if count == 3 then
        return pieces[1] .. value .. pieces[3]
    end
    local second = pieces[4](job, request, queue, facts, number)
    if count == 5 then
        return pieces[1] .. value .. pieces[3] .. second .. pieces[5]
    end
    local words = { pieces[1], value, pieces[3], second, pieces[5] }
    for i = 6, count, 2 do
        words[i], words[i + 1] = pieces[i](job, request, queue, facts, number), pieces[i + 1]
    end
    return concat(words)
end

-- The messages of a rule that `number` broke.
function rule_text.messages(rule, outcome, number)
    if number == huge and rules.may_be_unsure(rule.check) then
        return rule.messages.unsure[outcome]
    end
    return rule.messages[outcome]
end

-- Appends messages to `lines`, one in each language; true where a line asks for the queue that fits.
function rule_text.say(lines, messages, job, request, queue, facts, number)
    local asks_fit = false
    for i = 1, #messages do
        lines[#lines + 1] = rendered(messages[i], job, request, queue, facts, number)
        asks_fit = asks_fit or messages[i].asks_fit
    end
    return asks_fit
end

return rule_text
