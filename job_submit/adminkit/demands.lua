-- The checks that a job keeps or breaks without a number in between: their value is true, and so is what the request has to
-- show. A measure returns true, false, or what is neither where the request does not tell.
local demands = {}

local measure = {}
demands.measure = measure

-- Submitted by sbatch. A step of a job, srun within it, is not a submission.
function measure.batch_only(_, _, request)
    if request.batch_unknown then
        return nil
    end
    return request.batch
end

-- The user named an account.
function measure.require_account(_, _, request)
    return request.account_given
end

-- The job takes whole nodes: --exclusive, or a queue that gives nothing else.
function measure.exclusive(_, facts, request)
    if request.exclusive or (facts and facts.whole) then
        return true
    end
    if request.whole_unknown then
        return nil
    end
    return false
end

-- Whether a check is one of these, or require_limit, which is alike.
function demands.is_demand(name)
    return name == "require_limit" or measure[name] ~= nil
end

-- 0 where it is false; `untold` where it is neither.
function demands.comparison(untold)
    return function(answer)
        if answer == true then
            return nil
        end
        return answer == false and 0 or untold
    end
end

return demands
