-- KEYS: slots (token by the moment at which it lapses).  ARGV: token, limit, now, seconds to keep it.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
local has = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not has and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[1])
return 1
