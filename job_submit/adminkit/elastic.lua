-- The GPUs that a job opted in to, as far as the rules take it with them: `adminkit elastic` changes jobs as an operator, to
-- whom no rule applies, so the rules are asked here, at submission.
local need = ...
local modify = need("modify")

local elastic = {}

local floor, format, match, max, min = math.floor, string.format, string.match, math.max, math.min

-- Whether the job's GPUs are those of its one node, by --gres or --gpus-per-node, and nothing else counts them.
local function is_plain(request)
    local gpus = request.gpus
    return gpus and gpus > 0 and gpus < math.huge and request.nodes == 1 and request.gpus_fixed == 0
        and request.gpus_each == gpus and request.gpus_per_node == gpus
        and not request.array and not request.het_offset
end

-- The job of a decision as a request with `gpus` GPUs.
local function with(job, request, gpus)
    local changed = {
        queues = job.queues, limit = job.limit, limit_kind = job.kind, time_min = job.time_min, gpus = gpus,
        gpus_per_node = gpus, gpus_each = gpus, node_gpus_most = gpus,
    }
    return setmetatable(changed, { __index = request })
end

-- The range, "1-4", of what the job asked for, nil where it did not, or where the rules leave nothing but its own number. `job`
-- is what the decision made of it.
function elastic.range(job, request, ruleset)
    local asked = (request.gpus or 0) > 0 and request.elastic
    if not asked or not is_plain(request) then
        return nil
    end
    local gpus, least, most = request.gpus, match(asked, "(%d+)-(%d+)")
    least, most = min(tonumber(least), gpus), max(tonumber(most), gpus)
    local own = with(job, request, gpus)
    local function takes(other)
        return modify.decide(with(job, request, other), own, ruleset).verdict == "accept"
    end
    while least < gpus and not takes(least) do
        least = min(gpus, least * 2)
    end
    while most > gpus and not takes(most) do
        most = max(gpus, floor(most / 2))
    end
    return least < most and format("%d-%d", least, most) or nil
end

return elastic
