-- KEYS: pause.  ARGV: until, reason, milliseconds.  A longer pause that is in force stays.
local until_now = redis.call('HGET', KEYS[1], 'until')
if until_now and tonumber(until_now) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'until', ARGV[1], 'reason', ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
