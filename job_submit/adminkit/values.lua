-- The words about a broken rule: the policy's texts, with what only depends on the rule filled in once.
local need = ...
local rules = need("rules")
local text = need("text")

local values = {}

local find = string.find
local join = text.join

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

-- The placeholders that are the same whenever the rule is broken.
local function fixed_of(rule)
    local value, queue = rule.value, only_queue(rule)
    local fixed = {
        rule = text.word[rule.name],
        check = rule.check,
        queue = queue and text.word[queue],
        from = rule.from_day or (rule.from and text.day(rule.from)) or "-",
    }
    if type(value) == "table" then
        fixed.value = range_text(value)
        fixed.min = value.min and text.whole(value.min) or "0"
        fixed.max = value.max and text.whole(value.max) or "-"
    else
        local bound = text.duration(type(value) == "number" and value or nil)
        fixed.value, fixed.min, fixed.max = bound, bound, bound
    end
    if rule.check == "require_limit" or rule.check == "default_limit" then
        fixed.asked = "-"
    end
    return fixed
end

-- The others, each worked out when a text asks for it.
local value_of = {}

function value_of.queue(this)
    return this.queue and text.word[this.queue] or "-"
end

function value_of.class(this)
    return this.job.class or "-"
end

function value_of.limit(this)
    return text.duration(rules.effective(this.job, this.facts))
end

function value_of.time_min(this)
    return text.duration(this.job.time_min)
end

function value_of.default(this)
    local facts = this.facts
    return text.duration(facts and (facts.default_limit or facts.max_limit))
end

function value_of.asked(this)
    if this.broken == math.huge and rules.COUNTS[this.rule.check] then
        return "?"
    end
    return rules.COUNTS[this.rule.check] and text.count[this.broken] or text.duration(this.broken)
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

-- A template as text.join takes it. What no rule knows, {fit} for one, stays as it is; `asks_fit` says that it is there.
local function pieces_of(template, fixed)
    local parts = text.parts_of[template]
    local makers = {}
    local pieces, last = { parts[1], makers = makers, asks_fit = find(template, "{fit}", 1, true) ~= nil }, 1
    for i = 2, #parts, 2 do
        local name = parts[i]
        if value_of[name] and not fixed[name] then
            makers[#makers + 1] = value_of[name]
            pieces[last + 1], pieces[last + 2] = false, parts[i + 1]
            last = last + 2
        else
            pieces[last] = pieces[last] .. (fixed[name] or "{" .. name .. "}") .. parts[i + 1]
        end
    end
    return pieces
end

-- The texts of a rule: those called `name` where it is given and there are some.
local function texts_of(rule, outcome, policy, name)
    local fixed, list = fixed_of(rule), {}
    local languages = policy.languages or text.NONE
    for i = 1, #languages do
        local template = name and text.template(policy, languages[i], name, outcome)
        if not template and outcome == "later" then
            template = later_template(rule, policy, languages[i])
        elseif not template then
            template = text.template(policy, languages[i], rule.check, outcome, rule.text)
        end
        if template then
            list[#list + 1] = pieces_of(template, fixed)
        end
    end
    if not list[1] then
        list[1] = pieces_of(name and outcome == "reject" and LAST[name] or LAST[outcome], fixed)
    end
    return list
end

local UNSURE = { reject = "unsure.reject", warn = "unsure.warn", later = "unsure.later" }

local this = {} -- what is being said, for the functions of value_of

-- Appends what the policy says about a broken rule to `into`, in each of its languages; true where a line asks for the queue
-- that fits. `outcome` is reject, amend, warn or later, `broken` the number that broke the rule, `job` the job after it was
-- amended, `made` the policy's plan.
function values.say(into, rule, outcome, job, queue, facts, broken, policy, made)
    local texts = made.texts[rule]
    if not texts then
        texts = {}
        made.texts[rule] = texts
    end
    local unsure = broken == math.huge and rules.COUNTS[rule.check] and "unsure" or nil
    local kind = unsure and UNSURE[outcome] or outcome
    local list = texts[kind]
    if not list then
        list = texts_of(rule, outcome, policy, unsure)
        texts[kind] = list
    end
    this.rule, this.job, this.queue, this.facts, this.broken = rule, job, queue, facts, broken
    local count, asks_fit = #into, false
    for i = 1, #list do
        local pieces = list[i]
        into[count + i] = join(pieces, this)
        asks_fit = asks_fit or pieces.asks_fit
    end
    return asks_fit
end

return values
