-- KEYS: tokens of a day.  ARGV: tokens.  A count that was forgotten meanwhile stays so; none falls below zero.
local spent = tonumber(redis.call('GET', KEYS[1]) or '0')
if spent <= 0 then return 0 end
redis.call('DECRBY', KEYS[1], math.min(spent, tonumber(ARGV[1])))
return 1
