-- The words about a broken rule and about the queue that fits a job: the policy's texts, in which what depends only on the rule
-- or the queue is filled in when the policy is loaded.
local need = ...
local allocation = need("allocation")
local placeholders = need("placeholders")
local rules = need("rules")
local text = need("text")

local rule_text = {}

local concat, find, huge = table.concat, string.find, math.huge

local LAST = {
    reject = "adminkit: refused by rule {rule} ({check}): asked {asked}, allowed {value}.",
    amend = "adminkit: changed by rule {rule} ({check}): asked {asked}, now {limit}.",
    warn = "adminkit: against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later = "adminkit: from {from} against rule {rule} ({check}): asked {asked}, allowed {value}.",
    later_frame = "From {from}: {message}",
    fit = "adminkit: queue {fit} accepts this job: -p {fit}",
    routed = "adminkit: no queue was named, so the job went to {queue}.",
    advised = "adminkit: no queue was named; {queue} would accept this job (-p {queue}).",
    unsure = "adminkit: refused by rule {rule} ({check}): it is unclear how many the job could get, allowed {value}.",
    most = "adminkit: refused by rule {rule} ({check}): asked {asked}, could get {most}, allowed {value}.",
    help = "adminkit: more about this: {url}",
}

-- The policy's text for a rule whose day is ahead: one of its own, else that of a warning in its frame. `odd` as below.
local function later_template(rule, policy, language, odd)
    local texts = policy.texts and policy.texts[language] or text.NONE
    local own = texts[rule.check .. ".later"]
    if own then
        return own
    end
    local plain = odd and text.template(policy, language, odd, "warn")
        or text.template(policy, language, rule.check, "warn", rule.text)
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

-- What a rule is about, where the policy does not say it.
local LAST_WHOSE = "in {queue}"

-- A template in which the phrase for whose jobs the rule looks at stands for {whose}. {class_in} is known to such phrases only.
local function with_whose(template, rule, language)
    local parts = text.parts[template]
    local made = { parts[1] }
    for i = 2, #parts, 2 do
        local whose = rule.whose and rule.whose[language] or LAST_WHOSE
        made[i] = parts[i] == "whose" and whose or "{" .. parts[i] .. "}"
        made[i + 1] = parts[i + 1]
    end
    return concat(made)
end

-- A message for each language. `odd`: "unsure" where nobody can tell the number that broke the rule, "most" where it is not
-- asked for but may be given; there may be texts for both.
local function messages_of(rule, outcome, odd, policy)
    local values, messages = placeholders.of(rule, odd == "most"), {}
    local languages = policy.languages or text.NONE
    for i = 1, #languages do
        local template = odd and text.template(policy, languages[i], odd, outcome)
        if not template and outcome == "later" then
            template = later_template(rule, policy, languages[i], odd)
        elseif not template then
            template = text.template(policy, languages[i], rule.check, outcome, rule.text)
        end
        if template then
            messages[#messages + 1] = pieces_of(with_whose(template, rule, languages[i]), values)
        end
    end
    if not messages[1] then
        messages[1] = pieces_of(odd and outcome == "reject" and LAST[odd] or LAST[outcome], values)
    end
    return messages
end

-- The messages of a rule by outcome (reject, amend, warn, later), in `unsure` those of a number that nobody can tell, in `most`
-- those of one that is not asked for.
function rule_text.of(rule, policy)
    local outcomes = { (rules.outcome(rule, nil)), rule.from and rule.action ~= "warn" and "later" or nil }
    local messages = { unsure = {}, most = {} }
    for i = 1, #outcomes do
        local outcome = outcomes[i]
        messages[outcome] = messages_of(rule, outcome, nil, policy)
        messages.unsure[outcome] = rules.may_be_unsure(rule.check) and messages_of(rule, outcome, "unsure", policy) or nil
        messages.most[outcome] = rules.is_count(rule.check) and messages_of(rule, outcome, "most", policy) or nil
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
    return request.gpus and text.amount[request.gpus] or "-"
end

local function asked_nodes(_, request)
    return request.nodes and text.count[request.nodes] or "-"
end

-- The messages of a check that belongs to no rule.
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
function rule_text.messages(rule, outcome, number, job, request)
    if number == huge and rules.may_be_unsure(rule.check) then
        return rule.messages.unsure[outcome]
    elseif rules.is_count(rule.check) and not rules.is_asked(rule.check, number, job, request) then
        return rule.messages.most[outcome]
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
