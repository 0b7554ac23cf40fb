-- Whether a table that was loaded is whole: every part of the kind that decide.lua takes it for. A damaged table never decides.
local need = ...
local checks = need("checks")
local demands = need("demands")
local rules = need("rules")
local settings = need("settings")

local validate = {}

local ACTIONS = { reject = true, amend = true, warn = true }
local RECORDS = { admin_comment = true, extra = true, comment = true, none = true }

local amount, every, list, of_type = checks.amount, checks.every, checks.list, checks.of_type
local optional, optional_amount, set, words = checks.optional, checks.optional_amount, checks.set, checks.words

local function head(value)
    if type(value) ~= "table" then
        return "it is not a table"
    end
    if value.format ~= 1 then
        return "its format is not 1"
    end
    return of_type(value.generation, "string", "generation") or optional_amount(value.made_at, "made_at")
end

local AMOUNTS = {
    "default_limit", "max_limit", "min_nodes", "max_nodes", "total_nodes", "node_cpus", "node_mem", "node_gpus",
    "node_gpu_size", "node_gpu_slices",
}
local SETS = {
    "gpu_types", "features", "allow_accounts", "deny_accounts", "allow_qos", "deny_qos", "allow_groups",
}

local function queue(name, facts)
    local wrong = of_type(name, "string", "a name") or of_type(facts, "table", tostring(name))
    for i = 1, #AMOUNTS do
        wrong = wrong or optional_amount(facts[AMOUNTS[i]], AMOUNTS[i])
    end
    for i = 1, #SETS do
        wrong = wrong or set(facts[SETS[i]], SETS[i])
    end
    return wrong or optional(facts.up, "boolean", "up") or optional(facts.is_default, "boolean", "is_default")
        or optional(facts.whole, "boolean", "whole")
end

local function rule_value(rule)
    local value = rule.value
    if rules.is_count(rule.check) then
        return of_type(value, "table", "value")
            or optional_amount(value.min, "value.min")
            or optional_amount(value.max, "value.max")
    end
    if demands.is_demand(rule.check) then
        return value ~= true and "value is not true" or nil
    end
    return amount(value, "value")
end

local function rule_when(when)
    if when == nil then
        return nil
    end
    return every(when, "when", function(key, entry)
        return of_type(key, "string", "a key") or set(entry, key)
    end)
end

local function one_rule(number, rule)
    if type(number) ~= "number" then
        return "it is not a list"
    end
    local wrong = of_type(rule, "table", "a rule") or of_type(rule.name, "string", "a name")
    if wrong then
        return wrong
    end
    if not rules.ORDER[rule.check] then
        return rule.name .. " has an unknown check"
    end
    if not ACTIONS[rule.action] or (rule.action == "amend" and not rules.amend[rule.check]) then
        return rule.name .. " has an action that its check does not allow"
    end
    wrong = rule_value(rule)
        or optional_amount(rule.from, "from")
        or optional(rule.from_day, "string", "from_day")
        or rule_when(rule.when)
        or words(rule.text, "text")
        or words(rule.whose, "whose")
    return wrong and (rule.name .. ": " .. wrong)
end

local function routing(value)
    if value == nil then
        return nil
    end
    local wrong = of_type(value, "table", "routing")
    if wrong then
        return wrong
    end
    if value.action ~= "off" and value.action ~= "amend" and value.action ~= "warn" then
        return "routing has an unknown action"
    end
    return list(value.order, "string", "routing.order") or optional_amount(value.from, "routing.from")
end

-- What is wrong with the shares of a GPU, or nil.
local function gpu_shares(value)
    if value == nil then
        return nil
    end
    return every(value, "gpu_shares", function(name, entry)
        return of_type(name, "string", "a name") or every(entry, "gpu_shares", function(kind, number)
            return of_type(kind, "string", "a type") or amount(number, "gpu_shares")
        end)
    end)
end

-- What is wrong with a policy table, or nil.
function validate.policy(value)
    local wrong = head(value)
    if wrong then
        return wrong
    end
    if value.fail ~= "open" and value.fail ~= "closed" then
        return "fail is neither open nor closed"
    end
    if not RECORDS[value.record] then
        return "record names an unknown field"
    end
    return list(value.languages, "string", "languages")
        or of_type(value.exempt, "table", "exempt")
        or set(value.exempt, "exempt")
        or list(value.menu or {}, "number", "menu")
        or optional(value.help_url, "string", "help_url")
        or routing(value.routing)
        or every(value.queues, "queues", queue)
        or every(value.rules, "rules", one_rule)
        or list(value.rules, "table", "rules")
        or every(value.texts or {}, "texts", function(language, texts)
            return of_type(language, "string", "a language") or words(texts, language)
        end)
        or settings.ckpt(value.ckpt)
        or settings.soft_limits(value.soft_limits)
        or settings.extend(value.extend)
        or settings.power(value.power)
        or gpu_shares(value.gpu_shares)
end

-- What is wrong with a table of incentives, or nil.
function validate.incentives(value)
    local wrong = head(value) or optional_amount(value.cap, "cap")
    if wrong then
        return wrong
    end
    wrong = every(value.class_points or {}, "class_points", function(class, points)
        return of_type(class, "string", "a class") or amount(points, "points")
    end)
    wrong = wrong or every(value.size_points or {}, "size_points", function(least, points)
        return amount(least, "a size") or amount(points, "points")
    end)
    return wrong
        or every(value.users, "users", function(uid, row)
            if type(uid) ~= "number" or type(row) ~= "table" then
                return "a row is damaged"
            end
            return amount(row.points, "points") or optional(row.class, "boolean", "class")
        end)
end

-- Rows of `count` numbers by uid, name and queue.
local function hint_rows(users, count)
    local function row_of(at, row)
        for i = 1, count do
            if type(row) ~= "table" or amount(row[i], "a number of a row") then
                return "a row is damaged"
            end
        end
        return of_type(at, "string", "a queue")
    end
    return every(users, "users", function(uid, names)
        return of_type(uid, "number", "a uid")
            or every(names, "names", function(name, queues)
                return of_type(name, "string", "a name") or every(queues, "queues", row_of)
            end)
    end)
end

local function memory_hints(value)
    return of_type(value, "table", "memory")
        or amount(value.ratio, "memory.ratio")
        or amount(value.floor, "memory.floor")
        or hint_rows(value.users, 5)
end

-- What is wrong with a table of hints, or nil.
function validate.hints(value)
    return head(value)
        or amount(value.ratio, "ratio")
        or amount(value.floor, "floor")
        or set(value.accounts_off, "accounts_off")
        or (value.memory ~= nil and memory_hints(value.memory) or nil)
        or hint_rows(value.users, 4)
end

-- What is wrong with a table of needs, or nil. Its rows are looked at when one is asked for: a damaged one gives nobody any.
function validate.soft_limits(value)
    return head(value) or list(value.quantiles, "number", "quantiles") or list(value.rows, "string", "rows")
end

local function lease_queue(name, limits)
    return of_type(name, "string", "a name")
        or of_type(limits, "table", name)
        or optional_amount(limits.most, "most")
        or optional_amount(limits.reserved_at, "reserved_at")
end

-- What is wrong with the lease of soft limits, or nil.
function validate.soft_lease(value)
    local wrong = head(value) or amount(value.made_at, "made_at") or amount(value.valid_until, "valid_until")
    if wrong then
        return wrong
    end
    for _, name in ipairs({ "qos_off", "accounts_off", "users_off" }) do
        wrong = wrong or of_type(value[name], "table", name) or set(value[name], name)
    end
    return wrong or every(value.queues, "queues", lease_queue)
end

return validate
