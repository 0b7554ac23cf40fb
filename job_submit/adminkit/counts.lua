-- The checks of numbers, whose value is a range: of nodes, CPUs and GPUs. The least that a job asks for is held to the minimum,
-- the most that Slurm may give it to the maximum.
local need = ...
local allocation = need("allocation")
local gres = need("gres")
local text = need("text")

local counts = {}

local find = string.find
local floor, huge, max, min = math.floor, math.huge, math.max, math.min
local most_of = allocation.most
local NEAR = gres.NEAR

-- The number that a check of numbers looks at, the least that the job asks for.
local number_of = {}

function number_of.gpus(_, request)
    return request.gpus
end

function number_of.gpus_per_node(job, request)
    return request.gpus_per_node or (job.nodes == 1 and request.gpus or nil)
end

-- Slices of MIG, shards, and of MPS each GPU that a part is asked of.
function number_of.gpu_slices(_, request)
    return request.gpu_slices
end

function number_of.nodes(job)
    return job.nodes
end

function number_of.cpus(_, request)
    return request.cpus
end

counts.measure = {}
for name, number in pairs(number_of) do
    counts.measure[name] = function(job, facts, request)
        return number(job, request), most_of(name, job, facts, request)
    end
end

-- The number that breaks a range; `untold` for one that is unknown.
function counts.comparison(untold)
    return function(least, most, range)
        local low, high = range.min, range.max
        if least and ((low and least < low - NEAR) or (high and least > high + NEAR)) then
            return least
        end
        if high and most then
            if most > high + NEAR then
                return most
            elseif not low then
                return nil
            end
        end
        return not least and untold or nil
    end
end

-- Whether this check looks at such a number.
function counts.is_count(name)
    return number_of[name] ~= nil
end

-- What the job asks for itself of the number that this check looks at, nil where it names none.
local function asked_number(name, job, request)
    if name == "nodes" then
        return request.nodes -- job.nodes has what its GPUs and CPUs need
    end
    return number_of[name](job, request)
end

-- Whether `number`, which broke a check of numbers, is what the job asks for; else Slurm would make it of the rest.
function counts.is_asked(name, number, job, request)
    return number == asked_number(name, job, request)
end

-- What the job asks for, in the words of Slurm's TRES, where is_asked() says no: that of the check itself, and of a number
-- that it does not name what the number is made of.
function counts.asked(name, job, request)
    local number, most = asked_number(name, job, request), request.max_nodes
    if name == "nodes" and most and number and most > number then
        return "nodes=" .. text.whole(number) .. "-" .. text.whole(most)
    elseif name == "nodes" and number and job.nodes and job.nodes > number then
        number = nil
    end
    if number then
        return name .. "=" .. text.amount[number]
    elseif (request.gpus or 0) > 0 then
        return "gpus=" .. text.amount[request.gpus]
    end
    return request.cpus and "cpus=" .. text.count[request.cpus] or "?"
end

-- Whether Slurm would not be held to a most of nodes: 26.05 takes the number of tasks of an update for it.
function counts.is_loose(request)
    return request.older and request.num_tasks
end

-- The most nodes with which the job keeps a check of numbers that it might break by taking many; nil where no number does,
-- where the job says itself how many it takes, and where Slurm would not be held to it.
function counts.cap(name, job, range, facts, request)
    local least, named = number_of[name](job, request), request.node_list
    if request.max_nodes or counts.is_loose(request) or not range.max or not job.nodes
        or not least or least > range.max or least < (range.min or 0)
        or (named and find(named, "{", 1, true)) then
        return nil
    end
    local fixed, each = allocation.parts(name, facts, request)
    local most = allocation.nodes_of_gpus(name, request) or huge
    if not fixed or fixed > range.max or (each == 0 and most == huge) then
        return nil
    end
    most = each > 0 and min(most, floor(range.max / each)) or most
    if request.older then -- it has no more tasks than CPUs, and more nodes might be more than it took
        most = min(most, max(job.nodes, request.min_cpus or 1))
    end
    return most >= max(job.nodes, 1) and most or nil
end

-- How far a job is below and above the range of a number check, by its least and by the most that Slurm may give it; nil
-- where the request does not show the number.
function counts.distance(name, job, range, request, facts)
    local least = number_of[name](job, request)
    if not least then
        return nil
    end
    local most = allocation.most_known(name, job, facts, request) or least
    local above, most_above = 0, 0
    if range.max then
        above, most_above = max(0, least - range.max), max(0, max(least, most) - range.max)
    end
    return max(0, (range.min or least) - least), above, most_above
end

return counts
