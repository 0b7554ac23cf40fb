-- What stands for each placeholder of a rule's texts.
local need = ...
local rules = need("rules")
local text = need("text")

local placeholders = {}

local concat, find, huge = table.concat, string.find, math.huge

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

-- The one entry of a set, or nil.
local function only_one(set)
    local name = set and next(set)
    return name and next(set, name) == nil and name or nil
end

-- What stands for a placeholder depends on these five: `job` is as amended, `number` broke the rule.

local function queue_of(_, _, queue)
    return queue and text.word[queue] or "-"
end

local function class_of(job)
    return job.class or "-"
end

local function account_of(_, request)
    return request.account and text.word[request.account] or "-"
end

-- The QOS of the job, of a list those that the rule is for.
local function qos_of(set)
    return function(_, request)
        local qos, held = request.qos, {}
        if not qos then
            return "-"
        elseif not set or not find(qos, ",", 1, true) then
            return text.word[qos]
        end
        for _, name in ipairs(text.names[qos]) do
            held[#held + 1] = set[name] and name or nil
        end
        return text.word[concat(held, ",")]
    end
end

-- The class for which a rule of classes holds: the job's, or all of them where it is only one in another reading.
local function class_in(set)
    local all = {}
    for name in pairs(set) do
        all[#all + 1] = name
    end
    table.sort(all)
    local others = concat(all, ", ")
    return function(job)
        return set[job.class] and job.class or others
    end
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

local function asked_mem(_, _, _, _, number)
    return number == huge and "?" or text.memory(number)
end

local function asked_count(_, _, _, _, number)
    return number == huge and "?" or text.amount[number]
end

-- A number of GPUs, with the parts that it is made of.
local function asked_gpus(_, request, _, _, number)
    local asked, parts = number == huge and "?" or text.amount[number], request.gpu_slices or 0
    return parts > 0 and asked .. " (gpu_slices=" .. text.count[parts] .. ")" or asked
end

local ASKED = { gpus = asked_gpus, gpus_per_node = asked_gpus }

-- What the job asks for where Slurm may give it more than that, in the words of Slurm's TRES: gpus=20.
local function asked_words(check)
    return function(job, request)
        local words = rules.asked(check, job, request)
        return request.exclusive and words .. " exclusive" or words
    end
end

-- What stands for each placeholder: a text where it is the same whenever the rule is broken, else a function (job, request,
-- queue, facts, number). `most`: of the text about a number that Slurm may give, which is more than what is asked for.
function placeholders.of(rule, most)
    local value, when = rule.value, rule.when or text.NONE
    local queue = only_one(when.queues)
    local values = {
        rule = text.word[rule.name],
        check = rule.check,
        queue = queue and text.word[queue] or queue_of,
        class = class_of,
        account = account_of,
        qos = qos_of(when.qos),
        class_in = when.classes and class_in(when.classes) or class_of,
        limit = limit_of,
        time_min = time_min_of,
        default = default_of,
        from = rule.from_day or (rule.from and text.day(rule.from)) or "-",
    }
    if type(value) == "table" then
        values.value = range_text(value)
        values.min = value.min and text.whole(value.min) or "0"
        values.max = value.max and text.whole(value.max) or "-"
        values.asked = most and asked_words(rule.check) or ASKED[rule.check] or asked_count
        values.most = asked_count
    elseif rule.check == "cpus_per_gpu" or rule.check == "mem_per_gpu" then
        local is_mem = rule.check == "mem_per_gpu"
        local bound = is_mem and text.memory(value) or text.whole(value)
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

return placeholders
