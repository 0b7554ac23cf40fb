-- The words about a broken rule: the policy's texts with what depends on the rule alone filled in when the policy is loaded.
local need = ...
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
    unsure = "adminkit: refused by rule {rule} ({check}): how many it may take cannot be told, allowed {value}.",
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

-- Of a breach, { number, job, queue, facts }: `number` broke the rule, `job` is as amended.

local function queue_of(breach)
    return breach.queue and text.word[breach.queue] or "-"
end

local function class_of(breach)
    return breach.job.class or "-"
end

local function limit_of(breach)
    return text.duration(rules.effective(breach.job, breach.facts))
end

local function time_min_of(breach)
    return text.duration(breach.job.time_min)
end

local function default_of(breach)
    local facts = breach.facts
    return text.duration(facts and (facts.default_limit or facts.max_limit))
end

local function asked_seconds(breach)
    return text.duration(breach.number)
end

local function asked_count(breach)
    return breach.number == huge and "?" or text.count[breach.number]
end

-- What stands for each placeholder: a text where it is the same whenever the rule is broken, else a function of a breach.
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
    else
        local bound = text.duration(type(value) == "number" and value or nil)
        values.value, values.min, values.max = bound, bound, bound
        values.asked = asked_seconds
    end
    if rule.check == "require_limit" or rule.check == "default_limit" then
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

-- A template as a list of texts and of functions of a breach. What no rule knows, {fit} for one, stays as it is; `asks_fit`
-- says that it is there.
local function pieces_of(template, values)
    local parts = text.parts[template]
    local pieces = { parts[1], asks_fit = find(template, "{fit}", 1, true) ~= nil }
    for i = 2, #parts, 2 do
        local name = parts[i]
        pieces[i] = values[name] or "{" .. name .. "}"
        pieces[i + 1] = parts[i + 1]
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
        messages.unsure[outcome] = rules.is_count(rule.check) and messages_of(rule, outcome, true, policy) or nil
    end
    return messages
end

local function rendered(pieces, breach)
    local words = {}
    for i = 1, #pieces do
        local piece = pieces[i]
        words[i] = type(piece) == "function" and piece(breach) or piece
    end
    return concat(words)
end

-- Appends what the policy says about a breach of a rule to `lines`, in each of its languages; true where a line asks for the
-- queue that fits.
function rule_text.say(lines, rule, outcome, breach)
    local list = rule.messages[outcome]
    if breach.number == huge and rules.is_count(rule.check) then
        list = rule.messages.unsure[outcome]
    end
    local asks_fit = false
    for i = 1, #list do
        lines[#lines + 1] = rendered(list[i], breach)
        asks_fit = asks_fit or list[i].asks_fit
    end
    return asks_fit
end

return rule_text
