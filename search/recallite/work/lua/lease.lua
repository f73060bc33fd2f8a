-- KEYS: lease, epoch.  ARGV: token, holder, milliseconds, least epoch, token of a holder known to be dead.
local token = redis.call('HGET', KEYS[1], 'token')
if token and token ~= ARGV[5] then
  return {0, token, redis.call('HGET', KEYS[1], 'holder')}
end
local epoch = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[4])) + 1
redis.call('SET', KEYS[2], string.format('%.0f', epoch))
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'holder', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {1, epoch}
